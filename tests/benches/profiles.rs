//! Benchmark: parses callgrind and cachegrind profiles, in bytes per second.
//!
//! Run `cargo bench -p tests --features bench --bench profiles`. The benchmark generates its profiles in a temporary folder.
//! They have the proportions of real profiles: costs with and without addresses, calls, inlined files, each name once.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run has nothing to measure"
)]

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use cg_parse::Options;
use cg_stream::Diagnostics;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const FUNCTIONS: u64 = 5_000;
const EVENTS: &str = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim";

/// Generates a callgrind profile of a large program: with `--dump-instr=yes --cache-sim=yes --branch-sim=yes`, or with
/// default options.
fn callgrind(has_instructions: bool) -> String {
    let mut text = String::from("# callgrind format\nversion: 1\n");
    let (positions, events) = if has_instructions {
        ("instr line", EVENTS)
    } else {
        ("line", "Ir")
    };
    write!(
        text,
        "positions: {positions}\nevents: {events}\n\nob=(1) /usr/bin/prog\n"
    )
    .unwrap();
    for function in 0..FUNCTIONS {
        let file = function / 20;
        if function % 20 == 0 {
            writeln!(text, "fl=({file}) /home/dev/src/file_{file}.rs").unwrap();
        }
        writeln!(
            text,
            "fn=({function}) crate::module_{file}::Type<T>::method_{function}"
        )
        .unwrap();
        for line in 0..30 {
            let count = (function * 7919 + line) % 5000 + 1;
            let base = if has_instructions {
                format!("0x{:x} ", 0x40_0000 + function * 512)
            } else {
                String::new()
            };
            match (line, has_instructions) {
                (0, _) => writeln!(text, "{base}{} {count}", line + 10).unwrap(),
                (_, true) if line % 3 == 0 => {
                    writeln!(text, "+4 +1 {count} {count} 0 0 3").unwrap()
                }
                (_, true) => writeln!(text, "+3 * {count}").unwrap(),
                (_, false) => writeln!(text, "+1 {count}").unwrap(),
            }
            if line % 6 == 5 {
                let callee = (function + line * 37) % (function + 1);
                let target = if has_instructions {
                    "0x400000 10"
                } else {
                    "10"
                };
                let same = if has_instructions { "* *" } else { "*" };
                writeln!(
                    text,
                    "cfn=({callee})\ncalls={count} {target}\n{same} {count}99"
                )
                .unwrap();
            }
        }
        text.push('\n');
    }
    text
}

fn cachegrind() -> String {
    let mut text = format!("desc: I1 cache: 32768 B\ncmd: ./prog\nevents: {EVENTS}\n");
    let mut sum = 0;
    for function in 0..FUNCTIONS {
        if function % 20 == 0 {
            writeln!(text, "fl=/home/dev/src/file_{}.rs", function / 20).unwrap();
        }
        writeln!(text, "fn=crate::module::Type<T>::method_{function}").unwrap();
        for line in 0..30 {
            let count = (function * 7919 + line) % 5000 + 1;
            sum += count;
            writeln!(text, "{} {count} 0 0 0 0 0 0 0 0 0 0 0 0", line + 10).unwrap();
        }
    }
    writeln!(text, "summary: {sum} 0 0 0 0 0 0 0 0 0 0 0 0").unwrap();
    text
}

fn benchmarks(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(20);
    for (kind, text) in [
        ("callgrind with instructions", callgrind(true)),
        ("callgrind", callgrind(false)),
        ("cachegrind", cachegrind()),
    ] {
        let path: PathBuf = folder.path().join(kind);
        std::fs::write(&path, &text).unwrap();
        let inputs = [path];
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(kind, |bencher| {
            bencher.iter(|| {
                let mut diagnostics = Diagnostics::to(|message, _| panic!("{message}"));
                cg_parse::parse(
                    &inputs,
                    None,
                    &Options::default(),
                    &mut io::sink(),
                    &mut diagnostics,
                )
                .unwrap();
            });
        });
    }
    group.finish();
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
