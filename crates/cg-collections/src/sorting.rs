//! Sorting that compiles to little code.
//!
//! The compiler generates the standard library's sorts for each type and each comparison, 5 to 10 KB each, up to a tenth of a
//! tool. The sorts in this module sort the indexes of the elements with one sort for all types, and then move each element once.
//! Use them for data that is sorted once before it is written. An inner loop should use the sorts of [`slice`].

use std::cmp::Ordering;

/// Stable sorts of slices.
pub trait Order<T> {
    /// Sorts like [`slice::sort_by`].
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts like [`slice::sort_by_key`].
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts like [`slice::sort_by_cached_key`], which computes the key of each element once.
    fn order_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts by a number, and elements with equal numbers by a comparison. Faster than a comparison of all elements, because
    /// the numbers are adjacent in memory and need no call.
    fn order_by_number(
        &mut self,
        number: impl FnMut(&T) -> u128,
        compare: impl FnMut(&T, &T) -> Ordering,
    );
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        if self.len() < 2 {
            return;
        }
        let places = sorted_places(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        arrange(self, places);
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }

    fn order_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        let keys: Vec<K> = self.iter().map(key).collect();
        let places = sorted_places(self.len(), &mut |a, b| keys[a].cmp(&keys[b]));
        arrange(self, places);
    }

    fn order_by_number(
        &mut self,
        number: impl FnMut(&T) -> u128,
        mut compare: impl FnMut(&T, &T) -> Ordering,
    ) {
        let numbers = self.iter().map(number).zip(0..).collect();
        let places = numbered_places(numbers, &mut |a, b| compare(&self[a], &self[b]));
        arrange(self, places);
    }
}

/// Returns a number for a text, from its first 16 bytes. It orders texts like these bytes, for [`Order::order_by_number`].
pub fn number_of_text(text: &[u8]) -> u128 {
    let mut start = [0; 16];
    let length = text.len().min(start.len());
    start[..length].copy_from_slice(&text[..length]);
    u128::from_be_bytes(start)
}

/// Returns the indexes of `count` elements in sorted order. Equal elements keep their order.
fn sorted_places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

/// Returns the indexes of elements with numbers in sorted order. Elements with equal numbers are compared, and equal elements
/// keep their order.
fn numbered_places(
    mut numbers: Vec<(u128, usize)>,
    compare: &mut dyn FnMut(usize, usize) -> Ordering,
) -> Vec<usize> {
    numbers.sort_unstable();
    let mut places: Vec<usize> = numbers.iter().map(|(_, place)| *place).collect();
    let mut start = 0;
    for equal in numbers.chunk_by(|(a, _), (b, _)| a == b) {
        let end = start + equal.len();
        if equal.len() > 1 {
            places[start..end].sort_by(|a, b| compare(*a, *b));
        }
        start = end;
    }
    places
}

/// Moves the element at index `wanted[i]` to index `i`, for all `i`. Follows each cycle of the permutation in turn.
fn arrange<T>(elements: &mut [T], mut wanted: Vec<usize>) {
    for start in 0..wanted.len() {
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut wanted[place], place);
            if from == start {
                break;
            }
            elements.swap(place, from);
            place = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    /// All lists of up to six elements with three keys, and one long list. Each element contains its key and its original index.
    fn lists() -> Vec<Vec<(u8, usize)>> {
        let with_places = |keys: Vec<u8>| keys.into_iter().zip(0..).collect();
        let mut lists: Vec<Vec<(u8, usize)>> = vec![with_places(
            (0..1000u32)
                .map(|number| (number * 7919 % 97) as u8)
                .collect(),
        )];
        for length in 0..=6u32 {
            for number in 0..3u32.pow(length) {
                let key = |place| (number / 3u32.pow(place) % 3) as u8;
                lists.push(with_places((0..length).map(key).collect()));
            }
        }
        lists
    }

    #[test]
    fn numbers_of_texts_have_their_order() {
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "aa",
            "b",
            "same first 16 bytes",
            "same first 16 bytez",
            "\u{e9}",
        ];
        for (position, a) in texts.iter().enumerate() {
            for b in &texts[position..] {
                let [a, b] = [a, b].map(|text| number_of_text(text.as_bytes()));
                assert!(a <= b, "{a} {b}");
            }
        }
        assert!(number_of_text(b"a") < number_of_text(b"aa"));
    }

    #[test]
    fn each_sort_gives_what_the_standard_one_gives() {
        for list in lists() {
            let mut expected = list.clone();
            let upside_down =
                |a: &(u8, usize), b: &(u8, usize)| (b.0, a.1 % 2).cmp(&(a.0, b.1 % 2));
            expected.sort_by(upside_down);
            let mut found = list.clone();
            found.order_by(upside_down);
            assert_eq!(found, expected, "{list:?}");

            let mut found = list.clone();
            found.order_by_number(
                |element| u128::MAX - u128::from(element.0),
                |a, b| (b.1 % 2).cmp(&(a.1 % 2)),
            );
            expected = list.clone();
            expected.sort_by_key(|element| (Reverse(element.0), Reverse(element.1 % 2)));
            assert_eq!(found, expected, "{list:?}");

            let mut found = list.clone();
            expected = list.clone();
            expected.sort_by_key(|element| element.0);
            found.order_by_key(|element| element.0);
            assert_eq!(found, expected, "{list:?}");

            let mut found = list.clone();
            let mut made = 0;
            found.order_by_cached_key(|element| {
                made += 1;
                (Reverse(element.0), element.1)
            });
            expected.sort_by_key(|element| (Reverse(element.0), element.1));
            assert_eq!(found, expected, "{list:?}");
            assert_eq!(made, list.len());
        }
    }
}
