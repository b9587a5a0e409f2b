//! Names as they are written: as the profile has them, or as every build of the same source has them.
//!
//! Stable names are the normal form that cg-diff joins by, so two exports have their functions in common in any viewer:
//! without hashes, disambiguators and counters of closures, objects without directory, version and hash, files without
//! their directories, which differ from machine to machine.

use cg_names::identity::{normal_file, normal_function, normal_object};
use cg_stream::maps::Map;
use cg_stream::profile::Profile;
use cg_stream::record::{DiffRecord, Frame, Name};

/// The names of functions and objects whose stable form is another.
type Changed = Map<String, String>;

/// What names are written as.
#[derive(Default)]
pub(crate) struct WrittenNames {
    /// `None` where names are written as they are.
    stable: Option<Box<KnownStableNames>>,
}

#[derive(Default)]
struct KnownStableNames {
    functions: Changed,
    objects: Changed,
}

impl WrittenNames {
    /// The stable names of everything that a profile names.
    pub(crate) fn stable(profile: &Profile) -> WrittenNames {
        let mut names = KnownStableNames::default();
        // The symbols do not tell functions from objects, so each text is tried as both; there are few.
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

    /// A frame as it is written.
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
