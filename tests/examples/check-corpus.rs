//! `check-corpus FOLDER`: reads every profile under a folder with cg-parse and with an independent reader, and prints one
//! line per file. If the folder has an INDEX.tsv, reads only the files that the index calls fixtures. Exits with 1 if any
//! file is wrong.
#![allow(clippy::print_stdout, reason = "this program prints")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tests::corpus::{self, Verdict};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        println!("usage: check-corpus FOLDER");
        return ExitCode::from(2);
    };
    let files = match files(&folder) {
        Ok(files) => files,
        Err(error) => {
            println!("{}: {error}", folder.display());
            return ExitCode::from(2);
        }
    };
    let (mut agree, mut unchecked, mut no_profile, mut refused, mut wrong) = (0, 0, 0, 0, 0);
    for file in &files {
        let verdict = corpus::check(&folder.join(file));
        match &verdict {
            Verdict::Agrees(_) => agree += 1,
            Verdict::Unchecked => unchecked += 1,
            Verdict::NoProfile => no_profile += 1,
            Verdict::Refused(_) => refused += 1,
            Verdict::Wrong(_) => wrong += 1,
        }
        println!("{}  {verdict}", file.display());
    }
    println!(
        "{} files: {agree} agree, {unchecked} unchecked, {no_profile} no profiles, {refused} refused, {wrong} wrong",
        files.len()
    );
    ExitCode::from(u8::from(wrong > 0))
}

/// Returns the files to read, relative to the folder, in order.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    const READ: [&str; 8] = [
        "callgrind",
        "cachegrind",
        "memcheck-text",
        "helgrind-text",
        "drd-text",
        "massif",
        "dhat",
        "xml",
    ];
    if let Ok(index) = std::fs::read_to_string(folder.join("INDEX.tsv")) {
        return Ok(index
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>())
            .filter(|columns| {
                columns.get(3) == Some(&"fixture")
                    && columns.get(2).is_some_and(|format| READ.contains(format))
            })
            .map(|columns| PathBuf::from(columns[0]))
            .collect());
    }
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
