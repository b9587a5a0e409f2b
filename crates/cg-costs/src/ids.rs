//! Ids of the names and rows of a section.

use cg_stream::intern::Bytes;

cg_stream::ids! {
    /// A name in the files of a section: of a function, a file or an object.
    pub struct StringId;
    /// A function of a section.
    pub struct FunctionId;
    /// A function as a file names it, before recursion levels and callers are folded: what costs and arcs are added to
    /// while a part is read.
    pub struct FileFunctionId;
    /// The calls from one line of a function to another function.
    pub struct ArcId;
}

/// Interned names. The first is the empty string, which means that no name is given.
pub type Strings = Bytes<StringId>;

impl Default for StringId {
    fn default() -> StringId {
        StringId::NOT_GIVEN
    }
}

impl StringId {
    /// The empty string, which stands for a name that is not given.
    pub const NOT_GIVEN: StringId = StringId::FIRST;
}
