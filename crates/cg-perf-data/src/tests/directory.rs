//! Recordings that are directories.

use std::path::Path;

use cg_reader::Options;
use parsed::Parsed;

use super::data;

#[test]
fn a_directory_of_several_files_is_one_recording() {
    let folder = data().join("6.1-threads");
    let read_at = |path: &Path| {
        let main = std::fs::read(folder.join("data")).unwrap();
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
    };
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
