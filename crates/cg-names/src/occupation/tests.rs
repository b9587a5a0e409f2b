use cg_stream::record::{Frame, Name};

use super::*;
use crate::code_origin;

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
