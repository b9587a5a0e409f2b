//! Leaks by kind. Reachable memory is not an error, so a sum over all kinds has no meaning. Each kind has its own total, and
//! shares refer to the total of the kind.

use std::collections::BTreeMap;
use std::rc::Rc;

use cg_document::{Block, Cell, Column, Layout, Span, number};
use cg_profile::{Profile, Rows, Symbol};
use cg_stream::record::{Count, LeakKind, add_counts_growing};

use crate::report::events::EventColumns;

/// The leaks of a kind.
#[derive(Default)]
struct KindTotal {
    records: Count,
    cost: Vec<Count>,
}

/// A kind and the counts of a row of this kind.
type KindCosts<'a> = (Option<Symbol>, Option<&'a [Count]>);

fn totals(rows: &Rows) -> BTreeMap<Option<Symbol>, KindTotal> {
    let mut totals: BTreeMap<Option<Symbol>, KindTotal> = BTreeMap::new();
    for (row, key) in rows.keys().enumerate() {
        let total = totals.entry(key.kind).or_default();
        total.records += rows.numbers().records.count(row).unwrap_or(1);
        add_counts_growing(&mut total.cost, rows.cost(row));
    }
    totals
}

/// Replaces the percentages of leaks by shares of their kind's total. `costs` returns the kind and the cost of a row, which
/// is in the columns with this prefix.
pub(super) fn share_by_kind<'a>(
    columns: &mut [Column<'a>],
    rows: &Rows,
    events: &EventColumns,
    (prefix, costs): (&str, impl Fn(usize) -> KindCosts<'a> + Copy + 'a),
) {
    let totals = Rc::new(totals(rows));
    for event in &events.events {
        let name = format!("{prefix}{}%", event.name);
        let Some(column) = columns.iter_mut().find(|column| column.name == name) else {
            continue;
        };
        let (index, totals) = (event.index, Rc::clone(&totals));
        let count = move |cost: &[Count]| cost.get(index).copied().unwrap_or(0);
        *column = Column::new(name, Layout::Percent, move |row| {
            let (kind, cost) = costs(row);
            let whole = totals.get(&kind).map_or(0, |kind| count(&kind.cost));
            cost.map_or(Cell::Empty, |cost| Cell::share(count(cost), whole))
        })
        .titled("%")
        .for_audience(column.audience);
    }
}

/// Returns a line for each kind, the worst kind first.
pub(super) fn kinds<'a>(
    profile: &Profile,
    rows: &Rows,
    events: &EventColumns,
    noun: impl Fn(usize) -> &'static str,
) -> Option<Block<'a>> {
    let totals = totals(rows).into_iter().map(|(kind, total)| {
        let word = profile.text(kind).unwrap_or("of unknown kind");
        let costs = events.events.iter().map(|event| {
            let sum = total.cost.get(event.index).copied().unwrap_or(0);
            format!("{} {}", number::grouped(sum), event.name)
        });
        let known = LeakKind::from_word(word);
        let line = format!(
            "{}: {} in {} {}",
            known.map_or(word, |kind| kind.phrase()),
            costs.collect::<Vec<_>>().join(" and "),
            number::grouped(total.records),
            noun(usize::try_from(total.records).unwrap_or(usize::MAX)),
        );
        // An unknown kind comes first, because it may be the worst.
        ((known.is_some(), known, word.to_owned()), line)
    });
    let lines: BTreeMap<_, String> = totals.collect();
    let lines = lines.into_values().map(|line| vec![Span::text(line)]);
    (!rows.is_empty()).then(|| Block::List(lines.collect()))
}
