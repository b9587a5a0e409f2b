//! Functions with their callers and callees from `call` records, as in `callgrind_annotate --tree`.
//!
//! A function's row has the mark `*`. The rows above it, with the mark `<`, are its callers. The rows below it, with the
//! mark `>`, are its callees. Each has the number of calls and the inclusive cost of these calls. If the profile has chains
//! of inlined functions, the tree follows the source: see [`chains`].

use std::cell::RefCell;

use cg_document::{Audience, Block, Cell, Column, Cut, Document, Layout, NAMELESS, Table, number};
use cg_profile::{FunctionKey, Key, Profile, Rows};
use cg_stream::record::{Count, RecordType};
use regex::Regex;

use super::lost;
use crate::options::{Directions, Options, OutputFormat, View};
use crate::report::columns::{code, push_events, push_function, set_totals};
use crate::report::events::EventColumns;
use crate::report::owners::FunctionOwners;
use crate::report::passed_through::PassedThrough;
use crate::report::{arrange, kinds, lack, origin, records};

mod arcs;
mod chains;
mod peek;

use arcs::CallArcs;
use chains::ShownChains;
use peek::OwnCallers;

/// The top functions of a profile with their callers and callees.
pub(crate) struct CallTree<'a> {
    profile: &'a Profile,
    events: EventColumns,
    /// The functions, callers and callees in the order of the output.
    rows: Vec<TreeRow>,
    group_starts: Vec<usize>,
    /// The omitted functions with their self cost.
    cut: Option<Cut>,
    /// Warnings about calls that a filter removed.
    pub(super) lost: Vec<String>,
    /// True if the self costs of functions are known.
    has_self_cost: bool,
    /// True for `--peek`, which also shows the nearest own functions among direct and indirect callers.
    is_peek: bool,
    /// True if the shares of these own functions are estimated.
    is_estimated: bool,
    threshold: f64,
    /// True if callers and callees are below their function and fold with it.
    folds: bool,
}

/// A row of a tree.
#[derive(Clone, Debug, PartialEq)]
struct TreeRow {
    role: ArcEnd,
    /// The number of steps from the function in the middle.
    depth: usize,
    what: ArcRow,
    /// Self cost of a function, or of an inlined function at this place.
    cost: Option<Vec<Count>>,
    incl: Option<Vec<Count>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArcEnd {
    Caller,
    Function,
    Callee,
    /// A nearest own function among the direct and indirect callers.
    Own,
}

/// The content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArcRow {
    /// The function in the middle.
    Function(FunctionKey),
    /// A caller or callee, with the number of calls.
    Called(FunctionKey, Count),
    /// A caller or callee without a number of calls.
    Around(FunctionKey),
    /// A function that is inlined, or that others are inlined into.
    Inlined(FunctionKey, PassedThrough),
    /// The number of folded rows, each below the threshold.
    Pruned(usize),
}

/// A function in one part and thread, if parts are separate.
pub(super) type FunctionOfPart = (FunctionKey, Option<u64>, Option<u64>);

pub(super) fn function_of_part(key: &Key, function: FunctionKey) -> FunctionOfPart {
    (function, key.part, key.thread)
}

