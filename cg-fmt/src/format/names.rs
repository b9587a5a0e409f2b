//! The names that exports contain: unchanged, or the same for every build of the same source.
//!
//! Stable names are the normal form that cg-diff joins by, so any viewer can match the functions of two exports. They have
//! no hashes, disambiguators and numbers of closures. Objects have no directory, version and hash. Files have no directory,
//! because directories differ from machine to machine.

use cg_collections::maps::Map;
use cg_names::identity::{normal_file, normal_function, normal_object};
use cg_profile::Profile;
use cg_stream::record::{DiffRecord, Frame, Name};

/// Stable names by original name, only for names that differ from their stable form.
type Changed = Map<String, String>;

/// The mapping from names of a profile to names of an export.
#[derive(Default)]
pub(crate) struct WrittenNames {
    /// `None` if names stay unchanged.
    stable: Option<Box<KnownStableNames>>,
}

#[derive(Default)]
struct KnownStableNames {
    functions: Changed,
    objects: Changed,
}

impl WrittenNames {
    /// Computes the stable names of all functions and objects of a profile.
    pub(crate) fn stable(profile: &Profile) -> WrittenNames {
        let mut names = KnownStableNames::default();
        // The table of symbols mixes functions and objects, so each text is added as both. There are few texts.
        for text in profile.symbols().all() {
            names.add_function(text);
            names.add_object(text);
        }
        for record in profile.diffs() {
            names.add_record(record);
        }
        WrittenNames {
            stable: Some(Box::new(names)),
        }
    }

    pub(crate) fn function<'n>(&'n self, name: &'n str) -> &'n str {
        match &self.stable {
            Some(names) => names.functions.get(name).map_or(name, String::as_str),
            None => name,
        }
    }

    pub(crate) fn object<'n>(&'n self, path: &'n str) -> &'n str {
        match &self.stable {
            Some(names) => names.objects.get(path).map_or(path, String::as_str),
            None => path,
        }
    }

    pub(crate) fn file<'n>(&'n self, path: &'n str) -> &'n str {
        match &self.stable {
            Some(_) => normal_file(path),
            None => path,
        }
    }

    /// Returns a frame with the names to write.
    pub(crate) fn frame<'n>(&'n self, frame: &'n Frame<'_>) -> Frame<'n> {
        let name = |name: &'n Option<Name<'_>>, written: fn(&'n Self, &'n str) -> &'n str| {
            name.as_deref().map(|name| Name::from(written(self, name)))
        };
        Frame {
            name: name(&frame.name, Self::function),
            file: name(&frame.file, Self::file),
            line: frame.line,
            site: name(&frame.site, Self::file),
            obj: name(&frame.obj, Self::object),
            addr: frame.addr.as_deref().map(Name::from),
            ..Frame::default().with_marks(frame.marks())
        }
    }
}

impl KnownStableNames {
    fn add_function(&mut self, name: &str) {
        let stable = normal_function(name);
        if stable != name {
            self.functions.insert(name.to_owned(), stable.into_owned());
        }
    }

    fn add_object(&mut self, path: &str) {
        let stable = normal_object(path);
        if stable != path {
            self.objects.insert(path.to_owned(), stable.into_owned());
        }
    }

    fn add_record(&mut self, record: &DiffRecord) {
        let frames = record.stack.iter().map(|frame| (&frame.name, &frame.obj));
        let callee = record
            .callee
            .iter()
            .map(|callee| (&callee.name, &callee.obj));
        let own = std::iter::once((&record.name, &record.obj));
        for (name, object) in own.chain(callee).chain(frames) {
            name.iter().for_each(|name| self.add_function(name));
            object.iter().for_each(|object| self.add_object(object));
        }
    }
}
