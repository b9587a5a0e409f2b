//! Profiles of stacks: compares cg-parse with the output of the producers' own tools.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use needs::needs;
use serde_json::{Value, json};
use tests::{data, tools};

/// The sums of a profile by stack. A stack consists of frames, innermost first, with only the fields that both sides have.
type Stacks = BTreeMap<Vec<String>, Vec<i64>>;

/// `FILE.raw.txt` is the output of `go tool pprof -symbolize=none -raw FILE`.
#[test]
fn pprof_prints_the_same_samples() {
    let mut count = 0;
    for entry in fs::read_dir(data("pprof")).unwrap() {
        let path = entry.unwrap().path();
        if let Some(profile) = path.to_str().unwrap().strip_suffix(".raw.txt") {
            let (events, printed) = printed_by_pprof(&fs::read_to_string(&path).unwrap());
            let (run, read) = read_by_cg_parse(Path::new(profile));
            assert_eq!(run["events"], Value::from(events), "{profile}");
            assert_eq!(read, printed, "{profile}");
            count += 1;
        }
    }
    assert_eq!(count, 6);
}

/// Parses the events and stacks of a printout.
fn printed_by_pprof(text: &str) -> (Vec<String>, Stacks) {
    let section = |from: &str, to: &str| {
        let begin = text.find(from).unwrap() + from.len();
        let end = text[begin..].find(to).unwrap_or(text.len() - begin);
        text[begin..begin + end].lines().collect::<Vec<&str>>()
    };
    let mut mappings = BTreeMap::new();
    for line in section("\nMappings\n", "\0") {
        let (number, mapping) = line.split_once(": ").unwrap();
        let (range, rest) = mapping.split_once(' ').unwrap();
        let [start, _end, offset]: [u64; 3] =
            <[&str; 3]>::try_from(range.split('/').collect::<Vec<_>>())
                .unwrap()
                .map(hex);
        let object = rest.split(' ').next().unwrap();
        mappings.insert(number, (start, offset, object));
    }
    let mut locations: BTreeMap<&str, (u64, Vec<String>)> = BTreeMap::new();
    let mut last = "";
    for line in section("\nLocations\n", "\nMappings\n") {
        let mut rest = line.trim_start();
        if let Some((number, location)) = rest.split_once(": 0x") {
            let (address, location) = location.split_once(' ').unwrap();
            let (mapping, functions) = location.split_once(' ').unwrap();
            let (start, offset, object) = mappings[mapping.strip_prefix("M=").unwrap()];
            let address = hex(address);
            let place = if object.is_empty() {
                address
            } else {
                address - start + offset
            };
            locations.insert(number, (place, Vec::new()));
            (last, rest) = (number, functions);
        }
        if !rest.is_empty() {
            let (function, _) = rest.rsplit_once(" s=").unwrap();
            let frames = &mut locations.get_mut(last).unwrap().1;
            frames.push(function.to_owned());
        }
    }
    let samples = section("\nSamples:\n", "\nLocations\n");
    let columns = samples[0].split_whitespace();
    let events = columns.map(|column| column.split_once('/').unwrap().0.to_owned());
    let mut stacks = Stacks::new();
    for line in &samples[1..] {
        // The lines between samples are labels.
        let Some((values, ids)) = line
            .split_once(": ")
            .filter(|(front, _)| !front.contains(':'))
        else {
            continue;
        };
        let mut stack = Vec::new();
        for id in ids.split_whitespace() {
            let (address, functions) = &locations[id];
            match functions.as_slice() {
                [] => stack.push(format!("{address:#x}")),
                functions => stack.extend_from_slice(functions),
            }
        }
        let values = values
            .split_whitespace()
            .map(|value| value.parse().unwrap());
        add(&mut stacks, stack, values.collect());
    }
    (events.collect(), stacks)
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn add(stacks: &mut Stacks, stack: Vec<String>, values: Vec<i64>) {
    match stacks.get_mut(&stack) {
        Some(sums) => sums
            .iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value),
        None => {
            stacks.insert(stack, values);
        }
    }
}

