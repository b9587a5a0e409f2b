//! The state of the reader within a part.

use std::io::Cursor;

use cg_collections::intern::Id as _;
use cg_costs::inlines::CostLines;

use super::*;

/// Reads lines of a part that does not end. Returns its traced arcs as positions of functions, caller first, sorted.
fn traced_arcs(text: &str) -> Vec<(usize, usize)> {
    let mut section = Section::new("callgrind", true);
    section.trace = Some(CostLines::default());
    let mut diagnostics = Diagnostics::to(|message, _| panic!("{message}"));
    let options = Options::default();
    let mut part_done = |_: &mut Section| Ok(());
    let mut reader = CallgrindReader::new(
        "in",
        &options,
        &mut section,
        &mut part_done,
        &mut diagnostics,
    );
    let mut lines = Lines::new(Box::new(Cursor::new(text.as_bytes().to_vec())));
    reader.read_lines(&mut lines).unwrap();
    let arcs = reader.section.trace.as_ref().unwrap().arcs();
    let mut arcs: Vec<(usize, usize)> = arcs
        .map(|(caller, callee)| (caller.index(), callee.index()))
        .collect();
    arcs.sort_unstable();
    arcs
}

#[test]
fn calls_of_a_function_by_itself_are_not_traced() {
    let head = "events: Ir\nfl=a.c\nfn=(1) f\n1 1\n";
    let itself = "cfn=(1)\ncalls=3 1\n1 9\n";
    let other = "cfn=(2) g\ncalls=1 1\n1 5\n";
    assert_eq!(traced_arcs(&[head, itself].concat()), []);
    assert_eq!(
        traced_arcs(&[head, itself, other, itself].concat()),
        [(0, 1)]
    );
    // A deeper recursion level is another function in the file.
    let deeper = "cfn=(3) f'2\ncalls=1 1\n1 9\n";
    assert_eq!(traced_arcs(&[head, deeper].concat()), [(0, 1)]);
}
