//! The sessions of `tests/pipelines`, of the README and of its tour print what they say they do.

use tests::{data, transcript, workspace};

#[test]
fn pipelines_print_what_they_say() {
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
fn the_readme_prints_what_it_says() {
    transcript::check(&workspace().join("README.md"), &data(""));
}

#[test]
fn the_tour_prints_what_it_says() {
    transcript::check(&workspace().join("docs/tour.md"), &data(""));
}
