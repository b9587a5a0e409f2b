//! Output on a terminal: `script` of util-linux opens real pseudo-terminals of various widths.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::process::Stdio;

use needs::needs;
use tests::tools;
use unicode_width::UnicodeWidthStr as _;

/// Returns the output of a shell command on a terminal of this width, without escape sequences for styles.
fn shown(command: &str, columns: usize) -> String {
    let script = format!(
        "stty cols {columns} rows 50; export TERM=xterm PATH={}:$PATH; {command}",
        tools::folder().display()
    );
    let output = needs::command("script")
        .args([
            "--quiet",
            "--return",
            "--echo",
            "never",
            "--command",
            &script,
            "/dev/null",
        ])
        .env("SHELL", "/bin/bash")
        .current_dir(tests::data(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    anstream::adapter::strip_str(&text.replace('\r', "")).to_string()
}

/// Commands for all reports of cg-fmt.
const SIGHTS: &[&str] = &[
    "cg-fmt pair/before.callgrind.out",
    "cg-fmt --events all --columns Ir,Ir%,incl.Ir,incl.Ir%,calls,fn,file,obj pair/before.callgrind.out",
    "cg-fmt --group-by module pair/before.callgrind.out",
    "cg-diff pair/before.callgrind.out pair/after.callgrind.out 2>/dev/null | cg-fmt",
    "cg-diff --inclusive pair/before.callgrind.out pair/after.callgrind.out 2>/dev/null | cg-fmt --top all",
    "cg-parse --calls pair/before.callgrind.out | cg-fmt --tree both --top 5",
    "cg-parse --calls pair/before.callgrind.out | cg-fmt --type call",
    "cg-fmt --source=pair pair/before.callgrind.out",
    "cg-fmt memcheck/3.27.1-leaky.xml",
    "cg-fmt --type leak memcheck/3.27.1-leaky.xml",
    "cg-fmt --tree callers memcheck/3.27.1-leaky.xml",
    "cg-fmt massif/3.19.0-heapy_i.massif.out",
    "cg-fmt dhat/3.19.0-heapy.dhat.json",
    "cg-fmt --tree callees dhat/3.19.0-heapy.dhat.json",
];

#[test]
fn no_line_is_wider_than_the_terminal() {
    needs!("script");
    for command in SIGHTS {
        for columns in [80, 120, 200] {
            let text = shown(command, columns);
            assert!(text.lines().count() > 3, "{command}: {text}");
            for line in text.lines() {
                assert!(
                    line.width() <= columns,
                    "{command} in {columns}: {line}\n{text}"
                );
            }
        }
    }
}

#[test]
fn function_keeps_40_columns_and_other_columns_are_dropped_by_importance() {
    needs!("script");
    let command = "cg-fmt --columns Ir,Ir%,incl.Ir,calls,fn,file,obj pair/before.callgrind.out";
    let headings = |columns| {
        let text = shown(command, columns);
        let heading = text.lines().find(|line| line.contains("function")).unwrap();
        heading.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(headings(200), "Ir % incl.Ir calls function file object");
    assert_eq!(headings(120), "Ir % incl.Ir calls function file object");
    assert_eq!(headings(80), "Ir % function file");
    let narrow = shown(command, 80);
    assert!(
        narrow.contains("\ncolumns hidden on this narrow screen: incl.Ir, calls, obj\n"),
        "{narrow}"
    );
    // Texts in brackets are shortened before the function's own name.
    for name in [
        "<Rev<I> as Iterator>::fold",
        "<String as FromIterator<…>>::from_iter",
    ] {
        assert!(narrow.contains(name), "{name}: {narrow}");
    }
}

#[test]
fn percentages_have_bars_if_there_is_room() {
    needs!("script");
    let command = "cg-fmt --columns Ir,Ir%,incl.Ir,incl.Ir%,fn --top 3 pair/before.callgrind.out";
    let short = "cg-fmt --columns Ir,Ir%,fn --top 3 pair/before.callgrind.out";
    let blocks = ['█', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let bars = |text: &str| text.matches(blocks).count();
    // With the longest name, lines have 121 and 91 columns. A bar needs 9.
    for (command, columns, count) in [
        (command, 80, 0),
        (command, 120, 0),
        (command, 200, 2),
        (short, 80, 0),
        (short, 120, 1),
        (short, 200, 1),
    ] {
        let text = shown(command, columns);
        let row = text.lines().find(|line| line.contains("count_words"));
        let words = row.unwrap().split_whitespace();
        let in_row = words.filter(|word| bars(word) > 0).count();
        assert_eq!(in_row, count, "{command} in {columns}: {text}");
    }
    // 21.20 % and 90.68 % of 8 characters are 13.6 and 58.0 eighths of a character.
    let wide = shown(command, 200);
    assert!(
        wide.contains(
            "1,296,679 (21.20%) █▊        5,545,921 (90.68%) ███████▎  wordcount::count_words"
        ),
        "{wide}"
    );
    for command in [
        format!("{command} | cat"),
        format!("{command} --width 200 | cat"),
        format!("NO_COLOR=1 {command} -f markdown"),
    ] {
        assert_eq!(bars(&shown(&command, 200)), 0, "{command}");
    }
    // Bars are text, so they stay without colours.
    assert!(bars(&shown(&format!("NO_COLOR=1 {command}"), 200)) > 4);
}

#[test]
fn tree_keeps_function_names_and_shortens_places() {
    needs!("script");
    let full = shown(
        "cg-fmt --tree callees --width 0 dhat/3.19.0-heapy.dhat.json",
        80,
    );
    let narrow = shown("cg-fmt --tree callees dhat/3.19.0-heapy.dhat.json", 80);
    let names = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.contains('─'))
            .filter_map(|line| line.rsplit_once("─ "))
            .map(|(_, name)| {
                name.split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    };
    assert!(names(&full).len() > 3, "{full}");
    assert_eq!(names(&full), names(&narrow), "{full}{narrow}");
    assert_ne!(full, narrow);
}

#[test]
fn pipes_and_files_get_the_full_output() {
    needs!("script");
    let seen = shown("cg-fmt pair/before.callgrind.out | cat", 80);
    assert!(!seen.contains('…'), "{seen}");
    assert!(seen.lines().any(|line| line.width() > 80));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let command = format!("cg-fmt -o {} pair/before.callgrind.out", path.display());
    assert_eq!(shown(&command, 80), "");
    assert_eq!(std::fs::read_to_string(path).unwrap(), seen);
}

/// Runs a shell command in the folder of the test data, without a terminal.
fn piped(command: &str) -> String {
    let output = std::process::Command::new("bash")
        .args(["-c", command])
        .env(
            "PATH",
            format!(
                "{}:{}",
                tools::folder().display(),
                std::env::var("PATH").unwrap()
            ),
        )
        .current_dir(tests::data(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Commands whose reports need a comparison, in addition to [`SIGHTS`].
const SIGHTS_OF_SUITES: &[&str] = &[
    "mkdir $to/old $to/new; for pair in a:before:after b:after:before; do IFS=: read bench old new <<< $pair; \
     cp pair/$old.callgrind.out $to/old/$bench.out; cp pair/$new.callgrind.out $to/new/$bench.out; done; \
     cg-diff --causes $to/old $to/new 2>/dev/null | cg-fmt",
    "cg-diff --causes pair/before.callgrind.out pair/after.callgrind.out 2>/dev/null | cg-fmt --type cause",
    "cg-diff --history pair/before.callgrind.out pair/after.callgrind.out pair/after.callgrind.out | cg-fmt",
];

#[test]
fn rows_in_a_pipe_fit_the_given_width() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().display();
    for command in SIGHTS.iter().chain(SIGHTS_OF_SUITES) {
        let with = |option: &str, columns: &str| {
            let command = command.replace("cg-fmt", &format!("cg-fmt {option}"));
            piped(&format!(
                "export {columns} to={to}; rm -rf $to/*; {command}"
            ))
        };
        let full = with("", "COLUMNS=");
        let narrow = with("", "COLUMNS=80");
        assert!(narrow.lines().count() > 3, "{command}: {narrow}");
        for line in narrow.lines() {
            assert!(line.width() <= 80, "{command}: {line}\n{narrow}");
        }
        // The option takes precedence over the variable.
        assert_eq!(with("--width 80", "COLUMNS=200"), narrow, "{command}");
        assert_eq!(with("--width 0", "COLUMNS=80"), full, "{command}");
    }
    // Formats for programs do not depend on the width.
    for format in ["csv", "json", "markdown"] {
        let command = format!("{} -f {format}", SIGHTS_OF_SUITES[2]);
        let [set, unset] =
            ["80", ""].map(|columns| piped(&format!("export COLUMNS={columns}; {command}")));
        assert!(set.lines().count() > 3, "{command}: {set}");
        assert_eq!(set, unset, "{command}");
    }
}

#[test]
fn leak_frames_in_a_pipe_fit_the_given_width() {
    let frames = |text: &str| -> Vec<usize> {
        let frames = text.lines().filter(|line| line.starts_with("    "));
        let frames = frames.filter(|line| line.contains(" ("));
        frames.map(|line| line.width()).collect()
    };
    let check = "leak-check memcheck/3.27.1-leaky.xml";
    let full = piped(check);
    assert!(frames(&full).iter().any(|width| *width > 60), "{full}");
    let narrow = piped(&format!("COLUMNS=60 {check}"));
    assert!(frames(&narrow).len() > 10, "{narrow}");
    assert!(frames(&narrow).iter().all(|width| *width <= 60), "{narrow}");
    assert_eq!(piped(&format!("COLUMNS=200 {check} --width 60")), narrow);
    assert_eq!(piped(&format!("COLUMNS=60 {check} --width 0")), full);
    for format in ["json", "junit", "markdown"] {
        let check = format!("{check} -f {format}");
        assert_eq!(piped(&format!("COLUMNS=60 {check}")), piped(&check));
    }
}

#[test]
fn progress_is_shown_unless_the_output_is_on_the_same_terminal() {
    needs!("script");
    // A reader that waits makes the tool wait, and the bar appears after half a second.
    let begin = "big=$(mktemp); for i in $(seq 30); do cg-parse --calls pair/before.callgrind.out; done > $big; exec 3>&2";
    let inner = "script --quiet --return --command";
    for (command, is_shown) in [
        (
            "cg-filter . $big | (sleep 2; cat > /dev/null)".to_owned(),
            true,
        ),
        (
            "cg-filter . $big 2> $big.messages | (sleep 2; cat > /dev/null)".to_owned(),
            false,
        ),
        // Another terminal has the output.
        (
            format!("{inner} \"cg-filter . $big 2>&3\" /dev/null | (sleep 2; cat > /dev/null)"),
            true,
        ),
        // Another terminal has the output and the messages. The shell prints the number of lines with a bar.
        (
            format!("{inner} \"cg-filter . $big\" /dev/null | (sleep 2; grep -c ' MiB/')"),
            false,
        ),
    ] {
        let text = shown(&format!("{begin}; {command}; rm -f $big*"), 80);
        assert_eq!(text.contains(" MiB/"), is_shown, "{command}: {text}");
        let is_counted = command.contains("grep");
        assert!(!is_counted || text.trim() == "0", "{command}: {text}");
    }
}

#[test]
fn leak_frames_keep_function_file_and_line_at_every_width() {
    needs!("script");
    let name = "std::vector<store::Shelf<store::Parcel, std::allocator<store::Parcel> >, std::allocator<store::Shelf<store::Parcel> > >::emplace_back_slowly(store::Parcel&&)";
    let log = [
        "==7== Memcheck, a memory error detector",
        "==7== Command: ./p",
        "==7== ",
        "==7== 8 bytes in 1 blocks are definitely lost in loss record 1 of 1",
        "==7==    at 0x1: malloc (vg_replace_malloc.c:381)",
        &format!(
            "==7==    by 0x2: {name} (/home/dev/work/store/source/deeply/nested/depot.cc:1204)"
        ),
        "==7==    by 0x3: store::take_in_whatever_it_is(int) (a_file_with_a_name_that_is_long.cc:7)",
        "==7== ",
        "==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)",
        "",
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.log");
    std::fs::write(&file, log.join("\n")).unwrap();
    // A comment has the short name outside of the stack.
    let lines = log.iter().filter(|line| !line.contains("take_in"));
    let lines: Vec<&str> = lines.copied().collect();
    let short = folder.path().join("short.log");
    std::fs::write(&short, lines.join("\n")).unwrap();
    let comment = piped(&format!("leak-check -f markdown {}", short.display()));
    let summary = comment.lines().find(|line| line.contains("<summary>"));
    let short =
        "<summary>std::vector&lt;…&gt;::emplace&#95;back&#95;slowly(store::Parcel&amp;&amp;) leaks";
    assert!(summary.unwrap().contains(short), "{comment}");
    assert!(comment.contains(name), "{comment}");
    for columns in [60, 80, 100, 120, 250] {
        let text = shown(&format!("leak-check {}", file.display()), columns);
        let lines = text.lines().skip_while(|line| !line.starts_with("    at "));
        let stack: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        assert!(stack.len() >= 3, "{text}");
        assert!(
            stack.iter().all(|line| line.width() <= columns),
            "{columns}: {text}"
        );
        let joined: String = stack.concat().split_whitespace().collect();
        for kept in [
            "emplace_back_slowly",
            "depot.cc:1204",
            "a_file_with_a_name_that_is_long.cc:7",
        ] {
            assert!(joined.contains(kept), "{columns}: {kept}: {text}");
        }
        assert_eq!(
            joined.contains(&name.replace(' ', "")),
            columns == 250,
            "{text}"
        );
    }
}
