//! The list of formats. An entry is all that is known of a format outside its reader: what it is called, how an input
//! shows that it is of it, who reads it, what it can answer, and what the documents and the tests take from it.
//!
//! The order is that in which inputs are asked for their signs, of one kind of [`Sign`] after the other: a format whose
//! signs can stand in an input of another format comes behind that one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use cg_callgrind::sums::Summed;
use cg_reader::{Head, ReadRecords};

/// A format that is read.
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it may be called as well.
    pub aliases: &'static [&'static str],
    /// What is read, in a line.
    pub reads: &'static str,
    /// Values of `tool` in its `run` records.
    pub tools: &'static [&'static str],
    /// Its events, in markdown.
    pub events: &'static str,
    /// What else readers of a stream have to know, in markdown; mostly nothing.
    pub remarks: &'static str,
    /// What its files can tell, as far as they do.
    pub answers: &'static [Answer],
    /// Why `--inline` tells nothing of it; `None` where it does.
    pub(crate) without_inline: Option<&'static str>,
    /// How an input shows that it is of this format.
    pub(crate) signs: &'static [Sign],
    pub(crate) reader: FormatReader,
    /// Files below `tests/data` that are of it: the first is a file which is read without a word, the others may have
    /// a `*` for any name.
    pub seeds: &'static [&'static str],
}

/// A question that a format can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Which lines of the source cost is of.
    Lines,
    /// How often a function called another.
    Calls,
    /// Through which callers cost arose.
    Stacks,
    /// What was inlined.
    Inlined,
}

use Answer::{Calls, Inlined, Lines as SourceLines, Stacks};

/// How an input shows that it is of a format.
pub(crate) enum Sign {
    /// At its beginning, or by words that are in no other format.
    Beginning(fn(&Head) -> bool),
    /// By a header of costs, which [`cg_callgrind::recognise`] reads for both formats that have one.
    CostHeader(Summed),
    /// By a line that only this format has. A program's own output can stand in front.
    Line(fn(&[u8]) -> bool),
    /// By many lines, once all is seen that will be looked at: a log or a profile behind a program's output would have
    /// shown itself until then.
    ManyLines(fn(&Head) -> bool),
}

/// Who reads a format.
pub(crate) enum FormatReader {
    /// One that writes the records of each input.
    Records(ReadRecords),
    /// The same, of files that hold the results of an earlier run too.
    Revisions(ReadRecords),
    /// One that adds inputs up.
    Sums(Summed),
}

