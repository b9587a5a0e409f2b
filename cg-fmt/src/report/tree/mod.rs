//! Trees: of calls where there are arcs to make them of, of stacks where records have these.

use cg_document::{Audience, Block, Document};
use cg_stream::profile::Profile;
use cg_stream::record::{Count, RecordType};
use cg_stream::sorting::Order as _;
use cg_stream::tool::Diagnostics;
use regex::Regex;

use super::events::EventColumns;
use super::stack_tree::{Branches, Root, StackTree};
use super::{kinds, origin};
use crate::options::{Directions, Options};

mod calls;
mod lost;

use calls::{CallTree, FunctionOfPart, of_part};

/// What `--tree` shows.
pub(crate) enum Trees<'a> {
    Calls(CallTree<'a>),
    Stacks {
        profile: &'a Profile,
        /// Headings and what is below them.
        trees: Vec<(String, Branches<'a>)>,
    },
}

impl<'a> Trees<'a> {
    pub(crate) fn of(
        profile: &'a Profile,
        directions: Directions,
        options: &Options,
    ) -> anyhow::Result<Trees<'a>> {
        let mut kinds = kinds::listed(profile, options);
        kinds.retain(|kind| kind.has_stack());
        // A tree of calls has what is inlined into each function too.
        if options.kind.is_none() && !profile.table(RecordType::Call).is_empty() {
            kinds.retain(|kind| *kind != RecordType::Inline);
        }
        if kinds.is_empty() {
            options.ensure_for_people()?;
            return CallTree::of(profile, directions, options).map(Trees::Calls);
        }
        let mut trees = Vec::new();
        for kind in kinds {
            let events = EventColumns::choose(profile, kind, options)?;
            let mut costs: Vec<(String, Count)> = events
                .events
                .iter()
                .filter(|event| event.audience == Audience::All)
                .map(|event| (event.name.clone(), event.whole))
                .collect();
            // The first cost is the one that branches are sorted and folded by.
            costs.order_by_key(|(name, _)| options.sort.as_deref() != Some(name));
            for (is_wanted, root, heading) in [
                (directions.callers, Root::Innermost, "callers"),
                (directions.callees, Root::Outermost, "callees"),
            ] {
                if is_wanted {
                    let tree =
                        StackTree::of(profile, kind, root, options.folds_libraries(), |_| true);
                    let branches = Branches::of(profile, &tree, costs.clone(), options.threshold());
                    let heading = match (kind, root) {
                        (RecordType::Inline, Root::Innermost) => {
                            "functions, with what they are inlined into below".to_owned()
                        }
                        (RecordType::Inline, Root::Outermost) => {
                            "functions, with what is inlined into them below".to_owned()
                        }
                        _ => format!("{}, with {heading} below", kinds::noun(kind, 2)),
                    };
                    trees.push((heading, branches));
                }
            }
        }
        Ok(Trees::Stacks { profile, trees })
    }

    /// What `--peek` shows: of calls where there are arcs, else of stacks.
    pub(crate) fn peek(
        profile: &'a Profile,
        wanted: &Regex,
        options: &Options,
    ) -> anyhow::Result<Trees<'a>> {
        anyhow::ensure!(
            profile.diffs().is_empty(),
            "a diff has no callers and callees; --peek is for the profiles that it was made from"
        );
        let mut kinds = kinds::listed(profile, options);
        kinds.retain(|kind| kind.has_stack() && *kind != RecordType::Inline);
        let tree = CallTree::peek(profile, wanted, kinds.first().copied(), options);
        tree.map(Trees::Calls)
    }

    pub(crate) fn document(
        &self,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Document<'_>> {
        let (profile, trees) = match self {
            Trees::Calls(tree) => {
                for sentence in &tree.lost {
                    diagnostics.warn(sentence);
                }
                return tree.document(options);
            }
            Trees::Stacks { profile, trees } => (profile, trees),
        };
        let mut document = Document::default();
        let origin = origin::origin(profile);
        document.blocks.extend(origin.map(Block::Heading));
        for (heading, branches) in trees {
            document.push(Block::Heading(heading.clone()));
            document.blocks.extend(branches.blocks(options)?);
        }
        Ok(document)
    }
}
