use cg_stream::record::{Frame, Name};
use regex::Regex;

use super::*;
use crate::code_origin;
use crate::pattern::tests::{names_of_pairs, with_variants};

/// Names for every row of the lists, and names that almost match one.
static EXAMPLES: [(Option<Service>, &[&str]); 4] = [
    (
        Some(Service::Locking),
        &[
            "do_futex",
            "__futex_abstimed_wait_common64",
            "futex_größe",
            "__se_sys_futex_wait",
            "lll_lock_wait_private",
            "__lll_क्षि",
            "__GI___pthread_mutex_unlock",
            "pthread_rwlock_rdlock",
            "pthread_barrier_wait",
            "sem_timedwait",
            "__new_sem_wait_slow64.constprop.0",
            "__mutex_lock.constprop.0",
            "rwsem_down_read_slowpath",
            "native_queued_spin_lock_slowpath",
            "osq_lock",
            "<parking_lot::raw_mutex::RawMutex as lock_api::RawMutex>::lock",
            "lock_api::mutex::Mutex<R,T>::lock",
            "crossbeam_utils::backoff::Backoff::snooze",
            "<std::sys::sync::condvar::futex::Condvar as core::fmt::Debug>::fmt",
            "std::sys::größe::mutex_1::f",
            "std::thread::park_timeout",
            "std::timed_mutex::try_lock_for(int)",
            "std::condition_variable::wait_for",
            "runtime.semacquire1",
            "runtime.unlock2",
            "sync.(*RWMutex).RLock",
            "sync.(*WaitGroup).Wait",
            "ObjectMonitor::enter(JavaThread*)",
            "Unsafe_Park",
            "java.util.concurrent.locks.LockSupport.park",
            "__psynch_cvwait",
            "__ulock_wait2",
            "semaphore_timedwait_trap",
            "_pthread_mutex_firstfit_lock_slow",
            "os_unfair_lock_lock_with_options",
            "ZwWaitForKeyedEvent",
            "RtlpWaitOnCriticalSection",
        ],
    ),
    (
        Some(Service::Allocation),
        &[
            "__GI___libc_malloc",
            "reallocarray",
            "_int_free_maybe_consolidate.part.0",
            "tcache_get",
            "arena_get2",
            "__mmap64",
            "sbrk",
            "_rjem_je_malloc",
            "mi_page_free_list_extend",
            "tc_newarray_nothrow",
            "operator delete[](void*)",
            "__rust_dealloc",
            "__rdl_realloc",
            "__rustc::__rust_alloc",
            "<alloc::raw_vec::RawVec<T,A> as core::ops::drop::Drop>::drop",
            "core::ptr::drop_in_place<demo::Größe>",
            "<T as core::ops::Drop>::drop",
            "core::mem::drop::<alloc::string::String>",
            "runtime.gcDrain",
            "szone_malloc_should_clear",
            "tiny_free_list_add_ptr",
            "RtlpAllocateHeapInternal",
        ],
    ),
    (
        Some(Service::Copying),
        &[
            "__memcpy_avx_unaligned_erms",
            "__strncpy_sse2_unaligned",
            "_platform_memmove$VARIANT$Haswell",
            "__copy_from_user",
            "copy_user_generic_unrolled",
            "_copy_to_iter",
            "copy_page_to_iter",
            "rep_movs_alternative",
            "core::intrinsics::copy_nonoverlapping::<u8>",
            "core::ptr::mut_ptr::copy",
            "core::slice::<impl [T]>::copy_from_slice",
            "<demo::Größe as core::clone::Clone>::clone_from",
            "alloc::str::<impl str>::to_owned",
            "alloc::slice::<impl [T]>::to_vec_in::<A>",
            "std::copy_backward<int*, int*>(int*, int*, int*)",
            "std::__copy_move_a<false>",
            "runtime.typedslicecopy",
        ],
    ),
    (
        None,
        &[
            "futex::wait",
            "futex…",
            "lll_",
            "pthread_mutex_init",
            "pthread_cond_signal",
            "sem_post",
            "mutex_unlock",
            "rwsem_",
            "native_queued_spin_lock_slowpath_x",
            "osq_unlock",
            "crossbeam_utils::thread::scope",
            "std::sys::pal::unix::fs::File::read",
            "std::thread::parker::f",
            "std::mutex::unlock()",
            "std::condition_variable::notify_one()",
            "runtime.lock3",
            "sync.(*Pool).Get",
            "sync.(*Cond).Signal",
            "MyMonitor::f",
            "java.util.concurrent.lock",
            "__ulock_wake",
            "os_unfair_lock_unlock",
            "NtWaitForSingleObject",
            "RtlLeaveCriticalSection",
            "malloc_usable_size",
            "mallocé",
            "_int_",
            "arena_get3",
            "mremap",
            "je_",
            "mi_stats",
            "tc_version",
            "operator==(A, B)",
            "operator new(\n)",
            "__rustc::rust_begin_unwind",
            "alloc::vec::Vec<T>::push",
            "<T as core::ops::Drop>::drop::h",
            "core::mem::dropped",
            "runtime.gcdrain",
            "runtime.markroot.func1",
            "nano_size",
            "RtlSizeHeap",
            "memcpy_s",
            "copy_process",
            "core::ptr::swap",
            "alloc::vec::Vec<T>::len",
            "std::copy(int)",
            "std::__sort<int*>",
            "runtime.memclr",
            "Größe::lock",
            "é",
        ],
    ),
];

