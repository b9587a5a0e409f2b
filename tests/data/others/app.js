const threads = [1, 2, 3];
for (const t of threads) {
  console.log(t);
}