/// Returns the run record and the stacks from cg-parse.
fn read_by_cg_parse(profile: &Path) -> (Value, Stacks) {
    let run = tools::run("cg-parse", &[profile.to_str().unwrap()], b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let records: Vec<Value> = run
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let run = records[0].clone();
    // pprof ignores the symbols in Go's text format.
    let is_text = profile
        .extension()
        .is_some_and(|extension| extension == "txt");
    let mut stacks = Stacks::new();
    for record in records.iter().filter(|record| record["type"] == "stack") {
        let frames = record["stack"].as_array().unwrap().iter();
        let stack = frames.map(|frame| match (frame["file"].as_str(), is_text) {
            (Some(file), false) => {
                format!("{} {file}:{}", frame["fn"].as_str().unwrap(), frame["line"])
            }
            _ => frame["addr"].as_str().unwrap().to_owned(),
        });
        let events = run["events"].as_array().unwrap().iter();
        let cost = events.map(|event| record["cost"][event.as_str().unwrap()].as_i64());
        let cost = cost.map(Option::unwrap_or_default);
        add(&mut stacks, stack.collect(), cost.collect());
    }
    (run, stacks)
}

/// `go tool pprof` does not read profiles of jemalloc, so the test scales the counts after each stack itself.
#[test]
fn jemalloc_counts_are_scaled_like_in_jeprof() {
    let file = data("pprof/jemalloc.heap");
    let text = fs::read_to_string(&file).unwrap();
    let rate: f64 = 4096.0;
    assert!(text.starts_with("heap_v2/4096\n"));
    let mut expected: Vec<Vec<i64>> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(addresses) = line.strip_prefix("@ ") {
            depths.push(addresses.split(' ').count());
        } else if let Some(counts) = line.strip_prefix("t*: ")
            && !depths.is_empty()
        {
            let (count, rest) = counts.split_once(": ").unwrap();
            let bytes = rest.split_once(" [").unwrap().0;
            let [count, bytes] = [count, bytes].map(|text| text.parse::<f64>().unwrap());
            let scale = 1.0 / (1.0 - (-(bytes / count) / rate).exp());
            expected.push(vec![(count * scale) as i64, (bytes * scale) as i64]);
        }
    }
    let (run, stacks) = read_by_cg_parse(&file);
    assert_eq!(
        run["events"],
        Value::from(vec!["inuse_objects", "inuse_space"])
    );
    let mut read: Vec<_> = stacks.values().cloned().collect();
    let mut read_depths: Vec<_> = stacks.keys().map(Vec::len).collect();
    for list in [&mut read_depths, &mut depths] {
        list.sort_unstable();
    }
    read.sort_unstable();
    expected.sort_unstable();
    assert_eq!((read, read_depths), (expected, depths));
}

/// Reads a document, which may be packed.
fn document(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap();
    let mut text = Vec::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => {
            MultiGzDecoder::new(&bytes[..])
                .read_to_end(&mut text)
                .unwrap();
        }
        false => text = bytes,
    }
    serde_json::from_slice(&text).unwrap()
}

/// Returns the files of a folder of the test data. Panics if their number differs from `count`.
fn files(folder: &str, count: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(data(folder)).unwrap();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(paths.len(), count, "{folder}");
    paths
}

/// Returns the run record and the stacks from cg-parse. A stack is the thread, followed by the names of the frames.
fn named_stacks(path: &Path) -> (Value, Stacks) {
    stacks_by(path, |frame| {
        vec![frame["fn"].as_str().unwrap_or("").to_owned()]
    })
}

/// Formats a frame as `object+address` if both are known. Its name depends on the machine: if the machine has the object,
/// cg-parse finds the function and the functions inlined there.
fn by_address(frame: &Value) -> Vec<String> {
    match (frame["obj"].as_str(), frame["addr"].as_str()) {
        (Some(_), Some(_)) if frame["inlined"] == true => vec![],
        (Some(object), Some(address)) => {
            vec![format!("{}+{address}", object.rsplit('/').next().unwrap())]
        }
        _ => vec![frame["fn"].as_str().unwrap_or("").to_owned()],
    }
}

