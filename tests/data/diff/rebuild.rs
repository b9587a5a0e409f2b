//! Built twice by the tests of cg-diff, the second time with `--cfg changed`: one function slower, one renamed, one
//! inlined into its caller. Everything else stays.

use std::hint::black_box;

mod work {
    use std::hint::black_box;

    #[inline(never)]
    pub fn slower(values: &[u64]) -> u64 {
        let mut sum = 0u64;
        for value in values {
            sum = sum.wrapping_mul(31).wrapping_add(black_box(*value));
            if cfg!(changed) {
                sum = black_box(sum ^ (sum >> 3));
            }
        }
        sum
    }

    #[inline(never)]
    #[cfg(not(changed))]
    pub fn as_text(values: &[u64]) -> u64 {
        text(values)
    }

    #[inline(never)]
    #[cfg(changed)]
    pub fn to_text(values: &[u64]) -> u64 {
        text(values)
    }

    #[cfg(changed)]
    pub use to_text as as_text;

    #[inline(always)]
    fn text(values: &[u64]) -> u64 {
        let bits = values.iter().map(|value| black_box(*value) ^ 0x5555);
        bits.fold(0, |text, bits| text.rotate_left(3) ^ bits)
    }

    #[cfg_attr(not(changed), inline(never))]
    #[cfg_attr(changed, inline(always))]
    fn inlined_away(value: u64) -> u64 {
        let mut value = value;
        for _ in 0..8 {
            value = black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (value >> 7));
        }
        value
    }

    #[inline(never)]
    pub fn caller(values: &[u64]) -> u64 {
        values
            .iter()
            .fold(0, |sum, value| sum.wrapping_add(inlined_away(*value)))
    }

    #[inline(never)]
    pub fn generic<T: Copy + Into<u64>>(values: &[T], change: impl Fn(u64) -> u64) -> u64 {
        let mut sum = 0;
        for value in values {
            sum += change((*value).into());
        }
        sum
    }
}

fn main() {
    let values: Vec<u64> = (0..2000).collect();
    let bytes: Vec<u8> = (0..200).collect();
    let mut total = work::slower(&values);
    total ^= work::as_text(&values);
    total ^= work::caller(&values);
    total ^= work::generic(&values, |value| black_box(value) + 1);
    total ^= work::generic(&bytes, |value| black_box(value) * 3);
    std::process::exit(i32::from(black_box(total) == 1));
}
