//! Trees of stacks.
//!
//! From the innermost frame outwards, this is the tree of Massif and DHAT: the allocator's callers, their callers, and so
//! on. From the outermost frame inwards, it shows how the cost of the program is divided among its callees.

use std::cell::RefCell;

use cg_document::{Audience, Block, Cell, Column, Layout, Table};
use cg_profile::{FrameKey, Profile};
use cg_stream::record::Count;

use super::arrange;
use super::columns::{CODE, push_frame};
use super::owners::FunctionOwners;
use crate::options::Options;

mod tree;

use tree::{Branch, ShownNode};

pub(crate) use tree::{Root, StackTree, corner, name_and_place};

/// The rows of a tree, one per node. Children below a threshold are folded.
pub(crate) struct Branches<'a> {
    profile: &'a Profile,
    /// Events, each with the count that is 100 %. Branches are sorted and folded by the first event.
    costs: Vec<(String, Count)>,
    shown: Vec<Branch>,
    /// A percentage of the first event.
    threshold: f64,
}

impl<'a> Branches<'a> {
    /// Chooses the rows of a tree. `costs` are events, each with the count that is 100 %.
    pub(crate) fn new(
        profile: &'a Profile,
        tree: &StackTree,
        costs: Vec<(String, Count)>,
        threshold: f64,
    ) -> Branches<'a> {
        let shown = match costs.first() {
            Some((first, whole)) => {
                let least = (*whole as f64 * threshold / 100.0).ceil() as Count;
                tree.shown(profile, profile.event(first).unwrap_or(0), least)
            }
            None => Vec::new(),
        };
        Branches {
            profile,
            costs,
            shown,
            threshold,
        }
    }

    /// Returns the tree as a table, with a note if branches are folded.
    pub(crate) fn blocks(&self, options: &Options) -> anyhow::Result<Vec<Block<'_>>> {
        if self.costs.is_empty() {
            return Ok(Vec::new());
        }
        let mut table = Table::new(self.columns(), (0..self.shown.len()).collect());
        let depths = self.shown.iter().map(|branch| branch.depth);
        table.depths = depths
            .map(|depth| usize::try_from(depth).unwrap_or(usize::MAX))
            .collect();
        arrange::choose_columns(&mut table, None, options)?;
        let mut blocks = vec![Block::Table(table)];
        let is_pruned = |branch: &Branch| matches!(branch.content, ShownNode::Pruned { .. });
        if self.shown.iter().any(is_pruned) {
            blocks.push(Block::Note(format!(
                "branches below {}% are folded (--threshold 0 shows all)",
                self.threshold
            )));
        }
        Ok(blocks)
    }

    /// Returns the columns: costs, the drawn tree for people, and the parts of its rows for programs.
    fn columns(&self) -> Vec<Column<'_>> {
        let mut columns = Vec::new();
        for (name, whole) in &self.costs {
            let Some(event) = self.profile.event(name) else {
                continue;
            };
            columns.push(Column::new(name, Layout::Number, move |row| {
                Cell::Count(self.shown[row].cost[event])
            }));
            columns.push(
                Column::new(format!("{name}%"), Layout::Percent, move |row| {
                    Cell::share(self.shown[row].cost[event], *whole)
                })
                .titled("%"),
            );
        }
        columns.push(
            Column::new("tree", Layout::Name, |row| {
                self.shown[row].cell(self.profile)
            })
            .for_audience(Audience::People),
        );
        let column = |name: &str, cell: fn(&Branch) -> Cell<'a>| {
            let cell = move |row: usize| cell(&self.shown[row]);
            Column::new(name, Layout::Number, cell).for_audience(Audience::Programs)
        };
        columns.push(column("depth", |branch| Cell::Ordinal(branch.depth)));
        push_frame(&mut columns, |row| frame(&self.shown[row]), self.profile);
        columns.push(column("places", |branch| match branch.content {
            ShownNode::Folded { places } => Cell::Count(places),
            _ => Cell::Empty,
        }));
        let owners = RefCell::new(FunctionOwners::new(self.profile));
        columns.push(
            Column::new(CODE, Layout::Text, move |row| {
                match frame(&self.shown[row]) {
                    Some(frame) => {
                        Cell::Text(owners.borrow_mut().find_frame_owner(frame).word().into())
                    }
                    None => Cell::Empty,
                }
            })
            .for_audience(Audience::Nobody),
        );
        columns
    }
}

fn frame(branch: &Branch) -> Option<FrameKey> {
    match branch.content {
        ShownNode::Frame(frame) => Some(frame),
        _ => None,
    }
}
