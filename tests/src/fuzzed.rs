//! Laws that hold for any bytes. `fuzz/` searches for inputs that break a law; the tests check the laws on the seeds.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use cg_debug_info::{CoveringSymbols, DebugInfo, Limits, MachineCode, ObjectFile, Search};
use cg_document::separated::{self, ValueReader};
use cg_document::text::{self, Screen};
use cg_document::{Block, Cell, Column, Document, Layout, Table, Worth, markdown, visible};
use cg_names::code_origin::CodeOwner;
use cg_names::demangle::{LONGEST_DEMANGLED, demangle_str};
use cg_names::frame_text::FrameText;
use cg_names::identity::{
    is_same_in_other_mangling, normal_function, normal_function_within_build,
};
use cg_names::membership::{find_crate, find_module, is_within};
use cg_names::structure::ParsedName;
use cg_names::structure::shorten::{forms, shorten};
use cg_parse::{Format, Options};
use cg_profile::Profile;
use cg_stream::Diagnostics;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use crate::tools;

/// The maximum input length. Longer inputs take long and rarely find anything new.
const LONGEST: usize = 1 << 16;

/// Checks the laws of [`reader`] for the format that the environment variable `CG_FUZZ_FORMAT` names.
///
/// # Panics
/// Panics if a law does not hold, or if `CG_FUZZ_FORMAT` is not the name of a format.
pub fn reader_of_environment(bytes: &[u8]) {
    static FORMAT: LazyLock<&Format> = LazyLock::new(|| {
        let name = std::env::var("CG_FUZZ_FORMAT").ok();
        name.and_then(|name| Format::find(&name))
            .expect("CG_FUZZ_FORMAT names a format")
    });
    // Writing byte by byte takes most of the time of a long input.
    reader_in_pieces(*FORMAT, bytes, 1 + bytes.len() / 128);
}

/// Checks the laws for readers: the result does not change if the bytes are packed or arrive one by one from a pipe, and the
/// costs of a complete stream sum to its total.
///
/// # Panics
/// Panics if a law does not hold.
pub fn reader(format: &'static Format, bytes: &[u8]) {
    reader_in_pieces(format, bytes, 1);
}

/// Checks the laws for readers. The pipe delivers `piece` bytes at a time.
fn reader_in_pieces(format: &'static Format, bytes: &[u8], piece: usize) {
    if bytes.len() > LONGEST {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    fs::write(&path, bytes).unwrap();
    let plain = parsed(format, &path);
    if let Some(stream) = &plain.whole {
        sums_to_its_total(stream);
    }
    // Input that starts like packed data is unpacked without packing it again. zstd data can begin with a frame to skip.
    let is_packed = matches!(
        bytes,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    );
    if !is_packed {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        fs::write(&path, gzip.finish().unwrap()).unwrap();
        assert_eq!(parsed(format, &path), plain, "{format:?}, packed by gzip");
    }
    assert_eq!(
        parsed_from_pipe(format, bytes, piece),
        plain,
        "{format:?}, in pieces of {piece} bytes out of a pipe"
    );
}

/// The result of a reader. Its texts do not contain the name of the input.
#[derive(Debug, PartialEq, Eq)]
struct Parsed {
    text: String,
    messages: Vec<String>,
    /// The stream, if it has an `end` record and there was no error.
    whole: Option<String>,
}

fn parsed(format: &'static Format, path: &Path) -> Parsed {
    let options = Options {
        lines: true,
        calls: true,
        ..Options::default()
    };
    let messages = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&messages);
    let mut diagnostics =
        Diagnostics::to(move |message, _| sink.lock().unwrap().push(message.to_owned()));
    let mut out = Vec::new();
    let result = cg_parse::parse(
        &[PathBuf::from(path)],
        Some(format),
        &options,
        &mut out,
        &mut diagnostics,
    );
    let name = path.display().to_string();
    let text = without_name(&String::from_utf8(out).unwrap(), &name);
    let has_errors = diagnostics.has_errors();
    drop(diagnostics);
    let mut messages: Vec<String> = messages.lock().unwrap().clone();
    messages.extend(result.err().map(|error| error.to_string()));
    for message in &mut messages {
        *message = without_name(message, &name);
    }
    let is_whole = !has_errors
        && text
            .lines()
            .last()
            .is_some_and(|line| line.contains("\"end\""));
    Parsed {
        whole: is_whole.then(|| text.clone()),
        text,
        messages,
    }
}

