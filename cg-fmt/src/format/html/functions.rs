//! The distinct functions of a page.

use std::ops::Range;

use cg_collections::maps::Map;
use cg_names::code_origin::{CodeOwner, FactsFinder};
use cg_names::identity::{normal_function, normal_object};
use cg_names::structure::shorten::{NameCut, forms};
use cg_profile::{FunctionKey, Profile, Symbol};
use cg_stream::record::Frame;
use cg_viewer::{PageData, PageText};

use crate::options::GroupBy;
use crate::report::grouping::find_group;
use crate::report::owners::FunctionOwners;

/// A function of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PageFunction(pub(super) u32);

impl From<PageFunction> for u64 {
    fn from(function: PageFunction) -> u64 {
        function.0.into()
    }
}

/// The name, file, object and owner of each function.
#[derive(Default)]
pub(super) struct PageFunctions {
    ids: Map<[PageText; 3], PageFunction>,
    all: Vec<([PageText; 3], CodeOwner)>,
    /// In a diff, the functions by stable name and object.
    joined: Map<[String; 2], PageFunction>,
    /// The files of functions in the old run, if they differ.
    old_files: Vec<(PageFunction, PageText)>,
    finder: FactsFinder,
}

impl PageFunctions {
    /// Returns the function with these names. Adds the function if it is new, and only then computes its owner.
    pub(super) fn intern(
        &mut self,
        names: [PageText; 3],
        owner: impl FnOnce() -> CodeOwner,
    ) -> PageFunction {
        let all = &mut self.all;
        *self.ids.entry(names).or_insert_with(|| {
            all.push((names, owner()));
            // The number of functions fits, because each has texts and the ids of texts fit.
            PageFunction(all.len() as u32 - 1)
        })
    }

    /// Returns the function of a frame of a diff.
    pub(super) fn intern_frame(&mut self, frame: &Frame<'_>, data: &mut PageData) -> PageFunction {
        let names = [&frame.name, &frame.file, &frame.obj];
        let names = names.map(|name| data.optional_text(name.as_deref()));
        let mut finder = std::mem::take(&mut self.finder);
        let function = self.intern(names, || finder.find(frame).owner_without_context());
        self.finder = finder;
        function
    }

    /// Returns a placeholder for functions that are not shown.
    pub(super) fn placeholder(&mut self, words: &str, data: &mut PageData) -> PageFunction {
        let names = [data.text(words), PageText::default(), PageText::default()];
        self.intern(names, || CodeOwner::System)
    }

    /// Writes the tables. If there are stacks, also writes the shortened forms of names for labels.
    pub(super) fn write(&self, has_stacks: bool, data: &mut PageData) {
        if has_stacks {
            self.write_forms(data);
        }
        data.numbers("f.name", self.all.iter().map(|(names, _)| names[0].0));
        data.numbers("f.file", self.all.iter().map(|(names, _)| names[1].0));
        data.numbers("f.obj", self.all.iter().map(|(names, _)| names[2].0));
        let owner = |owner: CodeOwner| CodeOwner::ALL.iter().position(|known| *known == owner);
        let owners = self
            .all
            .iter()
            .map(|(_, of_function)| owner(*of_function).unwrap_or(0) as u64);
        data.numbers("f.whose", owners);
        let crates = self.all.iter().map(|(names, _)| crate_name(*names, data));
        let crates: Vec<PageText> = crates.collect();
        data.numbers("f.crate", crates.iter().map(|text| text.0));
        let old = &self.old_files;
        data.numbers("o.fn", old.iter().map(|(function, _)| *function));
        data.numbers("o.file", old.iter().map(|(_, file)| file.0));
    }

    /// Writes the shorter forms of each name: the number of forms, the number of cuts in each form, and for each cut the
    /// lengths of the kept text before it and of the cut text. Lengths are in UTF-16 units, because the script cuts strings
    /// by these. The lowest bit of a cut length is 1 if `…` replaces the cut text.
    fn write_forms(&self, data: &mut PageData) {
        let [mut counts, mut cuts, mut kept, mut cut] = [const { Vec::new() }; 4];
        for (names, _) in &self.all {
            let name = data.text_with(names[0]);
            let units = |place| {
                let part: &str = name.get::<Range<usize>>(place).unwrap_or_default();
                part.encode_utf16().count() as u64
            };
            let shorter = forms(name).split_off(1);
            counts.push(shorter.len() as u64);
            for form in shorter {
                cuts.push(form.cuts.len() as u64);
                let mut from = 0;
                for NameCut { place, is_marked } in form.cuts {
                    kept.push(units(from..place.start));
                    from = place.end;
                    cut.push(units(place) * 2 + u64::from(is_marked));
                }
            }
        }
        let arrays = [counts, cuts, kept, cut];
        for (name, numbers) in ["n.forms", "n.cuts", "n.kept", "n.cut"].iter().zip(arrays) {
            data.numbers(name, numbers);
        }
    }
}

/// Returns the group of a function in `--group-by crate`.
fn crate_name(names: [PageText; 3], data: &mut PageData) -> PageText {
    let texts = names.map(|name| Some(data.text_with(name)).filter(|text| !text.is_empty()));
    let [name, file, obj] = texts;
    let group = find_group(name, file, obj, GroupBy::Crate);
    data.text(&group)
}

/// The functions of one profile, with a cache of those that are already in the page.
pub(super) struct FunctionsOf<'p> {
    profile: &'p Profile,
    owners: FunctionOwners<'p>,
    /// True for a run of a diff: functions of the two runs are joined by stable name and object.
    is_joined: bool,
    known: Map<FunctionKey, PageFunction>,
    texts: Map<Symbol, PageText>,
}

impl<'p> FunctionsOf<'p> {
    pub(super) fn new(profile: &'p Profile, is_joined: bool) -> FunctionsOf<'p> {
        FunctionsOf {
            profile,
            is_joined,
            owners: FunctionOwners::new(profile),
            known: Map::default(),
            texts: Map::default(),
        }
    }

    /// Returns the text of a symbol; the empty text for `None`.
    pub(super) fn text(&mut self, symbol: Option<Symbol>, data: &mut PageData) -> PageText {
        let Some(symbol) = symbol else {
            return PageText::default();
        };
        let profile = self.profile;
        let text = || data.optional_text(profile.text(Some(symbol)));
        *self.texts.entry(symbol).or_insert_with(text)
    }

    pub(super) fn get(
        &mut self,
        key: FunctionKey,
        functions: &mut PageFunctions,
        data: &mut PageData,
    ) -> PageFunction {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let names = [key.name, key.file, key.obj];
        let names = names.map(|name| data.optional_text(self.profile.text(name)));
        let joint = self.is_joined.then(|| {
            let text = |name| self.profile.text(name).unwrap_or_default();
            let obj = normal_object(text(key.obj)).into_owned();
            [normal_function(text(key.name)).into_owned(), obj]
        });
        let joined = joint.as_ref().and_then(|joint| functions.joined.get(joint));
        let function = match joined {
            Some(joined) => {
                let joined = *joined;
                if functions.all[joined.0 as usize].0[1] != names[1] {
                    functions.old_files.push((joined, names[1]));
                }
                joined
            }
            None => functions.intern(names, || self.owners.find_function_owner(key)),
        };
        if let Some(joint) = joint {
            functions.joined.insert(joint, function);
        }
        self.known.insert(key, function);
        function
    }
}
