//! Ids of the names and rows of a section.

use cg_stream::intern::Bytes;

cg_stream::ids! {
    /// A name in the files of a section: of a function, a file or an object.
    pub(crate) struct StringId;
    /// A function of a section.
    pub(crate) struct FunctionId;
    /// The calls from one line of a function to another function.
    pub(crate) struct ArcId;
}

/// Interned names. The first is the empty string, which means that no name is given.
pub(crate) type Strings = Bytes<StringId>;

impl StringId {
    /// The empty string, which stands for a name that is not given.
    pub(crate) const NOT_GIVEN: StringId = StringId::FIRST;
}
