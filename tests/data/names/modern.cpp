// Templates of C++20 in all forms that compilers mangle in their own way. The tests compare demangled names with c++filt.
#include <algorithm>
#include <concepts>
#include <map>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

template <typename T> concept Big = sizeof(T) > 2;
namespace lib {
template <class T, class U> concept Same = std::same_as<T, U>;
}

template <Big T> T constrained(T t) { return t; }
template <typename T> requires Big<T> T with_clause(T t) { return t; }
template <typename T> T with_trailing_clause(T t) requires requires(T a) { a + a; } { return t; }
template <lib::Same<int> T> T with_scope(T t) { return t; }
auto abbreviated(std::integral auto x, Big auto y) { return x + y; }
template <std::size_t... I, typename... A> int packs(std::index_sequence<I...>, A &&...a) { return sizeof...(I) + (a + ... + 0); }
template <std::enable_if_t<true, int> N, typename T> T values(T a, std::enable_if_t<sizeof(T) == 4, T> b) { return a + N + b; }
template <template <typename> class C, typename T> T templates(C<T> c) { return c[0]; }
template <template <Big> class C> int constrained_templates() { return 1; }
template <auto V> int deduced() { return V; }
template <decltype(auto) V> int deduced_exactly() { return V; }
template <typename T> struct Box {
    T t;
    T operator[](int) { return t; }
};
template <Big T> struct Pair {
    T t;
    template <Big U> U method(U u, T) { return u; }
    template <typename U> friend U befriended(Pair, U u) requires Big<U> { return u; }
};
template <typename T> int around(T t) {
    auto plain = [t](int x) { return x + t; };
    auto generic = [](auto x, auto... more) { return x + (0 + ... + more); };
    return plain(1) + generic(t) + generic(t, 1, 2L);
}

int main() {
    auto lambda = []<typename T>(T a) requires Big<T> { return a; };
    auto numbered = []<Big T, int N>(T a, std::integral_constant<int, N>) { return a; };
    std::map<std::string, int> map;
    map["a"] = 1;
    std::vector<int> values_of{1, 2, 3};
    int sum = 0, one = 1;
    for (int x : values_of | std::views::filter([](int x) { return x > 1; }) | std::views::transform([](int x) { return x * 2; })) {
        sum += x;
    }
    std::ranges::sort(values_of);
    return sum + constrained(1) + with_clause(1) + with_trailing_clause(1) + with_scope(1) + abbreviated(1, 2)
        + packs(std::index_sequence<1, 2>{}, one, 2L) + values<1>(1, 2) + templates(Box<int>{1}) + constrained_templates<Pair>()
        + Pair<int>{1}.method(2L, 1) + befriended(Pair<int>{1}, 2L) + deduced<3>() + deduced_exactly<4>() + lambda(1)
        + numbered(2, std::integral_constant<int, 3>{}) + around(5) + map["b"];
}
