//! Logs and documents as Valgrind writes them, short ones, beside what is read of them.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use cg_stream::tool::Diagnostics;
use serde_json::Value;

use crate::{Lines, Options, Out};

/// What is read of an input.
struct Reading {
    records: Vec<Value>,
    warnings: Vec<String>,
    troubles: Vec<String>,
}

impl Reading {
    fn of_type(&self, wanted: &str) -> Vec<&Value> {
        let is = |record: &&Value| record["type"] == wanted;
        self.records.iter().filter(is).collect()
    }

    /// `kind what count`, or `kind bytes blocks indirect_bytes`, for each finding.
    fn findings(&self) -> Vec<String> {
        self.records
            .iter()
            .filter_map(|record| {
                let kind = record["kind"].as_str()?;
                let cost = &record["cost"];
                Some(match record["type"].as_str() {
                    Some("error") => {
                        format!("{kind}: {} x{}", record["what"].as_str()?, cost["count"])
                    }
                    _ => format!(
                        "{kind}: {}+{} bytes in {}",
                        cost["bytes"], record["indirect_bytes"], cost["blocks"]
                    ),
                })
            })
            .collect()
    }
}

fn read(text: impl Into<Vec<u8>>) -> Reading {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let mut diagnostics = Diagnostics::to(move |text, is_trouble| {
        heard.lock().unwrap().push((text.to_owned(), is_trouble));
    });
    let mut output = Vec::new();
    {
        let mut out = Out::new(&mut output as &mut dyn std::io::Write);
        let text = text.into();
        let is_xml = memchr::memmem::find(&text, b"<valgrindoutput").is_some();
        let mut lines = Lines::new(Box::new(Cursor::new(text)));
        let parse = if is_xml {
            super::xml::parse
        } else {
            super::text::parse
        };
        let options = Options::default();
        if let Err(error) = parse("log", &mut lines, &options, &mut out, &mut diagnostics) {
            diagnostics.trouble(error.in_file("log"));
        }
        out.flush().unwrap();
    }
    let records = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let said = said.lock().unwrap();
    let told = |trouble: bool| {
        let is = |said: &&(String, bool)| said.1 == trouble;
        said.iter().filter(is).map(|said| said.0.clone()).collect()
    };
    Reading {
        records,
        warnings: told(false),
        troubles: told(true),
    }
}

const PREAMBLE: &str = "\
==7== Memcheck, a memory error detector
==7== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info
==7== Command: ./a
==7== Parent PID: 1
==7== 
";

const ERROR: &str = "\
==7== Invalid read of size 4
==7==    at 0x10939A: f (a.c:18)
==7==    by 0x1096C9: main (a.c:30)
==7==  Address 0x4a435e8 is 0 bytes after a block of size 40 alloc'd
==7==    at 0x48417B4: malloc (in /v.so)
==7==    by 0x10938D: f (a.c:17)
==7== 
";

const SUMMARY: &str = "\
==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
";

#[test]
fn a_log_becomes_a_section() {
    let reading = read([PREAMBLE, ERROR, SUMMARY].concat());
    let lines: Vec<String> = reading.records.iter().map(Value::to_string).collect();
    assert_eq!(reading.troubles, [""; 0]);
    assert_eq!(reading.warnings, [""; 0]);
    assert_eq!(lines.len(), 3);
    let run = &reading.records[0];
    assert_eq!(run["tool"], "memcheck");
    assert_eq!(run["creator"], "Valgrind-3.19.0");
    assert_eq!(run["command"], "./a");
    assert_eq!((&run["pid"], &run["ppid"]), (&7.into(), &1.into()));
    assert_eq!(run["complete"], true);
    assert_eq!(run["total"]["count"], 1);
    let error = &reading.records[1];
    assert_eq!(error["fn"], "f");
    assert_eq!(error["line"], 18);
    assert_eq!(error["thread"], 1);
    assert_eq!(error["notes"][0]["stack"][0]["fn"], "malloc");
    assert_eq!(reading.records[2]["records"], 1);
}

#[test]
fn errors_that_are_printed_twice_count_as_often_as_the_second_printing_says() {
    let again = "\
==7== 
==7== 12 errors in context 1 of 1:
";
    let summary = SUMMARY.replace("1 errors", "12 errors");
    let reading = read([PREAMBLE, ERROR, &summary, again, ERROR, &summary].concat());
    assert_eq!(
        reading.findings(),
        ["InvalidRead: Invalid read of size 4 x12"]
    );
    assert_eq!(reading.warnings, [""; 0]);
    assert_eq!(reading.records[0]["complete"], true);
    // The second printing was begun and not ended.
    let cut = read([PREAMBLE, ERROR, &summary, again, ERROR].concat());
    assert_eq!(cut.records[0]["complete"], false);
    assert_eq!(cut.troubles.len(), 1);
}

