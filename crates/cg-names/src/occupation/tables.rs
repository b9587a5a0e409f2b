//! What is known by name: who waits for locks, allocates, copies, and which crates and objects are frameworks. A new one is
//! a line of `names.txt`. A pattern is of the whole name; a C symbol is held against it without `@VERSION` and `.suffix`.

crate::lists::lists! { "names.txt":
    LOCKING ALLOCATION COPYING FRAMEWORK_CRATES FRAMEWORK_OBJECTS
}
