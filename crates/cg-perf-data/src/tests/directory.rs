//! Recordings that are directories.

use std::path::Path;

use cg_reader::Options;
use parsed::Parsed;

use super::data;

fn read_at(path: &Path) -> Parsed {
    let main = std::fs::read(data().join("6.1-threads/data")).unwrap();
    let source = path.display().to_string();
    parsed::parsed(|writer, diagnostics| {
        let mut lines = cg_reader::Lines::new(Box::new(std::io::Cursor::new(main)));
        crate::parse(&mut cg_reader::Reading {
            source: &source,
            lines: &mut lines,
            options: &Options::default(),
            out: &mut cg_reader::Out::new(writer),
            diagnostics,
        })
    })
}

#[test]
fn a_directory_of_several_files_is_one_recording() {
    let folder = data().join("6.1-threads");
    // `perf script -i DIR` prints 67 samples.
    let samples = |parsed: &Parsed| parsed.records_of_type("run")[0].contains(r#""samples":67}"#);
    for path in [folder.clone(), folder.join("data")] {
        let parsed = read_at(&path);
        assert!(
            samples(&parsed) && !parsed.has_errors,
            "{:?}",
            parsed.messages
        );
    }
    // Without the other files, almost all records are missing.
    let alone = read_at(Path::new("<stdin>"));
    assert!(alone.has_errors && !alone.is_whole());
    assert!(alone.messages[0].contains("pass the directory of the recording"));
    assert_eq!(crate::main_file(&folder), Some(folder.join("data")));
    assert_eq!(crate::main_file(folder.parent().unwrap()), None);
}

#[test]
fn a_missing_file_of_a_thread_is_an_error() {
    let whole = data().join("6.1-threads");
    for (there, missing) in [("data.1", "data.0"), ("data.0", "data.1")] {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", there] {
            std::fs::copy(whole.join(name), folder.path().join(name)).unwrap();
        }
        let parsed = read_at(folder.path());
        assert!(parsed.has_errors, "{there}");
        let expected = format!("the recording is not complete: it lacks {missing}");
        let mut messages = parsed.messages.iter();
        assert!(
            messages.any(|message| message.ends_with(&expected)),
            "{:?}",
            parsed.messages
        );
    }
}

#[test]
fn a_file_of_a_thread_is_part_of_its_directory() {
    let whole = data().join("6.1-threads");
    let directory = |path: &Path| crate::directory_of_thread(path).map(Path::to_owned);
    assert_eq!(directory(&whole.join("data.1")), Some(whole.clone()));
    assert_eq!(directory(&whole.join("data")), None);
    // Here, `data` is a recording without other files.
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(data().join("6.1-spin.data"), folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data.1"), "a text").unwrap();
    assert_eq!(directory(&folder.path().join("data.1")), None);
}
