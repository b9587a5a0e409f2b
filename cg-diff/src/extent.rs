//! Checks that the sides have whole runs. A part of a run (`--dump-before`, a client request) is not comparable with a
//! whole run.

use std::collections::BTreeMap;

use cg_profile::Profile;
use cg_stream::record::{PartialRun, RunRecord};

use crate::runs::Runs;

/// Returns a message if a profile has incomplete runs, and another profile has whole runs or a different number of parts.
pub(crate) fn unlike_parts(runs: &Runs) -> Option<String> {
    let mut whole = false;
    let mut counts = Vec::new();
    let mut found = None;
    for (name, files) in &runs.sides {
        for profile in &runs.profiles[files.clone()] {
            let partial = PartialRun::from_runs(profile.runs());
            match partial.first() {
                None => whole |= !profile.runs().is_empty(),
                Some(first) => {
                    counts.push(partial.iter().map(PartialRun::count).sum::<u64>());
                    found.get_or_insert_with(|| (name, first.clone()));
                }
            }
        }
    }
    let (name, partial) = found?;
    let are_alike = !whole && counts.windows(2).all(|pair| pair[0] == pair[1]);
    (!are_alike).then(|| {
        format!(
            "{name} has only {}, unlike the other runs; give all parts of a run together (cg-parse adds them up), or \
             compare part with part",
            described(&partial)
        )
    })
}

/// Describes parts, such as `part 1 of process 77`.
fn described(partial: &PartialRun) -> String {
    let range = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    };
    let parts: Vec<String> = partial.parts.iter().map(range).collect();
    let word = if partial.count() == 1 {
        "part"
    } else {
        "parts"
    };
    let owner = match partial.pid {
        Some(pid) => format!("process {pid}"),
        None => "a run".to_owned(),
    };
    format!("{word} {} of {owner}", parts.join(", "))
}

/// Returns the part of a run record with its trigger; `None` for a whole run.
pub(crate) fn describe_part(run: &RunRecord) -> Option<String> {
    let partial = run.costs.partial_runs(run.pid);
    let (part, trigger) = (run.costs.part?, run.costs.trigger.as_ref()?);
    (!partial.is_empty()).then(|| format!("{part} ({trigger})"))
}

/// Returns the number of files that only add a part to the run of another file.
pub(crate) fn further_parts(profiles: &[Profile]) -> usize {
    let mut files: BTreeMap<Option<u64>, usize> = BTreeMap::new();
    for run in profiles.iter().flat_map(Profile::runs) {
        if !run.costs.partial_runs(run.pid).is_empty() {
            *files.entry(run.pid).or_default() += 1;
        }
    }
    files.values().map(|files| files - 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::tests::sides;

    /// Returns a section of process 7: a whole run, or a part with its trigger.
    fn section(part: Option<(u64, &str)>) -> String {
        let part =
            part.map(|(part, trigger)| format!(",\"part\":{part},\"trigger\":\"{trigger}\""));
        format!(
            "{{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"pid\":7,\"events\":[\"Ir\"],\"total\":{{\"Ir\":1}}{}}}\n{{\"type\":\"end\",\"records\":0}}\n",
            part.unwrap_or_default()
        )
    }

    /// Returns a file with these parts, which were requested by the program.
    fn parts(parts: &[u64]) -> String {
        parts
            .iter()
            .map(|part| section(Some((*part, "Client Request"))))
            .collect()
    }

    #[test]
    fn part_of_a_run_is_unlike_a_whole_run_and_a_different_number_of_parts() {
        let whole = section(None);
        let complete = parts(&[1]) + &section(Some((2, "Program termination")));
        let (one, other, two) = (parts(&[1]), parts(&[5]), parts(&[3, 4]));
        for (a, b, is_unlike) in [
            (&whole, &whole, false),
            (&whole, &complete, false),
            (&one, &one, false),
            (&one, &other, false),
            (&one, &two, true),
            (&one, &whole, true),
            (&two, &complete, true),
        ] {
            for [a, b] in [[a, b], [b, a]] {
                let found = unlike_parts(&sides(&[&[a], &[b]]));
                assert_eq!(found.is_some(), is_unlike, "{a}{b}");
            }
        }
    }

    #[test]
    fn message_about_a_part_lists_the_parts_of_the_first_incomplete_run() {
        let message = |file: &str| unlike_parts(&sides(&[&[file], &[&section(None)]])).unwrap();
        assert!(message(&parts(&[4])).starts_with("a has only part 4 of process 7, "));
        assert!(
            message(&parts(&[2, 6, 1])).starts_with("a has only parts 1 to 2, 6 of process 7, ")
        );
    }

    #[test]
    fn files_with_further_parts_of_a_process_are_counted() {
        let (one, two, whole) = (parts(&[1]), parts(&[2]), section(None));
        let count = |files: &[&str]| further_parts(&sides(&[files]).profiles);
        assert_eq!(count(&[&one]), 0);
        assert_eq!(count(&[&one, &two]), 1);
        assert_eq!(
            count(&[&one, &two, &two.replace("\"pid\":7", "\"pid\":8")]),
            1
        );
        assert_eq!(count(&[&whole, &whole]), 0);
    }
}