#[test]
fn other_counts_than_valgrinds_are_reported_with_both_figures() {
    let summary = SUMMARY.replace("1 contexts", "3 contexts");
    let reading = read([PREAMBLE, ERROR, &summary].concat());
    assert_eq!(reading.warnings.len(), 1);
    assert!(
        reading.warnings[0].contains("has 3 contexts, but 1 errors"),
        "{:?}",
        reading.warnings
    );
    let leaks = "\
==7== 10 bytes in 1 blocks are definitely lost in loss record 1 of 1
==7==    at 0x48417B4: malloc (in /v.so)
==7== 
==7== LEAK SUMMARY:
==7==    definitely lost: 14 bytes in 2 blocks
==7==    still reachable: 99 bytes in 9 blocks
==7== 
";
    let reading = read([PREAMBLE, leaks, SUMMARY].concat());
    assert_eq!(reading.findings(), ["definite: 10+0 bytes in 1"]);
    assert_eq!(
        reading.warnings,
        [
            "log: process 7: LEAK SUMMARY has 14 bytes in 2 blocks definitely lost, but the loss records sum to 10 bytes in 1 blocks"
        ]
    );
}

#[test]
fn what_programs_print_is_not_valgrinds() {
    let text = format!(
        "hello==7== Memcheck, a memory error detector\n==99== not valgrind\n{}no newline{}{SUMMARY}",
        &PREAMBLE[PREAMBLE.find('\n').unwrap() + 1..],
        ERROR.replace("==7==  Address", "==99== x\n--98-- y\nglued==7==  Address"),
    );
    let reading = read(text);
    assert_eq!(reading.of_type("run").len(), 1);
    assert_eq!(reading.troubles, [""; 0]);
    assert_eq!(
        reading.findings(),
        ["InvalidRead: Invalid read of size 4 x1"]
    );
    assert_eq!(reading.records[1]["notes"][0]["stack"][1]["line"], 17);
}

#[test]
fn errors_of_kinds_that_are_not_known_are_not_lost() {
    let unknown = ERROR.replace("Invalid read of size 4", "Something else is wrong");
    let warning = "\
==7== Warning: invalid file descriptor -1 in syscall close()
==7==    at 0x4955350: close (close.c:26)
==7==    by 0x1096C9: main (a.c:30)
==7== 
**7** a message of the client
==7==    at 0x1096C9: main (a.c:30)
";
    let reading = read([PREAMBLE, warning, &unknown, warning, SUMMARY].concat());
    assert_eq!(reading.findings(), ["Unknown: Something else is wrong x1"]);
    assert_eq!(reading.warnings, [""; 0]);
}

#[test]
fn errors_without_an_empty_line_between_them_are_two() {
    let descriptor = "\
==7== File descriptor 3 was closed already
==7==  Previously closed
==7==    at 0x4B599F0: close (close.c:27)
==7==    at 0x4B592AD: read (read.c:26)
==7==    by 0x1094A6: main (a.c:14)
==7== Open file descriptor 4:
==7==    <inherited from parent>
==7== 
";
    let preamble = PREAMBLE.replace("3.19.0", "3.24.0");
    let text = [&preamble, descriptor, &SUMMARY.replace('1', "2")].concat();
    let reading = read(text);
    assert_eq!(
        reading.findings(),
        [
            "FdBadUse: File descriptor 3 was closed already x1",
            "FdNotClosed: Open file descriptor 4 x1"
        ]
    );
    // The main stack stands behind that of the note.
    assert_eq!(reading.records[1]["fn"], "read");
    assert_eq!(reading.records[1]["notes"][0]["stack"][0]["fn"], "close");
    // Up to 3.22 open descriptors are remarks.
    let reading = read(
        [
            PREAMBLE,
            &descriptor[descriptor.find("==7== Open").unwrap()..],
            SUMMARY,
        ]
        .concat(),
    );
    assert_eq!(reading.findings(), [""; 0]);
}