impl Format {
    /// The format that goes by this name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS
            .iter()
            .find(|format| format.name == name || format.aliases.contains(&name))
    }

    /// Its seeds in the folder of the test data, sorted; a pattern that fits no file is an error.
    ///
    /// # Errors
    /// Where a folder cannot be read, or a file is not there.
    pub fn seeds_below(&self, data: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = BTreeSet::new();
        for pattern in self.seeds {
            let path = data.join(pattern);
            let Some((_, suffix)) = pattern.split_once('*') else {
                fs::metadata(&path)?;
                found.insert(path);
                continue;
            };
            let before = found.len();
            for entry in fs::read_dir(path.parent().unwrap_or(data))? {
                let path = entry?.path();
                let name = path.as_os_str().as_encoded_bytes();
                if path.is_file() && name.ends_with(suffix.as_bytes()) {
                    found.insert(path);
                }
            }
            if found.len() == before {
                return Err(io::Error::other(format!("{pattern} fits no file")));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// All formats, sorted by name.
    pub fn by_name() -> Vec<&'static Format> {
        let mut formats: Vec<&Format> = FORMATS.iter().collect();
        formats.sort_unstable_by_key(|format| format.name);
        formats
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// Its name, as a test that fails shows it.
impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

// An executable that is not loaded at the addresses it was linked for, and any library, is somewhere else in each run, and
// text and JSON do not say which object a frame with a line is in.
const ADDRESSES_OF_A_RUN: Option<&str> = Some(
    "Valgrind's stacks have addresses of the run and not of the objects; inlined functions are frames of them unless it ran with --read-inline-info=no",
);
const FRAMES_OF_STACKS: Option<&str> =
    Some("inlined functions are frames of stacks, where the profiler knew them");
const NO_FUNCTIONS: Option<&str> = Some("totals have no functions");

/// All formats.
pub static FORMATS: &[Format] = &[
    Format {
        name: "callgrind",
        aliases: &[],
        reads: "profiles of Callgrind, by whichever program wrote them, and Valgrind's xtrees",
        tools: &["callgrind"],
        events: "those of the file",
        remarks: "",
        answers: &[SourceLines, Calls, Stacks, Inlined],
        without_inline: None,
        signs: &[Sign::CostHeader(Summed::Callgrind)],
        reader: FormatReader::Sums(Summed::Callgrind),
        seeds: &[
            "callgrind/3.14.0-rec_sep.callgrind.out",
            "callgrind/*",
            "pair/*.callgrind.out",
        ],
    },
    Format {
        name: "cachegrind",
        aliases: &[],
        reads: "profiles of Cachegrind, and the differences that cg_diff writes",
        tools: &["cachegrind"],
        events: "those of the file",
        remarks: "",
        answers: &[SourceLines],
        without_inline: Some(
            "profiles of Cachegrind have neither addresses nor objects; those of Callgrind have",
        ),
        signs: &[Sign::CostHeader(Summed::Cachegrind)],
        reader: FormatReader::Sums(Summed::Cachegrind),
        seeds: &[
            "cachegrind/3.27.1-rec_default.cachegrind.out",
            "cachegrind/*",
        ],
    },
    Format {
        name: "massif",
        aliases: &[],
        reads: "Massif's snapshots",
        tools: &["massif"],
        events: "`bytes`; of an xtree's snapshot that counts them, `blocks`",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Line(cg_heaps::massif::is_header_line)],
        reader: FormatReader::Records(cg_heaps::massif::parse),
        seeds: &[
            "massif/3.19.0-heapy_i.massif.out",
            "massif/*.out",
            "massif/*.ms",
        ],
    },
    Format {
        name: "memcheck",
        aliases: &["helgrind", "drd", "log"],
        reads: "text logs of Memcheck, Helgrind and DRD",
        tools: &["memcheck", "helgrind", "drd"],
        events: "`bytes` and `blocks` of leaks, `count` of errors",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Line(cg_findings::text::is_log_line)],
        reader: FormatReader::Records(cg_findings::parse_logs),
        seeds: &["memcheck/3.27.1-leaky.log", "memcheck/*.log"],
    },
    Format {
        name: "sanitizers",
        aliases: &["asan", "hwasan", "lsan", "msan", "tsan", "ubsan"],
        reads: "reports of the sanitizers of GCC, Clang and Rust, and of Go's race detector, in any log",
        tools: &["asan", "hwasan", "lsan", "msan", "tsan", "ubsan"],
        events: "of those that look for leaks `bytes` and `blocks`; `count` of errors",
        remarks: "a section for each process, behind those of Valgrind in the same log",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_findings::sanitizers::is_report_line)],
        reader: FormatReader::Records(cg_findings::parse_logs),
        seeds: &[
            "sanitizers/gcc-12-heap-buffer-overflow.log",
            "sanitizers/*.log",
        ],
    },
    Format {
        name: "perf",
        aliases: &[],
        reads: "the text of perf script",
        tools: &["perf"],
        events: "the sample's period under the name of its event (of `cpu-clock` nanoseconds), and 1 under `samples`",
        remarks: "most sampled first; an event printed without periods is counted in samples, and `units` says so",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[
            Sign::Beginning(cg_stacks::perf::begins_with_samples),
            Sign::ManyLines(cg_stacks::perf::is_perf_script),
        ],
        reader: FormatReader::Records(cg_stacks::perf::parse),
        seeds: &["perf/6.1-busy.perf.txt", "perf/*.perf.txt"],
    },
    Format {
        name: "perf-data",
        aliases: &["perf.data"],
        reads: "recordings of perf: perf.data",
        tools: &["perf"],
        events: "those of `perf`",
        remarks: "as `perf`; lines and inlined functions are those of the objects' debug information",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_perf_data::is_recording)],
        reader: FormatReader::Records(cg_perf_data::parse),
        seeds: &["perf-data/6.1-spin.data", "perf-data/*.data"],
    },
    Format {
        name: "pprof",
        aliases: &[],
        reads: "profiles of pprof: its protocol buffer, and the older formats that its tools read",
        tools: &["pprof"],
        events: "its sample types in the order of the file: `samples`, `cpu`, `alloc_objects`, `inuse_space`, …; where two have one name, `NAME/UNIT`",
        remarks: "counts of a sampled heap are scaled up, as `go tool pprof` scales those of the older formats",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::pprof::is_profile)],
        reader: FormatReader::Records(cg_stacks::pprof::parse),
        seeds: &[
            "pprof/go-heap.txt",
            "pprof/go-goroutine.txt",
            "pprof/*.gz",
            "pprof/*.cpu",
            "pprof/*.heap",
            "pprof/*.raw",
        ],
    },
    Format {
        name: "jfr",
        aliases: &[],
        reads: "recordings of Java's flight recorder and of async-profiler (.jfr)",
        tools: &["jfr"],
        events: "`samples`, `cpu_time` (ns) and `cpu_time_samples`, `wall_samples`, `native_samples` (threads in native code), `allocated_bytes` and `tlab_bytes` (weights), `live_bytes`, `malloc_bytes` and what of that was not freed, `malloc_live_bytes`: those that occur",
        remarks: "events that are neither samples nor allocations are not read",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::jfr::is_recording)],
        reader: FormatReader::Records(cg_stacks::jfr::parse),
        seeds: &["jfr/jdk17.jfr.gz", "jfr/*"],
    },
    Format {
        name: "otlp",
        aliases: &[],
        reads: "OpenTelemetry's profiles: its protocol buffer, of 1.7 and later",
        tools: &["otlp"],
        events: "its sample types, named as those of `pprof`; a sample without values counts 1 for each of its times",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::otlp::is_profiles)],
        reader: FormatReader::Records(cg_stacks::otlp::parse),
        seeds: &["otlp/known-stacks.pb", "otlp/*.pb"],
    },
    Format {
        name: "perfetto",
        aliases: &["heapprofd"],
        reads: "traces of Perfetto: samples, heaps of heapprofd, slices",
        tools: &["perfetto"],
        events: "`samples`; `allocated_bytes`, `live_bytes` (less what was freed), `allocations`, `live_allocations`, `max_bytes`; of slices `time` (ns) less that in slices inside: those that occur",
        remarks: "a track of slices is the `thread`; counters and scheduling are not read",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::perfetto::is_trace)],
        reader: FormatReader::Records(cg_stacks::perfetto::parse),
        seeds: &["perfetto/samples.pb.gz", "perfetto/*"],
    },
    Format {
        name: "xml",
        aliases: &[],
        reads: "XML of Memcheck, Helgrind and DRD (protocols 4 to 6)",
        tools: &["memcheck", "helgrind", "drd"],
        events: "`bytes` and `blocks` of leaks, `count` of errors",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Beginning(cg_findings::xml::is_document)],
        reader: FormatReader::Records(cg_findings::parse_documents),
        seeds: &["memcheck/3.27.1-leaky.xml", "memcheck/*.xml"],
    },
    Format {
        name: "dhat",
        aliases: &[],
        reads: "DHAT's JSON, of Valgrind or of dhat-rs",
        tools: &["dhat"],
        events: "`total_bytes`, `total_blocks`, `gmax_bytes`, …, as far as its mode has them",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Beginning(cg_heaps::dhat::is_document)],
        reader: FormatReader::Records(cg_heaps::dhat::parse),
        seeds: &["dhat/3.19.0-inl.dhat.json", "dhat/*"],
    },
    Format {
        name: "firefox",
        aliases: &["samply"],
        reads: "profiles of the Firefox Profiler, as samply and Firefox write them",
        tools: &["firefox"],
        events: "`samples` (sum of the weights, 1 each where there are none), or `time` (ns) or `bytes` where weights count these; `cpu`; `jsAllocations` and `nativeAllocations` in bytes, less what was freed",
        remarks: "samply's weights give the time off the processor to the stack that the thread left it with",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::firefox::is_profile)],
        reader: FormatReader::Records(cg_stacks::firefox::parse),
        seeds: &["firefox/small-v70.json", "firefox/*"],
    },
    Format {
        name: "heaptrack",
        aliases: &[],
        reads: "heaptrack's recordings",
        tools: &["heaptrack"],
        events: "`total_bytes`, `allocations`, `temporary`, `peak_bytes`, `leaked_bytes`; of a snapshot's heap `bytes`",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_heaps::heaptrack::is_recording)],
        reader: FormatReader::Records(cg_heaps::heaptrack::parse),
        seeds: &["heaptrack/1.4.0-shapes.zst"],
    },
    Format {
        name: "speedscope",
        aliases: &[],
        reads: "speedscope's own JSON",
        tools: &["speedscope"],
        events: "weights in a unit of time as `time` (ns), with `samples` where they were sampled; `bytes`; without unit `samples`",
        remarks: "profiles of one unit are threads, those of different units sections",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::speedscope::is_profile)],
        reader: FormatReader::Records(cg_stacks::speedscope::parse),
        seeds: &["speedscope/small.json", "speedscope/evented.json"],
    },
    Format {
        name: "v8",
        aliases: &["cpuprofile", "heapprofile"],
        reads: "CPU and heap profiles of V8: .cpuprofile, .heapprofile",
        tools: &["cpuprofile", "heapprofile"],
        events: "`samples` (hits of a node), `time` (ns that ended with a sample there); of a heap profile the live `bytes`",
        remarks: "",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::v8::is_profile)],
        reader: FormatReader::Records(cg_stacks::v8::parse),
        seeds: &[
            "v8/node.cpuprofile",
            "v8/node.heapprofile",
            "v8/old.cpuprofile",
        ],
    },
    Format {
        name: "chrome-trace",
        aliases: &["trace-events"],
        reads: "trace events: slices, or the CPU profiles of a trace of Chrome's",
        tools: &["chrome-trace", "trace-events"],
        events: "of slices `time` (ns, less that of the slices inside) and how many `slices`; of CPU profiles `samples` and `time`, as of `v8`",
        remarks: "a CPU profile goes before slices, which say what a thread was asked to do",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::trace_events::is_trace)],
        reader: FormatReader::Records(cg_stacks::trace_events::parse),
        seeds: &["chrome-trace/node.json", "chrome-trace/*.json"],
    },
    Format {
        name: "node-prof",
        aliases: &[],
        reads: "what node --prof-process --preprocess writes of a log of node --prof",
        tools: &["node-prof"],
        events: "`samples`, one a tick, and `time` (ns that ended with one)",
        remarks: "",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::v8::is_preprocessed)],
        reader: FormatReader::Records(cg_stacks::v8::parse_preprocessed),
        seeds: &["v8/node-prof.json"],
    },
    Format {
        name: "stackprof",
        aliases: &[],
        reads: "JSON of stackprof (raw: true), a sampler for Ruby",
        tools: &["stackprof"],
        events: "`samples`; by the wall clock also `time` (ns that ended with one)",
        remarks: "",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::stackprof::is_profile)],
        reader: FormatReader::Records(cg_stacks::stackprof::parse),
        seeds: &["stackprof/cpu-0.2.json"],
    },
    Format {
        name: "ghc",
        aliases: &["haskell"],
        reads: "reports of GHC's profiler on a Haskell program: +RTS -p, -P, -pj",
        tools: &["ghc"],
        events: "`ticks` and `bytes`",
        remarks: "`-p` prints percentages alone; they are counted in tenths, as `units` says",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[
            Sign::Beginning(cg_stacks::ghc::is_document),
            Sign::Line(cg_stacks::ghc::is_header_line),
        ],
        reader: FormatReader::Records(cg_stacks::ghc::parse),
        seeds: &["ghc/ticks.prof", "ghc/ghc.json"],
    },
    Format {
        name: "gungraun",
        aliases: &["iai-callgrind"],
        reads: "summaries of gungraun and iai-callgrind, in JSON: totals",
        tools: &["gungraun"],
        events: "the metrics of each tool",
        remarks: "totals, without records",
        answers: &[],
        without_inline: NO_FUNCTIONS,
        signs: &[Sign::Beginning(cg_totals::gungraun::is_summary)],
        reader: FormatReader::Revisions(cg_totals::gungraun::parse),
        seeds: &["gungraun/0.20-compared.summary.json"],
    },
    Format {
        name: "perf-stat",
        aliases: &[],
        reads: "counters of perf stat -x, or perf stat -j: totals",
        tools: &["perf-stat"],
        events: "the counters",
        remarks: "totals, without records",
        answers: &[],
        without_inline: NO_FUNCTIONS,
        signs: &[Sign::Beginning(cg_totals::perf_stat::is_output)],
        reader: FormatReader::Records(cg_totals::perf_stat::parse),
        seeds: &["perf-stat/6.1-counters.csv", "perf-stat/*"],
    },
    Format {
        name: "xctrace",
        aliases: &[],
        reads: "the XML of xctrace export",
        tools: &["xctrace"],
        events: "`samples`, one a row, and its `weight` in ns, or `cycles`",
        remarks: "",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Beginning(cg_stacks::xctrace::is_export)],
        reader: FormatReader::Records(cg_stacks::xctrace::parse),
        seeds: &["printouts/xctrace.xml"],
    },
    Format {
        name: "sample",
        aliases: &[],
        reads: "what sample of macOS prints",
        tools: &["sample"],
        events: "`samples`: those of a line less those of the lines below it",
        remarks: "",
        answers: &[Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::sample::is_header_line)],
        reader: FormatReader::Records(cg_stacks::sample::parse),
        seeds: &["printouts/sample.txt"],
    },
    Format {
        name: "instruments",
        aliases: &[],
        reads: "a call tree of macOS's Instruments, deeply copied",
        tools: &["instruments"],
        events: "`time` (ns), `cycles` or `bytes`, and `count` of allocations",
        remarks: "as exact as Instruments shows them",
        answers: &[Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::instruments::is_header_line)],
        reader: FormatReader::Records(cg_stacks::instruments::parse),
        seeds: &["instruments/time.txt"],
    },
    Format {
        name: "jstack",
        aliases: &[],
        reads: "thread dumps of a JVM (jstack, jcmd Thread.print, kill -QUIT), any number",
        tools: &["jstack"],
        events: "`samples` of threads that are RUNNABLE, `waiting` of others",
        remarks: "",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::jstack::is_dump_line)],
        reader: FormatReader::Records(cg_stacks::jstack::parse),
        seeds: &["jstack/17.txt"],
    },
    Format {
        name: "gdb",
        aliases: &[],
        reads: "backtraces of gdb (thread apply all bt), any number",
        tools: &["gdb"],
        events: "`samples`, one a thread and backtrace",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::gdb::is_innermost_frame)],
        reader: FormatReader::Records(cg_stacks::gdb::parse),
        seeds: &["gdb/13.txt"],
    },
    Format {
        name: "async-profiler",
        aliases: &["asprof"],
        reads: "the report that async-profiler prints (-o traces)",
        tools: &["async-profiler"],
        events: "`samples`, and what they count by its unit: `time` (ns), `bytes`, `calls`",
        remarks: "",
        answers: &[Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::async_profiler::is_header_line)],
        reader: FormatReader::Records(cg_stacks::async_profiler::parse),
        seeds: &["printouts/async-profiler.txt"],
    },
    Format {
        name: "rbspy",
        aliases: &[],
        reads: "recordings of rbspy (--raw-file), a sampler for Ruby",
        tools: &["rbspy"],
        events: "`samples`",
        remarks: "",
        answers: &[SourceLines, Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::rbspy::is_header_line)],
        reader: FormatReader::Records(cg_stacks::rbspy::parse),
        seeds: &["rbspy/raw-2.txt"],
    },
    Format {
        name: "vtune",
        aliases: &[],
        reads: "VTune's top-down tree as comma-separated values",
        tools: &["vtune"],
        events: "the columns that end in `:Self`; times in ns",
        remarks: "",
        answers: &[Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::vtune::is_header_line)],
        reader: FormatReader::Records(cg_stacks::vtune::parse),
        seeds: &["printouts/vtune.csv"],
    },
    Format {
        name: "visual-studio",
        aliases: &[],
        reads: "Visual Studio's call tree as comma-separated values",
        tools: &["visual-studio"],
        events: "`calls`: how often the others called the innermost function",
        remarks: "its times are percentages, which add up to nothing",
        answers: &[Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::Line(cg_stacks::visual_studio::is_header_line)],
        reader: FormatReader::Records(cg_stacks::visual_studio::parse),
        seeds: &["printouts/visual-studio.csv"],
    },
    Format {
        name: "bpftrace",
        aliases: &[],
        reads: "what bpftrace prints of a map by stack",
        tools: &["bpftrace"],
        events: "`samples`, or the name of the map",
        remarks: "",
        answers: &[Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::ManyLines(cg_stacks::bpftrace::is_bpftrace)],
        reader: FormatReader::Records(cg_stacks::bpftrace::parse),
        seeds: &["printouts/bpftrace.txt"],
    },
    Format {
        name: "dtrace",
        aliases: &[],
        reads: "what DTrace prints of an aggregation by stack",
        tools: &["dtrace"],
        events: "`samples`",
        remarks: "",
        answers: &[Stacks],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::ManyLines(cg_stacks::dtrace::is_dtrace)],
        reader: FormatReader::Records(cg_stacks::dtrace::parse),
        seeds: &["printouts/dtrace.txt"],
    },
    Format {
        name: "folded",
        aliases: &[],
        reads: "folded stacks: main;work;read 17, a line a stack",
        tools: &["folded"],
        events: "`samples`, as the file does not say what was counted",
        remarks: "lines with two counts are two runs: the stream is a [diff](#diff) of stacks",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[Sign::ManyLines(cg_stacks::folded::is_folded)],
        reader: FormatReader::Records(cg_stacks::folded::parse),
        seeds: &["stacks/before.folded", "stacks/*.folded", "folded/*.folded"],
    },
];
