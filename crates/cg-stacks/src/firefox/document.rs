//! The JSON of a profile, as far as it is read. Columns stay text until they are walked.
//!
//! Keys that a version does not have are absent, and those of versions to come are not looked at: what counts is which
//! columns there are. Versions are told in `docs-developer/CHANGELOG-formats.md` of Firefox Profiler.

use std::collections::BTreeMap;

use cg_reader::json::{JsonText, List};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A profile. Profiles that Firefox itself writes have one in `processes` for each further process; old developer tools
/// wrapped the profile in an object of their own.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct FirefoxDocument<'a> {
    /// What the profile says of itself; every one does.
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

/// An object. Where it was loaded is told only by profiles that Firefox writes itself, whose addresses are absolute.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Library<'a> {
    pub(super) name: Option<JsonText<'a>>,
    pub(super) path: Option<JsonText<'a>>,
    pub(super) debug_name: Option<JsonText<'a>>,
    /// The build id as 16 bytes in the order of a GUID, and a number behind them.
    pub(super) breakpad_id: Option<JsonText<'a>>,
    /// The build id.
    pub(super) code_id: Option<JsonText<'a>>,
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
}

/// A thread with its samples and tables. What all threads share is one of these without samples.
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
    pub(super) strings: Option<Vec<JsonText<'a>>>,
    /// The objects of one thread, until version 41.
    pub(super) libs: Option<Vec<Library<'a>>>,
}

/// Any of the tables, with the columns of all of them: a column a list, or (as Firefox writes it) a row a list and a schema
/// that says what stands where.
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

    /// Whether it is in the processed format, whose addresses are those inside of objects.
    pub(super) fn is_processed(&self) -> bool {
        self.meta
            .as_ref()
            .is_some_and(|meta| meta.processed_version.is_some())
    }
}

impl FirefoxThread<'_> {
    /// Whether it has tables of its own.
    pub(super) fn has_tables(&self) -> bool {
        [&self.stacks, &self.frames, &self.functions]
            .iter()
            .any(|table| table.is_some())
    }
}

impl Library<'_> {
    /// What the object is called in frames.
    pub(super) fn object(&self) -> &[u8] {
        [&self.path, &self.name, &self.debug_name]
            .into_iter()
            .flatten()
            .map(JsonText::as_bytes)
            .find(|name| !name.is_empty())
            .unwrap_or_default()
    }
}

/// A number that may be written as text, and its digits alone: `"29711.1"` is 29711.
pub(super) fn leading_number(value: Option<&RawValue>) -> Option<u64> {
    let digits = value?.get().trim_matches('"');
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    digits[..end].parse().ok()
}
