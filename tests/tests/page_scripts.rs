//! Pages without a browser: the tests and types of their scripts, the minified scripts, the size of pages, and the note
//! about a truncated profile.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use needs::needs;
use tests::tools;

/// Returns a file or folder below `crates/`.
fn source(path: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    crates.join(path)
}

/// The minified script of each kind of page, with its source files. A folder stands for all its files.
const KINDS: [(&str, &[&str]); 3] = [
    (
        "cg-document/src/html/sent/page.js",
        &[
            "cg-document/src/html/page/tables.js",
            "cg-document/src/html/page/search.js",
        ],
    ),
    (
        "cg-document/src/html/sent/findings.js",
        &[
            "cg-document/src/html/page/tables.js",
            "cg-document/src/html/page/search-keys.js",
            "cg-document/src/html/findings",
        ],
    ),
    (
        "cg-viewer/src/sent/viewer.js",
        &[
            "cg-document/src/html/page/search-keys.js",
            "cg-viewer/src/script",
        ],
    ),
];

/// Returns the files of a script. `main.js`, which starts the script, is the last file of its folder.
fn scripts(parts: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for part in parts.iter().map(|part| source(part)) {
        let Ok(folder) = std::fs::read_dir(&part) else {
            files.push(part);
            continue;
        };
        let inside = folder.map(|entry| entry.unwrap().path());
        let is_script = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "js");
        let mut inside: Vec<PathBuf> = inside.filter(is_script).collect();
        inside.sort_by_key(|path| (path.ends_with("main.js"), path.clone()));
        assert!(inside.len() >= 3, "{inside:?}");
        files.extend(inside);
    }
    files
}

