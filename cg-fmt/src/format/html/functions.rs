//! The functions that anything of a page is of, each once.

use std::ops::Range;

use cg_names::identity::{normal_function, normal_object};
use cg_names::structure::shorten::{NameCut, forms};
use cg_names::whose::{CodeOwner, Facts};
use cg_stream::maps::Map;
use cg_stream::profile::{FunctionKey, Profile};
use cg_stream::record::Frame;

use super::data::{PageData, PageText};
use crate::options::GroupBy;
use crate::report::grouping::group_of;
use crate::report::owners::FunctionOwners;

/// A function of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PageFunction(pub(super) u32);

impl From<PageFunction> for u64 {
    fn from(function: PageFunction) -> u64 {
        function.0.into()
    }
}

/// Name, file and object of each function, and whose it is.
#[derive(Default)]
pub(super) struct PageFunctions {
    ids: Map<[PageText; 3], PageFunction>,
    all: Vec<([PageText; 3], CodeOwner)>,
    /// Of a diff: functions by the names that all builds have in common.
    joined: Map<[String; 2], PageFunction>,
    /// The files that functions were in before, where these are others.
    old_files: Vec<(PageFunction, PageText)>,
}

impl PageFunctions {
    /// The function of these names; whose it is, is asked for where it is new.
    pub(super) fn intern(
        &mut self,
        names: [PageText; 3],
        owner: impl FnOnce() -> CodeOwner,
    ) -> PageFunction {
        let all = &mut self.all;
        *self.ids.entry(names).or_insert_with(|| {
            all.push((names, owner()));
            // As many as texts at most, of which there are fewer than ids.
            PageFunction(all.len() as u32 - 1)
        })
    }

    /// The function of a frame that is text.
    pub(super) fn of_frame(&mut self, frame: &Frame<'_>, data: &mut PageData) -> PageFunction {
        let names = [&frame.name, &frame.file, &frame.obj];
        let names = names.map(|name| data.text_of(name.as_deref()));
        self.intern(names, || Facts::of(frame).owner_alone())
    }

    /// A function that stands for what is not shown.
    pub(super) fn stand_in(&mut self, words: &str, data: &mut PageData) -> PageFunction {
        let names = [data.text(words), PageText::default(), PageText::default()];
        self.intern(names, || CodeOwner::System)
    }

    /// Writes the tables; of names that frames have, how they are shortened.
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
            .map(|(_, of)| owner(*of).unwrap_or(0) as u64);
        data.numbers("f.whose", owners);
        let crates: Vec<PageText> = self.all.iter().map(|of| crate_of(of.0, data)).collect();
        data.numbers("f.crate", crates.iter().map(|text| text.0));
        let old = &self.old_files;
        data.numbers("o.fn", old.iter().map(|(function, _)| *function));
        data.numbers("o.file", old.iter().map(|(_, file)| file.0));
    }

    /// Writes the forms of each name but for the name itself: how many, what each lacks, and how much of the name is kept
    /// before that and how much is cut, in units of UTF-16, which a script cuts strings by. The last bit of what is cut
    /// says whether `…` stands for it.
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

/// The group that `--group-by crate` has a function of these names in.
fn crate_of(names: [PageText; 3], data: &mut PageData) -> PageText {
    let told = names.map(|name| Some(data.text_with(name)).filter(|text| !text.is_empty()));
    let [name, file, obj] = told;
    let group = group_of(name, file, obj, GroupBy::Crate);
    data.text(&group)
}

/// The functions of one profile, each looked up once.
pub(super) struct FunctionsOf<'p> {
    profile: &'p Profile,
    owners: FunctionOwners<'p>,
    /// It is a run of a diff: functions of both runs are one by the names that all builds have in common.
    is_joined: bool,
    known: Map<FunctionKey, PageFunction>,
}

impl<'p> FunctionsOf<'p> {
    pub(super) fn new(profile: &'p Profile, is_joined: bool) -> FunctionsOf<'p> {
        FunctionsOf {
            profile,
            is_joined,
            owners: FunctionOwners::of(profile),
            known: Map::default(),
        }
    }

    pub(super) fn of(
        &mut self,
        key: FunctionKey,
        functions: &mut PageFunctions,
        data: &mut PageData,
    ) -> PageFunction {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let names = [key.name, key.file, key.obj];
        let names = names.map(|name| data.text_of(self.profile.text(name)));
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
            None => functions.intern(names, || self.owners.of_function(key)),
        };
        if let Some(joint) = joint {
            functions.joined.insert(joint, function);
        }
        self.known.insert(key, function);
        function
    }
}
