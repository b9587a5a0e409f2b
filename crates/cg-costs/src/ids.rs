//! Ids of the names and rows of a section.

use cg_collections::intern::Bytes;

cg_collections::ids! {
    /// The name of a function, a file or an object in a section.
    pub struct StringId;
    /// A function of a section.
    pub struct FunctionId;
    /// A function under a file's own name, before recursion levels and callers are folded. While a part is read, costs and
    /// arcs are added to these.
    pub struct FileFunctionId;
    /// The calls from one line of a function to another function.
    pub struct ArcId;
}

/// Interned names. The first is the empty string, which means a missing name.
pub type Strings = Bytes<StringId>;

impl Default for StringId {
    fn default() -> StringId {
        StringId::NOT_GIVEN
    }
}

impl StringId {
    /// The empty string, which means a missing name.
    pub const NOT_GIVEN: StringId = StringId::FIRST;
}