/// Runs a program with this input and returns its output.
fn output_of(program: &str, args: &[&str], input: &str) -> String {
    let mut run = needs::command(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = run.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let run = run.wait_with_output().unwrap();
    assert!(run.status.success());
    String::from_utf8(run.stdout).unwrap()
}

/// Properties of the viewer that get short names. Neither the browser nor the data of a page has properties with these names.
const OWN_NAMES: [&str; 110] = [
    "activeBox",
    "activeGroup",
    "activeRow",
    "address",
    "addressOf",
    "below",
    "boxes",
    "branch",
    "byCost",
    "choose",
    "chosenSnapshot",
    "column",
    "costs",
    "element",
    "eventIndex",
    "figures",
    "fileWidth",
    "findSelection",
    "focusOn",
    "focused",
    "functionsNamed",
    "ghosts",
    "givesWay",
    "groupings",
    "groups",
    "hadOld",
    "hasBar",
    "hasBoxes",
    "hasFindings",
    "hasStacks",
    "header",
    "inner",
    "isActive",
    "isBelowThreshold",
    "isBound",
    "isCount",
    "isDiff",
    "isDifferential",
    "isDrag",
    "isEmpty",
    "isFindings",
    "isFirst",
    "isGap",
    "isGhost",
    "isInSight",
    "isInclusive",
    "isInlined",
    "isKnown",
    "isLeak",
    "isNewOrder",
    "isNewSelection",
    "isOpen",
    "isSelectedRow",
    "isSpan",
    "isTime",
    "isUsual",
    "isValid",
    "isWhole",
    "joined",
    "laid",
    "level",
    "listed",
    "matcher",
    "model",
    "most",
    "narrowing",
    "nodes",
    "openView",
    "ordered",
    "outer",
    "pair",
    "paper",
    "passing",
    "placeOf",
    "places",
    "prefix",
    "relist",
    "report",
    "rowsOfSnapshot",
    "saved",
    "selectFunction",
    "selectRow",
    "selected",
    "selectedIn",
    "shown",
    "shownPart",
    "slices",
    "sliders",
    "slotOf",
    "sortBy",
    "stackOf",
    "stacks",
    "state",
    "sumsByWhose",
    "sumsKey",
    "timeAt",
    "times",
    "toggleWhose",
    "totals",
    "trees",
    "turned",
    "unfoldedFor",
    "usual",
    "weights",
    "whole",
    "wholeTotal",
    "words",
    "zero",
    "zoomed",
    "zoomedFunction",
];

/// Long names of properties that the viewer reads often. A variable holds each of them, because `x[a]` is shorter.
const ALIASED: [&str; 52] = [
    "replaceChildren",
    "textContent",
    "preventDefault",
    "querySelectorAll",
    "querySelector",
    "getAttribute",
    "getBoundingClientRect",
    "clientHeight",
    "clientWidth",
    "toFixed",
    "dataset",
    "scrollTop",
    "includes",
    "removeEventListener",
    "addEventListener",
    "indexOf",
    "forEach",
    "entries",
    "removeAttribute",
    "setProperty",
    "padStart",
    "reduce",
    "slice",
    "filter",
    "findIndex",
    "closest",
    "append",
    "snapshot",
    "number",
    "events",
    "target",
    "children",
    "whose",
    "incl",
    "self",
    "length",
    "push",
    "map",
    "value",
    "hidden",
    "style",
    "thread",
    "calls",
    "count",
    "before",
    "width",
    "rows",
    "function",
    "records",
    "finding",
    "file",
    "time",
];

/// Texts that the viewer has often. A variable holds each of them, and each of [`ALIASED`].
const ALIASED_TEXTS: [&str; 24] = [
    "aria-label",
    "div",
    "span",
    "button",
    "aria-activedescendant",
    "differential",
    "keydown",
    "data-view",
    "note",
    "aria-expanded",
    "aria-selected",
    "option",
    "true",
    "false",
    "section",
    "aria-rowindex",
    "replace",
    "callers",
    "table",
    "pointerdown",
    "aria-hidden",
    "pointermove",
    "sandwich",
    "ArrowRight",
];

/// Functions of the browser that the viewer calls often. A variable holds each of them.
const ALIASED_FUNCTIONS: [&str; 10] = [
    "Math.max",
    "Math.min",
    "Math.abs",
    "Math.floor",
    "Math.round",
    "Array.from",
    "Object.assign",
    "JSON.stringify",
    "Number",
    "String",
];

/// Returns the name of the variable of a text or a function.
fn alias(text: &str) -> String {
    format!("ALIAS_{}", text.replace(['-', '.'], "_"))
}

/// Replaces the calls of a function by calls of its variable.
fn with_function_alias(script: &str, function: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || "_$.".contains(letter);
    let call = format!("{function}(");
    let mut parts = script.split(&call);
    let mut made = parts.next().unwrap().to_owned();
    for part in parts {
        // A longer name precedes, or the dots of a spread.
        match made.ends_with(is_part) {
            true => made.push_str(function),
            false => made.push_str(&alias(function)),
        }
        made.push('(');
        made.push_str(part);
    }
    made
}

/// Replaces a text by its variable. As the name of a property, the variable is in brackets.
fn with_text_alias(script: &str, text: &str) -> String {
    let quoted = format!("\"{text}\"");
    let variable = alias(text);
    let mut parts = script.split(&quoted);
    let mut made = parts.next().unwrap().to_owned();
    for part in parts {
        let is_name = part.trim_start().starts_with(':') && made.trim_end().ends_with(['{', ',']);
        match is_name {
            true => made.push_str(&format!("[{variable}]")),
            false => made.push_str(&variable),
        }
        made.push_str(part);
    }
    made
}

/// Replaces the reading of a property by its alias.
fn with_alias(script: &str, name: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let read = format!(".{name}");
    let mut parts = script.split(&read);
    let mut made = parts.next().unwrap().to_owned();
    for part in parts {
        // A text that begins with a word and a dot is the name of a column: `"c.calls"`.
        let before = made.trim_end_matches(|letter| is_word(letter) || letter == '.');
        let is_text = before.len() < made.len() && before.ends_with(['"', '\'', '`']);
        // A longer name follows, or the dots of a spread precede.
        if part.starts_with(is_word) || made.ends_with('.') || is_text {
            made.push_str(&read);
        } else {
            if made.ends_with('?') {
                made.push('.');
            }
            made.push_str(&format!("[ALIAS_{name}]"));
        }
        made.push_str(part);
    }
    made
}

/// Minifies the script of a kind of page.
fn minified(kind: &str, script: &str) -> String {
    let mut args = vec!["--minify", "--target=es2022", "--charset=utf8"];
    let names = format!("--mangle-props=^({})$", OWN_NAMES.join("|"));
    if !kind.starts_with("cg-viewer") {
        return output_of("esbuild", &args, script);
    }
    args.push(&names);
    let start = "\"use strict\";(()=>{\n";
    let mut script = script.strip_prefix(start).unwrap().to_owned();
    for name in ALIASED {
        script = with_alias(&script, name);
    }
    let texts = ALIASED.iter().chain(&ALIASED_TEXTS);
    let mut aliases = String::new();
    for text in texts {
        script = with_text_alias(&script, text);
        aliases.push_str(&format!("const {} = \"{text}\";\n", alias(text)));
    }
    for function in ALIASED_FUNCTIONS {
        script = with_function_alias(&script, function);
        aliases.push_str(&format!("const {} = {function};\n", alias(function)));
    }
    let script = format!("{start}{aliases}{script}");
    // `let` is shorter. The type check finds assignments to constants.
    let minified = output_of("esbuild", &args, &script.replace("const ", "let "));
    assert!(!minified.contains("ALIAS_"), "an alias is in a text");
    minified
}

/// A property with a short name would not be found by the variable that holds its long name, nor by an attribute `data-…`.
#[test]
fn no_property_has_both_a_short_name_and_another_name() {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let script: String = scripts(KINDS[2].1).into_iter().map(read).collect();
    for name in OWN_NAMES {
        assert!(!script.contains(&format!("dataset.{name}")), "{name}");
    }
    let both = OWN_NAMES.iter().filter(|name| ALIASED.contains(name));
    assert_eq!(both.collect::<Vec<_>>(), Vec::<&&str>::new());
    let mut texts: Vec<&str> = ALIASED.iter().chain(&ALIASED_TEXTS).copied().collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), ALIASED.len() + ALIASED_TEXTS.len());
}

