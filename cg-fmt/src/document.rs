//! What an output consists of, before any renderer has seen it.

use crate::table::Table;

/// A listing with what is said around it, top to bottom.
#[derive(Default)]
pub(crate) struct Document<'a> {
    pub(crate) blocks: Vec<Block<'a>>,
}

/// One part of a document. CSV and TSV take the first table and nothing else.
pub(crate) enum Block<'a> {
    /// A line for programs that look for this comment; markdown only.
    Marker(&'static str),
    /// A line that names what follows.
    Heading(String),
    /// A sentence that matters.
    Text(String),
    /// A sentence beside the matter: what was left out, what a figure is of.
    Note(String),
    /// Columns and rows.
    Table(Table<'a>),
    /// Lines that are laid out already: annotated source, a graph.
    Verbatim(String),
    /// What is folded away where the output can fold.
    Details {
        summary: String,
        blocks: Vec<Block<'a>>,
    },
}

impl<'a> Document<'a> {
    pub(crate) fn push(&mut self, block: Block<'a>) {
        self.blocks.push(block);
    }

    /// All tables, top to bottom, those in details too.
    pub(crate) fn tables(&self) -> Vec<&Table<'a>> {
        fn collect<'b, 'a>(blocks: &'b [Block<'a>], tables: &mut Vec<&'b Table<'a>>) {
            for block in blocks {
                match block {
                    Block::Table(table) => tables.push(table),
                    Block::Details { blocks, .. } => collect(blocks, tables),
                    _ => {}
                }
            }
        }
        let mut tables = Vec::new();
        collect(&self.blocks, &mut tables);
        tables
    }
}
