//! Tests of XML documents.

use super::read;

/// Returns a document of protocol 6 with these elements.
pub(super) fn document(elements: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>6</protocolversion>\n<protocoltool>memcheck</protocoltool>\n\n\
<preamble>\n  <line>Memcheck, a memory error detector</line>\n  <line>Using Valgrind-3.26.0 and LibVEX; rerun with -h for copyright info</line>\n  <line>Command: ./a</line>\n</preamble>\n\n\
<pid>7</pid>\n<ppid>1</ppid>\n<tool>memcheck</tool>\n\n<status>\n  <state>RUNNING</state>\n  <time>00:00:00:00.026 </time>\n</status>\n\n{elements}"
    )
}

pub(super) const XML_ERROR: &str = "\
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

pub(super) const XML_LEAK: &str = "\
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

pub(super) const XML_END: &str = "\
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
fn a_document_that_is_not_well_formed_becomes_a_section() {
    let reading = read(document(&[XML_ERROR, XML_LEAK, XML_END].concat()));
    assert_eq!(reading.findings(), FINDINGS);
    assert_eq!((reading.errors.len(), reading.warnings.len()), (0, 0));
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
fn adjacent_and_nested_documents_are_separate_sections() {
    let one = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
    let other = one
        .replace("<pid>7<", "<pid>8<")
        .replace("<ppid>1<", "<ppid>7<");
    // Two documents in sequence, one inside the other, and one whose process executed the other.
    let sequence = [one.as_str(), &other].concat();
    let middle = one.find("<status>").unwrap();
    let inside = [&one[..middle], &other, &one[middle..]].concat();
    let executed = [&document(XML_ERROR), one.as_str()].concat();
    let written_to = |option: &str| {
        let arguments =
            format!("<args><vargv><exe>valgrind</exe><arg>{option}</arg></vargv></args>\n<status>");
        executed.replace(
            "<status>\n  <state>RUNNING",
            &format!("{arguments}\n  <state>RUNNING"),
        )
    };
    let socket = written_to("--memcheck:xml-socket=127.0.0.1:1500");
    for (name, text, expected) in [
        ("in sequence", sequence, 4),
        ("inside", inside, 4),
        ("executed", written_to("--xml-fd=9"), 3),
        ("executed, with a socket", socket, 3),
    ] {
        let reading = read(text);
        assert_eq!(reading.errors, [""; 0], "{name}");
        assert_eq!(reading.findings().len(), expected, "{name}");
        assert_eq!(reading.records_of_type("run").len(), 2, "{name}");
        assert_eq!(reading.records_of_type("end").len(), 2, "{name}");
        for run in reading.records_of_type("run") {
            assert_eq!(run["complete"], true, "{name}");
        }
    }
    // Valgrind empties a file when the process executes a program, so these are two runs.
    let twice = "--xml-fd=9</arg><arg>--xml-file=a.xml";
    for text in [
        &executed,
        &written_to("--xml-file=a.xml"),
        &written_to(twice),
    ] {
        let reading = read(text.as_str());
        assert_eq!(reading.records_of_type("run")[0]["complete"], false);
        assert_eq!(reading.errors.len(), 1, "{:?}", reading.errors);
        assert!(
            reading.errors[0].contains("cut short"),
            "{:?}",
            reading.errors
        );
    }
}

#[test]
fn a_fork_that_writes_to_its_parents_document_gets_a_section() {
    let text = [
        &document(&[XML_ERROR, XML_LEAK, XML_END].concat()),
        XML_LEAK,
        XML_END,
    ]
    .concat();
    let reading = read(text);
    assert_eq!(reading.records_of_type("run").len(), 2);
    assert_eq!(reading.records_of_type("end").len(), 2);
    assert_eq!((reading.errors.len(), reading.warnings.len()), (0, 0));
    for run in reading.records_of_type("run") {
        assert_eq!((&run["forked"], &run["pid"]), (&true.into(), &7.into()));
    }
    assert_eq!(reading.findings(), [FINDINGS[0], FINDINGS[1], FINDINGS[1]]);
}

#[test]
fn a_document_that_stops_early_is_incomplete() {
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
        (
            "<?xml version=\"1.0\"?>\n<valgrindoutput>\n</valgrindoutput>\n",
            "log:2: the document of an unknown process is closed",
        ),
    ] {
        let reading = read(text);
        assert_eq!(
            reading.records_of_type("run")[0]["complete"],
            false,
            "{message}"
        );
        assert_eq!(reading.records_of_type("end").len(), 0, "{message}");
        assert_eq!(reading.errors.len(), 1, "{message}");
        assert!(reading.errors[0].contains(message), "{:?}", reading.errors);
    }
}

#[test]
fn unknown_elements_of_later_protocols_are_skipped() {
    let text = document(&[XML_ERROR, XML_LEAK, XML_END].concat())
        .replace("<protocolversion>6<", "<protocolversion>9<")
        .replace("<errorcounts>", "<news>\n <unique>0x0</unique>\n <more>\n  <kind>x</kind>\n </more>\n</news>\n<errorcounts>")
        .replace("<pid>", "<host>\n <name>x</name>\n <pid>99</pid>\n</host>\n<pid>")
        .replace("<tid>2</tid>", "<tid>2</tid>\n<fresh>1</fresh><mood><text>x</text></mood>");
    let reading = read(text);
    assert_eq!(reading.findings(), FINDINGS);
    assert_eq!((reading.errors.len(), reading.warnings.len()), (0, 0));
    assert_eq!(reading.records[0]["pid"], 7);
}

#[test]
fn a_document_may_be_on_one_line() {
    let one = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
    let line = |text: &str| text.replace("\n  ", "").replace('\n', "");
    // Line ends matter only in the text of the suppression.
    let reading = read([line(&one), line(&one)].concat());
    assert_eq!(reading.errors, [""; 0]);
    assert_eq!(reading.findings(), [FINDINGS, FINDINGS].concat());
    let names = |reading: &super::LogReading| -> Vec<String> {
        let name = |record: &&serde_json::Value| record["fn"].to_string();
        reading.records_of_type("error").iter().map(name).collect()
    };
    assert_eq!(names(&reading), ["\"f<T>\"", "\"f<T>\""]);
}

#[test]
fn leaks_before_the_end_of_the_program_are_of_an_earlier_check() {
    let other = XML_LEAK.replace("<fn>", "<fn>other_");
    for (elements, expected) in [
        ([XML_LEAK, XML_END, ""].concat(), &[true][..]),
        ([XML_END, XML_LEAK, ""].concat(), &[false]),
        ([XML_LEAK, XML_END, XML_LEAK].concat(), &[false]),
        ([XML_LEAK, XML_END, &other].concat(), &[true, false]),
    ] {
        let end = "</valgrindoutput>\n";
        let text = document(&elements).replace(end, "") + end;
        let reading = read(text);
        let leaks = reading.records_of_type("leak");
        let found: Vec<bool> = leaks
            .iter()
            .map(|leak| leak["earlier_search"] == true)
            .collect();
        assert_eq!(found, expected);
    }
}