#[test]
fn examples_have_their_services() {
    for (service, names) in &EXAMPLES {
        for name in *names {
            assert_eq!(Role::from_name(name, "").service, *service, "{name}");
        }
    }
}

#[test]
fn every_pattern_has_an_example_and_matches_as_in_the_regex_crate() {
    let examples = || EXAMPLES.iter().flat_map(|(_, names)| names.iter().copied());
    let names = with_variants(examples().chain(names_of_pairs()));
    let rows = [*LOCKING, *ALLOCATION, *COPYING];
    for row in rows.iter().flat_map(|list| list.iter().copied()) {
        let pattern = NamePattern::parse(row).unwrap();
        let regex = Regex::new(&format!("^(?:{row})$")).unwrap();
        let is_known = |name| pattern.matches(name) || pattern.matches(without_version(name));
        assert!(examples().any(is_known), "{row}");
        for name in &names {
            assert_eq!(
                pattern.matches(name),
                regex.is_match(name),
                "{row} | {name}"
            );
        }
    }
}

#[test]
fn services_are_recognised_by_whole_names() {
    use Service::{Allocation, Copying, Locking};
    for (name, expected) in [
        ("__lll_lock_wait", Some(Locking)),
        ("___pthread_mutex_lock", Some(Locking)),
        ("pthread_cond_wait@@GLIBC_2.3.2", Some(Locking)),
        ("__x64_sys_futex", Some(Locking)),
        ("futex_wait_queue", Some(Locking)),
        ("parking_lot::raw_mutex::RawMutex::lock_slow", Some(Locking)),
        (
            "std::sys::sync::mutex::futex::Mutex::lock_contended",
            Some(Locking),
        ),
        ("std::sys::pal::unix::futex::futex_wait", Some(Locking)),
        ("runtime.futex", Some(Locking)),
        ("runtime.lock2", Some(Locking)),
        ("sync.(*Mutex).lockSlow", Some(Locking)),
        ("demo::futexes", None),
        ("lock_file", None),
        ("_int_malloc", Some(Allocation)),
        ("unlink_chunk.isra.0", Some(Allocation)),
        ("cfree@GLIBC_2.2.5", Some(Allocation)),
        ("operator new(unsigned long)", Some(Allocation)),
        ("core::ptr::drop_in_place<demo::Tree>", Some(Allocation)),
        (
            "<demo::Tree as core::ops::drop::Drop>::drop",
            Some(Allocation),
        ),
        ("_rjem_je_arena_tcache_fill_small", Some(Allocation)),
        ("runtime.mallocgc", Some(Allocation)),
        ("freeze", None),
        ("free_list_pop", None),
        ("demo::malloc_all", None),
        ("__memmove_avx_unaligned_erms", Some(Copying)),
        ("copy_user_enhanced_fast_string", Some(Copying)),
        (
            "<alloc::string::String as core::clone::Clone>::clone",
            Some(Copying),
        ),
        ("alloc::slice::<impl [T]>::to_vec", Some(Copying)),
        ("runtime.memmove", Some(Copying)),
        ("memcpy_rows_of", None),
        ("demo::copy", None),
        ("memset", None),
        ("", None),
        ("???", None),
    ] {
        assert_eq!(Role::from_name(name, "").service, expected, "{name}");
    }
}

