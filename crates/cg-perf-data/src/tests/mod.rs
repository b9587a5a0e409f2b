//! Recordings built word by word, and recordings of the test data.

use std::path::{Path, PathBuf};

use cg_reader::{Options, Search};
use parsed::{Parsed, read, shown_stacks};
use tempfile::TempDir;

use crate::attributes::sample_type::*;
use crate::fields::FileEndian;
use crate::records::kind;

mod directory;
mod events;

const KERNEL: u64 = -128i64 as u64;
const USER: u64 = -512i64 as u64;
/// Processor modes of records.
const KERNEL_MODE: u16 = 1;
const USER_MODE: u16 = 2;
const EXEC: u16 = 1 << 13;

/// A recording from a pipe.
struct Pipe {
    endian: FileEndian,
    bytes: Vec<u8>,
}

/// A word of a record.
enum Part<'a> {
    U32(u32),
    U64(u64),
    Text(&'a str),
}

use Part::{Text, U32, U64};

impl Pipe {
    /// Creates a recording with one event, whose samples have these fields.
    fn new(endian: FileEndian, fields: u64) -> Pipe {
        let magic: &[u8] = match endian {
            FileEndian::Little => b"PERFILE2",
            FileEndian::Big => b"2ELIFREP",
        };
        let mut pipe = Pipe {
            endian,
            bytes: magic.to_vec(),
        };
        pipe.push(&[U64(16)]);
        pipe.event(0, fields, 4000, &[1])
    }

    fn little(fields: u64) -> Pipe {
        Pipe::new(FileEndian::Little, fields)
    }

    /// Adds a software event with a number, a period and ids.
    fn event(self, number: u64, fields: u64, period: u64, ids: &[u64]) -> Pipe {
        self.event_read(number, fields, [period, 0, 0], ids)
    }

    /// Does the same, with a format for counter values, and flags.
    fn event_read(
        self,
        number: u64,
        fields: u64,
        [period, read_format, flags]: [u64; 3],
        ids: &[u64],
    ) -> Pipe {
        // Records other than samples end with thread and time.
        let sample_id_all: u64 = 1 << 18;
        let flags = flags | sample_id_all;
        let flags = match self.endian {
            FileEndian::Little => flags,
            FileEndian::Big => flags.reverse_bits(),
        };
        let mut parts = vec![
            U32(1),
            U32(112),
            U64(number),
            U64(period),
            U64(fields),
            U64(read_format),
            U64(flags),
        ];
        parts.extend((0..8).map(|_| U64(0)));
        parts.extend(ids.iter().map(|id| U64(*id)));
        self.record(kind::ATTRIBUTE, 0, &parts)
    }

    fn push(&mut self, parts: &[Part]) {
        for part in parts {
            match (part, self.endian) {
                (U32(word), FileEndian::Little) => self.bytes.extend(word.to_le_bytes()),
                (U32(word), FileEndian::Big) => self.bytes.extend(word.to_be_bytes()),
                (U64(word), FileEndian::Little) => self.bytes.extend(word.to_le_bytes()),
                (U64(word), FileEndian::Big) => self.bytes.extend(word.to_be_bytes()),
                (Text(text), _) => {
                    self.bytes.extend(text.as_bytes());
                    let padding = (text.len() + 1).next_multiple_of(8) - text.len();
                    self.bytes.extend(vec![0; padding]);
                }
            }
        }
    }

    fn record(mut self, kind: u32, misc: u16, parts: &[Part]) -> Pipe {
        let start = self.bytes.len();
        self.push(&[U32(kind), U32(0)]);
        self.push(parts);
        let size = (self.bytes.len() - start) as u16;
        let words = match self.endian {
            FileEndian::Little => [misc.to_le_bytes(), size.to_le_bytes()],
            FileEndian::Big => [misc.to_be_bytes(), size.to_be_bytes()],
        };
        self.bytes[start + 4..start + 8].copy_from_slice(&words.concat());
        self
    }

    fn comm(self, pid: u32, misc: u16, name: &str, time: u64) -> Pipe {
        let parts = [
            U32(pid),
            U32(pid),
            Text(name),
            U32(pid),
            U32(pid),
            U64(time),
        ];
        self.record(kind::COMM, misc, &parts)
    }