/// Replaces the name of the input, and all names of descriptors, which an input can contain by chance.
fn without_name(text: &str, name: &str) -> String {
    let mut parts = text.split("/dev/fd/");
    let mut result = parts.next().unwrap_or_default().replace(name, "INPUT");
    for part in parts {
        result += "INPUT";
        result += &part
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .replace(name, "INPUT");
    }
    result
}

fn parsed_from_pipe(format: &'static Format, bytes: &[u8], piece: usize) -> Parsed {
    use std::os::fd::AsRawFd as _;
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for piece in bytes.chunks(piece) {
                writer.write_all(piece).unwrap();
            }
        });
        let parsed = parsed(format, &path);
        // Drains the pipe after a reader that gave up. Under libFuzzer, whose main is not Rust's, a write into a pipe
        // without a reader ends the process.
        std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
        parsed
    })
}

/// Checks law 2: over the records of one type, costs sum to the total of the runs.
fn sums_to_its_total(stream: &str) {
    let records: Vec<Value> = stream
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let sums = |kind: &str, field: &str| -> BTreeMap<(String, usize), i128> {
        let mut sums = BTreeMap::new();
        for record in records.iter().filter(|record| record["type"] == kind) {
            for (event, counts) in record[field].as_object().into_iter().flatten() {
                // A comparison has a count for each run, or `null`.
                let counts = counts
                    .as_array()
                    .map_or(std::slice::from_ref(counts), |all| all);
                for (run, count) in counts
                    .iter()
                    .enumerate()
                    .filter(|(_, count)| !count.is_null())
                {
                    let count: i128 = count.to_string().parse().unwrap();
                    *sums.entry((event.clone(), run)).or_default() += count;
                }
            }
        }
        sums.retain(|_, sum| *sum != 0);
        sums
    };
    let total = sums("run", "total");
    for kind in ["fn", "heap", "program_point", "stack", "diff"] {
        if records.iter().any(|record| record["type"] == kind) {
            assert_eq!(sums(kind, "cost"), total, "{kind}: {stream}");
        }
    }
}

/// Checks a stream: a complete one without errors has records whose sums fit its total, and the packed stream is the same.
///
/// # Panics
/// Panics if a law does not hold.
pub fn stream(bytes: &[u8]) {
    if bytes.len() > LONGEST {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stream");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let mut diagnostics = Diagnostics::to(|_, _| {});
        let mut profile = Profile::default();
        let options = Options::default();
        let framing = cg_parse::stream::read(&path, &options, &mut diagnostics, &mut profile);
        let sums = profile.check_sums().map_err(|error| error.to_string());
        let rows = profile
            .types()
            .map(|kind| (kind, profile.table(kind).len()));
        let rows = Vec::from_iter(rows);
        (framing.ok(), sums.is_ok(), rows, diagnostics.has_errors())
    };
    let plain = read(bytes);
    if !bytes.starts_with(b"\x1f\x8b") && !bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        assert_eq!(read(&gzip.finish().unwrap()), plain, "packed by gzip");
    }
}