/// Returns the run record and the stacks, with the frames formatted by a function.
fn stacks_by(path: &Path, format: impl Fn(&Value) -> Vec<String>) -> (Value, Stacks) {
    let run = tools::run("cg-parse", &["--no-demangle", path.to_str().unwrap()], b"");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let records: Vec<Value> = run
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let events: Vec<&str> = records[0]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event.as_str().unwrap())
        .collect();
    let mut stacks = Stacks::new();
    for record in records.iter().filter(|record| record["type"] == "stack") {
        let mut stack = vec![record["thread"].as_str().unwrap_or("").to_owned()];
        for frame in record["stack"].as_array().unwrap() {
            stack.extend(format(frame));
        }
        let cost = events
            .iter()
            .map(|event| record["cost"][event].as_i64().unwrap_or(0));
        add(&mut stacks, stack, cost.collect());
    }
    stacks.retain(|_, cost| cost.iter().any(|count| *count != 0));
    (records[0].clone(), stacks)
}

/// Walks the tables of the Firefox Profiler as generic JSON.
#[test]
fn firefox_profiles_have_the_samples_of_their_tables() {
    for path in files("firefox", 7) {
        let profile = document(&path);
        let (run, read) = stacks_by(&path, by_address);
        let mut expected = Stacks::new();
        for thread in profile["threads"].as_array().unwrap() {
            let table = |name: &str| match &thread[name] {
                Value::Null => &profile["shared"][name],
                own => own,
            };
            let (stacks, frames) = (table("stackTable"), table("frameTable"));
            let (functions, strings) = (table("funcTable"), table("stringArray"));
            let samples = &thread["samples"];
            for (row, stack) in samples["stack"].as_array().unwrap().iter().enumerate() {
                let mut found = vec![thread["name"].as_str().unwrap().to_owned()];
                let mut next = stack.as_u64();
                while let Some(stack) = next {
                    let stack = stack as usize;
                    let frame = stacks["frame"][stack].as_u64().unwrap() as usize;
                    let function = frames["func"][frame].as_u64().unwrap() as usize;
                    let name = functions["name"][function].as_u64().unwrap() as usize;
                    let name = strings[name].as_str().unwrap();
                    let resource = functions["resource"][function].as_u64();
                    let lib = frames["lib"][frame]
                        .as_u64()
                        .or_else(|| table("resourceTable")["lib"][resource? as usize].as_u64());
                    let address = frames["address"][frame].as_u64();
                    found.push(match (lib, address) {
                        (Some(lib), Some(address)) => {
                            let path = profile["libs"][lib as usize]["path"].as_str().unwrap();
                            let base = path.rsplit('/').next().unwrap();
                            format!("{base}+{address:#x}")
                        }
                        _ => name.to_owned(),
                    });
                    let prefix = stacks["prefix"][stack].as_u64();
                    let offset = stacks["prefixOffset"][stack]
                        .as_u64()
                        .filter(|offset| *offset > 0);
                    next = prefix.or(offset.map(|offset| stack as u64 - offset));
                }
                let mut values = vec![samples["weight"][row].as_i64().unwrap_or(1)];
                if run["events"] == json!(["samples", "cpu"]) {
                    values.push(samples["threadCPUDelta"][row].as_i64().unwrap_or(0));
                }
                add(&mut expected, found, values);
            }
        }
        expected.retain(|_, cost| cost.iter().any(|count| *count != 0));
        assert_eq!(read, expected, "{}", path.display());
    }
}

/// samply writes the names of addresses to a file next to the profile.
#[test]
fn names_from_a_file_next_to_the_profile_are_used() {
    let profile = document(&data("firefox/samply-import-fp.json.gz"));
    // Use the program's object, which no machine has. Other objects may exist on this machine.
    let libs = profile["libs"].as_array().unwrap();
    let lib = libs.iter().find(|lib| lib["name"] == "inl").unwrap();
    let sidecar = json!({"string_table": ["UNKNOWN", "named"], "data": [{
        "debug_name": lib["debugName"],
        "debug_id": lib["breakpadId"],
        "code_id": "",
        "symbol_table": [{"rva": 0, "symbol": 1}],
        "known_addresses": (0..1 << 20).map(|address| [address, 0]).collect::<Vec<_>>(),
    }]});
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("profile.json.gz");
    fs::copy(data("firefox/samply-import-fp.json.gz"), &copy).unwrap();
    let (_, without) = named_stacks(&copy);
    fs::write(
        folder.path().join("profile.json.syms.json"),
        sidecar.to_string(),
    )
    .unwrap();
    let (_, with) = named_stacks(&copy);
    let base = lib["path"].as_str().unwrap().rsplit('/').next().unwrap();
    let prefix = format!("{base}+0x");
    let count = |stacks: &Stacks, is: &dyn Fn(&str) -> bool| -> usize {
        stacks.keys().flatten().filter(|name| is(name)).count()
    };
    assert!(count(&without, &|name| name.starts_with(&prefix)) > 0);
    assert_eq!(count(&with, &|name| name.starts_with(&prefix)), 0);
    assert!(count(&with, &|name| name == "named") > 0);
}

