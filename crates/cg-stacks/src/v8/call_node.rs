//! Nodes in the JSON of V8.

use cg_reader::json::{JsonText, List};
use serde::Deserialize;

/// A function with its caller.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct CallNode<'a> {
    pub(super) id: Option<u64>,
    pub(super) call_frame: Option<CallFrame<'a>>,
    pub(super) hit_count: Option<u64>,
    /// The ids of the nodes called from this one.
    pub(super) children: List<'a>,
    pub(super) parent: Option<u64>,
    /// The position of its caller, if the nodes are a tree.
    #[serde(skip)]
    pub(super) below: Option<usize>,
    /// The bytes of the node, in a heap profile.
    #[serde(skip)]
    pub(super) self_size: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct CallFrame<'a> {
    pub(super) function_name: Option<JsonText<'a>>,
    pub(super) url: Option<JsonText<'a>>,
    /// Counted from 0; -1 if unknown.
    pub(super) line_number: Option<i64>,
}