    fn map(self, pid: u32, start: u64, offset: u64, path: &str, time: u64) -> Pipe {
        let misc = if pid == u32::MAX {
            KERNEL_MODE
        } else {
            USER_MODE
        };
        let place = [U32(pid), U32(pid), U64(start), U64(0x1000), U64(offset)];
        let identity = [U64(0), U64(0), U64(0), U32(5), U32(0), Text(path)];
        let end = [U32(pid), U32(pid), U64(time)];
        let parts: Vec<Part> = place.into_iter().chain(identity).chain(end).collect();
        self.record(kind::MMAP2, misc, &parts)
    }

    fn fork(self, pid: u32, parent: u32, time: u64) -> Pipe {
        let parts = [
            U32(pid),
            U32(parent),
            U32(pid),
            U32(parent),
            U64(time),
            U32(pid),
            U32(pid),
            U64(time),
        ];
        self.record(kind::FORK, 0, &parts)
    }

    /// Adds a sample of a process with `IP | TID | TIME | CALLCHAIN`.
    fn sample(self, pid: u32, time: u64, chain: &[u64]) -> Pipe {
        let ip = chain
            .iter()
            .find(|word| **word < KERNEL - 4000)
            .copied()
            .unwrap_or(0);
        let mut parts = vec![
            U64(ip),
            U32(pid),
            U32(pid),
            U64(time),
            U64(chain.len() as u64),
        ];
        parts.extend(chain.iter().map(|word| U64(*word)));
        self.record(kind::SAMPLE, USER_MODE, &parts)
    }

    fn end_of_round(self) -> Pipe {
        self.record(kind::FINISHED_ROUND, 0, &[])
    }

    fn read_below(&self, roots: &[&Path]) -> Parsed {
        let roots: Vec<PathBuf> = roots.iter().map(|root| (*root).to_owned()).collect();
        let options = Options {
            search: Search {
                roots,
                caches: Vec::new(),
                ..Search::default()
            },
            ..Options::default()
        };
        read(crate::parse, &self.bytes, &options)
    }

    fn stacks(&self) -> Vec<String> {
        let mut shown = shown_stacks(&self.read_below(&[]));
        shown.sort();
        shown
    }
}

const CHAINS: u64 = IP | TID | TIME | CALLCHAIN;

#[test]
fn frames_are_in_the_mappings_at_the_time_of_the_sample() {
    let start = |pipe: Pipe| pipe.comm(7, 0, "a", 1).map(7, 0x1000, 0x3000, "/old", 2);
    let cases: [(&str, Pipe, &[&str]); 7] = [
        (
            "an offset in the file",
            start(Pipe::little(CHAINS)).sample(7, 3, &[USER, 0x1010, 0x1020]),
            &["4000 a: old+0x3010@/old<old+0x3020@/old"],
        ),
        (
            "a newer mapping replaces the part of an older one that it covers",
            start(Pipe::little(CHAINS))
                .map(7, 0x1800, 0, "/new", 4)
                .sample(7, 5, &[USER, 0x17ff, 0x1900, 0x27ff, 0x2801]),
            &["4000 a: old+0x37ff@/old<new+0x100@/new<new+0xfff@/new<[unknown]"],
        ),
        (
            "a fork inherits its parent's mappings, and its own mappings are separate",
            start(Pipe::little(CHAINS))
                .fork(8, 7, 3)
                .map(8, 0x1000, 0, "/child", 5)
                .sample(8, 4, &[USER, 0x1010])
                .sample(8, 6, &[USER, 0x1010])
                .sample(7, 6, &[USER, 0x1010]),
            &[
                "4000 a: child+0x10@/child",
                "4000 a: old+0x3010@/old",
                "4000 a: old+0x3010@/old",
            ],
        ),
        (
            "executing a program removes the mappings",
            start(Pipe::little(CHAINS))
                .comm(7, EXEC, "b", 3)
                .sample(7, 4, &[USER, 0x1010]),
            &["4000 b: [unknown]"],
        ),
        (
            "renaming a thread keeps the mappings",
            start(Pipe::little(CHAINS))
                .comm(7, 0, "b", 3)
                .sample(7, 4, &[USER, 0x1010]),
            &["4000 b: old+0x3010@/old"],
        ),
        (
            "records within a round may be in any order",
            Pipe::little(CHAINS)
                .sample(7, 3, &[USER, 0x1010])
                .map(7, 0x1000, 0x3000, "/old", 2)
                .comm(7, 0, "a", 1)
                .end_of_round()
                .sample(7, 6, &[USER, 0x1010])
                .end_of_round()
                .map(7, 0x1000, 0, "/new", 5)
                .end_of_round(),
            &["4000 a: new+0x10@/new", "4000 a: old+0x3010@/old"],
        ),
        (
            "the kernel's frames precede the program's",
            start(Pipe::little(CHAINS))
                .map(
                    u32::MAX,
                    0xffff_ffff_8100_0000,
                    0xffff_ffff_8100_0000,
                    "[kernel.kallsyms]_text",
                    2,
                )
                .sample(7, 3, &[KERNEL, 0xffff_ffff_8100_0010, USER, 0x1010]),
            &[
                "4000 a: [kernel.kallsyms]+0xffffffff81000010@[kernel.kallsyms][kernel]<old+0x3010@/old",
            ],
        ),
    ];
    for (claim, pipe, expected) in cases {
        assert_eq!(pipe.stacks(), expected, "{claim}");
    }
}

