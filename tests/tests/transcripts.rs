//! The sessions in `tests/pipelines`, the README and the tour print the documented output.

use tests::{data, transcript, workspace};

#[test]
fn pipelines_print_the_documented_output() {
    let folder = workspace().join("tests/pipelines");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let session = std::fs::read_to_string(&file).unwrap();
        if session.contains("| jq ") && !needs::is_there(&["jq"]) {
            continue;
        }
        transcript::check(&file, &data(""));
    }
}

#[test]
fn readme_prints_the_documented_output() {
    transcript::check(&workspace().join("README.md"), &data(""));
}

#[test]
fn tour_prints_the_documented_output() {
    transcript::check(&workspace().join("docs/tour.md"), &data(""));
}
