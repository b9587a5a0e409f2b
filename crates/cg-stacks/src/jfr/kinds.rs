//! The kinds of events that are read, and the events of the stream for which they count.

/// The meaning of a kind of event. Its weight is the fourth of the fields to read.
#[derive(Clone, Copy)]
pub(super) enum JfrCounts {
    /// A sample of a thread, which counts by the state of the thread.
    Sample,
    /// Samples of a thread by the wall clock, which count by the state of the thread.
    WallClock,
    /// Counts 1 for this event of the stream.
    One(usize),
    /// Counts 1 for this event of the stream, and the duration in ns for the next one.
    Duration(usize),
    /// Counts the value of the named field.
    Field(usize, &'static str),
    /// A sample of CPU time: counts 1, and its period.
    Period,
    /// An allocated block of native memory. A [`JfrCounts::Free`] at the same address frees it.
    Malloc,
    Free,
    /// Lost samples.
    Lost,
}

/// The events of the stream. The first one that occurs determines the order of records.
pub(super) const EVENTS: [(&str, &str); 19] = [
    ("samples", ""),
    ("cpu_time", "ns"),
    ("cpu_time_samples", ""),
    ("wall_samples", ""),
    ("native_samples", ""),
    ("allocated_bytes", "bytes"),
    ("tlab_bytes", "bytes"),
    ("live_bytes", "bytes"),
    ("malloc_bytes", "bytes"),
    ("malloc_live_bytes", "bytes"),
    ("sleeping_samples", ""),
    ("monitor_enters", ""),
    ("monitor_enter_time", "ns"),
    ("monitor_waits", ""),
    ("monitor_wait_time", "ns"),
    ("thread_parks", ""),
    ("thread_park_time", "ns"),
    ("thread_sleeps", ""),
    ("thread_sleep_time", "ns"),
];
pub(super) const SAMPLES: usize = 0;
pub(super) const CPU_TIME: usize = 1;
pub(super) const WALL_SAMPLES: usize = 3;
pub(super) const MALLOC: usize = 8;
pub(super) const MALLOC_LIVE: usize = 9;
pub(super) const SLEEPING_SAMPLES: usize = 10;

/// The kinds of events to read. A new thread-local buffer (TLAB) represents all allocations in it. Allocations outside of
/// buffers are counted individually.
pub(super) const KINDS: [(&[u8], JfrCounts); 15] = [
    (b"jdk.ExecutionSample", JfrCounts::Sample),
    (b"jdk.NativeMethodSample", JfrCounts::One(4)),
    (b"jdk.CPUTimeSample", JfrCounts::Period),
    (b"jdk.CPUTimeSamplesLost", JfrCounts::Lost),
    (b"profiler.WallClockSample", JfrCounts::WallClock),
    (b"jdk.ObjectAllocationSample", JfrCounts::Field(5, "weight")),
    (
        b"jdk.ObjectAllocationInNewTLAB",
        JfrCounts::Field(6, "tlabSize"),
    ),
    (
        b"jdk.ObjectAllocationOutsideTLAB",
        JfrCounts::Field(6, "allocationSize"),
    ),
    (
        b"profiler.LiveObject",
        JfrCounts::Field(7, "allocationSize"),
    ),
    (b"profiler.Malloc", JfrCounts::Malloc),
    (b"profiler.Free", JfrCounts::Free),
    (b"jdk.JavaMonitorEnter", JfrCounts::Duration(11)),
    (b"jdk.JavaMonitorWait", JfrCounts::Duration(13)),
    (b"jdk.ThreadPark", JfrCounts::Duration(15)),
    (b"jdk.ThreadSleep", JfrCounts::Duration(17)),
];

/// The slots of an event's fields, in the order of [`JfrCounts::wanted`].
pub(super) const THREAD: usize = 0;
pub(super) const OTHER_THREAD: usize = 1;
pub(super) const TRACE: usize = 2;
pub(super) const WEIGHT: usize = 3;
pub(super) const TIME: usize = 4;
pub(super) const ADDRESS: usize = 5;
pub(super) const STATE: usize = 6;

impl JfrCounts {
    pub(super) fn wanted(self) -> [&'static str; 7] {
        let weight = match self {
            JfrCounts::Sample | JfrCounts::One(_) | JfrCounts::Free => "",
            JfrCounts::WallClock => "samples",
            JfrCounts::Duration(_) => "duration",
            JfrCounts::Field(_, name) => name,
            JfrCounts::Period => "samplingPeriod",
            JfrCounts::Malloc => "size",
            JfrCounts::Lost => "lostSamples",
        };
        [
            "sampledThread",
            "eventThread",
            "stackTrace",
            weight,
            "startTime",
            "address",
            "state",
        ]
    }
}

/// Returns true if a thread in this state uses no processor: it sleeps, or waits for another thread.
pub(super) fn is_waiting(state: &[u8]) -> bool {
    let words: [&[u8]; 4] = [b"SLEEPING", b"WAIT", b"PARKED", b"BLOCKED"];
    let mut words = words.into_iter();
    words.any(|word| memchr::memmem::find(state, word).is_some())
}