impl<'a> CallTree<'a> {
    /// Computes the tree for the top functions, by default sorted by inclusive cost.
    ///
    /// # Errors
    /// Returns an error if there are no `call` records, or if the options name an unknown column.
    pub(super) fn compute(
        profile: &'a Profile,
        directions: Directions,
        options: &Options,
    ) -> anyhow::Result<CallTree<'a>> {
        CallTree::chosen(profile, directions, None, options)
    }

    /// Computes the rows of functions with matching names: callers, callees, and the nearest own functions on the way to
    /// them. Uses the stacks of the record type `stacks`, or call arcs if it is `None`.
    ///
    /// # Errors
    /// Returns an error if no name matches, and the errors of a tree.
    pub(super) fn peek(
        profile: &'a Profile,
        wanted: &Regex,
        stacks: Option<RecordType>,
        options: &Options,
    ) -> anyhow::Result<CallTree<'a>> {
        let both = Directions {
            callers: true,
            callees: true,
        };
        let tree = match stacks {
            None => CallTree::chosen(profile, both, Some(wanted), options)?,
            Some(kind) => {
                let events = EventColumns::choose(profile, kind, options)?;
                let mut tree = CallTree::empty(profile, events, options);
                let event = tree.events.first_index();
                for rows in peek::peek_stacks(profile, kind, wanted, event) {
                    tree.begin_group();
                    tree.rows.extend(rows);
                }
                tree
            }
        };
        anyhow::ensure!(
            !tree.rows.is_empty(),
            "no function matches \"{wanted}\"; cg-fmt --top all lists all functions"
        );
        Ok(tree)
    }

    fn empty(profile: &'a Profile, events: EventColumns, options: &Options) -> CallTree<'a> {
        CallTree {
            profile,
            events,
            rows: Vec::new(),
            group_starts: Vec::new(),
            cut: None,
            lost: Vec::new(),
            has_self_cost: true,
            is_peek: matches!(options.view, View::Peek(_)),
            is_estimated: false,
            threshold: options.threshold(),
            folds: options.format == OutputFormat::Html,
        }
    }

    /// Begins the group of another function.
    fn begin_group(&mut self) {
        if !self.rows.is_empty() {
            self.group_starts.push(self.rows.len());
        }
    }

    fn chosen(
        profile: &'a Profile,
        directions: Directions,
        wanted: Option<&Regex>,
        options: &Options,
    ) -> anyhow::Result<CallTree<'a>> {
        let events = EventColumns::choose(profile, RecordType::Fn, options)?;
        ensure_calls(profile, options)?;
        let has_chains = !profile.table(RecordType::Inline).is_empty();
        let has_functions = !profile.table(RecordType::Fn).is_empty();
        let derived = match (has_chains, has_functions) {
            (true, _) => Some(profile.by_innermost()?.rows),
            (false, false) => Some(profile.functions_of_calls()?),
            (false, true) => None,
        };
        let functions = derived.as_ref().unwrap_or(profile.table(RecordType::Fn));
        let (order, cut) = top(profile, functions, &events, wanted, options)?;
        let mut tree = CallTree {
            cut,
            has_self_cost: has_chains || has_functions,
            lost: lost::sentences(profile, directions, events.first_index()),
            ..CallTree::empty(profile, events, options)
        };
        if has_chains {
            let shown = order.iter().map(|row| {
                let key = functions.key(*row);
                function_of_part(&key, key.function)
            });
            let chains = ShownChains::collect(profile, shown.collect(), tree.pruning());
            tree.fill(functions, &order, directions, |function, role| match role {
                // Only calls of the outermost function of a chain are recorded, so the call paths to inlined functions are
                // unknown.
                ArcEnd::Own => Vec::new(),
                role => chains.around(function, role),
            });
        } else {
            let event = tree.events.first_index();
            let arcs = CallArcs::collect(profile, event);
            let own = OwnCallers::new(profile, event);
            tree.fill(functions, &order, directions, |function, role| match role {
                ArcEnd::Own => own.around(&arcs, function),
                role => arcs.around(function, role),
            });
            tree.is_estimated = own.is_estimated.get();
        }
        Ok(tree)
    }

    fn fill(
        &mut self,
        functions: &Rows,
        order: &[usize],
        directions: Directions,
        around: impl Fn(FunctionOfPart, ArcEnd) -> Vec<TreeRow>,
    ) {
        for row in order {
            self.begin_group();
            let key = functions.key(*row);
            let function = function_of_part(&key, key.function);
            let middle = TreeRow {
                role: ArcEnd::Function,
                depth: 0,
                what: ArcRow::Function(key.function),
                cost: (self.has_self_cost).then(|| functions.cost(*row).to_vec()),
                incl: functions.incl(*row).map(<[Count]>::to_vec),
            };
            // If callers fold with their function, they are below it.
            let (above, below) = match self.folds {
                true => (Some(middle), None),
                false => (None, Some(middle)),
            };
            self.rows.extend(above);
            if directions.callers {
                self.rows.extend(around(function, ArcEnd::Caller));
            }
            self.rows.extend(below);
            if directions.callees {
                self.rows.extend(around(function, ArcEnd::Callee));
            }
            if self.is_peek {
                self.rows.extend(around(function, ArcEnd::Own));
            }
        }
    }

    /// Returns an event and a threshold. Rows with a smaller count of the event are folded.
    fn pruning(&self) -> (usize, Count) {
        let least = self.events.first().map_or(0, |event| {
            (event.whole as f64 * self.threshold / 100.0).ceil() as Count
        });
        (self.events.first_index(), least)
    }

    pub(super) fn document(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        let origin = origin::origin(self.profile);
        document.blocks.extend(origin.map(Block::Heading));
        let mut table = self.table();
        arrange::choose_columns(&mut table, self.events.first_name(), options)?;
        document.push(Block::Table(table));
        if let Some(cut) = &self.cut {
            let share = arrange::share(cut, &self.events);
            let noun = kinds::noun(RecordType::Fn, cut.rows);
            document.push(arrange::left_out(cut, noun, share));
        }
        if self.rows.iter().any(|row| row.role == ArcEnd::Own) {
            let estimated = match self.is_estimated {
                true => {
                    "; shares through functions with several callers are estimated from the cost of the calls"
                }
                false => "",
            };
            document.push(Block::Note(format!(
                "^ the nearest own function on each path to the function{estimated}"
            )));
        }
        if (self.rows.iter()).any(|row| matches!(row.what, ArcRow::Pruned(_))) {
            document.push(Block::Note(format!(
                "callers and callees below {}% are folded (--threshold 0 shows all)",
                self.threshold
            )));
        }
        document
            .blocks
            .extend(arrange::hidden(&self.events.hidden(), options));
        Ok(document)
    }

    fn table(&self) -> Table<'_> {
        let mut columns = Vec::new();
        push_events(&mut columns, &self.events, "", move |row| {
            self.rows[row].cost.as_deref()
        });
        push_events(&mut columns, &self.events, "incl.", move |row| {
            self.rows[row].incl.as_deref()
        });
        columns.push(
            Column::new("role", Layout::Text, move |row| {
                let mark = match self.rows[row].role {
                    ArcEnd::Caller => "<",
                    ArcEnd::Function => "*",
                    ArcEnd::Callee => ">",
                    ArcEnd::Own => "^",
                };
                Cell::Text(mark.into())
            })
            .titled(""),
        );
        let key = move |row: usize| self.rows[row].what.function().unwrap_or_default();
        push_function(&mut columns, "", key, self.profile);
        if let Some(column) = columns.iter_mut().find(|column| column.name == "fn") {
            *column = Column::new("fn", Layout::Name, move |row| {
                self.rows[row].name(self.profile, self.folds)
            })
            .titled("function");
        }
        if self.is_peek {
            columns.push(
                Column::new("calls", Layout::Number, move |row| {
                    match self.rows[row].what {
                        ArcRow::Called(_, calls) => Cell::Count(calls),
                        _ => Cell::Empty,
                    }
                })
                .for_audience(Audience::Programs),
            );
        }
        let owners = RefCell::new(FunctionOwners::new(self.profile));
        columns.push(code(move |row| {
            owners.borrow_mut().find_function_owner(key(row))
        }));
        set_totals(&mut columns, &self.events);
        let mut table = Table::new(columns, (0..self.rows.len()).collect());
        table.group_starts.clone_from(&self.group_starts);
        if self.folds {
            table.depths = self.rows.iter().map(|row| row.depth).collect();
        }
        table
    }
}

