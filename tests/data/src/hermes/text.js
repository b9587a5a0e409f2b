var words = {}; function count(line) { line.split(' ').forEach(function each(w) { words[w] = (words[w] || 0) + 1; }); }
for (var i = 0; i < 20000; i++) count('the quick brown fox ' + i % 100); print(Object.keys(words).length);
function repeat(s) { return s.replace(/o/g, function up(m) { return m.toUpperCase(); }); } for (var j = 0; j < 20000; j++) repeat('foo boo'); print(JSON.stringify(words).length);