#[test]
fn helgrinds_and_drds_errors_hold_several_stacks() {
    let helgrind = "\
==7== Helgrind, a thread error detector
==7== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info
==7== 
==7== ---Thread-Announcement------------------------------------------
==7== 
==7== Thread #2 was created
==7==    at 0x496EB3F: clone (clone.S:76)
==7== 
==7== ----------------------------------------------------------------
==7== 
==7==  Lock at 0x10C1A0 was first observed
==7==    at 0x484976E: ??? (in /v.so)
==7==  Address 0x10c1a0 is 0 bytes inside data symbol \"b\"
==7== 
==7== Possible data race during read of size 4 at 0x10C260 by thread #2
==7== Locks held: 1, at address 0x10C1A0
==7==    at 0x109229: racy (t.c:12)
==7== 
==7== This conflicts with a previous write of size 4 by thread #1
==7== Locks held: none
==7==    at 0x10925D: other (t.c:13)
==7==  Address 0x10c260 is 0 bytes inside data symbol \"shared\"
==7== 
==7== ----------------------------------------------------------------
==7== 
==7== Thread #1's call to pthread_mutex_destroy failed
==7==    with error code 16 (EBUSY: Device or resource busy)
==7==    at 0x48495E2: ??? (in /v.so)
==7== 
==7== ERROR SUMMARY: 2 errors from 2 contexts (suppressed: 14 from 14)
";
    let reading = read(helgrind);
    assert_eq!(
        reading.findings(),
        [
            "Race: Possible data race during read of size 4 at 0x10C260 by thread #2 x1",
            "PthAPIerror: Thread #1's call to pthread_mutex_destroy failed with error code 16 (EBUSY: Device or resource busy) x1"
        ]
    );
    let race = &reading.records[1];
    assert_eq!((&race["fn"], &race["thread"]), (&"racy".into(), &2.into()));
    let said: Vec<_> = race["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| {
            (
                note["what"].as_str().unwrap(),
                note["stack"][0]["fn"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("Lock at 0x10C1A0 was first observed", Some("???")),
            ("Address 0x10c1a0 is 0 bytes inside data symbol \"b\"", None),
            ("Locks held: 1, at address 0x10C1A0", None),
            (
                "This conflicts with a previous write of size 4 by thread #1",
                Some("other")
            ),
            ("Locks held: none", None),
            (
                "Address 0x10c260 is 0 bytes inside data symbol \"shared\"",
                None
            ),
        ]
    );
    assert_eq!(reading.records[0]["threads"][0]["thread"], 2);
    let drd = "\
==7== drd, a thread error detector
==7== Thread 2:
==7== Acquired at:
==7==    at 0x4861: lock (t.c:9)
==7== Lock on mutex 0x10c120 was held during 51 ms (threshold: 10 ms).
==7==    at 0x4862: unlock (t.c:10)
==7== mutex 0x10c120 was first observed at:
==7==    at 0x4863: init (t.c:8)
==7== 
==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
";
    let reading = read(drd);
    let error = &reading.records[1];
    assert_eq!(error["kind"], "HoldtimeErr");
    assert_eq!(
        (&error["fn"], &error["thread"]),
        (&"unlock".into(), &2.into())
    );
    assert_eq!(error["notes"][0]["what"], "Acquired at:");
    assert_eq!(error["notes"][0]["stack"][0]["fn"], "lock");
    assert_eq!(error["notes"][1]["stack"][0]["fn"], "init");
}

#[test]
fn logs_of_other_tools_and_of_none_are_refused() {
    for text in [
        "==7== Callgrind, a call-graph generating cache profiler\n==7== Command: ./a\n==7== \n==7== Collected : 5\n",
        "==7== nothing that Valgrind says\n",
        "<valgrindoutputs>",
        "",
    ] {
        let reading = read(text);
        assert_eq!(reading.records.len(), 0, "{text}");
        assert_eq!(reading.troubles.len(), 1, "{text}");
    }
}

/// A document of protocol 6 around these elements.
fn document(elements: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>6</protocolversion>\n<protocoltool>memcheck</protocoltool>\n\n\
<preamble>\n  <line>Memcheck, a memory error detector</line>\n  <line>Using Valgrind-3.26.0 and LibVEX; rerun with -h for copyright info</line>\n  <line>Command: ./a</line>\n</preamble>\n\n\
<pid>7</pid>\n<ppid>1</ppid>\n<tool>memcheck</tool>\n\n<status>\n  <state>RUNNING</state>\n  <time>00:00:00:00.026 </time>\n</status>\n\n{elements}"
    )
}

