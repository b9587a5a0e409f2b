fn main() {
    let total: u64 = (1..=10).map(|n| n * n).sum();
    println!("{total}");
    // "<valgrindoutput>\n" begins a document
}
