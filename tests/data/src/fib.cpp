#include <string>
template <int N> struct F { static constexpr int v = F<N-1>::v + F<N-2>::v; };
template <> struct F<0> { static constexpr int v = 0; };
template <> struct F<1> { static constexpr int v = 1; };
int main() { std::string s; s += char(F<20>::v); return s.size(); }
