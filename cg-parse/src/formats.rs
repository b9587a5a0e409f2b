//! The list of formats. An entry contains everything about a format that its reader does not: names, signs, the reader
//! function, the questions that it answers, and texts for the documents and the tests.
//!
//! The first sign that appears in an input decides. If several appear at the same place, detection checks one kind of
//! [`Sign`] after the other, and each kind in the order of this list. If an input of format A can also contain the signs of
//! format B at the same place, then A precedes B.

use cg_callgrind::sums::Summed;

use crate::format::Answer::{Calls, Inlined, Lines as SourceLines, Stacks};
use crate::format::FormatReader::{self, Records, Revisions, Sums};
use crate::format::{Format, Sign, WithoutRecords};

// Libraries and position-independent executables are loaded at different addresses in each run. The text and the JSON do not
// record the object of a frame that has a line.
const ADDRESSES_OF_A_RUN: Option<&str> = Some(
    "Valgrind's stacks have addresses of the run, not of the objects; their frames include inlined functions unless Valgrind ran with --read-inline-info=no",
);
const FRAMES_OF_STACKS: Option<&str> =
    Some("the frames of stacks already include the inlined functions that the profiler found");
const NO_FUNCTIONS: Option<&str> = Some("totals have no functions");

/// The output of a job, in which reports may be anywhere. It has no signs.
pub(crate) static JOB_OUTPUT: Format = Format {
    name: "job output",
    // The job's exit status is the evidence.
    without_records: WithoutRecords::Complete,
    ..default_format(Records(cg_findings::parse_job_output))
};

/// Returns the defaults for an entry: a tool of the same name that records stacks with lines, with frames for inlined
/// functions.
const fn default_format(reader: FormatReader) -> Format {
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
        without_records: WithoutRecords::Error,
        seeds: &[],
    }
}

