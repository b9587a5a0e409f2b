//! The limits of inputs.
//!
//! A small compressed file can describe a huge profile, and a damaged file can claim huge lengths. These limits stop such
//! inputs before they fill the memory. Honest profiles stay far below them. All readers and tables use the limits of this
//! module, so memory is limited in one place.

use std::sync::atomic::{AtomicU64, Ordering};

/// The error of an input that exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// A table has more distinct values than 32 bits can number.
    #[error("more than four billion different names, stacks or rows")]
    Values,
    /// A name is too long.
    #[error("a name has {0} bytes, and the limit is {limit}", limit = NAME)]
    Letters(u64),
    /// A record has too many items.
    #[error("a record has more than {limit} {0}", limit = ITEMS)]
    Items(&'static str),
    /// The contents need too much memory.
    #[error("{}", TOO_MUCH_MEMORY)]
    Bytes,
}

/// The maximum length of a name in bytes. The longest names of C++ templates have about 100,000 bytes.
pub const NAME: usize = 1 << 20;

/// The maximum length of a line in bytes. A stack with 20,000 frames takes 3 MB.
pub const LINE: usize = 32 << 20;

/// The maximum number of items in a repeated field of one record: frames, values, labels.
pub const ITEMS: usize = 1 << 20;

/// The message of an input that needs more memory than these limits allow.
pub const TOO_MUCH_MEMORY: &str =
    "the contents need too much memory for the size of the input; if you trust it, unpack it first";

/// The memory that any input may need, in bytes.
const MEMORY: u64 = 160 << 20;

/// The memory that each byte of an input may need in addition. Text with few repetitions packs 30 to 1, and its tables need
/// at most four times its size.
const MEMORY_PER_BYTE: u64 = 120;

/// The length of an input that may be read into memory as a whole, and the addition for each byte before unpacking.
const WHOLE: u64 = 64 << 20;
const WHOLE_PER_BYTE: u64 = 64;

/// The length to which any input may be unpacked, and the addition for each byte before unpacking.
const UNPACKED: u64 = 4 << 30;
const UNPACKED_PER_BYTE: u64 = 256;

/// The memory that a table may take between two checks.
const UNCHECKED: usize = 8 << 20;

/// The number of bytes that were read from files and pipes, before unpacking.
static READ: AtomicU64 = AtomicU64::new(0);

/// Counts bytes that were read from a file or a pipe, before unpacking. They raise the limits.
pub fn count_input(bytes: u64) {
    READ.fetch_add(bytes, Ordering::Relaxed);
}

/// Returns the maximum length of an input that is read into memory as a whole.
pub fn longest_whole() -> u64 {
    allowance(WHOLE, WHOLE_PER_BYTE)
}

/// Returns the maximum length of an unpacked input.
pub fn longest_unpacked() -> u64 {
    allowance(UNPACKED, UNPACKED_PER_BYTE)
}

fn allowance(base: u64, per_byte: u64) -> u64 {
    base.saturating_add(READ.load(Ordering::Relaxed).saturating_mul(per_byte))
}

/// Returns an error if the process needs much more memory than its inputs are long. `growth` is about to be added.
///
/// This is always `Ok` if the system is none of Linux, macOS and FreeBSD.
///
/// # Errors
/// Returns [`TooMany::Bytes`].
#[cold]
pub fn check_memory(growth: usize) -> Result<(), TooMany> {
    let most = allowance(MEMORY, MEMORY_PER_BYTE);
    match memory_in_use() {
        Some(used) if used.saturating_add(growth as u64) > most => Err(TooMany::Bytes),
        _ => Ok(()),
    }
}

/// Returns the length of a name.
///
/// # Errors
/// Returns [`TooMany::Letters`] if it is longer than [`NAME`].
#[inline]
pub fn check_name(length: usize) -> Result<usize, TooMany> {
    match length {
        ..=NAME => Ok(length),
        _ => Err(TooMany::Letters(length as u64)),
    }
}

/// Appends an item of a repeated field. Before the list grows much, the memory is checked.
///
/// # Errors
/// Returns the error of [`check_memory`].
#[inline]
pub fn push<T>(items: &mut Vec<T>, item: T) -> Result<(), TooMany> {
    if items.len() == items.capacity() {
        let growth = items.len() * size_of::<T>();
        if growth >= UNCHECKED {
            check_memory(growth)?;
        }
    }
    items.push(item);
    Ok(())
}

/// Counts the bytes that a table takes, and checks the memory now and then.
#[derive(Clone, Debug, Default)]
pub struct Growth(usize);

impl Growth {
    /// Adds bytes.
    ///
    /// # Errors
    /// Returns the error of [`check_memory`].
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<(), TooMany> {
        self.0 += bytes;
        if self.0 < UNCHECKED {
            return Ok(());
        }
        self.0 = 0;
        check_memory(bytes)
    }
}

/// Returns the memory of this process, in bytes. It includes mapped files, but the tools map only their own programs.
#[cfg(any(target_os = "macos", target_os = "freebsd"))]
fn memory_in_use() -> Option<u64> {
    memory_stats::memory_stats().map(|stats| stats.physical_mem as u64)
}

/// Returns the memory of this process without mapped files, in bytes; `None` if the system does not report it.
#[cfg(not(any(target_os = "macos", target_os = "freebsd")))]
fn memory_in_use() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let (_, after) = status.split_once("RssAnon:")?;
    let kilobytes: u64 = after.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_limited_in_proportion_to_the_input() {
        assert_eq!(check_memory(0), Ok(()));
        if memory_in_use().is_none() {
            return;
        }
        let growth = 1 << 30;
        assert_eq!(check_memory(growth), Err(TooMany::Bytes));
        count_input(10 << 20);
        assert_eq!(check_memory(growth), Ok(()));
        assert_eq!(longest_whole(), WHOLE + (640 << 20));
        assert_eq!(longest_unpacked(), UNPACKED + (2560 << 20));
    }

    #[test]
    fn long_name_is_refused() {
        crate::ids! { struct NameId; }
        let long = vec![b'n'; NAME + 1];
        let mut names = crate::intern::Bytes::<NameId>::default();
        assert!(names.intern(&long[1..]).is_ok());
        assert_eq!(names.intern(&long), Err(TooMany::Letters(NAME as u64 + 1)));
    }

    #[test]
    fn growing_list_and_table_check_the_memory() {
        let mut growth = Growth::default();
        assert_eq!(growth.add(UNCHECKED - 1), Ok(()));
        assert_eq!(growth.add(1), Ok(()));
        if memory_in_use().is_some() {
            assert_eq!(growth.add(usize::MAX / 2), Err(TooMany::Bytes));
        }
        let mut items = Vec::new();
        (0..9_u8).for_each(|item| push(&mut items, item).unwrap());
        assert_eq!(items.len(), 9);
    }

    #[test]
    fn used_memory_is_measured() {
        let Some(before) = memory_in_use() else {
            return;
        };
        // Other tests of this process free some memory at the same time.
        let filled = vec![1_u8; 256 << 20];
        let after = memory_in_use().unwrap_or_default();
        assert!(
            after - before >= 200 << 20,
            "{before} {after} {}",
            filled[9]
        );
    }
}
