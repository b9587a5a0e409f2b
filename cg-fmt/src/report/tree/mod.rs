//! Trees: trees of calls from arcs, and trees of stacks from records with stacks.

use cg_collections::sorting::Order as _;
use cg_document::{Audience, Block, Document};
use cg_profile::Profile;
use cg_stream::record::{Count, RecordType};
use cg_tool::Diagnostics;
use regex::Regex;

use super::events::EventColumns;
use super::stack_tree::{Branches, Root, StackTree};
use super::{kinds, origin};
use crate::options::{Directions, Options};

mod calls;
mod lost;

use calls::{CallTree, FunctionOfPart, function_of_part};

/// The trees of `--tree`.
pub(crate) enum Trees<'a> {
    Calls(CallTree<'a>),
    Stacks {
        profile: &'a Profile,
        /// Headings, each with the branches below it.
        trees: Vec<(String, Branches<'a>)>,
    },
}

impl<'a> Trees<'a> {
    pub(crate) fn compute(
        profile: &'a Profile,
        directions: Directions,
        options: &Options,
    ) -> anyhow::Result<Trees<'a>> {
        let mut kinds = kinds::listed(profile, options);
        kinds.retain(|kind| kind.has_stack());
        // A tree of calls also has the functions inlined into each function.
        if options.kind.is_none() && !profile.table(RecordType::Call).is_empty() {
            kinds.retain(|kind| *kind != RecordType::Inline);
        }
        if kinds.is_empty() {
            options.ensure_for_people()?;
            return CallTree::compute(profile, directions, options).map(Trees::Calls);
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
            // Branches are sorted and folded by the first cost.
            costs.order_by_key(|(name, _)| options.sort.as_deref() != Some(name));
            for (is_wanted, root, heading) in [
                (directions.callers, Root::Innermost, "callers"),
                (directions.callees, Root::Outermost, "callees"),
            ] {
                if is_wanted {
                    let tree =
                        StackTree::build(profile, kind, root, options.folds_libraries(), |_| true);
                    let branches =
                        Branches::new(profile, &tree, costs.clone(), options.threshold());
                    let heading = match (kind, root) {
                        (RecordType::Inline, Root::Innermost) => {
                            "functions, with the functions that they are inlined into below"
                                .to_owned()
                        }
                        (RecordType::Inline, Root::Outermost) => {
                            "functions, with the functions inlined into them below".to_owned()
                        }
                        _ => format!("{}, with {heading} below", kinds::noun(kind, 2)),
                    };
                    trees.push((heading, branches));
                }
            }
        }
        Ok(Trees::Stacks { profile, trees })
    }

    /// Computes the rows of `--peek`, from call arcs if there are any, or else from stacks.
    ///
    /// # Errors
    /// Returns an error for a diff, and if no function matches.
    pub(crate) fn peek(
        profile: &'a Profile,
        wanted: &Regex,
        options: &Options,
    ) -> anyhow::Result<Trees<'a>> {
        anyhow::ensure!(
            profile.diffs().is_empty(),
            "a diff has no callers and callees; use --peek with one of its profiles"
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
