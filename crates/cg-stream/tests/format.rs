//! Checks that every example of `FORMAT.md` is read and written unchanged.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use cg_stream::reader::{Completeness, Reader};
use cg_stream::record::{
    CallRecord, CauseRecord, DiffRecord, EndRecord, ErrorRecord, FnRecord, HeapRecord,
    InlineRecord, LeakRecord, LineRecord, ProgramPointRecord, Record, RecordType, RunRecord,
    SeriesRecord, SnapshotRecord, StackRecord, StepRecord,
};
use cg_stream::rows::hand_over;
use cg_stream::{Framing, Line, Writer};
use serde_json::Value;

const FORMAT: &str = include_str!("../FORMAT.md");

/// Returns the JSON blocks of the document.
fn examples() -> Vec<&'static str> {
    let blocks: Vec<&str> = FORMAT
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    assert!(blocks.len() >= 5, "the document has lost its examples");
    blocks
}

/// Parses the line and serializes the record. The text is compared with the line, so a field that the type does not have is
/// detected.
fn written_again<'a, R: Record + serde::Deserialize<'a>>(line: &Line<'a>) -> String {
    serde_json::to_string(&line.parse::<R>().unwrap()).unwrap()
}

#[test]
fn every_example_is_parsed_and_written_byte_for_byte() {
    let mut seen = Vec::new();
    for block in examples() {
        let mut reader = Reader::new(block.as_bytes());
        while let Some(line) = reader.next_line().unwrap() {
            let again = match line.kind {
                RecordType::Run => written_again::<RunRecord>(&line),
                RecordType::Fn => written_again::<FnRecord>(&line),
                RecordType::Line => written_again::<LineRecord>(&line),
                RecordType::Call => written_again::<CallRecord>(&line),
                RecordType::Inline => written_again::<InlineRecord>(&line),
                RecordType::Leak => written_again::<LeakRecord>(&line),
                RecordType::Error => written_again::<ErrorRecord>(&line),
                RecordType::Heap => written_again::<HeapRecord>(&line),
                RecordType::ProgramPoint => written_again::<ProgramPointRecord>(&line),
                RecordType::Stack => written_again::<StackRecord>(&line),
                RecordType::Snapshot => written_again::<SnapshotRecord>(&line),
                RecordType::Diff => written_again::<DiffRecord>(&line),
                RecordType::Cause => written_again::<CauseRecord>(&line),
                RecordType::Step => written_again::<StepRecord>(&line),
                RecordType::Series => written_again::<SeriesRecord>(&line),
                RecordType::End => written_again::<EndRecord>(&line),
                RecordType::Other => panic!("an example of an unknown type: {:?}", line.bytes),
            };
            assert_eq!(again, std::str::from_utf8(line.bytes).unwrap());
            seen.push(line.kind);
        }
    }
    for (name, kind) in RecordType::ALL {
        assert!(seen.contains(&kind), "FORMAT.md has no example of {name}");
    }
}

/// Covers the writing of rows, which does not use serde.
#[test]
fn every_example_is_written_from_rows_byte_for_byte() {
    for block in examples() {
        let mut reader = Reader::new(block.as_bytes());
        let mut writer = Writer::new(Vec::new());
        while let Some(line) = reader.next_line().unwrap() {
            hand_over(&line, &mut writer).unwrap();
        }
        writer.flush().unwrap();
        let written = String::from_utf8(writer.into_inner()).unwrap();
        assert_eq!(written, block);
    }
}

#[test]
fn complete_examples_obey_the_laws_of_the_format() {
    for block in examples()
        .into_iter()
        .filter(|block| block.contains("\"type\":\"end\""))
    {
        let mut reader = Reader::new(block.as_bytes());
        let (mut total, mut sum, mut records) = (Value::Null, 0, 0);
        let mut compared = false;
        while let Some(line) = reader.next_line().unwrap() {
            let value: Value = serde_json::from_slice(line.bytes).unwrap();
            match line.kind {
                RecordType::Run => total = value["total"]["Ir"].clone(),
                RecordType::Fn => sum += value["cost"]["Ir"].as_u64().unwrap(),
                RecordType::End => {
                    records = value["records"].as_u64().unwrap();
                    compared = true;
                }
                _ => {}
            }
        }
        let Framing { records: read, .. } = reader.framing();
        assert_eq!(reader.framing().completeness(), Completeness::Whole);
        assert!(compared);
        assert_eq!(records, read);
        if let Some(total) = total.as_u64() {
            assert_eq!(total, sum);
        }
    }
}
