// Uses enough of the standard library for inlining at every depth. Has a static function, an unnamed namespace, lambdas
// and a pack of references.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
namespace app {
struct Point { int x, y; };
static int weigh(Point p, int k) { return (p.x ^ p.y) * 31 + k; }
namespace { int hide(int a) { return a * 7 + 1; } }
template <class... Args> __attribute__((noinline)) int put(Args&&... args) { return (int(args) + ...); }
template <class F> int apply(F f, int n) { int sum = 0; for (int i = 0; i < n; i++) sum += f(i); return sum; }
}
int main() {
  std::map<std::string, int> names;
  std::unordered_map<int, std::vector<int>> groups;
  int sum = 0;
  for (int i = 0; i < 200; i++) {
    std::string name = "n" + std::to_string(i % 41);
    names[name] += app::weigh({i, sum}, 3) + app::hide(i);
    groups[i % 17].push_back(i);
    sum += app::put(i, i * 2.0, char(i));
  }
  std::vector<std::pair<std::string, int>> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second < b.second; });
  sum += app::apply([&](int i) { return i ^ sum; }, 50) + app::apply([&](int i) { return i + sum; }, 60);
  std::printf("%d %zu %zu\n", sum, sorted.size(), groups.size());
}