/// Returns an error if there are no calls for a tree.
fn ensure_calls(profile: &Profile, options: &Options) -> anyhow::Result<()> {
    let advice = || match lack::remedy(profile, "--calls", options) {
        Some(command) => format!("; if the profile has calls, use: {command}"),
        None => "; use Callgrind, which records calls".to_owned(),
    };
    anyhow::ensure!(
        !profile.table(RecordType::Call).is_empty(),
        "the input has no call records for a tree{}",
        advice()
    );
    Ok(())
}

/// Returns the sorted rows of the top functions, and the omitted functions.
fn top(
    profile: &Profile,
    functions: &Rows,
    events: &EventColumns,
    wanted: Option<&Regex>,
    options: &Options,
) -> anyhow::Result<(Vec<usize>, Option<Cut>)> {
    let mut table = records::rows_table(profile, functions, RecordType::Fn, events);
    if let Some(wanted) = wanted {
        let name = |row: usize| profile.text(functions.function(row).name);
        (table.rows).retain(|row| wanted.is_match(name(*row).unwrap_or_default()));
    }
    let first = events.first_name();
    let key = options.sort.as_deref().unwrap_or("incl");
    arrange::sort(&mut table, Some(key), first, options)?;
    let cut = arrange::cut(&mut table, options.rows(), Some("self"), first);
    Ok((table.rows, cut))
}

impl ArcRow {
    fn function(&self) -> Option<FunctionKey> {
        match *self {
            ArcRow::Function(function)
            | ArcRow::Called(function, _)
            | ArcRow::Around(function)
            | ArcRow::Inlined(function, _) => Some(function),
            ArcRow::Pruned(_) => None,
        }
    }
}

impl TreeRow {
    /// Returns the name, indented by two characters per level below the first. If rows fold, indents by three characters per
    /// level, beginning with the first.
    fn name<'p>(&self, profile: &'p Profile, folds: bool) -> Cell<'p> {
        let text = |function: FunctionKey| profile.text(function.name).unwrap_or(NAMELESS);
        let lead = match folds {
            true => "   ".repeat(self.depth),
            false => "  ".repeat(self.depth.saturating_sub(1)),
        };
        match self.what {
            ArcRow::Function(function) | ArcRow::Around(function) => Cell::Name(text(function)),
            ArcRow::Called(function, calls) if self.depth == 1 => Cell::Called {
                name: text(function),
                calls,
            },
            ArcRow::Called(function, calls) => Cell::Placed {
                lead: lead.into(),
                name: text(function),
                place: format!("{}x", number::grouped(calls)),
            },
            ArcRow::Inlined(function, through) => {
                let relation = match self.role {
                    ArcEnd::Caller => "inlined into",
                    ArcEnd::Function | ArcEnd::Callee | ArcEnd::Own => "inlined",
                };
                Cell::Placed {
                    lead: lead.into(),
                    name: text(function),
                    place: match through.words(profile) {
                        None => relation.to_owned(),
                        Some(through) => format!("{relation} {through}"),
                    },
                }
            }
            ArcRow::Pruned(1) => Cell::Text(format!("{lead}1 more, below the threshold").into()),
            ArcRow::Pruned(rows) => {
                let rows = number::grouped(rows as Count);
                Cell::Text(format!("{lead}{rows} more, each below the threshold").into())
            }
        }
    }
}
