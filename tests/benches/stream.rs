//! Benchmark: reads a stream of `fn` records with 13 events, in bytes per second.
//!
//! Run `cargo bench -p tests --features bench --bench stream`. `lines` is the lower bound: it finds line ends and record
//! types and parses nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run has nothing to measure"
)]

use std::hint::black_box;

use cg_profile::Profile;
use cg_stream::record::{Counts, FnRecord, Name, RecordType, RunRecord};
use cg_stream::{Reader, Writer};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const EVENTS: [&str; 13] = [
    "Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "Bc", "Bcm", "Bi", "Bim",
];
const RECORDS: u64 = 20_000;

/// Generates a stream like the one for a large C++ program with cache and branch simulation. Every count is present, and
/// names have 60 bytes.
fn stream() -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    let events: Vec<String> = EVENTS.iter().map(|event| (*event).to_owned()).collect();
    writer
        .run(&RunRecord {
            events: events.clone(),
            ..RunRecord::new("callgrind")
        })
        .unwrap();
    for number in 0..RECORDS {
        let name = format!("llvm::SelectionDAG::Legalize::node_{number}(llvm::SDNode*, unsigned)");
        let cost: Vec<i128> = (0..13)
            .map(|event| i128::from(number * 7919 % 100_000 + event + 1))
            .collect();
        writer
            .record(&FnRecord {
                name: Some(Name::from(name.as_str())),
                file: Some(Name::from(
                    "/build/llvm/lib/CodeGen/SelectionDAG/LegalizeDAG.cpp",
                )),
                obj: Some(Name::from("/usr/lib/llvm/bin/clang")),
                calls: Some(number),
                cost: Counts::from_row(&events, cost.iter().copied()),
                incl: Counts::from_row(&events, cost.iter().map(|count| count * 3)),
                ..FnRecord::default()
            })
            .unwrap();
    }
    writer.end().unwrap();
    out
}

fn benchmarks(criterion: &mut Criterion) {
    let stream = stream();
    let mut group = criterion.benchmark_group("stream");
    group
        .throughput(Throughput::Bytes(stream.len() as u64))
        .sample_size(20);
    group.bench_function("lines", |bencher| {
        bencher.iter(|| {
            let mut reader = Reader::new(&stream[..]);
            let mut functions = 0;
            while let Some(line) = reader.next_line().unwrap() {
                functions += usize::from(line.kind == RecordType::Fn);
            }
            functions
        });
    });
    group.bench_function("typed read", |bencher| {
        bencher.iter(|| {
            let mut reader = Reader::new(&stream[..]);
            while let Some(line) = reader.next_line().unwrap() {
                if line.kind == RecordType::Fn {
                    black_box(line.parse::<FnRecord>().unwrap());
                }
            }
        });
    });
    group.bench_function("profile", |bencher| {
        bencher.iter(|| {
            let mut reader = Reader::new(&stream[..]);
            let mut profile = Profile::default();
            while let Some(line) = reader.next_line().unwrap() {
                profile.add(&line).unwrap();
            }
            profile
        });
    });
    group.finish();
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
