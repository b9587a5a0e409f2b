//! Functions with their callers and callees: what `callgrind_annotate --tree` shows, from `call` records.
//!
//! A function's row is marked `*`. Above it stand its callers, marked `<`, below it its callees, marked `>`, each with
//! the number of calls and the inclusive cost of these calls. Where the profile has chains of inlined functions, all
//! this is as the source has it: see [`chains`].

use std::cell::RefCell;

use cg_document::{Audience, Block, Cell, Column, Cut, Document, Layout, NAMELESS, Table, number};
use cg_stream::profile::{FunctionKey, Key, Profile, Rows};
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

/// The top functions of a profile with what is around them.
pub(crate) struct CallTree<'a> {
    profile: &'a Profile,
    events: EventColumns,
    /// Functions and what is around them, in the order they are shown.
    rows: Vec<TreeRow>,
    group_starts: Vec<usize>,
    /// How many functions were left out, and their self cost.
    cut: Option<Cut>,
    /// What is said of calls that a filter took out.
    pub(super) lost: Vec<String>,
    /// Whether it is known what functions cost themselves.
    has_self_cost: bool,
    /// The functions were asked for by name, and the own ones that brought the program there are shown.
    is_peek: bool,
    /// The shares of these are estimated.
    is_estimated: bool,
    threshold: f64,
    /// Callers and callees stand below their function and fold with it.
    folds: bool,
}

/// A row of a tree.
#[derive(Clone, Debug, PartialEq)]
struct TreeRow {
    role: ArcEnd,
    /// How many steps it is from the function in the middle.
    depth: usize,
    what: ArcRow,
    /// Self cost: of a function, or of what is inlined there.
    cost: Option<Vec<Count>>,
    incl: Option<Vec<Count>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArcEnd {
    Caller,
    Function,
    Callee,
    /// An own function that brought the program there, however far.
    Own,
}

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArcRow {
    /// The function in the middle.
    Function(FunctionKey),
    /// A function at the other end of so many calls.
    Called(FunctionKey, Count),
    /// A function around another of which no calls are counted.
    Around(FunctionKey),
    /// A function that is inlined, or that others are inlined into.
    Inlined(FunctionKey, PassedThrough),
    /// So many more, each below the threshold.
    Pruned(usize),
}

/// A function of one part and thread, where parts are kept apart.
pub(super) type FunctionOfPart = (FunctionKey, Option<u64>, Option<u64>);

pub(super) fn of_part(key: &Key, function: FunctionKey) -> FunctionOfPart {
    (function, key.part, key.thread)
}

impl<'a> CallTree<'a> {
    /// The tree for the top functions, by inclusive cost where nothing else is asked for.
    ///
    /// # Errors
    /// Where there are no `call` records to make it of, and where the options name columns that there are not.
    pub(super) fn of(
        profile: &'a Profile,
        directions: Directions,
        options: &Options,
    ) -> anyhow::Result<CallTree<'a>> {
        CallTree::chosen(profile, directions, None, options)
    }

    /// The functions whose names match, each with its callers and callees, and the own functions that brought the program
    /// there: of calls where there are arcs, else of the stacks of records of this type.
    ///
    /// # Errors
    /// As [`CallTree::of`], and where no name matches.
    pub(super) fn peek(
        profile: &'a Profile,
        wanted: &Regex,
        of_stacks: Option<RecordType>,
        options: &Options,
    ) -> anyhow::Result<CallTree<'a>> {
        let both = Directions {
            callers: true,
            callees: true,
        };
        let tree = match of_stacks {
            None => CallTree::chosen(profile, both, Some(wanted), options)?,
            Some(kind) => {
                let events = EventColumns::choose(profile, kind, options)?;
                let mut tree = CallTree::empty(profile, events, options);
                let event = tree.events.first_index();
                for rows in peek::of_stacks(profile, kind, wanted, event) {
                    tree.begin_group();
                    tree.rows.extend(rows);
                }
                tree
            }
        };
        anyhow::ensure!(
            !tree.rows.is_empty(),
            "no function matches \"{wanted}\"; cg-fmt --top all lists them"
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

    /// The rows to come are of another function.
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
                of_part(key, key.function)
            });
            let chains = ShownChains::of(profile, shown.collect(), tree.pruning());
            tree.fill(functions, &order, directions, |function, role| match role {
                // A chain's calls are those of the function that it is in, so nobody's way to it is known.
                ArcEnd::Own => Vec::new(),
                role => chains.around(function, role),
            });
        } else {
            let event = tree.events.first_index();
            let arcs = CallArcs::of(profile, event);
            let own = OwnCallers::of(profile, event);
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
            let function = of_part(key, key.function);
            let middle = TreeRow {
                role: ArcEnd::Function,
                depth: 0,
                what: ArcRow::Function(key.function),
                cost: (self.has_self_cost).then(|| functions.cost(*row).to_vec()),
                incl: functions.incl(*row).map(<[Count]>::to_vec),
            };
            // Where callers fold with their function, they stand below it.
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

    /// An event and a threshold: rows that cost less of the event are folded.
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
                    "; shares through functions with several callers are estimated by the cost of the calls"
                }
                false => "",
            };
            document.push(Block::Note(format!(
                "^ own functions that brought the program there, the nearest on each way{estimated}"
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
        let owners = RefCell::new(FunctionOwners::of(self.profile));
        columns.push(code(move |row| owners.borrow_mut().of_function(key(row))));
        set_totals(&mut columns, &self.events);
        let mut table = Table::new(columns, (0..self.rows.len()).collect());
        table.group_starts.clone_from(&self.group_starts);
        if self.folds {
            table.depths = self.rows.iter().map(|row| row.depth).collect();
        }
        table
    }
}

/// Refuses to make an empty tree.
fn ensure_calls(profile: &Profile, options: &Options) -> anyhow::Result<()> {
    let advice = || match lack::remedy(profile, "--calls", options) {
        Some(command) => format!("; where the profile has calls, this shows them: {command}"),
        None => "; take a profile with Callgrind, which knows calls".to_owned(),
    };
    anyhow::ensure!(
        !profile.table(RecordType::Call).is_empty(),
        "the input has no call records to show a tree of{}",
        advice()
    );
    Ok(())
}

/// The rows of the top functions in their order, and what was left out.
fn top(
    profile: &Profile,
    functions: &Rows,
    events: &EventColumns,
    wanted: Option<&Regex>,
    options: &Options,
) -> anyhow::Result<(Vec<usize>, Option<Cut>)> {
    let mut table = records::table_of(profile, functions, RecordType::Fn, events);
    if let Some(wanted) = wanted {
        let name = |row: usize| profile.text(functions.key(row).function.name);
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
    /// The name, indented by two characters a level below the first; where rows fold by three, from the first level on.
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
                let how = match self.role {
                    ArcEnd::Caller => "inlined into",
                    ArcEnd::Function | ArcEnd::Callee | ArcEnd::Own => "inlined",
                };
                Cell::Placed {
                    lead: lead.into(),
                    name: text(function),
                    place: match through.words(profile) {
                        None => how.to_owned(),
                        Some(through) => format!("{how} {through}"),
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