/// Checks what the tools derive from a symbol: a demangled name has a limited length and no mark of the rewriting, a module
/// is in its crate, and the parts of a name are inside it.
///
/// # Panics
/// Panics if a law does not hold.
pub fn symbol(bytes: &[u8]) {
    const MARK: &str = "cg$";
    let Ok(symbol) = std::str::from_utf8(&bytes[..bytes.len().min(LONGEST)]) else {
        return;
    };
    let demangled = demangle_str(symbol);
    let longest = symbol.len() + LONGEST_DEMANGLED;
    assert!(demangled.len() <= longest, "{} bytes", demangled.len());
    assert!(
        symbol.contains(MARK) || !demangled.contains(MARK),
        "{demangled}"
    );
    for name in [symbol, &demangled] {
        let _ = (normal_function(name), normal_function_within_build(name));
        let [file, object] = [Some("src/lib.rs"), Some("/usr/lib/libstdc++.so.6")];
        let krate = find_crate(name, file, object);
        let module = find_module(name, file, object);
        assert!(is_within(&module, &krate), "{module} is not in {krate}");
        let _ = CodeOwner::from_names([Some(name), file, object]);
        let parsed = ParsedName::new(name.as_bytes());
        let parts = [parsed.path(), parsed.without_return_type(), parsed.suffix()];
        let is_short = parts.iter().all(|part| part.len() <= name.len());
        assert!(is_short, "{parts:?}");
        let starts = parsed.segment_starts();
        assert!(starts.iter().all(|start| *start <= name.len()), "{name}");
        let _ = (parsed.short_name(), parsed.identifiers());
        let _ = (parsed.implementor(), parsed.has_generic_argument("T"));
        for length in [1, 10, 30] {
            let _ = shorten(name, |text| text.len() <= length);
        }
        for form in forms(name) {
            let mut last = 0;
            for place in form.cuts.iter().map(|cut| &cut.place) {
                assert!(last <= place.start && place.start <= place.end, "{name}");
                assert!(name.is_char_boundary(place.start), "{name}");
                assert!(name.is_char_boundary(place.end), "{name}");
                last = place.end;
            }
        }
        let text = FrameText {
            has_column: true,
            demangle: true,
        };
        let _ = text.frame(name.as_bytes());
    }
    let is_same = is_same_in_other_mangling(symbol, &demangled);
    assert_eq!(is_same_in_other_mangling(&demangled, symbol), is_same);
}

/// Makes all lookups in an object: inlined functions, symbols, lines, call frames and fingerprints of its code.
///
/// # Panics
/// Panics if a chain is deeper than the limit.
pub fn object(bytes: &[u8]) {
    if bytes.len() > LONGEST {
        return;
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let search = Search::default();
    let Ok(object) = ObjectFile::open(file.path(), &search.limits) else {
        return;
    };
    let start = object.base_address().unwrap_or(0);
    let addresses = Vec::from_iter((start..start.saturating_add(0x2000)).step_by(3));
    let _ = object.unwind_sections();
    let _ = CoveringSymbols::covering(&[&object], &addresses);
    if let Ok(info) = DebugInfo::find(&object, &search) {
        let chains = info.chains(&addresses);
        for innermost in chains.innermost.iter().flatten() {
            assert!(chains.chain(*innermost).count() <= Limits::default().depth + 1);
        }
        info.rows(std::slice::from_ref(&(0..u64::MAX)));
    }
    let symbols = CoveringSymbols::all(&[&object]);
    let executed = symbols.iter().flat_map(CoveringSymbols::iter);
    let executed = Vec::from_iter(executed.map(|symbol| symbol.addresses.start).take(64));
    if let Ok(mut code) = MachineCode::new(object, None) {
        for address in executed {
            let _ = code.prints(|_| true, &[address]);
        }
    }
}

/// Checks the output formats with arbitrary names: CSV can be read back, each row is one line, the output has no control
/// characters, and no line is wider than the screen.
///
/// # Panics
/// Panics if a law does not hold.
pub fn renderer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    let width = text.len() % 150 + 1;
    let names: Vec<&str> = text.split('\0').collect();
    let names = &names;
    let name = move |row: usize| Cell::Name(names[row]);
    let table = || {
        let columns = vec![
            Column::new("Ir", Layout::Number, |row| Cell::Count(row as i128 * 1_000)),
            Column::new("Ir%", Layout::Percent, |row| Cell::share(row as i128, 7)),
            Column::new("fn", Layout::Name, name),
            Column::new("file", Layout::Path, name),
            Column::new("obj", Layout::Path, name).worth(Worth::Object),
            Column::new("why", Layout::Text, name).worth(Worth::Explanation),
        ];
        Table::new(columns, (0..names.len()).collect())
    };
    let document = Document {
        blocks: vec![
            Block::Heading(names[0].to_owned()),
            Block::Table(table()),
            Block::Verbatim(names.iter().map(|name| (*name).to_owned()).collect()),
            Block::Note(text.clone().into_owned()),
        ],
    };
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    };
    let screen = Screen {
        width: Some(width),
        is_coloured: false,
        has_bars: true,
    };
    let shown = written(&|out| text::write(&document, screen, out).unwrap());
    for line in shown.lines() {
        // A character can be two columns wide.
        assert!(line.width() <= width.max(2), "{width}: {line:?}");
    }
    let csv = written(&|out| separated::write_csv(&document, ValueReader::Program, out).unwrap());
    let tsv = written(&|out| separated::write_tsv(&document, ValueReader::Program, out).unwrap());
    let page = written(&|out| markdown::write(&document, out).unwrap());
    for (form, written) in [
        ("text", &shown),
        ("csv", &csv),
        ("tsv", &tsv),
        ("markdown", &page),
    ] {
        let raw = written
            .chars()
            .find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        assert_eq!(raw, None, "{form}");
    }
    assert_eq!(csv.lines().count(), names.len() + 1);
    assert_eq!(tsv.lines().count(), names.len() + 1);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    for (record, name) in reader.records().zip(names) {
        assert_eq!(&record.unwrap()[2], &*visible(name));
    }
}