/// Returns the SHA-256 hash of a script in base64, with a newline.
fn hash(script: &str) -> String {
    let program = "const text = require('fs').readFileSync(0); \
        console.log(require('crypto').createHash('sha256').update(text).digest('base64'))";
    output_of("node", &["-e", program], script)
}

/// `UPDATE_EXPECT=1` builds the minified scripts here, so a build of the tools does not need Node.
#[test]
fn minified_scripts_are_up_to_date() {
    needs!("esbuild");
    for (kind, parts) in KINDS {
        let files = scripts(parts);
        let files = files
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap());
        let script = format!(
            "\"use strict\";(()=>{{\n{}}})();\n",
            files.collect::<String>()
        );
        let made = minified(kind, &script);
        assert!(!made.contains("</script"), "{kind} would end its element");
        let hash = hash(&made);
        assert_sent(kind, &made);
        assert_sent(&format!("{kind}.sha256"), &hash);
    }
    let style = std::fs::read_to_string(source("cg-viewer/src/viewer.css")).unwrap();
    let style = output_of("esbuild", &["--minify", "--loader=css"], &style);
    assert_sent("cg-viewer/src/sent/viewer.css", &style);
}

/// Compares a file that pages contain with what was made of its sources; `UPDATE_EXPECT=1` writes it.
fn assert_sent(path: &str, made: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(source(path), made).unwrap();
        return;
    }
    let sent = std::fs::read_to_string(source(path)).unwrap_or_default();
    assert!(
        sent == made,
        "{path}: out of date; UPDATE_EXPECT=1 rewrites it"
    );
}

#[test]
fn scripts_pass_their_tests() {
    needs!("npm");
    for file in [
        "cg-viewer/src/script/tests/viewer.test.mjs",
        "cg-document/src/html/findings/tests/findings.test.mjs",
    ] {
        let run = needs::command("node")
            .arg("--test")
            .arg(source(file))
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{stdout}");
        assert!(!stdout.contains("# tests 0"), "{stdout}");
    }
}

#[test]
fn scripts_pass_the_type_check() {
    needs!("typescript");
    for (kind, script) in KINDS.iter().skip(1) {
        let run = needs::command("tsc")
            .args(["--noEmit", "--allowJs", "--checkJs", "--strict", "false"])
            .args(["--target", "es2022", "--lib", "es2023,dom,dom.iterable"])
            .args(scripts(script))
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{kind}: {stdout}");
    }
}

/// Pages are sent by mail and stored by CI, so they should be small. The limit is 100 KB plus 0.9 times the size of the
/// profile packed with gzip.
#[test]
fn pages_are_smaller_than_the_size_limit() {
    let mut folders = vec![tests::data("")];
    let mut pages = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let run = tools::run("cg-fmt", &["-f", "html", path.to_str().unwrap()], b"");
            if run.status != 0 {
                continue;
            }
            let mut packer = GzEncoder::new(Vec::new(), Compression::best());
            packer.write_all(&std::fs::read(&path).unwrap()).unwrap();
            let most = packer.finish().unwrap().len() * 9 / 10 + 100_000;
            let size = run.stdout.len();
            assert!(size <= most, "{}: {size} of {most} bytes", path.display());
            pages += 1;
        }
    }
    assert!(pages > 100, "{pages}");
}

#[test]
fn report_on_a_truncated_profile_has_a_note() {
    let whole = std::fs::read(tests::data("pair/before.callgrind.out")).unwrap();
    let lost = "an input is damaged or truncated: the figures cover only the readable part";
    for args in [
        &["-f", "html"][..],
        &["-f", "html", "--tree", "callees"],
        &["-f", "markdown"],
    ] {
        let kept = tools::run("cg-fmt", args, &whole);
        assert!(kept.status == 0 && !kept.text().contains(lost), "{args:?}");
        let kept = tools::run("cg-fmt", args, &whole[..whole.len() / 2]);
        assert!(kept.status == 2 && kept.text().contains(lost), "{args:?}");
    }
}
