//! The parts of a profile's JSON that the reader needs. Columns stay text until they are iterated.
//!
//! All keys are optional, and unknown keys are ignored. The reader does not check the version, only which columns exist.
//! `docs-developer/CHANGELOG-formats.md` of the Firefox Profiler lists the versions.

use std::collections::BTreeMap;

use cg_reader::json::{ItemList, JsonText, List};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A profile. Profiles of Firefox itself have another profile in `processes` for each further process. Old developer tools
/// wrapped the profile in another object.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct FirefoxDocument<'a> {
    /// The metadata, which every profile has.
    pub(super) meta: Option<Meta<'a>>,
    #[serde(default)]
    pub(super) libs: Vec<Library<'a>>,
    #[serde(default)]
    pub(super) threads: Vec<FirefoxThread<'a>>,
    /// The tables of all threads, since version 56.
    #[serde(default)]
    pub(super) shared: FirefoxThread<'a>,
    #[serde(default)]
    pub(super) processes: Vec<FirefoxDocument<'a>>,
    pub(super) profile: Option<Box<FirefoxDocument<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Meta<'a> {
    #[serde(rename = "preprocessedProfileVersion")]
    pub(super) processed_version: Option<u64>,
    /// Milliseconds between samples.
    pub(super) interval: Option<f64>,
    pub(super) product: Option<JsonText<'a>>,
    pub(super) imported_from: Option<JsonText<'a>>,
    pub(super) arguments: Option<JsonText<'a>>,
    pub(super) oscpu: Option<JsonText<'a>>,
    pub(super) categories: Vec<Category<'a>>,
    pub(super) sample_units: Option<SampleUnits<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Category<'a> {
    pub(super) name: JsonText<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct SampleUnits<'a> {
    #[serde(rename = "threadCPUDelta")]
    pub(super) thread_cpu_delta: Option<JsonText<'a>>,
}

/// An object. Only profiles of Firefox itself contain `start` and `end`, because their addresses are absolute.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Library<'a> {
    pub(super) name: Option<JsonText<'a>>,
    pub(super) path: Option<JsonText<'a>>,
    pub(super) debug_name: Option<JsonText<'a>>,
    /// The build id in Breakpad's form: 16 bytes in the order of a GUID, and a number.
    pub(super) breakpad_id: Option<JsonText<'a>>,
    /// The build id.
    pub(super) code_id: Option<JsonText<'a>>,
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
}

/// A thread with its samples and tables. The shared tables of all threads have this form too, without samples.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct FirefoxThread<'a> {
    pub(super) name: Option<JsonText<'a>>,
    pub(super) process_name: Option<JsonText<'a>>,
    /// A number, or one as text: `29711.1` is process 29711 after an `exec`.
    pub(super) pid: Option<&'a RawValue>,
    pub(super) tid: Option<&'a RawValue>,
    pub(super) samples: Option<ColumnTable<'a>>,
    pub(super) js_allocations: Option<ColumnTable<'a>>,
    pub(super) native_allocations: Option<ColumnTable<'a>>,
    #[serde(rename = "stackTable")]
    pub(super) stacks: Option<ColumnTable<'a>>,
    #[serde(rename = "frameTable")]
    pub(super) frames: Option<ColumnTable<'a>>,
    #[serde(rename = "funcTable")]
    pub(super) functions: Option<ColumnTable<'a>>,
    #[serde(rename = "resourceTable")]
    pub(super) resources: Option<ColumnTable<'a>>,
    pub(super) sources: Option<ColumnTable<'a>>,
    #[serde(rename = "stringArray", alias = "stringTable")]
    pub(super) strings: Option<ItemList<JsonText<'a>>>,
    /// The objects of one thread, until version 41.
    pub(super) libs: Option<Vec<Library<'a>>>,
}

/// Any of the tables, with the columns of all of them. Each column is a list; profiles of Firefox itself have a list for
/// each row instead, and a schema with the position of each column.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ColumnTable<'a> {
    pub(super) schema: Option<BTreeMap<String, usize>>,
    pub(super) data: Option<&'a RawValue>,
    pub(super) stack: List<'a>,
    pub(super) weight: List<'a>,
    pub(super) weight_type: Option<JsonText<'a>>,
    #[serde(rename = "threadCPUDelta")]
    pub(super) thread_cpu_delta: List<'a>,
    pub(super) time: List<'a>,
    pub(super) time_deltas: List<'a>,
    pub(super) prefix: List<'a>,
    pub(super) prefix_offset: List<'a>,
    pub(super) frame: List<'a>,
    pub(super) func: List<'a>,
    pub(super) address: List<'a>,
    pub(super) line: List<'a>,
    pub(super) inline_depth: List<'a>,
    pub(super) category: List<'a>,
    pub(super) implementation: List<'a>,
    pub(super) name: List<'a>,
    pub(super) file_name: List<'a>,
    pub(super) source: List<'a>,
    pub(super) filename: List<'a>,
    pub(super) line_number: List<'a>,
    pub(super) resource: List<'a>,
    pub(super) lib: List<'a>,
}

impl<'a> FirefoxDocument<'a> {
    pub(super) fn categories(&self) -> &[Category<'a>] {
        self.meta.as_ref().map_or(&[], |meta| &meta.categories)
    }

    /// Returns true if the profile is in the processed format, whose addresses are relative to their objects.
    pub(super) fn is_processed(&self) -> bool {
        self.meta
            .as_ref()
            .is_some_and(|meta| meta.processed_version.is_some())
    }
}

impl FirefoxThread<'_> {
    /// Returns true if the thread has separate tables.
    pub(super) fn has_tables(&self) -> bool {
        [&self.stacks, &self.frames, &self.functions]
            .iter()
            .any(|table| table.is_some())
    }
}

impl Library<'_> {
    /// Returns the name of the object for frames.
    pub(super) fn object(&self) -> &[u8] {
        [&self.path, &self.name, &self.debug_name]
            .into_iter()
            .flatten()
            .map(JsonText::as_bytes)
            .find(|name| !name.is_empty())
            .unwrap_or_default()
    }
}

/// Parses the leading digits of a number or of a text: `"29711.1"` is 29711.
pub(super) fn leading_number(value: Option<&RawValue>) -> Option<u64> {
    let digits = value?.get().trim_matches('"');
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    digits[..end].parse().ok()
}
