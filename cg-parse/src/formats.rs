//! The list of formats. An entry is all that is known of a format outside its reader: what it is called, how an input
//! shows that it is of it, who reads it, what it can answer, and what the documents and the tests take from it.
//!
//! The order is that in which inputs are asked for their signs, of one kind of [`Sign`] after the other: a format whose
//! signs can stand in an input of another format comes behind that one.

use cg_callgrind::sums::Summed;

use crate::format::Answer::{Calls, Inlined, Lines as SourceLines, Stacks};
use crate::format::FormatReader::{self, Records, Revisions, Sums};
use crate::format::{Format, Sign};

// An executable that is not loaded at the addresses it was linked for, and any library, is somewhere else in each run, and
// text and JSON do not say which object a frame with a line is in.
const ADDRESSES_OF_A_RUN: Option<&str> = Some(
    "Valgrind's stacks have addresses of the run and not of the objects; inlined functions are frames of them unless it ran with --read-inline-info=no",
);
const FRAMES_OF_STACKS: Option<&str> =
    Some("inlined functions are frames of stacks, where the profiler knew them");
const NO_FUNCTIONS: Option<&str> = Some("totals have no functions");

/// What most formats have in common: a program of the same name takes stacks with lines, where inlined functions are frames.
const fn of_stacks(reader: FormatReader) -> Format {
    Format {
        name: "",
        aliases: &[],
        reads: "",
        tools: &[],
        events: "",
        remarks: "",
        answers: &[SourceLines, Stacks, Inlined],
        without_inline: FRAMES_OF_STACKS,
        signs: &[],
        reader,
        seeds: &[],
    }
}