#[test]
fn frameworks_are_recognised_by_crate_and_object() {
    for (name, object, expected) in [
        ("tokio::runtime::park::Parker::park", "", Some("tokio")),
        (
            "<rayon_core::job::StackJob<L,F,R> as rayon_core::job::Job>::execute",
            "",
            Some("rayon_core"),
        ),
        (
            "gomp_team_barrier_wait_end",
            "/usr/lib/libgomp.so.1.0.0",
            Some("libgomp"),
        ),
        ("demo::tokio::f", "/opt/demo", None),
        ("tokio", "/opt/tokio", None),
        ("", "", None),
    ] {
        assert_eq!(Role::from_name(name, object).framework, expected, "{name}");
    }
}

/// Returns the occupation of a stack, and the function that the time is spent for. A frame is a name and an object.
fn classify(stack: &[(&'static str, &'static str)]) -> (Occupation, Option<&'static str>) {
    let frames: Vec<Frame> = stack
        .iter()
        .map(|(name, object)| Frame {
            name: Some(Name::from(*name)),
            obj: (!object.is_empty()).then(|| Name::from(*object)),
            ..Frame::default()
        })
        .collect();
    let whose = code_origin::classify_stack(&frames);
    let (occupation, owner) = find_occupation(stack.len(), |position| {
        let (name, object) = stack[position];
        (whose[position], Role::from_name(name, object))
    });
    (occupation, owner.map(|position| stack[position].0))
}

#[test]
fn the_time_of_a_stack_is_spent_for_the_innermost_own_code() {
    use Occupation::{Framework, Libraries, Own, Service as Uses};
    let main = ("demo::main", "");
    for (stack, expected) in [
        (vec![("demo::parse", ""), main], (Own, Some("demo::parse"))),
        // Rust's own library counts as the program.
        (
            vec![("core::str::from_utf8", ""), ("demo::parse", ""), main],
            (Own, Some("demo::parse")),
        ),
        (
            vec![
                ("futex_wait", ""),
                ("__lll_lock_wait", ""),
                ("demo::Cache::get", ""),
                main,
            ],
            (Uses(Service::Locking), Some("demo::Cache::get")),
        ),
        (
            vec![
                ("parking_lot_core::parking_lot::park", ""),
                ("parking_lot::raw_mutex::RawMutex::lock_slow", ""),
                ("demo::Cache::get", ""),
            ],
            (Uses(Service::Locking), Some("demo::Cache::get")),
        ),
        // The innermost service counts: the allocator waits for its arena.
        (
            vec![("__lll_lock_wait", ""), ("malloc", ""), ("demo::f", "")],
            (Uses(Service::Locking), Some("demo::f")),
        ),
        (
            vec![
                ("_int_free", ""),
                ("free", ""),
                ("core::ptr::drop_in_place<demo::Tree>", ""),
                ("demo::f", ""),
            ],
            (Uses(Service::Allocation), Some("demo::f")),
        ),
        (
            vec![
                ("__memmove_avx_unaligned_erms", "/usr/lib/libc.so.6"),
                ("demo::f", ""),
            ],
            (Uses(Service::Copying), Some("demo::f")),
        ),
        (
            vec![("__sin_fma", "/usr/lib/libm.so.6"), ("demo::f", "")],
            (Libraries, Some("demo::f")),
        ),
        // A worker that waits for work belongs to its framework.
        (
            vec![
                ("futex_wait", ""),
                ("parking_lot::condvar::Condvar::wait", ""),
                ("tokio::runtime::park::park", ""),
                main,
            ],
            (Framework("tokio"), Some("tokio::runtime::park::park")),
        ),
        (
            vec![("demo::work", ""), ("tokio::runtime::task::poll", "")],
            (Own, Some("demo::work")),
        ),
        (
            vec![
                (
                    "gomp_barrier_wait",
                    "/usr/lib/x86_64-linux-gnu/libgomp.so.1",
                ),
                ("demo::f", ""),
            ],
            (Framework("libgomp"), Some("gomp_barrier_wait")),
        ),
        (vec![("malloc", "")], (Uses(Service::Allocation), None)),
        (vec![], (Libraries, None)),
    ] {
        assert_eq!(classify(&stack), expected, "{stack:?}");
    }
}
