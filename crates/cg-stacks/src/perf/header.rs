//! The header that `perf script --header` prints before the samples, in lines that begin with `#`.

use cg_stream::record::RunRecord;

/// Adds the fact in a header line to the `run` record.
pub(super) fn read_line(line: &[u8], run: &mut RunRecord) {
    let text = String::from_utf8_lossy(line);
    let Some((key, value)) = text.trim_start_matches('#').split_once(" : ") else {
        return;
    };
    set_run_field(key.trim(), value.trim(), run);
}

/// Adds a fact, which perf prints as `# KEY : VALUE`, to the `run` record. Ignores other keys.
pub fn set_run_field(key: &str, value: &str, run: &mut RunRecord) {
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

/// The options of `perf record` that take the next word as their value.
const WITH_VALUE: &str = "-e --event -F --freq -c --count -o --output -i --input -p --pid -t --tid -u --uid \
    -C --cpu -m --mmap-pages -D --delay -r --realtime -j --branch-filter -G --cgroup -k --clockid --call-graph \
    --filter --max-size --switch-max-files --proc-map-timeout";

/// Returns the command that `perf record` ran; `None` if it only attached to processes, or if the line is another command.
fn profiled_command(line: &str) -> Option<&str> {
    let (_, mut rest) = line.split_once(" record ")?;
    loop {
        rest = rest.trim_start();
        if !rest.starts_with('-') {
            return (!rest.is_empty()).then_some(rest);
        }
        let (option, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        if option == "--" {
            return (!rest.is_empty()).then_some(rest);
        }
        if WITH_VALUE.split(' ').any(|known| known == option) {
            rest = after
                .trim_start()
                .split_once(' ')
                .map_or("", |(_, command)| command);
        }
    }
}

/// Returns the frequency of an event that is sampled by frequency: `{ sample_period, sample_freq } = 997, …, freq = 1`.
fn frequency(event: &str) -> Option<u64> {
    let value = |key: &str| {
        let (_, value) = event.split_once(&format!("{key} = "))?;
        value.split(',').next()?.trim().parse().ok()
    };
    (value(", freq")? == 1)
        .then(|| value("{ sample_period, sample_freq }"))
        .flatten()
}

/// Converts a text such as `147.769 ms` to nanoseconds.
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
    fn the_header_sets_fields_of_the_run_record() {
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
    fn the_command_follows_the_options_of_perf() {
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