const XML_ERROR: &str = "\
<error>
  <unique>0x0</unique>
  <tid>2</tid>
  <threadname>a & <b></threadname>
  <kind>InvalidRead</kind>
  <what>Invalid read of size 4</what>
  <stack>
    <frame>
      <ip>0x109750</ip>
      <obj>/bin/a</obj>
      <fn>f&lt;T&gt;</fn>
      <dir>/src</dir>
      <file>a.c</file>
      <line>34</line>
    </frame>
  </stack>
  <auxwhat>Address 0x0 is not stack'd, malloc'd or (recently) free'd</auxwhat>
  <suppression>
    <sname>insert_a_suppression_name_here</sname>
    <skind>Memcheck:Addr4</skind>
    <sframe> <fun>f</fun> </sframe>
    <rawtext>
<![CDATA[
{
   <insert_a_suppression_name_here>
   Memcheck:Addr4
   fun:f]]>
}
]]>
    </rawtext>
  </suppression>
</error>
<suppression>
  <sname>insert_a_suppression_name_here</sname>
  <skind>Memcheck:Addr4</skind>
  <sframe> <fun>f</fun> </sframe>
</suppression>

";

const XML_LEAK: &str = "\
<error>
  <unique>0x1</unique>
  <tid>1</tid>
  <kind>Leak_DefinitelyLost</kind>
  <xwhat>
    <text>1,064 (1,000 direct, 64 indirect) bytes in 2 blocks are definitely lost in loss record 1 of 1</text>
    <leakedbytes>1064</leakedbytes>
    <leakedblocks>2</leakedblocks>
  </xwhat>
  <stack>
    <frame>
      <ip>0x1</ip>
      <fn>malloc</fn>
    </frame>
    <frame>
      <ip>0x2</ip>
      <fn>take</fn>
    </frame>
  </stack>
</error>
";

const XML_END: &str = "\
<status>
  <state>FINISHED</state>
  <time>00:00:00:01.026 </time>
</status>
<leak_summary>
  <definitely_lost>
    <bytes>1,000</bytes>
    <blocks>2</blocks>
  </definitely_lost>
  <indirectly_lost>
    <bytes>64</bytes>
    <blocks>1</blocks>
  </indirectly_lost>
  <possibly_lost>
    <bytes>0</bytes>
    <blocks>0</blocks>
  </possibly_lost>
  <still_reachable>
    <bytes>0</bytes>
    <blocks>0</blocks>
  <suppressed>
    <bytes>5</bytes>
    <blocks>1</blocks>
  </suppressed>
</leak_summary>
<errorcounts>
  <pair>
    <count>3</count>
    <unique>0x0</unique>
  </pair>
</errorcounts>
<error_summary>
  <errors>4</errors>
  <error_contexts>2</error_contexts>
  <suppressed>9</suppressed>
  <suppressed_contexts>8</suppressed_contexts>
</error_summary>
</valgrindoutput>
";

const FINDINGS: [&str; 2] = [
    "InvalidRead: Invalid read of size 4 x3",
    "definite: 1000+64 bytes in 2",
];

#[test]
fn a_document_becomes_a_section_although_it_is_not_well_formed() {
    let reading = read(document(&[XML_ERROR, XML_LEAK, XML_END].concat()));
    assert_eq!(reading.findings(), FINDINGS);
    assert_eq!((reading.troubles.len(), reading.warnings.len()), (0, 0));
    let run = &reading.records[0];
    assert_eq!(run["complete"], true);
    assert_eq!(run["command"], "./a");
    assert_eq!(run["leak_summary"]["suppressed"]["bytes"], 5);
    assert_eq!(run["leak_summary"]["reachable"]["bytes"], 0);
    assert_eq!(run["error_summary"]["suppressed"], 9);
    let error = &reading.records[1];
    assert_eq!(error["fn"], "f<T>");
    assert_eq!(error["file"], "/src/a.c");
    assert_eq!(error["thread_name"], "a & <b>");
    assert_eq!(
        error["suppression"],
        "{\n   <insert_a_suppression_name_here>\n   Memcheck:Addr4\n   fun:f]]>\n}"
    );
    assert_eq!(reading.records[2]["fn"], "take");
}

#[test]
fn documents_in_each_others_way_are_kept_apart() {
    let one = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
    let other = one
        .replace("<pid>7<", "<pid>8<")
        .replace("<ppid>1<", "<ppid>7<");
    // One behind the other, one inside the other, one whose process executed the other.
    let behind = [one.as_str(), &other].concat();
    let middle = one.find("<status>").unwrap();
    let inside = [&one[..middle], &other, &one[middle..]].concat();
    let executed = [&document(XML_ERROR), one.as_str()].concat();
    for (name, text, expected) in [
        ("behind", behind, 4),
        ("inside", inside, 4),
        ("executed", executed, 3),
    ] {
        let reading = read(text);
        assert_eq!(reading.troubles, [""; 0], "{name}");
        assert_eq!(reading.findings().len(), expected, "{name}");
        assert_eq!(reading.of_type("run").len(), 2, "{name}");
        assert_eq!(reading.of_type("end").len(), 2, "{name}");
        for run in reading.of_type("run") {
            assert_eq!(run["complete"], true, "{name}");
        }
    }
}

