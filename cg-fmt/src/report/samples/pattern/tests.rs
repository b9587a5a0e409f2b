use cg_stream::Reader;

use super::*;

/// Returns the sentence about stacks, each in the form `innermost;…;outermost COUNT`.
fn sentence(stacks: &[&str]) -> String {
    let mut text = String::new();
    for stack in stacks {
        let (frames, samples) = stack.rsplit_once(' ').unwrap();
        let frames: Vec<String> = frames
            .split(';')
            .map(|name| format!("{{\"fn\":\"{name}\"}}"))
            .collect();
        text += &format!(
            "{{\"type\":\"stack\",\"cost\":{{\"samples\":{samples}}},\"stack\":[{}]}}\n",
            frames.join(",")
        );
    }
    let mut reader = Reader::new(text.as_bytes());
    let mut profile = Profile::default();
    while let Some(line) = reader.next_line().unwrap() {
        profile.add(&line).unwrap();
    }
    let functions = profile.functions_of_stacks().unwrap();
    Pattern::judge(&profile, &functions, 0).sentence("samples")
}

#[test]
fn each_pattern_is_named_with_its_figures() {
    let cases: [(&[&str], &str); 8] = [
        (
            &["demo::f;demo::main 99"],
            "pattern: not judged, there are too few samples (99)",
        ),
        (&[], "pattern: not judged, there are too few samples (0)"),
        (
            // `parse` has a self cost of 50 of 200. Its callee does not count.
            &[
                "demo::parse;demo::main 50",
                "demo::a;demo::parse;demo::main 49",
                "demo::b;demo::main 49",
                "demo::c;demo::main 49",
                "demo::main 3",
            ],
            "pattern: a single hot spot (25.00% of samples went into demo::parse itself, 24.50% into the next function)",
        ),
        (
            // With 49 of 201, `parse` is below a quarter. Two other functions have 100 of 201, so half of the cost needs
            // three.
            &[
                "demo::parse;demo::main 49",
                "demo::a;demo::parse;demo::main 50",
                "demo::b;demo::main 50",
                "demo::c;demo::main 50",
                "demo::main 2",
            ],
            "pattern: distributed cost (no function has more than 24.88% of samples itself, the first 3 make half of it)",
        ),
        (
            &[
                "__lll_lock_wait;demo::get;demo::main 40",
                "parking_lot::raw_mutex::RawMutex::lock_slow;demo::put;demo::main 20",
                "demo::work;demo::main 140",
            ],
            "pattern: lock waiting (30.00% of samples went into waiting for locks, most of it, 20.00%, for demo::get)",
        ),
        (
            &[
                "_int_malloc;malloc;demo::push 30",
                "free;core::ptr::drop_in_place<T>;demo::pop 30",
                "__memmove_avx_unaligned;demo::push 20",
                "demo::work 120",
            ],
            "pattern: allocation (30.00% of samples went into allocating and freeing memory, the largest part of it, 15.00%, for demo::pop)",
        ),
        (
            &[
                "__memmove_avx_unaligned;demo::push 50",
                "demo::a 49",
                "demo::b 49",
                "demo::c 49",
                "demo::d 3",
            ],
            "pattern: copying (25.00% of samples went into copying memory, most of it, 25.00%, for demo::push)",
        ),
        (
            &[
                "tokio::runtime::poll;demo::main 30",
                "futex_wait;rayon_core::sleep::sleep;demo::main 35",
                "demo::a;tokio::runtime::poll 35",
            ],
            "pattern: framework overhead (65.00% of samples went into rayon_core, tokio, 35.00% into the program's own code)",
        ),
    ];
    for (stacks, expected) in cases {
        assert_eq!(sentence(stacks), expected);
    }
}

#[test]
fn order_of_stacks_does_not_change_the_pattern() {
    let mut stacks = [
        "malloc;demo::a 25",
        "malloc;demo::b 25",
        "memcpy;demo::a 25",
        "memcpy;demo::b 25",
    ];
    let first = sentence(&stacks);
    for _ in 0..stacks.len() {
        stacks.rotate_left(1);
        assert_eq!(sentence(&stacks), first);
    }
    assert!(first.contains("for demo::a)"), "{first}");
}
