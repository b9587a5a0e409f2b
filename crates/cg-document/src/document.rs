//! The content of a report, independent of the output format.

use crate::graph::Graph;
use crate::table::Table;

/// A report, from top to bottom.
#[derive(Default)]
pub struct Document<'a> {
    /// The parts of the report.
    pub blocks: Vec<Block<'a>>,
}

/// A part of a document. CSV and TSV contain only the first table.
pub enum Block<'a> {
    /// A comment that programs search for; markdown only.
    Marker(&'static str),
    /// A heading for the following blocks.
    Heading(String),
    /// An important sentence.
    Text(String),
    /// A secondary sentence: rows that were left out, the meaning of a figure.
    Note(String),
    /// Items, one per line.
    List(Vec<Vec<Span>>),
    /// Columns and rows.
    Table(Table<'a>),
    /// Memory over time.
    Graph(Graph),
    /// Lines with a fixed layout: annotated source, a stack.
    Verbatim(Vec<String>),
    /// Blocks that are folded if the output format can fold.
    Details {
        /// The visible line.
        summary: Vec<Span>,
        /// The folded blocks.
        blocks: Vec<Block<'a>>,
    },
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Words.
    Text(String),
    /// A name from the input, which some formats highlight.
    Code(String),
}

impl<'a> Document<'a> {
    /// Adds a block at the end.
    pub fn push(&mut self, block: Block<'a>) {
        self.blocks.push(block);
    }

    /// Returns the first table that is not folded.
    pub fn first_table(&self) -> Option<&Table<'a>> {
        self.blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Returns the first graph that is not folded.
    pub fn first_graph(&self) -> Option<&Graph> {
        self.blocks.iter().find_map(|block| match block {
            Block::Graph(graph) => Some(graph),
            _ => None,
        })
    }
}

impl Span {
    /// Creates a span of words.
    pub fn text(words: impl Into<String>) -> Span {
        Span::Text(words.into())
    }

    /// Creates a span with a name from the input.
    pub fn code(name: impl Into<String>) -> Span {
        Span::Code(name.into())
    }

    /// Returns the text of the span.
    pub fn words(&self) -> &str {
        match self {
            Span::Text(words) | Span::Code(words) => words,
        }
    }
}
