function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function sorted(n) { var a = []; for (var i = 0; i < n; i++) a.push((i * 7919) % 10007); return a.sort(function byValue(x, y) { return x - y; }); }
var Shape = (function () { function Shape(w) { this.w = w; } Shape.prototype.area = function () { var s = 0; for (var i = 0; i < 20000; i++) s += this.w * i; return s; }; return Shape; })();
print(fib(25)); print(sorted(20000).length); var t = 0; for (var k = 0; k < 60; k++) t += new Shape(k).area(); print(t);
