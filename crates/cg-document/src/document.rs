//! What a report consists of, before any format has seen it.

use crate::graph::Graph;
use crate::table::Table;

/// A report, top to bottom.
#[derive(Default)]
pub struct Document<'a> {
    /// What it consists of.
    pub blocks: Vec<Block<'a>>,
}

/// One part of a document. CSV and TSV take the first table and nothing else.
pub enum Block<'a> {
    /// A line for programs that look for this comment; markdown only.
    Marker(&'static str),
    /// A line that names what follows.
    Heading(String),
    /// A sentence that matters.
    Text(String),
    /// A sentence beside the matter: what was left out, what a figure is of.
    Note(String),
    /// Items, a line each.
    List(Vec<Vec<Span>>),
    /// Columns and rows.
    Table(Table<'a>),
    /// Memory over time.
    Graph(Graph),
    /// Lines that are laid out already: annotated source, a stack.
    Verbatim(Vec<String>),
    /// What is folded away where the output can fold.
    Details {
        /// The line that stays.
        summary: Vec<Span>,
        /// What is folded.
        blocks: Vec<Block<'a>>,
    },
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Words.
    Text(String),
    /// A name from the input, set apart where the output can.
    Code(String),
}

impl<'a> Document<'a> {
    /// Adds a block at the end.
    pub fn push(&mut self, block: Block<'a>) {
        self.blocks.push(block);
    }

    /// The first table that is not folded.
    pub fn first_table(&self) -> Option<&Table<'a>> {
        self.blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }

    /// The first graph that is not folded.
    pub fn first_graph(&self) -> Option<&Graph> {
        self.blocks.iter().find_map(|block| match block {
            Block::Graph(graph) => Some(graph),
            _ => None,
        })
    }
}

impl Span {
    /// Words.
    pub fn text(words: impl Into<String>) -> Span {
        Span::Text(words.into())
    }

    /// A name from the input.
    pub fn code(name: impl Into<String>) -> Span {
        Span::Code(name.into())
    }

    /// What it says, without its form.
    pub fn words(&self) -> &str {
        match self {
            Span::Text(words) | Span::Code(words) => words,
        }
    }
}
