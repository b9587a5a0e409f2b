//! Rules for the source: the maximum size of files and functions, and unique names of types.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tests::workspace;

/// A source file without its tests.
struct SourceFile {
    path: PathBuf,
    /// The folder name of its crate.
    crate_name: String,
    lines: Vec<String>,
}

/// Returns the source files of all crates except the tests.
fn sources() -> Vec<SourceFile> {
    let mut sources = Vec::new();
    for folder in [workspace(), workspace().join("crates")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.join("Cargo.toml").exists() && !path.ends_with("tests") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                add_sources(&path.join("src"), &name, &mut sources);
            }
        }
    }
    assert!(sources.len() > 100);
    sources
}

fn add_sources(folder: &Path, crate_name: &str, sources: &mut Vec<SourceFile>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let is_test = ["tests", "tests.rs", "testing.rs"]
            .iter()
            .any(|name| path.ends_with(name));
        if is_test {
            continue;
        }
        if path.is_dir() {
            add_sources(&path, crate_name, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().map(str::to_owned);
            let lines = lines.take_while(|line| line != "#[cfg(test)]").collect();
            sources.push(SourceFile {
                path,
                crate_name: crate_name.to_owned(),
                lines,
            });
        }
    }
}

/// Returns the name of the type that a line defines; `None` if it defines no type.
fn defined_type(line: &str) -> Option<&str> {
    let words = line.trim_start();
    // An associated type of a trait or an implementation does not count.
    let is_inside = line.starts_with("    ") && words.starts_with("type ");
    let words = match words.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ')?.1,
        None => words,
    };
    let (keyword, rest) = words.split_once(' ')?;
    let is_definition = ["struct", "enum", "trait", "type"].contains(&keyword) && !is_inside;
    let name = rest.split(|end: char| !end.is_alphanumeric()).next()?;
    let is_name = name.starts_with(|first: char| first.is_ascii_uppercase());
    (is_definition && is_name).then_some(name)
}

#[test]
fn definitions_of_types_are_found() {
    for (line, name) in [
        ("pub(crate) struct Row<'a> {", Some("Row")),
        ("    pub struct Symbol;", Some("Symbol")),
        ("enum Line {", Some("Line")),
        ("type Texts = Vec<Text>;", Some("Texts")),
        ("    type Held = u64;", None),
        ("/// A struct Row", None),
        ("let type_of = 3;", None),
    ] {
        assert_eq!(defined_type(line), name, "{line}");
    }
}

/// Names of types are unique in a crate, and at most 5 % are repeated in another crate (ripgrep 5 %, cargo-nextest 1 %).
#[test]
fn type_names_are_unique_in_a_crate_and_rarely_repeated() {
    let mut crates_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for name in source.lines.iter().filter_map(|line| defined_type(line)) {
            let crates = crates_of.entry(name.to_owned()).or_default();
            assert!(
                !crates.contains(&source.crate_name),
                "{name} is defined twice in {}, the second time in {}",
                source.crate_name,
                source.path.display()
            );
            crates.push(source.crate_name.clone());
        }
    }
    let several: Vec<&String> = crates_of
        .iter()
        .filter(|(_, crates)| crates.len() > 1)
        .map(|(name, _)| name)
        .collect();
    assert!(crates_of.len() > 500);
    assert!(several.len() * 20 <= crates_of.len(), "{several:?}");
}

#[test]
fn files_have_at_most_600_lines_and_functions_80() {
    for source in sources() {
        let path = source.path.display();
        assert!(source.lines.len() <= 600, "{path}: {}", source.lines.len());
        for (start, line) in source.lines.iter().enumerate() {
            let text = line.trim_start();
            let words = text
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub(super) ");
            let words = words
                .trim_start_matches("pub ")
                .trim_start_matches("const ");
            if !words.starts_with("fn ") || text.ends_with(';') {
                continue;
            }
            // rustfmt indents a function's closing brace like its first line.
            let end = format!("{}}}", &line[..line.len() - text.len()]);
            let behind = &source.lines[start..];
            let Some(length) = behind.iter().position(|line| *line == end) else {
                continue;
            };
            let code = behind[..=length].iter().map(|line| line.trim_start());
            let code = code.filter(|line| !line.is_empty() && !line.starts_with("//"));
            let code = code.count();
            assert!(code <= 80, "{path}:{}: {code} lines", start + 1);
        }
    }
}

/// For a package with settings of its own in a profile, Cargo ignores the `strip` of the profile.
#[test]
fn profile_settings_of_a_package_with_a_program_strip_it() {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, settings) = manifest.split_once("[profile.release.package]").unwrap();
    let (settings, _) = settings.split_once("\n[").unwrap();
    let mut programs = Vec::new();
    for setting in settings.lines().filter(|line| !line.starts_with('#')) {
        let name = setting.split([' ', '.']).next().unwrap();
        let folders = [
            workspace().join(name),
            workspace().join("crates").join(name),
        ];
        if !name.is_empty()
            && folders
                .iter()
                .any(|folder| folder.join("src/main.rs").exists())
        {
            assert!(setting.contains("strip = true"), "{setting}");
            programs.push(name);
        }
    }
    assert_eq!(programs, ["cg-filter", "cg-parse"]);
}
