//! What `perf script --header` says in front of the samples: lines that begin with `#`.

use cg_stream::record::RunRecord;

/// The facts that a line of the header tells, put into the `run` record.
pub(super) fn read_line(line: &[u8], run: &mut RunRecord) {
    let text = String::from_utf8_lossy(line);
    let Some((key, value)) = text.trim_start_matches('#').split_once(" : ") else {
        return;
    };
    tell_fact(key.trim(), value.trim(), run);
}

/// Puts a fact that perf prints as `# KEY : VALUE` into the `run` record; of keys that say nothing there, nothing.
pub fn tell_fact(key: &str, value: &str, run: &mut RunRecord) {
    let sampling = &mut run.sampling;
    let mut label = |name: &str| {
        sampling.labels.insert(name.to_owned(), value.to_owned());
    };
    match key {
        "perf version" => run.creator = Some(format!("perf {value}")),
        "cmdline" => {
            label("cmdline");
            run.command = profiled_command(value).map(str::to_owned);
        }
        "hostname" => label("host"),
        "arch" => label("arch"),
        "os release" => label("os"),
        "cpudesc" => label("cpu"),
        "sample duration" => sampling.duration = milliseconds(value),
        "event" if sampling.sample_rate.is_none() => {
            sampling.sample_rate = frequency(value).map(Into::into);
        }
        _ => {}
    }
}

/// The options of `perf record` whose value is the next word.
const WITH_VALUE: &str = "-e --event -F --freq -c --count -o --output -i --input -p --pid -t --tid -u --uid \
    -C --cpu -m --mmap-pages -D --delay -r --realtime -j --branch-filter -G --cgroup -k --clockid --call-graph \
    --filter --max-size --switch-max-files --proc-map-timeout";

/// The command that `perf record` ran; `None` where it only watched, or was something else.
fn profiled_command(line: &str) -> Option<&str> {
    let (_, mut rest) = line.split_once(" record ")?;
    loop {
        rest = rest.trim_start();
        if !rest.starts_with('-') {
            return (!rest.is_empty()).then_some(rest);
        }
        let (option, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = behind;
        if option == "--" {
            return (!rest.is_empty()).then_some(rest);
        }
        if WITH_VALUE.split(' ').any(|known| known == option) {
            rest = behind
                .trim_start()
                .split_once(' ')
                .map_or("", |(_, behind)| behind);
        }
    }
}

/// The frequency of an event that was sampled by one: `{ sample_period, sample_freq } = 997, …, freq = 1`.
fn frequency(event: &str) -> Option<u64> {
    let value = |key: &str| {
        let (_, behind) = event.split_once(&format!("{key} = "))?;
        behind.split(',').next()?.trim().parse().ok()
    };
    (value(", freq")? == 1)
        .then(|| value("{ sample_period, sample_freq }"))
        .flatten()
}

/// `147.769 ms` in nanoseconds.
fn milliseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.strip_suffix(" ms")?.split_once('.')?;
    let whole: u64 = whole.parse().ok()?;
    let nanoseconds: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_perf_tells_the_run() {
        let mut run = RunRecord::new("perf");
        for line in [
            "# ========",
            "# captured on    : Sun Nov 22 00:52:16 2026",
            "# hostname : vm",
            "# perf version : 6.1.187",
            "# arch : x86_64",
            "# cmdline : /usr/bin/perf record -F 997 -g -- bash -c a : b ",
            "# event : name = cycles, , id = { 285 }, type = 1, { sample_period, sample_freq } = 4000, sample_type = IP",
            "# event : name = cpu-clock:u, , id = { 286 }, type = 1, size = 128, { sample_period, sample_freq } = 997, sample_type = IP, disabled = 1, freq = 1, enable_on_exec = 1",
            "# sample duration :    147.769 ms",
        ] {
            read_line(line.as_bytes(), &mut run);
        }
        assert_eq!(
            serde_json::to_string(&run).unwrap(),
            concat!(
                r#"{"type":"run","stream":1,"tool":"perf","creator":"perf 6.1.187","#,
                r#""command":"bash -c a : b","events":[],"total":{},"duration":147769000,"#,
                r#""labels":{"arch":"x86_64","cmdline":"/usr/bin/perf record -F 997 -g -- bash -c a : b","host":"vm"},"#,
                r#""sample_rate":997}"#
            )
        );
    }

    #[test]
    fn the_command_is_what_stands_behind_perfs_own_options() {
        for (line, expected) in [
            (
                "/usr/bin/perf record -q -e cpu-clock -F 99 -g -o x.data ./busy -n 3",
                Some("./busy -n 3"),
            ),
            (
                "perf record --call-graph dwarf,8192 -F997 -- sh -c x",
                Some("sh -c x"),
            ),
            ("perf record --event=cycles -ag sleep 5", Some("sleep 5")),
            ("perf record -a -g -F 99", None),
            ("perf record -p 77", None),
            ("perf mem -t load report", None),
        ] {
            assert_eq!(profiled_command(line), expected, "{line}");
        }
    }
}
