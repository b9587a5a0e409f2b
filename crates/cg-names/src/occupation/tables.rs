//! What is known by name: who waits for locks, allocates, copies, and which crates and objects are frameworks. A new one is
//! a line here. A pattern is of the whole name; a C symbol is held against it without `@VERSION` and `.suffix`.

/// Locks, conditions and what waits for them: Linux and its libc, Rust, C++, Go, Java, macOS, Windows.
pub(super) const LOCKING: &[&str] = &[
    r"_*(do_)?futex\w*",
    r"_*(x64_|se_|ia32_|arm64_)?sys_futex\w*",
    r"_*lll_\w+",
    r"_*(GI_+)?pthread_(mutex|rwlock|spin)_\w*lock\w*",
    r"_*(GI_+)?pthread_(cond|barrier)_\w*wait\w*",
    r"_*(GI_+)?sem_(timed|clock)?wait\w*",
    r"_*new_sem_wait\w*",
    // The kernel's own.
    r"_*mutex_(lock|spin_on_owner|optimistic_spin)\w*",
    r"rwsem_\w+",
    r"native_queued_spin_lock_slowpath",
    r"osq_lock",
    r"<?parking_lot(_core)?::.*",
    r"<?lock_api::.*",
    r"<?crossbeam_utils::(sync::parker|backoff)::.*",
    r"<?std::sys::(\w+::)*(mutex|condvar|rwlock|once|futex|thread_parking|locks|parker)\w*::.*",
    r"std::thread::park\w*",
    r"std::(recursive_|timed_|shared_)*mutex::(try_)?lock\w*\(.*\)",
    r"std::condition_variable(_any)?::wait.*",
    r"runtime\.(futex\w*|lock2?|lockWithRank|unlock2?|semacquire\w*|semasleep|notesleep|notetsleepg?)",
    r"sync\.\(\*(RW)?Mutex\)\..*",
    r"sync\.\(\*(Cond|WaitGroup)\)\.Wait",
    r"(ObjectMonitor|ObjectSynchronizer|Monitor)::\w+.*",
    r"Unsafe_Park|java\.util\.concurrent\.locks\..*",
    r"__psynch_\w+|__ulock_wait2?|semaphore_(timed)?wait_trap",
    r"_*pthread_mutex_firstfit_lock_\w+|_?os_unfair_lock_lock\w*",
    r"(Nt|Zw)WaitFor(AlertByThreadId|KeyedEvent)",
    r"Rtlp?(EnterCriticalSection|WaitOnCriticalSection|AcquireSRWLock|SleepConditionVariable)\w*",
];

/// Allocating, freeing, and dropping what holds memory. Frames of allocators that [`whose`](crate::whose) knows count too.
pub(super) const ALLOCATION: &[&str] = &[
    r"_*(GI_+)?(libc_)?(malloc|calloc|realloc|free|cfree|memalign|aligned_alloc|posix_memalign|reallocarray)",
    r"_int_(malloc|free|realloc|memalign)\w*",
    r"malloc_consolidate|unlink_chunk|sysmalloc|systrim|alloc_perturb|tcache_\w+|arena_get2?",
    r"_*(GI_+)?(mmap(64)?|munmap|madvise|s?brk)",
    r"(_rjem_)?je_\w+",
    r"_?mi_\w*(alloc|free|page|segment|heap)\w*",
    r"tc_(malloc|calloc|realloc|free|new|delete)\w*",
    r"operator (new|delete).*",
    r"__rust_\w*alloc\w*|__r(dl|g)_\w*alloc\w*|__rustc::__r\w+_\w*alloc\w*",
    r"<?alloc::(alloc|raw_vec)::.*",
    r"core::ptr::drop_in_place.*",
    r"<.* as core::ops::(drop::)?Drop>::drop",
    r"core::mem::drop(::<.*>|<.*>)?",
    r"runtime\.(mallocgc\w*|newobject|makeslice\w*|growslice|gc[A-Z]\w*|sweepone|bgsweep|scanobject|greyobject|markroot\w*)",
    r"_?szone_\w*(malloc|free)\w*|nano_malloc\w*|tiny_(malloc|free)\w*",
    r"Rtl(p?Allocate|p?Free|ReAllocate)Heap\w*",
];

/// Copying memory and values.
pub(super) const COPYING: &[&str] = &[
    r"_*(GI_+)?(memcpy|memmove|mempcpy|wmemcpy|wmemmove|bcopy|strcpy|strncpy|stpcpy|stpncpy)(_(avx|evex|sse|ssse3|erms|unaligned|chk|generic|neon|sve|mops|a64fx|thunderx|falkor|simd|power)\w*)?",
    r"_*(platform_)?memmove(\$.*)?",
    r"_*(raw_)?copy_(to|from|in)_user\w*|copy_user_\w+|_*copy_(to|from)_iter|rep_movs_alternative|copy_page\w*",
    r"core::(intrinsics|ptr)::(mut_ptr::|const_ptr::)?copy(_nonoverlapping)?(::<.*>|<.*>)?",
    r"core::slice::.*(copy|clone)_from_slice.*",
    r"<.* as core::clone::Clone>::clone(_from)?",
    r"<?alloc::.*::(to_vec|to_owned|into_owned|clone|extend_from_slice)(_\w+)?(::<.*>|<.*>)?",
    r"std::(copy|copy_n|move|uninitialized_copy)(_backward)?<.*",
    r"std::__(copy|uninitialized_copy|copy_move)\w*<.*",
    r"runtime\.(memmove|typedmemmove|typedslicecopy|slicecopy)",
];

/// Crates and namespaces that run a program's own code: executors, thread pools, reactors.
pub(super) const FRAMEWORK_CRATES: [&str; 26] = [
    "tokio",
    "tokio_util",
    "tokio_stream",
    "mio",
    "rayon",
    "rayon_core",
    "crossbeam",
    "crossbeam_channel",
    "crossbeam_deque",
    "crossbeam_epoch",
    "crossbeam_utils",
    "async_std",
    "async_executor",
    "async_global_executor",
    "async_io",
    "async_task",
    "smol",
    "futures",
    "futures_util",
    "futures_executor",
    "futures_channel",
    "hyper",
    "hyper_util",
    "actix_rt",
    "glommio",
    "tbb",
];

/// Objects of frameworks, by the beginning of their names up to `.` or `-`.
pub(super) const FRAMEWORK_OBJECTS: [&str; 5] =
    ["libgomp", "libomp", "libiomp5", "libtbb", "libuv"];