#[test]
fn both_byte_orders_give_the_same_records() {
    let recording = |endian| {
        Pipe::new(endian, CHAINS)
            .comm(7, 0, "a", 1)
            .map(7, 0x1000, 0x3000, "/old", 2)
            .sample(7, 3, &[USER, 0x1010])
    };
    let [little, big] =
        [FileEndian::Little, FileEndian::Big].map(|endian| recording(endian).read_below(&[]));
    assert_eq!(little.records, big.records);
    assert_eq!(shown_stacks(&big), ["4000 a: old+0x3010@/old"]);
}

#[test]
fn lost_records_are_reported() {
    let pipe = Pipe::little(CHAINS)
        .sample(7, 1, &[USER, 0x10])
        .record(kind::LOST, 0, &[U64(1), U64(20), U32(7), U32(7), U64(2)])
        .record(kind::LOST_SAMPLES, 0, &[U64(3), U32(7), U32(7), U64(2)]);
    let read = pipe.read_below(&[]);
    assert!(read.is_whole());
    assert_eq!(
        read.messages,
        ["in: perf lost 23 samples or other records while it recorded"]
    );
}

#[test]
fn generated_code_is_named_by_the_files_of_its_runtime() {
    let root = TempDir::new().unwrap();
    std::fs::create_dir(root.path().join("tmp")).unwrap();
    std::fs::write(
        root.path().join("tmp/perf-7.map"),
        "1000 10 a->b\n0x1010 0x10 void g(int)\nnonsense\n",
    )
    .unwrap();
    // A second function is loaded at the first one's address, and then moved.
    let mut dump = Pipe {
        endian: FileEndian::Little,
        bytes: b"DTiJ".to_vec(),
    };
    dump.push(&[U32(1), U32(40), U32(62), U64(0), U64(0), U64(0)]);
    let mut load = |time: u64, index: u64, name: &str| {
        dump.push(&[
            U32(0),
            U32(64),
            U64(time),
            U64(0),
            U64(0),
            U64(0x1800),
            U64(0x10),
            U64(index),
            Text(name),
        ]);
    };
    load(10, 1, "first");
    load(20, 2, "second");
    dump.push(&[
        U32(1),
        U32(64),
        U64(30),
        U64(0),
        U64(0),
        U64(0x1800),
        U64(0x1900),
        U64(0x10),
        U64(2),
    ]);
    std::fs::write(root.path().join("jit-7.dump"), &dump.bytes).unwrap();
    let pipe = Pipe::little(CHAINS)
        .comm(7, 0, "a", 1)
        .map(7, 0x1000, 0, "//anon", 2)
        .map(7, 0x9000, 0, "/home/dev/jit-7.dump", 2)
        .sample(7, 3, &[USER, 0x1005, 0x1021])
        .sample(7, 11, &[USER, 0x1800])
        .sample(7, 21, &[USER, 0x180f])
        .sample(7, 31, &[USER, 0x1900]);
    let read = pipe.read_below(&[root.path()]);
    let mut shown = shown_stacks(&read);
    shown.sort();
    assert_eq!(
        shown,
        [
            "4000 a: b[jit][inlined]<a[jit]<[unknown]@//anon",
            "4000 a: first[jit]",
            "8000 a: second[jit]",
        ]
    );
    assert_eq!(read.messages.len(), 1);
    assert!(
        read.messages[0].starts_with("in: 1 frame in //anon has no name: this is generated code"),
        "{:?}",
        read.messages
    );
}

