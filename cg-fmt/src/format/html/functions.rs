//! The distinct functions of a page.

use std::collections::BTreeSet;
use std::ops::Range;

use cg_collections::maps::{Map, Set};
use cg_names::code_origin::{CodeOwner, FactsFinder};
use cg_names::identity::{is_shared_library, normal_function, normal_object};
use cg_names::structure::shorten::{NameCut, forms};
use cg_profile::{FunctionKey, Profile, Symbol};
use cg_stream::record::{DiffRecord, Frame, Name};
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
    /// In a diff, the program of the old run and that of the new run, if only these two objects have other names.
    renamed_program: Option<[String; 2]>,
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

    /// Joins the program of the old run with that of the new run, if each run has exactly one that the other run lacks.
    pub(super) fn join_programs(&mut self, old: &Profile, new: &Profile) {
        let [old, new] = [old, new].map(programs);
        let only_old: Vec<&String> = old.difference(&new).collect();
        let only_new: Vec<&String> = new.difference(&old).collect();
        if let ([old], [new]) = (&only_old[..], &only_new[..]) {
            self.renamed_program = Some([(*old).clone(), (*new).clone()]);
        }
    }

    /// Joins the functions of the old run that the diff joined by a guess, after those of the new run are known.
    pub(super) fn join_renamed(&mut self, records: &[DiffRecord<'_>]) {
        for record in records {
            let Some(was) = &record.was else { continue };
            let text = |name: &Option<Name<'_>>| name.as_deref().unwrap_or_default().to_owned();
            let now = self.joint(&text(&record.name), &text(&record.obj));
            let before = self.joint(&text(&was.name), &text(&was.obj));
            if let Some(function) = self.joined.get(&now).copied() {
                self.joined.entry(before).or_insert(function);
            }
        }
    }

    /// Returns the texts by which functions of two runs are joined.
    fn joint(&self, name: &str, obj: &str) -> [String; 2] {
        let obj = normal_object(obj);
        let obj = match &self.renamed_program {
            Some([old, new]) if *old == obj => new.clone(),
            _ => obj.into_owned(),
        };
        [normal_function(name).into_owned(), obj]
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

/// Returns the normal forms of the objects of a profile, except shared libraries and parts of the kernel.
fn programs(profile: &Profile) -> BTreeSet<String> {
    let keys = profile.types().flat_map(|kind| profile.table(kind).keys());
    let of_rows = keys.map(|key| key.function.obj);
    let frames = profile.stacks().distinct_frames().iter();
    let of_frames = frames.map(|frame| frame.function.obj);
    let objects: Set<Option<Symbol>> = of_rows.chain(of_frames).collect();
    let texts = objects.into_iter().filter_map(|obj| profile.text(obj));
    let is_program = |obj: &&str| !is_shared_library(obj) && !obj.starts_with('[');
    let programs = texts.filter(is_program);
    programs
        .map(|obj| normal_object(obj).into_owned())
        .collect()
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
            functions.joint(text(key.name), text(key.obj))
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
