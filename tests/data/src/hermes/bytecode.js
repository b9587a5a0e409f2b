function outer(n) { function inner(m) { var r = 0; for (var i = 0; i < m; i++) r += Math.sqrt(i); return r; } return inner(n) + inner(n / 2); }
for (var i = 0; i < 60; i++) outer(20000); print('done');
