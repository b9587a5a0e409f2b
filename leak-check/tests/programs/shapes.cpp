// Leaks and an invalid read in functions with mangled names: methods, templates, constructors, operators and an
// anonymous namespace.
#include <cstring>
#include <string>
#include <vector>

namespace shapes {

struct Tree {
    int *data;
    Tree() : data(new int[4]) {}
    void grow(int size) { data = new int[size]; }
    bool operator==(const Tree &other) const
    {
        return std::memcmp(new int[2](), other.data, sizeof(int)) == 0;
    }
};

template <typename T> T *duplicate(const T &value)
{
    return new T(value);
}

namespace {
int read_past(const std::vector<int> &values)
{
    return values.data()[values.size()];
}
} // namespace

} // namespace shapes

int main(int argc, char **)
{
    shapes::Tree tree;
    tree.grow(argc + 2);
    volatile bool equal = tree == tree;
    (void)equal;
    shapes::duplicate(std::string("a string that is too long for the small buffer"))->size();
    auto lose = [](int size) { return new char[size]; };
    lose(argc)[0] = 1;
    std::vector<int> values(4);
    volatile int past = shapes::read_past(values);
    (void)past;
    tree.data = nullptr;
    return 0;
}