#[test]
fn a_fork_that_ends_in_its_parents_document_has_a_section() {
    let text = [
        &document(&[XML_ERROR, XML_LEAK, XML_END].concat()),
        XML_LEAK,
        XML_END,
    ]
    .concat();
    let reading = read(text);
    assert_eq!(reading.of_type("run").len(), 2);
    assert_eq!(reading.of_type("end").len(), 2);
    assert_eq!((reading.troubles.len(), reading.warnings.len()), (0, 0));
    for run in reading.of_type("run") {
        assert_eq!((&run["forked"], &run["pid"]), (&true.into(), &7.into()));
    }
    assert_eq!(reading.findings(), [FINDINGS[0], FINDINGS[1], FINDINGS[1]]);
}

#[test]
fn a_document_that_stops_early_is_not_whole() {
    let open = document(&[XML_ERROR, XML_LEAK].concat());
    let closed_early = format!("{open}</valgrindoutput>\n");
    let mixed_up = document(
        &[
            &XML_ERROR.replace("<what>", "<error>\n<kind>InvalidWrite</kind>\n<what>"),
            XML_END,
        ]
        .concat(),
    );
    for (text, message) in [
        (open.as_str(), "expected </valgrindoutput>"),
        (&open[..open.len() - 30], "expected the rest of an element"),
        (&closed_early, "the process never finished"),
        (&mixed_up, "two errors are mixed up"),
    ] {
        let reading = read(text);
        assert_eq!(reading.of_type("run")[0]["complete"], false, "{message}");
        assert_eq!(reading.of_type("end").len(), 0, "{message}");
        assert_eq!(reading.troubles.len(), 1, "{message}");
        assert!(
            reading.troubles[0].contains(message),
            "{:?}",
            reading.troubles
        );
    }
}

#[test]
fn what_a_later_protocol_may_add_is_skipped() {
    let text = document(&[XML_ERROR, XML_LEAK, XML_END].concat())
        .replace("<protocolversion>6<", "<protocolversion>9<")
        .replace("<errorcounts>", "<news>\n <unique>0x0</unique>\n <more>\n  <kind>x</kind>\n </more>\n</news>\n<errorcounts>")
        .replace("<tid>2</tid>", "<tid>2</tid>\n<fresh>1</fresh><mood><text>x</text></mood>");
    let reading = read(text);
    assert_eq!(reading.findings(), FINDINGS);
    assert_eq!((reading.troubles.len(), reading.warnings.len()), (0, 0));
}

/// Every prefix is read without a panic, and none is whole but the whole one.
#[test]
fn no_prefix_is_whole() {
    let text = [PREAMBLE, ERROR, SUMMARY].concat();
    // The line's end says nothing that is not known without it.
    let text_end = text.len() - 1;
    let xml = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
    let xml_end = xml.trim_end().len();
    for (input, end) in [(text, text_end), (xml, xml_end)] {
        for length in 0..input.len() {
            let reading = read(&input.as_bytes()[..length]);
            let is_whole = reading.troubles.is_empty();
            assert_eq!(is_whole, length >= end, "{:?}", &input[..length]);
            for run in reading.of_type("run") {
                assert_eq!(run["complete"], is_whole, "{:?}", &input[..length]);
            }
        }
    }
}

/// A log of `-q` has nothing that would tell its end, but a message that was begun has to end.
#[test]
fn a_quiet_log_that_ends_in_a_message_was_cut() {
    let whole = read(ERROR);
    assert_eq!(whole.troubles, [""; 0]);
    assert_eq!(whole.of_type("end").len(), 1);
    assert_eq!(whole.records[0]["quiet"], true);
    assert_eq!(whole.records[0]["complete"], false);
    for length in 1..ERROR.len() - 2 {
        let reading = read(&ERROR.as_bytes()[..length]);
        assert_eq!(reading.of_type("end").len(), 0, "{:?}", &ERROR[..length]);
        assert_eq!(reading.troubles.len(), 1, "{:?}", &ERROR[..length]);
    }
}
