def leaf(n): return sum(range(n))
def rec(n): return leaf(200) if n == 0 else rec(n - 1) + leaf(30)
for _ in range(3): rec(3)
