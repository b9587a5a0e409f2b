import time
def leaf(n):
    s = 0
    for i in range(n): s += i * i
    return s
def rec(n):
    return leaf(20000) if n == 0 else rec(n - 1) + leaf(3000)
def heavy():
    for _ in range(20): rec(4)
def light():
    for _ in range(5): leaf(30000)
for _ in range(6):
    heavy(); light()
