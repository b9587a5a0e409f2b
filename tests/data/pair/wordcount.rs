//! Counts words, in two ways: the program behind `before.callgrind.out` and `after.callgrind.out`.

use std::collections::HashMap;
use std::hint::black_box;

/// A text of a few thousand words, the same in every run.
fn make_text() -> String {
    let stems = ["call", "grind", "cache", "heap", "leak", "stack", "cost", "event"];
    let mut state = 7_u32;
    let mut text = String::new();
    for _ in 0..3000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push_str(stems[(state >> 24) as usize % stems.len()]);
        text.push_str(stems[(state >> 16) as usize % stems.len()]);
        text.push(if state & 0x800 == 0 { ' ' } else { '\n' });
    }
    text
}

/// Before: every word is looked for in a list.
#[cfg(not(faster))]
#[inline(never)]
fn count_words(text: &str) -> Vec<(String, u32)> {
    let mut counts: Vec<(String, u32)> = Vec::new();
    for word in text.split_whitespace() {
        let word = normalise(word);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts
}

/// After: every word is looked up in a map.
#[cfg(faster)]
#[inline(never)]
fn count_words(text: &str) -> Vec<(String, u32)> {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(normalise(word)).or_default() += 1;
    }
    counts.into_iter().collect()
}

#[inline(never)]
fn normalise(word: &str) -> String {
    word.chars().rev().flat_map(char::to_uppercase).collect()
}

#[inline(never)]
fn most_frequent(mut counts: Vec<(String, u32)>) -> Option<String> {
    counts.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
    counts.into_iter().map(|(word, _)| word).next()
}

fn main() {
    let text = make_text();
    let counts = count_words(&text);
    let by_length: HashMap<usize, usize> =
        counts.iter().fold(HashMap::new(), |mut lengths, (word, _)| {
            *lengths.entry(word.len()).or_default() += 1;
            lengths
        });
    black_box(by_length);
    black_box(most_frequent(counts));
}