/// All formats.
pub static FORMATS: &[Format] = &[
    Format {
        name: "callgrind",
        reads: "profiles of Callgrind, by whichever program wrote them, and Valgrind's xtrees",
        events: "those of the file",
        answers: &[SourceLines, Calls, Stacks, Inlined],
        without_inline: None,
        signs: &[Sign::CostHeader(Summed::Callgrind)],
        seeds: &[
            "callgrind/3.14.0-rec_sep.callgrind.out",
            "callgrind/*",
            "pair/*.callgrind.out",
        ],
        ..of_stacks(Sums(Summed::Callgrind))
    },
    Format {
        name: "cachegrind",
        reads: "profiles of Cachegrind, and the differences that cg_diff writes",
        events: "those of the file",
        answers: &[SourceLines],
        without_inline: Some(
            "profiles of Cachegrind have neither addresses nor objects; those of Callgrind have",
        ),
        signs: &[Sign::CostHeader(Summed::Cachegrind)],
        seeds: &[
            "cachegrind/3.27.1-rec_default.cachegrind.out",
            "cachegrind/*",
        ],
        ..of_stacks(Sums(Summed::Cachegrind))
    },
    Format {
        name: "massif",
        reads: "Massif's snapshots",
        events: "`bytes`; of an xtree's snapshot that counts them, `blocks`",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Line(cg_heaps::massif::is_header_line)],
        seeds: &[
            "massif/3.19.0-heapy_i.massif.out",
            "massif/*.out",
            "massif/*.ms",
        ],
        ..of_stacks(Records(cg_heaps::massif::parse))
    },
    Format {
        name: "memcheck",
        aliases: &["helgrind", "drd", "log"],
        reads: "text logs of Memcheck, Helgrind and DRD",
        tools: &["memcheck", "helgrind", "drd"],
        events: "`bytes` and `blocks` of leaks, `count` of errors",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Line(cg_findings::text::is_log_line)],
        seeds: &["memcheck/3.27.1-leaky.log", "memcheck/*.log"],
        ..of_stacks(Records(cg_findings::parse_logs))
    },
    Format {
        name: "sanitizers",
        aliases: &["asan", "hwasan", "lsan", "msan", "tsan", "ubsan"],
        reads: "reports of the sanitizers of GCC, Clang and Rust, and of Go's race detector, in any log",
        tools: &["asan", "hwasan", "lsan", "msan", "tsan", "ubsan"],
        events: "of those that look for leaks `bytes` and `blocks`; `count` of errors",
        remarks: "a section for each process, behind those of Valgrind in the same log",
        signs: &[Sign::Line(cg_findings::sanitizers::is_report_line)],
        seeds: &[
            "sanitizers/gcc-12-heap-buffer-overflow.log",
            "sanitizers/*.log",
        ],
        ..of_stacks(Records(cg_findings::parse_logs))
    },
    Format {
        name: "perf",
        reads: "the text of perf script",
        events: "the sample's period under the name of its event (of `cpu-clock` nanoseconds), and 1 under `samples`",
        remarks: "most sampled first; an event printed without periods is counted in samples, and `units` says so",
        signs: &[
            Sign::Beginning(cg_stacks::perf::begins_with_samples),
            Sign::ManyLines(cg_stacks::perf::is_perf_script),
        ],
        seeds: &["perf/6.1-busy.perf.txt", "perf/*.perf.txt"],
        ..of_stacks(Records(cg_stacks::perf::parse))
    },
    Format {
        name: "perf-data",
        aliases: &["perf.data"],
        reads: "recordings of perf: perf.data",
        tools: &["perf"],
        events: "those of `perf`",
        remarks: "as `perf`; lines and inlined functions are those of the objects' debug information",
        signs: &[Sign::Beginning(cg_perf_data::is_recording)],
        seeds: &["perf-data/6.1-spin.data", "perf-data/*.data"],
        ..of_stacks(Records(cg_perf_data::parse))
    },
    Format {
        name: "pprof",
        reads: "profiles of pprof: its protocol buffer, and the older formats that its tools read",
        events: "its sample types in the order of the file: `samples`, `cpu`, `alloc_objects`, `inuse_space`, …; where two have one name, `NAME/UNIT`",
        remarks: "counts of a sampled heap are scaled up, as `go tool pprof` scales those of the older formats",
        signs: &[Sign::Beginning(cg_stacks::pprof::is_profile)],
        seeds: &[
            "pprof/go-heap.txt",
            "pprof/go-goroutine.txt",
            "pprof/*.gz",
            "pprof/*.cpu",
            "pprof/*.heap",
            "pprof/*.raw",
        ],
        ..of_stacks(Records(cg_stacks::pprof::parse))
    },
    Format {
        name: "jfr",
        reads: "recordings of Java's flight recorder and of async-profiler (.jfr)",
        events: "`samples`, `cpu_time` (ns) and `cpu_time_samples`, `wall_samples`, `native_samples` (threads in native code), `allocated_bytes` and `tlab_bytes` (weights), `live_bytes`, `malloc_bytes` and what of that was not freed, `malloc_live_bytes`: those that occur",
        remarks: "events that are neither samples nor allocations are not read",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::jfr::is_recording)],
        seeds: &["jfr/jdk17.jfr.gz", "jfr/*"],
        ..of_stacks(Records(cg_stacks::jfr::parse))
    },
    Format {
        name: "otlp",
        reads: "OpenTelemetry's profiles: its protocol buffer, of 1.7 and later",
        events: "its sample types, named as those of `pprof`; a sample without values counts 1 for each of its times",
        signs: &[Sign::Beginning(cg_stacks::otlp::is_profiles)],
        seeds: &["otlp/known-stacks.pb", "otlp/*.pb"],
        ..of_stacks(Records(cg_stacks::otlp::parse))
    },
    Format {
        name: "perfetto",
        aliases: &["heapprofd"],
        reads: "traces of Perfetto: samples, heaps of heapprofd, slices",
        events: "`samples`; `allocated_bytes`, `live_bytes` (less what was freed), `allocations`, `live_allocations`, `max_bytes`; of slices `time` (ns) less that in slices inside: those that occur",
        remarks: "a track of slices is the `thread`; counters and scheduling are not read",
        signs: &[Sign::Beginning(cg_stacks::perfetto::is_trace)],
        seeds: &["perfetto/samples.pb.gz", "perfetto/*"],
        ..of_stacks(Records(cg_stacks::perfetto::parse))
    },
    Format {
        name: "xml",
        reads: "XML of Memcheck, Helgrind and DRD (protocols 4 to 6)",
        tools: &["memcheck", "helgrind", "drd"],
        events: "`bytes` and `blocks` of leaks, `count` of errors",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Beginning(cg_findings::xml::is_document)],
        seeds: &["memcheck/3.27.1-leaky.xml", "memcheck/*.xml"],
        ..of_stacks(Records(cg_findings::parse_documents))
    },
    Format {
        name: "dhat",
        reads: "DHAT's JSON, of Valgrind or of dhat-rs",
        events: "`total_bytes`, `total_blocks`, `gmax_bytes`, …, as far as its mode has them",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Beginning(cg_heaps::dhat::is_document)],
        seeds: &["dhat/3.19.0-inl.dhat.json", "dhat/*"],
        ..of_stacks(Records(cg_heaps::dhat::parse))
    },
    Format {
        name: "firefox",
        aliases: &["samply"],
        reads: "profiles of the Firefox Profiler, as samply and Firefox write them",
        events: "`samples` (sum of the weights, 1 each where there are none), or `time` (ns) or `bytes` where weights count these; `cpu`; `jsAllocations` and `nativeAllocations` in bytes, less what was freed",
        remarks: "samply's weights give the time off the processor to the stack that the thread left it with",
        signs: &[Sign::Beginning(cg_stacks::firefox::is_profile)],
        seeds: &["firefox/small-v70.json", "firefox/*"],
        ..of_stacks(Records(cg_stacks::firefox::parse))
    },
    Format {
        name: "heaptrack",
        reads: "heaptrack's recordings",
        events: "`total_bytes`, `allocations`, `temporary`, `peak_bytes`, `leaked_bytes`; of a snapshot's heap `bytes`",
        signs: &[Sign::Beginning(cg_heaps::heaptrack::is_recording)],
        seeds: &["heaptrack/1.4.0-shapes.zst"],
        ..of_stacks(Records(cg_heaps::heaptrack::parse))
    },
    Format {
        name: "speedscope",
        reads: "speedscope's own JSON",
        events: "weights in a unit of time as `time` (ns), with `samples` where they were sampled; `bytes`; without unit `samples`",
        remarks: "profiles of one unit are threads, those of different units sections",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::speedscope::is_profile)],
        seeds: &["speedscope/small.json", "speedscope/evented.json"],
        ..of_stacks(Records(cg_stacks::speedscope::parse))
    },
    Format {
        name: "v8",
        aliases: &["cpuprofile", "heapprofile"],
        reads: "CPU and heap profiles of V8: .cpuprofile, .heapprofile",
        tools: &["cpuprofile", "heapprofile"],
        events: "`samples` (hits of a node), `time` (ns from a sample there to the next one); of a heap profile the live `bytes`",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::v8::is_profile)],
        seeds: &[
            "v8/node.cpuprofile",
            "v8/node.heapprofile",
            "v8/old.cpuprofile",
        ],
        ..of_stacks(Records(cg_stacks::v8::parse))
    },
    Format {
        name: "chrome-trace",
        aliases: &["trace-events"],
        reads: "trace events: slices, or the CPU profiles of a trace of Chrome's",
        tools: &["chrome-trace", "trace-events"],
        events: "of slices `time` (ns, less that of the slices inside) and how many `slices` had time of their own; of CPU profiles `samples` and `time`, as of `v8`",
        remarks: "a CPU profile goes before slices, which say what a thread was asked to do",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::trace_events::is_trace)],
        seeds: &["chrome-trace/node.json", "chrome-trace/*.json"],
        ..of_stacks(Records(cg_stacks::trace_events::parse))
    },
    Format {
        name: "node-prof",
        reads: "what node --prof-process --preprocess writes of a log of node --prof",
        events: "`samples`, one a tick, and `time` (ns that ended with one)",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::v8::is_preprocessed)],
        seeds: &["v8/node-prof.json"],
        ..of_stacks(Records(cg_stacks::v8::parse_preprocessed))
    },
    Format {
        name: "stackprof",
        reads: "JSON of stackprof (raw: true), a sampler for Ruby",
        events: "`samples`; by the wall clock also `time` (ns that ended with one)",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::stackprof::is_profile)],
        seeds: &["stackprof/cpu-0.2.json"],
        ..of_stacks(Records(cg_stacks::stackprof::parse))
    },
    Format {
        name: "ghc",
        aliases: &["haskell"],
        reads: "reports of GHC's profiler on a Haskell program: +RTS -p, -P, -pj",
        events: "`ticks` and `bytes`",
        remarks: "`-p` prints percentages alone; they are counted in tenths, as `units` says",
        answers: &[SourceLines, Stacks],
        signs: &[
            Sign::Beginning(cg_stacks::ghc::is_document),
            Sign::Line(cg_stacks::ghc::is_header_line),
        ],
        seeds: &["ghc/ticks.prof", "ghc/ghc.json"],
        ..of_stacks(Records(cg_stacks::ghc::parse))
    },
    Format {
        name: "gungraun",
        aliases: &["iai-callgrind"],
        reads: "summaries of gungraun and iai-callgrind, in JSON: totals",
        events: "the metrics of each tool",
        remarks: "totals, without records",
        answers: &[],
        without_inline: NO_FUNCTIONS,
        signs: &[Sign::Beginning(cg_totals::gungraun::is_summary)],
        seeds: &["gungraun/0.20-compared.summary.json"],
        ..of_stacks(Revisions(cg_totals::gungraun::parse))
    },
    Format {
        name: "perf-stat",
        reads: "counters of perf stat -x, or perf stat -j: totals",
        events: "the counters",
        remarks: "totals, without records",
        answers: &[],
        without_inline: NO_FUNCTIONS,
        signs: &[Sign::Beginning(cg_totals::perf_stat::is_output)],
        seeds: &["perf-stat/6.1-counters.csv", "perf-stat/*"],
        ..of_stacks(Records(cg_totals::perf_stat::parse))
    },
    Format {
        name: "xctrace",
        reads: "the XML of xctrace export",
        events: "`samples`, one a row, and its `weight` in ns, or `cycles`",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::xctrace::is_export)],
        seeds: &["printouts/xctrace.xml"],
        ..of_stacks(Records(cg_stacks::xctrace::parse))
    },
    Format {
        name: "sample",
        reads: "what sample of macOS prints",
        events: "`samples`: those of a line less those of the lines below it",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::sample::is_header_line)],
        seeds: &["printouts/sample.txt"],
        ..of_stacks(Records(cg_stacks::sample::parse))
    },
    Format {
        name: "instruments",
        reads: "a call tree of macOS's Instruments, deeply copied",
        events: "`time` (ns), `cycles` or `bytes`, and `count` of allocations",
        remarks: "as exact as Instruments shows them",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::instruments::is_header_line)],
        seeds: &["instruments/time.txt"],
        ..of_stacks(Records(cg_stacks::instruments::parse))
    },
    Format {
        name: "jstack",
        reads: "thread dumps of a JVM (jstack, jcmd Thread.print, kill -QUIT), any number",
        events: "`samples` of threads that are RUNNABLE, `waiting` of others",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Line(cg_stacks::jstack::is_dump_line)],
        seeds: &["jstack/17.txt"],
        ..of_stacks(Records(cg_stacks::jstack::parse))
    },
    Format {
        name: "gdb",
        reads: "backtraces of gdb (thread apply all bt), any number",
        events: "`samples`, one a thread and backtrace",
        signs: &[Sign::Line(cg_stacks::gdb::is_innermost_frame)],
        seeds: &["gdb/13.txt"],
        ..of_stacks(Records(cg_stacks::gdb::parse))
    },
    Format {
        name: "async-profiler",
        aliases: &["asprof"],
        reads: "the report that async-profiler prints (-o traces)",
        events: "`samples`, and what they count by its unit: `time` (ns), `bytes`, `calls`",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::async_profiler::is_header_line)],
        seeds: &["printouts/async-profiler.txt"],
        ..of_stacks(Records(cg_stacks::async_profiler::parse))
    },
    Format {
        name: "rbspy",
        reads: "recordings of rbspy (--raw-file), a sampler for Ruby",
        events: "`samples`",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Line(cg_stacks::rbspy::is_header_line)],
        seeds: &["rbspy/raw-2.txt"],
        ..of_stacks(Records(cg_stacks::rbspy::parse))
    },
    Format {
        name: "vtune",
        reads: "VTune's top-down tree as comma-separated values",
        events: "the columns that end in `:Self`; times in ns",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::vtune::is_header_line)],
        seeds: &["printouts/vtune.csv"],
        ..of_stacks(Records(cg_stacks::vtune::parse))
    },
    Format {
        name: "visual-studio",
        reads: "Visual Studio's call tree as comma-separated values",
        events: "`calls`: how often the others called the innermost function",
        remarks: "its times are percentages, which add up to nothing",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::visual_studio::is_header_line)],
        seeds: &["printouts/visual-studio.csv"],
        ..of_stacks(Records(cg_stacks::visual_studio::parse))
    },
    Format {
        name: "memray",
        reads: "what memray transform csv writes of a recording of memray",
        events: "`bytes` and `allocations`",
        remarks: "threads and allocators are not told apart: memray adds up all threads and names one",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Line(cg_stacks::memray::is_header_line)],
        seeds: &["memray/threads.csv"],
        ..of_stacks(Records(cg_stacks::memray::parse))
    },
    Format {
        name: "bpftrace",
        reads: "what bpftrace prints of a map by stack",
        events: "`samples`, or the name of the map",
        answers: &[Stacks],
        signs: &[Sign::ManyLines(cg_stacks::bpftrace::is_bpftrace)],
        seeds: &["printouts/bpftrace.txt"],
        ..of_stacks(Records(cg_stacks::bpftrace::parse))
    },
    Format {
        name: "dtrace",
        reads: "what DTrace prints of an aggregation by stack",
        events: "`samples`",
        answers: &[Stacks],
        signs: &[Sign::ManyLines(cg_stacks::dtrace::is_dtrace)],
        seeds: &["printouts/dtrace.txt"],
        ..of_stacks(Records(cg_stacks::dtrace::parse))
    },
    Format {
        name: "folded",
        reads: "folded stacks: main;work;read 17, a line a stack",
        events: "`samples`, as the file does not say what was counted",
        remarks: "lines with two counts are two runs: the stream is a [diff](#diff) of stacks",
        signs: &[Sign::ManyLines(cg_stacks::folded::is_folded)],
        seeds: &["stacks/before.folded", "stacks/*.folded", "folded/*.folded"],
        ..of_stacks(Records(cg_stacks::folded::parse))
    },
];
