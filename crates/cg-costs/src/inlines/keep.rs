//! The files of an object, and copies of these files for profiles that are read after the next build.

use std::io;
use std::path::{Path, PathBuf};

use cg_debug_info::{Chains, DebugInfo, KeptObjects, ObjectFile};

/// The files that an object and its debug information were read from.
pub(super) struct ObjectFiles {
    object: PathBuf,
    build_id: Option<Vec<u8>>,
    /// The object's debug file, if it is a separate file.
    debug_file: Option<PathBuf>,
    /// Packages, and files that several objects share.
    beside: Vec<PathBuf>,
    split_files: Vec<(PathBuf, PathBuf)>,
}

impl ObjectFiles {
    pub(super) fn new(object: &ObjectFile, info: &DebugInfo, chains: &Chains) -> ObjectFiles {
        ObjectFiles {
            object: object.path().to_owned(),
            build_id: object.build_id().map(<[u8]>::to_vec),
            debug_file: info.file().map(|file| file.path().to_owned()),
            beside: info.beside().to_vec(),
            split_files: chains.split_files.clone(),
        }
    }

    /// Copies the files to a store. `path` is the path of the object in the profile.
    pub(super) fn keep(&self, path: &Path, store: &KeptObjects) -> io::Result<()> {
        store.keep(
            path,
            &self.object,
            self.build_id.as_deref(),
            self.debug_file.as_deref(),
            &self.beside,
            &self.split_files,
        )
    }
}