#[test]
fn kernel_symbols_come_from_the_recorded_build() {
    let root = TempDir::new().unwrap();
    let build = "0102030405060708090a0b0c0d0e0f1011121314";
    let folder = root.path().join("[kernel.kallsyms]").join(build);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("kallsyms"),
        "ffffffff81000000 T _text\nffffffff81000100 t __do_it\nffffffff81000100 T do_it\nffffffff81000180 d data\nffffffffc0000000 t read_page\t[ext4]\n",
    )
    .unwrap();
    // The kernel was loaded 0x1000000 higher than when the copy was made.
    let recording = |last: u8| {
        let id: Vec<u8> = (1..20).chain([last]).collect();
        let words = id
            .chunks(4)
            .map(|word| U32(u32::from_le_bytes(word.try_into().unwrap())));
        let parts = [U32(u32::MAX)].into_iter().chain(words);
        let parts: Vec<Part> = parts.chain([U32(20), Text("[kernel.kallsyms]")]).collect();
        Pipe::little(CHAINS)
            .record(kind::BUILD_ID, 1 << 15, &parts)
            .map(
                u32::MAX,
                0xffff_ffff_8200_0000,
                0xffff_ffff_8200_0000,
                "[kernel.kallsyms]_text",
                1,
            )
            .sample(
                7,
                2,
                &[KERNEL, 0xffff_ffff_8200_0190, 0xffff_ffff_c100_0008],
            )
    };
    assert_eq!(
        shown_stacks(&recording(20).read_below(&[root.path()])),
        ["4000 :7: do_it@[kernel.kallsyms][kernel]<read_page@[ext4][kernel]"]
    );
    let other = recording(21).read_below(&[root.path()]);
    assert_eq!(
        shown_stacks(&other),
        [
            "4000 :7: [kernel.kallsyms]+0xffffffff82000190@[kernel.kallsyms][kernel]<[kernel.kallsyms]+0xffffffffc1000008@[kernel.kallsyms][kernel]"
        ]
    );
    assert!(other.messages[0].contains("2 frames in [kernel.kallsyms] have no names"));
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/perf-data")
}

fn recorded(name: &str, roots: &[&Path]) -> Parsed {
    let bytes = std::fs::read(data().join(name)).unwrap();
    let endian = FileEndian::Little;
    Pipe { endian, bytes }.read_below(roots)
}