/// Walks the nodes of V8 as generic JSON. A stack is a node and its parents. The list of samples is counted, not the hits of nodes.
#[test]
fn profiles_of_v8_have_the_samples_of_their_nodes() {
    let name = |node: &Value| match node["callFrame"]["functionName"].as_str().unwrap() {
        "" => "(anonymous)".to_owned(),
        name => name.to_owned(),
    };
    let is_current_format =
        |path: &PathBuf| path.to_str().is_some_and(|path| path.contains("/node."));
    for path in files("v8", 4).into_iter().filter(is_current_format) {
        let profile = document(&path);
        let mut expected = Stacks::new();
        if let Some(nodes) = profile["nodes"].as_array() {
            let mut stacks: BTreeMap<u64, Vec<String>> = BTreeMap::new();
            let id = |node: &Value| node["id"].as_u64().unwrap();
            stacks.insert(id(&nodes[0]), vec![String::new()]);
            for node in nodes {
                let below = stacks[&id(node)].clone();
                for child in node["children"].as_array().into_iter().flatten() {
                    let child = nodes.iter().find(|node| node["id"] == *child).unwrap();
                    let mut stack = below.clone();
                    stack.insert(1, name(child));
                    stacks.insert(id(child), stack);
                }
            }
            // A sample lasts until the next one, and the last sample until the end.
            let samples = profile["samples"].as_array().unwrap().iter();
            let deltas = profile["timeDeltas"].as_array().unwrap().iter();
            let deltas: Vec<i64> = deltas.map(|delta| delta.as_i64().unwrap()).collect();
            let whole =
                profile["endTime"].as_i64().unwrap() - profile["startTime"].as_i64().unwrap();
            let rest = whole - deltas.iter().sum::<i64>();
            for (sample, lasts) in samples.zip(deltas[1..].iter().chain([&rest])) {
                let stack = stacks[&sample.as_u64().unwrap()].clone();
                add(&mut expected, stack, vec![1, lasts * 1000]);
            }
        } else {
            let mut rest = vec![(&profile["head"], vec![String::new()])];
            while let Some((node, stack)) = rest.pop() {
                for child in node["children"].as_array().unwrap() {
                    let mut below = stack.clone();
                    below.insert(1, name(child));
                    rest.push((child, below));
                }
                add(
                    &mut expected,
                    stack,
                    vec![node["selfSize"].as_i64().unwrap()],
                );
            }
        }
        expected.retain(|_, cost| cost.iter().any(|count| *count != 0));
        assert_eq!(named_stacks(&path).1, expected, "{}", path.display());
    }
}

/// The expected sums are the weights in the files, or the time from the first event to the last.
#[test]
fn speedscope_files_have_the_sums_of_their_profiles() {
    for (path, total) in [
        ("speedscope/small.json", json!({"samples": 6})),
        ("speedscope/evented.json", json!({"time": 14000})),
    ] {
        let (run, stacks) = named_stacks(&data(path));
        assert_eq!(run["total"], total);
        let profile = document(&data(path));
        let frames = &profile["shared"]["frames"];
        if let Some(samples) = profile["profiles"][0]["samples"].as_array() {
            let mut expected = Stacks::new();
            let weights = profile["profiles"][0]["weights"].as_array().unwrap();
            for (sample, weight) in samples.iter().zip(weights) {
                let mut stack = vec![String::new()];
                for frame in sample.as_array().unwrap().iter().rev() {
                    let name = &frames[frame.as_u64().unwrap() as usize]["name"];
                    stack.push(name.as_str().unwrap().to_owned());
                }
                add(&mut expected, stack, vec![weight.as_i64().unwrap()]);
            }
            assert_eq!(stacks, expected);
        }
    }
}

