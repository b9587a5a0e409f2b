//! Patterns for names of functions that wait for locks, allocate or copy, and names of frameworks. A new one is a line of
//! `names.txt`. A pattern has the syntax of [`crate::pattern`] and matches the whole name. C symbols are also compared
//! without `@VERSION` and `.suffix`.

crate::lists::lists! { "names.txt":
    LOCKING ALLOCATION COPYING FRAMEWORK_CRATES FRAMEWORK_OBJECTS
}