/// The formats that cg-fmt writes for other viewers, each with true if cg-parse reads the format.
const VIEWERS: [(&str, bool); 7] = [
    ("folded", true),
    ("speedscope", true),
    ("pprof", true),
    ("firefox", true),
    ("callgrind", true),
    ("flamegraph", false),
    ("dot", false),
];

/// Checks the formats that cg-fmt writes for other viewers. The exit status must be known. cg-parse must read the output
/// without errors. If cg-parse does not support the format, the output must have no control characters.
///
/// # Panics
/// Panics if a law does not hold.
pub fn viewer(bytes: &[u8]) {
    if bytes.len() > LONGEST {
        return;
    }
    for (viewer, is_read) in VIEWERS {
        let written = tools::run("cg-fmt", &["-f", viewer], bytes);
        assert!(
            matches!(written.status, 0 | 2),
            "{viewer}: {}",
            written.status
        );
        if written.status != 0 {
            continue;
        }
        if is_read {
            let from = format!("--from={viewer}");
            let read = tools::run("cg-parse", &[&from, "-"], &written.stdout);
            let is_empty = read.stderr.contains("the input is empty")
                // The stacks of the input have no cost.
                || (read.stderr.contains("no samples or other records")
                    && written.text().contains("\"samples\":[]"));
            assert!(read.status == 0 || is_empty, "{viewer}: {}", read.stderr);
            continue;
        }
        let text = String::from_utf8(written.stdout).unwrap();
        let raw = text
            .chars()
            .find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        assert_eq!(raw, None, "{viewer}");
    }
}

/// Checks the five binaries: exit statuses are known, a filter without a condition is `cat`, and an input that cannot be
/// parsed never gets a clean verdict.
///
/// # Panics
/// Panics if a law does not hold.
pub fn pipeline(bytes: &[u8]) {
    if bytes.len() > LONGEST {
        return;
    }
    let parsed = tools::run("cg-parse", &[], bytes);
    assert!(
        matches!(parsed.status, 0 | 2),
        "cg-parse: {}",
        parsed.status
    );
    let filtered = tools::run("cg-filter", &[""], &parsed.stdout);
    if parsed.status == 0 {
        assert_eq!((filtered.status, &filtered.stdout), (0, &parsed.stdout));
    }
    let judged = tools::run("leak-check", &[], bytes);
    assert!(
        matches!(judged.status, 0..=2),
        "leak-check: {}",
        judged.status
    );
    assert!(
        parsed.status == 0 || judged.status != 0,
        "clean verdict on an input that cannot be parsed"
    );
    for args in [
        &[][..],
        &["-f", "csv"],
        &["-f", "markdown"],
        &["-f", "json"],
    ] {
        let shown = tools::run("cg-fmt", args, bytes);
        assert!(
            matches!(shown.status, 0 | 2),
            "cg-fmt {args:?}: {}",
            shown.status
        );
    }
    let compared = tools::run(
        "cg-diff",
        &["-", &crate::data(SMALL).display().to_string()],
        bytes,
    );
    assert!(
        matches!(compared.status, 0 | 2),
        "cg-diff: {}",
        compared.status
    );
}

/// A profile to compare with.
const SMALL: &str = "callgrind/3.19.0-rec_default.callgrind.out";