/// All formats.
pub static FORMATS: &[Format] = &[
    Format {
        name: "callgrind",
        reads: "Callgrind profiles, written by any program, and Valgrind's xtrees",
        events: "the events of the file",
        answers: &[SourceLines, Calls, Stacks, Inlined],
        without_inline: None,
        signs: &[Sign::CostHeader(Summed::Callgrind)],
        without_records: WithoutRecords::Complete,
        seeds: &[
            "callgrind/3.14.0-rec_sep.callgrind.out",
            "callgrind/*",
            "pair/*.callgrind.out",
        ],
        ..default_format(Sums(Summed::Callgrind))
    },
    Format {
        name: "cachegrind",
        reads: "Cachegrind profiles, and the output of cg_diff",
        events: "the events of the file",
        answers: &[SourceLines],
        without_inline: Some(
            "Cachegrind profiles have neither addresses nor objects; use Callgrind",
        ),
        signs: &[Sign::CostHeader(Summed::Cachegrind)],
        without_records: WithoutRecords::Complete,
        seeds: &[
            "cachegrind/3.27.1-rec_default.cachegrind.out",
            "cachegrind/*",
        ],
        ..default_format(Sums(Summed::Cachegrind))
    },
    Format {
        name: "massif",
        reads: "Massif's snapshots",
        events: "`bytes`; `blocks` in an xtree's snapshot that counts blocks",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Line(cg_heaps::massif::is_header_line)],
        seeds: &[
            "massif/3.19.0-heapy_i.massif.out",
            "massif/*.out",
            "massif/*.ms",
        ],
        ..default_format(Records(cg_heaps::massif::parse))
    },
    Format {
        name: "memcheck",
        aliases: &["helgrind", "drd", "log"],
        reads: "text logs of Memcheck, Helgrind and DRD",
        tools: &["memcheck", "helgrind", "drd"],
        events: "`bytes` and `blocks` of leaks, `count` of errors",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Line(cg_findings::text::is_log_line)],
        without_records: WithoutRecords::Complete,
        seeds: &["memcheck/3.27.1-leaky.log", "memcheck/*.log"],
        ..default_format(Records(cg_findings::parse_logs))
    },
    Format {
        name: "sanitizers",
        aliases: &["asan", "hwasan", "lsan", "msan", "tsan", "ubsan"],
        reads: "reports of the sanitizers of GCC, Clang and Rust, and of Go's race detector, in any log",
        tools: &["asan", "hwasan", "lsan", "msan", "tsan", "ubsan"],
        events: "`bytes` and `blocks` of leaks, if the sanitizer detects leaks; `count` of errors",
        remarks: "one section per process, after the sections of Valgrind in the same log",
        signs: &[Sign::Line(cg_findings::sanitizers::is_report_line)],
        without_records: WithoutRecords::Complete,
        seeds: &[
            "sanitizers/gcc-12-heap-buffer-overflow.log",
            "sanitizers/*.log",
        ],
        ..default_format(Records(cg_findings::parse_logs))
    },
    Format {
        name: "perf",
        reads: "the output of perf script",
        events: "the period of the sample under the name of its event (nanoseconds for `cpu-clock`), and 1 under `samples`",
        remarks: "the event with the most samples comes first; an event without periods is counted in samples, as `units` shows",
        signs: &[Sign::ManyLines(cg_stacks::perf::line_evidence)],
        seeds: &["perf/6.1-busy.perf.txt", "perf/*.perf.txt"],
        ..default_format(Records(cg_stacks::perf::parse))
    },
    Format {
        name: "perf-data",
        aliases: &["perf.data"],
        reads: "recordings of perf: perf.data",
        tools: &["perf"],
        events: "as for `perf`",
        remarks: "as for `perf`; lines and inlined functions come from the debug information of the objects",
        signs: &[Sign::Beginning(cg_perf_data::is_recording)],
        seeds: &["perf-data/6.1-spin.data", "perf-data/*.data"],
        ..default_format(Records(cg_perf_data::parse))
    },
    Format {
        name: "perf-json",
        reads: "the output of perf data convert --to-json",
        tools: &["perf"],
        events: "`samples`: the file has neither events nor periods",
        answers: &[Stacks],
        signs: &[Sign::Beginning(cg_stacks::perf::is_json)],
        seeds: &["perf-json/6.1-spin.json.gz"],
        ..default_format(Records(cg_stacks::perf::parse_json))
    },
    Format {
        name: "gprof",
        aliases: &["gmon"],
        reads: "profiles of gprof: gmon.out with its program (--exe), or the text that gprof prints",
        events: "`time` (ns), sampled",
        remarks: "calls are counted; the time of calls is estimated as gprof does: each call of a function takes the same time",
        answers: &[Calls],
        without_inline: Some("gprof adds up samples by function"),
        signs: &[
            Sign::Beginning(cg_gprof::is_gmon),
            Sign::Line(cg_gprof::is_header_line),
        ],
        seeds: &["gprof/2.40-tally.txt", "gprof/*.txt", "gprof/*.gmon"],
        ..default_format(Records(cg_gprof::parse))
    },
    Format {
        name: "pprof",
        reads: "pprof profiles: the protocol buffer, and the older formats that pprof's tools read",
        events: "the sample types in the order of the file: `samples`, `cpu`, `alloc_objects`, `inuse_space`, …; `NAME/UNIT` if two types have the same name",
        remarks: "counts of a sampled heap are scaled up, as `go tool pprof` does for the older formats",
        signs: &[Sign::Beginning(cg_stacks::pprof::is_profile)],
        without_records: WithoutRecords::Unusual,
        seeds: &[
            "pprof/go-heap.txt",
            "pprof/go-goroutine.txt",
            "pprof/*.gz",
            "pprof/*.cpu",
            "pprof/*.heap",
            "pprof/*.raw",
        ],
        ..default_format(Records(cg_stacks::pprof::parse))
    },
    Format {
        name: "jfr",
        reads: "recordings of Java's flight recorder and of async-profiler (.jfr)",
        events: "`samples` of running threads, `sleeping_samples` of threads that sleep or wait, `cpu_time` (ns) and `cpu_time_samples`, `wall_samples` (running threads by the wall clock), `native_samples` (threads in native code), `allocated_bytes` and `tlab_bytes` (weights), `live_bytes`, `malloc_bytes`, `malloc_live_bytes` (the part of `malloc_bytes` that was not freed), `monitor_enters`, `monitor_waits`, `thread_parks`, `thread_sleeps`, and their durations in ns (`monitor_enter_time`, …); only those that occur",
        remarks: "the label `state` is the state of the sampled thread; other events are not read",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::jfr::is_recording)],
        seeds: &["jfr/jdk17.jfr.gz", "jfr/*"],
        ..default_format(Records(cg_stacks::jfr::parse))
    },
    Format {
        name: "otlp",
        reads: "OpenTelemetry profiles: the protocol buffer or its JSON, version 1.7 and later",
        events: "the sample types, named as for `pprof`; a sample without values counts 1 per time stamp",
        signs: &[
            Sign::Beginning(cg_stacks::otlp::is_profiles),
            Sign::Beginning(cg_stacks::otlp::is_json),
        ],
        seeds: &["otlp/known-stacks.pb", "otlp/*.pb", "otlp/*.json"],
        ..default_format(Records(cg_stacks::otlp::parse))
    },
    Format {
        name: "perfetto",
        aliases: &["heapprofd"],
        reads: "traces of Perfetto: samples, heaps of heapprofd, slices",
        events: "`samples`; `allocated_bytes`, `live_bytes` (not freed), `allocations`, `live_allocations`, `max_bytes`; `time` (ns) of slices, without the slices inside; only those that occur",
        remarks: "the `thread` is the track of a slice; counters and scheduling are not read",
        signs: &[Sign::Beginning(cg_stacks::perfetto::is_trace)],
        seeds: &["perfetto/samples.pb.gz", "perfetto/*"],
        ..default_format(Records(cg_stacks::perfetto::parse))
    },
    Format {
        name: "xml",
        reads: "XML of Memcheck, Helgrind and DRD (protocols 4 to 6)",
        tools: &["memcheck", "helgrind", "drd"],
        events: "`bytes` and `blocks` of leaks, `count` of errors",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Beginning(cg_findings::xml::is_document)],
        without_records: WithoutRecords::Complete,
        seeds: &["memcheck/3.27.1-leaky.xml", "memcheck/*.xml"],
        ..default_format(Records(cg_findings::parse_documents))
    },
    Format {
        name: "dhat",
        reads: "DHAT's JSON, written by Valgrind or dhat-rs",
        events: "`total_bytes`, `total_blocks`, `gmax_bytes`, …: those of DHAT's mode",
        without_inline: ADDRESSES_OF_A_RUN,
        signs: &[Sign::Beginning(cg_heaps::dhat::is_document)],
        without_records: WithoutRecords::Unusual,
        seeds: &["dhat/3.19.0-inl.dhat.json", "dhat/*"],
        ..default_format(Records(cg_heaps::dhat::parse))
    },
    Format {
        name: "firefox",
        aliases: &["samply"],
        reads: "profiles of the Firefox Profiler, as samply and Firefox write them",
        events: "`samples` (the sum of the weights, or 1 per sample without weights), or `time` (ns) or `bytes` if the weights count these; `cpu`; `jsAllocations` and `nativeAllocations` in bytes, minus freed bytes",
        remarks: "samply's weights charge the time off the CPU to the stack with which the thread left the CPU",
        signs: &[Sign::Beginning(cg_stacks::firefox::is_profile)],
        seeds: &["firefox/small-v70.json", "firefox/*"],
        ..default_format(Records(cg_stacks::firefox::parse))
    },
    Format {
        name: "heaptrack",
        reads: "heaptrack's recordings",
        events: "`total_bytes`, `allocations`, `temporary`, `peak_bytes`, `leaked_bytes`; `bytes` in the heap of a snapshot",
        signs: &[Sign::Beginning(cg_heaps::heaptrack::is_recording)],
        without_records: WithoutRecords::Unusual,
        seeds: &["heaptrack/1.4.0-shapes.zst"],
        ..default_format(Records(cg_heaps::heaptrack::parse))
    },
    Format {
        name: "speedscope",
        reads: "speedscope's own JSON",
        events: "`time` (ns) for weights in a unit of time, with `samples` if they were sampled; `bytes`; `samples` for weights without a unit",
        remarks: "profiles with the same unit become threads, profiles with different units become sections",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::speedscope::is_profile)],
        seeds: &["speedscope/small.json", "speedscope/evented.json"],
        ..default_format(Records(cg_stacks::speedscope::parse))
    },
    Format {
        name: "v8",
        aliases: &["cpuprofile", "heapprofile"],
        reads: "CPU and heap profiles of V8: .cpuprofile, .heapprofile",
        tools: &["cpuprofile", "heapprofile"],
        events: "`samples`, `time` (ns from a sample to the next one); for a heap profile, the live `bytes`",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::v8::is_profile)],
        seeds: &[
            "v8/node.cpuprofile",
            "v8/node.heapprofile",
            "v8/old.cpuprofile",
        ],
        ..default_format(Records(cg_stacks::v8::parse))
    },
    Format {
        name: "chrome-trace",
        aliases: &["trace-events"],
        reads: "trace events: slices, or the samples of V8 or Hermes in a trace",
        tools: &["chrome-trace", "trace-events"],
        events: "for slices, `time` (ns, without the slices inside) and `slices` (the number of slices with time of their own); for CPU profiles, `samples` and `time` as for `v8`; for `stackFrames`, `samples`",
        remarks: "samples take precedence over slices, which show the tasks of a thread",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::trace_events::is_trace)],
        seeds: &["chrome-trace/node.json", "chrome-trace/*.json"],
        ..default_format(Records(cg_stacks::trace_events::parse))
    },
    Format {
        name: "node-prof",
        reads: "the output of node --prof-process --preprocess for a log of node --prof",
        events: "`samples`, one per tick, and `time` (ns since the previous tick)",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::v8::is_preprocessed)],
        seeds: &["v8/node-prof.json"],
        ..default_format(Records(cg_stacks::v8::parse_preprocessed))
    },
    Format {
        name: "stackprof",
        reads: "JSON of stackprof (raw: true), a sampler for Ruby",
        events: "`samples`; with the wall clock also `time` (ns since the previous sample)",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::stackprof::is_profile)],
        seeds: &["stackprof/cpu-0.2.json"],
        ..default_format(Records(cg_stacks::stackprof::parse))
    },
    Format {
        name: "ghc",
        aliases: &["haskell"],
        reads: "reports of GHC's profiler on a Haskell program: +RTS -p, -P, -pj",
        events: "`ticks` and `bytes`",
        remarks: "`-p` prints only percentages; they are counted in tenths, as `units` shows",
        answers: &[SourceLines, Stacks],
        signs: &[
            Sign::Beginning(cg_stacks::ghc::is_document),
            Sign::Line(cg_stacks::ghc::is_header_line),
        ],
        seeds: &["ghc/ticks.prof", "ghc/ghc.json"],
        ..default_format(Records(cg_stacks::ghc::parse))
    },
    Format {
        name: "gungraun",
        aliases: &["iai-callgrind"],
        reads: "JSON summaries of gungraun and iai-callgrind: totals",
        events: "the metrics of each tool",
        remarks: "totals, without records",
        answers: &[],
        without_inline: NO_FUNCTIONS,
        signs: &[Sign::Beginning(cg_totals::gungraun::is_summary)],
        without_records: WithoutRecords::Complete,
        seeds: &["gungraun/0.20-compared.summary.json"],
        ..default_format(Revisions(cg_totals::gungraun::parse))
    },
    Format {
        name: "criterion",
        reads: "Criterion's estimates: the mean time of an iteration",
        events: "`ns`, the mean time of an iteration, in thousandths as `units` shows",
        remarks: "totals with their confidence interval, without records",
        answers: &[],
        without_inline: NO_FUNCTIONS,
        signs: &[Sign::Beginning(cg_totals::criterion::is_estimates)],
        without_records: WithoutRecords::Complete,
        seeds: &["criterion/response.estimates.json"],
        ..default_format(Records(cg_totals::criterion::parse))
    },
    Format {
        name: "perf-stat",
        reads: "counters of perf stat -x, or perf stat -j: totals",
        events: "the counters",
        remarks: "totals, without records",
        answers: &[],
        without_inline: NO_FUNCTIONS,
        signs: &[Sign::ManyLines(cg_totals::perf_stat::line_evidence)],
        without_records: WithoutRecords::Complete,
        seeds: &["perf-stat/6.1-counters.csv", "perf-stat/*"],
        ..default_format(Records(cg_totals::perf_stat::parse))
    },
    Format {
        name: "xctrace",
        reads: "the XML of xctrace export",
        events: "`samples`, one per row, and the row's `weight` in ns, or `cycles`",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Beginning(cg_stacks::xctrace::is_export)],
        seeds: &["printouts/xctrace.xml"],
        ..default_format(Records(cg_stacks::xctrace::parse))
    },
    Format {
        name: "sample",
        reads: "the output of sample, a tool of macOS",
        events: "`samples`: the count of a line minus the counts of its callees",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::sample::is_header_line)],
        seeds: &["printouts/sample.txt"],
        ..default_format(Records(cg_stacks::sample::parse))
    },
    Format {
        name: "instruments",
        reads: "a call tree copied from macOS's Instruments with Deep Copy",
        events: "`time` (ns), `cycles` or `bytes`, and `count` of allocations",
        remarks: "figures are rounded as Instruments shows them",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::instruments::is_header_line)],
        seeds: &["instruments/time.txt"],
        ..default_format(Records(cg_stacks::instruments::parse))
    },
    Format {
        name: "jstack",
        reads: "one or more thread dumps of a JVM (jstack, jcmd Thread.print, kill -QUIT)",
        events: "`samples` for RUNNABLE threads, `waiting` for other threads",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Line(cg_stacks::jstack::is_dump_line)],
        seeds: &["jstack/17.txt"],
        ..default_format(Records(cg_stacks::jstack::parse))
    },
    Format {
        name: "gdb",
        reads: "one or more backtraces of gdb (thread apply all bt)",
        events: "`samples`, one per thread and backtrace",
        signs: &[Sign::Line(cg_stacks::gdb::is_innermost_frame)],
        seeds: &["gdb/13.txt"],
        ..default_format(Records(cg_stacks::gdb::parse))
    },
    Format {
        name: "async-profiler",
        aliases: &["asprof"],
        reads: "the report that async-profiler prints (-o traces)",
        events: "`samples`, and the sampled quantity, named after its unit: `time` (ns), `bytes`, `calls`",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::async_profiler::is_header_line)],
        seeds: &["printouts/async-profiler.txt"],
        ..default_format(Records(cg_stacks::async_profiler::parse))
    },
    Format {
        name: "rbspy",
        reads: "recordings of rbspy (--raw-file), a sampler for Ruby",
        events: "`samples`",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Line(cg_stacks::rbspy::is_header_line)],
        seeds: &["rbspy/raw-2.txt"],
        ..default_format(Records(cg_stacks::rbspy::parse))
    },
    Format {
        name: "vtune",
        reads: "VTune's top-down tree as comma-separated values",
        events: "the columns that end in `:Self`; times in ns",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::vtune::is_header_line)],
        seeds: &["printouts/vtune.csv"],
        ..default_format(Records(cg_stacks::vtune::parse))
    },
    Format {
        name: "visual-studio",
        reads: "Visual Studio's call tree as comma-separated values",
        events: "`calls`: the number of calls to the innermost function along this stack",
        remarks: "times are not read, because they are rounded percentages",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::visual_studio::is_header_line)],
        seeds: &["printouts/visual-studio.csv"],
        ..default_format(Records(cg_stacks::visual_studio::parse))
    },
    Format {
        name: "memray",
        reads: "the output of memray transform csv for a recording of memray",
        events: "`bytes` and `allocations`",
        remarks: "threads and allocators are not distinguished: memray adds up all threads and names one of them",
        answers: &[SourceLines, Stacks],
        signs: &[Sign::Line(cg_stacks::memray::is_header_line)],
        seeds: &["memray/threads.csv"],
        ..default_format(Records(cg_stacks::memray::parse))
    },
    Format {
        name: "bpftrace",
        reads: "the output of bpftrace for a map keyed by stack",
        events: "`samples`, or the name of the map",
        answers: &[Stacks],
        signs: &[Sign::ManyLines(cg_stacks::bpftrace::line_evidence)],
        seeds: &["printouts/bpftrace.txt"],
        ..default_format(Records(cg_stacks::bpftrace::parse))
    },
    Format {
        name: "dtrace",
        reads: "the output of DTrace for an aggregation by stack",
        events: "`samples`",
        answers: &[Stacks],
        signs: &[Sign::ManyLines(cg_stacks::dtrace::line_evidence)],
        seeds: &["printouts/dtrace.txt"],
        ..default_format(Records(cg_stacks::dtrace::parse))
    },
    Format {
        name: "folded",
        reads: "folded stacks, one per line: main;work;read 17",
        events: "`samples`, because the file does not name its event",
        remarks: "lines with two counts describe two runs: the stream is a [diff](#diff) of stacks",
        signs: &[Sign::ManyLines(cg_stacks::folded::line_evidence)],
        seeds: &["stacks/before.folded", "stacks/*.folded", "folded/*.folded"],
        ..default_format(Records(cg_stacks::folded::parse))
    },
];