/// Functions inlined into each other.
const SOURCE: &str = "
volatile int sink;
static inline int leaf(int x) { return x * 3 + sink; }
static inline int middle(int x) { sink = x; return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) int outer(int x) { int sum = 0; while (x--) sum += middle(x); return sum; }
__attribute__((noinline)) void plain(void) { sink++; }
int main(int argc, char **argv) { plain(); return outer(argc) + middle(argc); }
";

/// [`SOURCE`], compiled with debug information and a known build id, and the program's base address.
struct Program {
    folder: tempfile::TempDir,
    base: u64,
}

const BUILD_ID: &str = "0123456789abcdef0123456789abcdef01234567";

impl Program {
    fn build(options: &[&str], base: u64) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("sampled.c");
        fs::write(&source, SOURCE).unwrap();
        let output = needs::command("gcc")
            .args(["-O2", "-g"])
            .arg(format!("-Wl,--build-id=0x{BUILD_ID}"))
            .args(options)
            .arg("-o")
            .arg(folder.path().join("sampled"))
            .arg(source)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Program { folder, base }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sampled")
    }

    /// Returns the address of every fourth byte of the functions, as addresses in the object.
    fn addresses(&self) -> Vec<u64> {
        let output = needs::command("nm")
            .arg("-S")
            .arg(self.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut addresses = Vec::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            if let [start, size, _, "main" | "outer" | "plain"] = fields[..] {
                let start = hex(start);
                addresses.extend((start..start + hex(size)).step_by(4));
            }
        }
        assert!(addresses.len() > 10);
        addresses
    }

    /// Returns the functions and lines at an address from binutils, innermost first.
    fn binutils_frames(&self, address: u64) -> Vec<String> {
        let output = needs::command("addr2line")
            .args(["-f", "-i", "-e"])
            .arg(self.path())
            .arg(format!("{address:#x}"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let frame = |pair: &[&str]| {
            let place = pair[1].split(" (discriminator").next().unwrap();
            format!("{} {place}", pair[0])
        };
        lines.chunks(2).map(frame).collect()
    }

    /// Returns the frames from cg-parse for a profile with one stack of one address.
    fn found(&self, profile: &[u8]) -> Vec<String> {
        let run = tools::run("cg-parse", &[], profile);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        let line = run.text().lines().nth(1).unwrap();
        let record: Value = serde_json::from_str(line).unwrap();
        let frames = record["stack"].as_array().unwrap().iter();
        frames
            .map(|frame| {
                let name = frame["fn"].as_str().unwrap();
                let file = frame["file"].as_str().unwrap_or("??");
                format!("{name} {file}:{}", frame["line"].as_u64().unwrap_or(0))
            })
            .collect()
    }

    /// Returns a profile in samply's format with one sample.
    fn samply(&self, address: u64, id: &Value) -> Vec<u8> {
        let mut lib = json!({"name": "sampled", "path": self.path()});
        lib.as_object_mut()
            .unwrap()
            .extend(id.as_object().unwrap().clone());
        let address = address - self.base;
        let profile = json!({
            "meta": {"preprocessedProfileVersion": 55, "interval": 1},
            "libs": [lib],
            "threads": [{
                "samples": {"stack": [0]},
                "stackTable": {"frame": [0], "prefix": [null]},
                "frameTable": {"func": [0], "address": [address]},
                "funcTable": {"name": [0], "resource": [0]},
                "resourceTable": {"lib": [0]},
                "stringArray": [format!("{address:#x}")],
            }],
        });
        profile.to_string().into_bytes()
    }

    /// Returns a profile in pprof's format with one sample, from a process with the object's code at 0x7f0000000000.
    fn pprof(&self, address: u64) -> Vec<u8> {
        fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
            [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
        }
        fn number(number: u8, mut value: u64) -> Vec<u8> {
            let mut bytes = vec![number << 3];
            while value >= 0x80 {
                bytes.push(value as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
            bytes
        }
        const START: u64 = 0x7f00_0000_0000;
        let path = self.path();
        let mapping = [number(1, 1), number(2, START), number(5, 2), number(6, 3)].concat();
        let address = START + (address - self.base);
        let location = [number(1, 1), number(2, 1), number(3, address)].concat();
        [
            field(1, &number(1, 1)),
            field(2, &[number(1, 1), number(2, 1)].concat()),
            field(3, &mapping),
            field(4, &location),
            field(6, b""),
            field(6, b"samples"),
            field(6, path.to_str().unwrap().as_bytes()),
            field(6, BUILD_ID.as_bytes()),
        ]
        .concat()
    }
}

#[test]
fn names_of_addresses_agree_with_binutils() {
    needs!("gcc");
    let breakpad = json!({"breakpadId": "67452301AB89EFCD0123456789ABCDEF0"});
    for program in [
        Program::build(&[], 0),
        Program::build(&["-no-pie"], 0x40_0000),
    ] {
        let mut inlined = 0;
        for address in program.addresses() {
            let expected = program.binutils_frames(address);
            inlined += expected.len() - 1;
            let elf = json!({"codeId": BUILD_ID});
            for profile in [
                program.samply(address, &elf),
                program.samply(address, &breakpad),
                program.pprof(address),
            ] {
                assert_eq!(program.found(&profile), expected, "{address:#x}");
            }
        }
        assert!(inlined > 0);
    }
}

#[test]
fn objects_are_found_below_debug_roots() {
    needs!("gcc");
    let program = Program::build(&[], 0);
    let address = program.addresses()[0];
    let profile = program.samply(address, &json!({"codeId": BUILD_ID}));
    let elsewhere = tempfile::tempdir().unwrap();
    fs::copy(program.path(), elsewhere.path().join("sampled")).unwrap();
    fs::remove_file(program.path()).unwrap();
    let name = |options: &[&str]| {
        let run = tools::run("cg-parse", options, &profile);
        let line = run.text().lines().nth(1).unwrap();
        let record: Value = serde_json::from_str(line).unwrap();
        record["fn"].as_str().unwrap().to_owned()
    };
    let root = elsewhere.path().to_str().unwrap();
    assert!(name(&[]).starts_with("sampled+0x"));
    assert!(!name(&["--debug-root", root]).starts_with("sampled+0x"));
}

#[test]
fn another_build_of_an_object_gives_no_names() {
    needs!("gcc");
    let program = Program::build(&[], 0);
    let address = program.addresses()[0];
    let other = json!({"codeId": BUILD_ID.replace("01", "02")});
    let unknown = json!({});
    for id in [other, unknown] {
        let found = program.found(&program.samply(address, &id));
        assert_eq!(found, [format!("sampled+{address:#x} ??:0")]);
    }
}

/// A callgrind profile has no stacks, so cg-fmt estimates stacks for formats that need them. For a stream without stacks,
/// cg-fmt prints an error.
#[test]
fn callgrind_profile_is_drawn_with_estimated_stacks() {
    for name in [
        "callgrind/3.19.0-sepc_callers10_recs10.callgrind.out",
        "callgrind/3.19.0-rec_default.callgrind.out",
    ] {
        let profile = fs::read(data(name)).unwrap();
        let stacks = tools::run("cg-parse", &["--stacks"], &profile);
        for format in ["folded", "flamegraph", "speedscope", "pprof", "firefox"] {
            let from_stream = tools::run("cg-fmt", &["-f", format], &stacks.stdout);
            let from_profile = tools::run("cg-fmt", &["-f", format], &profile);
            assert_eq!(from_profile.status, 0, "{}", from_profile.stderr);
            assert_eq!(from_profile.stdout, from_stream.stdout, "{name} {format}");
        }
    }
    let profile = fs::read(data("callgrind/3.19.0-rec_default.callgrind.out")).unwrap();
    let estimated = tools::run("cg-fmt", &["-f", "folded"], &profile);
    assert!(
        estimated
            .stderr
            .contains("stacks are estimated from a call graph")
    );
    // A stream without stacks is an error, with a hint.
    let stream = tools::run("cg-parse", &[], &profile);
    let refused = tools::run("cg-fmt", &["-f", "folded"], &stream.stdout);
    assert_eq!(refused.status, 2);
    assert!(
        refused.stderr.contains("cg-parse --stacks"),
        "{}",
        refused.stderr
    );
}
