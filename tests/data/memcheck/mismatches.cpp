// Memory that is given back otherwise than it was taken, and names with blanks and parentheses.
#include <cstdlib>
#include <string>

namespace {
template <class T> struct Box {
    T value;
    Box *operator()(T other) const { return new Box{other}; }
};
} // namespace

static void *leaked[1];

int main() {
    int *one = new int;
    free(one);
    int *several = new int[4];
    delete several;
    char *bytes = static_cast<char *>(malloc(8));
    delete[] bytes;
    Box<std::string> box{"x"};
    leaked[0] = box("a string too long to be kept inside the object itself");
    leaked[0] = nullptr;
}