/// Functions with their numbers of samples.
type SampledFunctions<'a> = &'a [(&'a str, u64)];

/// Returns the samples of each function, without inlined frames: first as the running function, then anywhere on the stack.
fn by_function(read: &Parsed) -> [Vec<(String, u64)>; 2] {
    let (mut own, mut inclusive) = (
        std::collections::BTreeMap::new(),
        std::collections::BTreeMap::new(),
    );
    for record in read.records_of_type("stack") {
        let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
        let samples = record["cost"]["samples"].as_u64().unwrap();
        let frames = record["stack"].as_array().unwrap().iter();
        let frames = frames.filter(|frame| frame["inlined"] != true);
        let mut names: Vec<String> = frames
            .map(|frame| frame["fn"].as_str().unwrap().to_owned())
            .collect();
        *own.entry(names[0].clone()).or_default() += samples;
        names.sort();
        names.dedup();
        for name in names {
            *inclusive.entry(name).or_default() += samples;
        }
    }
    [own, inclusive].map(|counts| counts.into_iter().collect())
}

#[test]
fn samples_of_functions_agree_with_perf_script() {
    // The expected figures come from perf script --no-inline -i FILE, counted with awk.
    let cases: [(&str, SampledFunctions, SampledFunctions); 2] = [
        (
            "6.1-spin.data",
            &[("heavy", 43), ("spin", 104)],
            &[
                ("_start", 147),
                ("heavy", 43),
                ("loop", 147),
                ("rec", 10),
                ("run", 147),
                ("spin", 104),
            ],
        ),
        (
            "6.1-spin-dwarf.data",
            &[("heavy", 25), ("spin", 56)],
            &[
                ("_start", 81),
                ("heavy", 59),
                ("light", 11),
                ("loop", 81),
                ("rec", 11),
                ("run", 81),
                ("spin", 56),
            ],
        ),
    ];
    let folder = data();
    for (name, own, inclusive) in cases {
        let read = recorded(name, &[&folder]);
        assert!(
            read.is_whole() && read.messages.is_empty(),
            "{name}: {:?}",
            read.messages
        );
        let text = |counts: SampledFunctions| -> Vec<(String, u64)> {
            counts
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect()
        };
        assert_eq!(by_function(&read), [text(own), text(inclusive)], "{name}");
        // perf does not show inlined functions here: all of heavy's own time is spent in stir.
        let stir = read
            .records_of_type("stack")
            .into_iter()
            .filter(|record| record.starts_with(r#""fn":"stir""#));
        assert!(stir.count() > 0, "{name}");
    }
}

#[test]
fn another_build_gives_no_names_and_no_callers() {
    let root = TempDir::new().unwrap();
    let mut program = std::fs::read(data().join("spin")).unwrap();
    let id = [0x05, 0xde, 0x41, 0x37];
    let place = program.windows(4).position(|bytes| bytes == id).unwrap();
    program[place] ^= 1;
    let path = root.path().join("spin");
    std::fs::write(&path, &program).unwrap();
    for name in ["6.1-spin.data", "6.1-spin-dwarf.data"] {
        let read = recorded(name, &[root.path()]);
        assert!(read.is_whole());
        let shown = shown_stacks(&read).join("\n");
        assert!(
            shown.contains("spin+0x10") && !shown.contains("heavy"),
            "{shown}"
        );
        let why = format!("{} is another build than the recorded one", path.display());
        assert!(read.messages[0].contains(&why), "{:?}", read.messages);
        // The stack was unwound with this build before it was known to be another one.
        let is_cut = |record: &&str| record.contains(r#""cut":true"#);
        let cut = read
            .records_of_type("stack")
            .into_iter()
            .filter(is_cut)
            .count();
        assert_eq!(cut > 0, name.contains("dwarf"), "{name}");
        assert_eq!(
            shown.contains('<'),
            !name.contains("dwarf"),
            "{name}: {shown}"
        );
    }
    // perf's own copy of the right build is found by its id.
    let kept = root
        .path()
        .join(".build-id/05/de4137b36fdd3bd805be611ac294b3db3620e5");
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::copy(data().join("spin"), kept.join("elf")).unwrap();
    let read = recorded("6.1-spin.data", &[root.path()]);
    assert_eq!(
        by_function(&read)[0],
        [("heavy".to_owned(), 43), ("spin".to_owned(), 104)]
    );
}

#[test]
fn compressed_and_piped_recordings_are_read() {
    // The expected figures come from perf script -i FILE.
    let folder = data();
    for name in ["6.1-spin-packed.data", "6.1-spin-pipe.data"] {
        let read = recorded(name, &[&folder]);
        assert!(
            read.is_whole() && read.messages.is_empty(),
            "{:?}",
            read.messages
        );
        let run: serde_json::Value = serde_json::from_str(&read.records[0]).unwrap();
        assert_eq!(run["total"]["samples"], 7, "{name}");
        assert_eq!(run["command"], "./spin", "{name}");
        let [own, inclusive] = by_function(&read);
        assert_eq!(own.iter().map(|(_, count)| count).sum::<u64>(), 7);
        assert!(
            inclusive.contains(&("_start".to_owned(), 7)),
            "{name}: {inclusive:?}"
        );
    }
}
