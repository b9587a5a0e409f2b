//! Parsing of the lines of a heap tree, and a check of their order by the numbers of children.

use cg_reader::number::leading_u64;
use cg_reader::{Error, excerpt};

/// A line of a tree: `  n2: 130800 0x10920C: ramp (heapy.c:7)`.
pub(super) struct TreeNode<'a> {
    pub(super) depth: usize,
    pub(super) children: u64,
    pub(super) bytes: u64,
    pub(super) description: &'a [u8],
}

impl<'a> TreeNode<'a> {
    // Called for every line of every tree, from two modules.
    #[inline(always)]
    pub(super) fn parse(line: &'a [u8]) -> Option<TreeNode<'a>> {
        let depth = line.iter().take_while(|byte| **byte == b' ').count();
        let (children, rest) = leading_u64(line[depth..].strip_prefix(b"n")?)?;
        let (bytes, rest) = leading_u64(rest.strip_prefix(b": ")?)?;
        Some(TreeNode {
            depth,
            children,
            bytes,
            description: rest.strip_prefix(b" ")?,
        })
    }

    /// Returns the number of places in a group below the threshold: `in 3 places, all below massif's threshold (1.00%)`.
    pub(super) fn places(&self) -> Option<u64> {
        let (places, rest) = leading_u64(self.description.strip_prefix(b"in ")?)?;
        (self.children == 0 && rest.starts_with(b" place")).then_some(places)
    }
}

/// Checks that the order of nodes agrees with the numbers of children.
#[derive(Default)]
pub(super) struct Shape {
    /// The number of missing children for each node on the path to the last node, including the last node.
    lacking: Vec<u64>,
    has_root: bool,
}

impl Shape {
    /// Parses and checks the next line of the tree.
    pub(super) fn add<'a>(
        &mut self,
        line: &'a [u8],
        line_number: u64,
    ) -> Result<TreeNode<'a>, Error> {
        let Some(node) = TreeNode::parse(line) else {
            return Err(Error::at(
                line_number,
                format!(
                    "expected a tree node (n2: 130800 0x10920C: ramp (heapy.c:7)), found {}",
                    excerpt(line)
                ),
            ));
        };
        if node.depth != self.lacking.len() {
            return Err(Error::at(
                line_number,
                format!(
                    "expected a tree node at depth {}, found one at depth {}",
                    self.lacking.len(),
                    node.depth
                ),
            ));
        }
        self.has_root = true;
        if let Some(lacking) = self.lacking.last_mut() {
            *lacking -= 1;
        }
        self.lacking.push(node.children);
        while self.lacking.last() == Some(&0) {
            self.lacking.pop();
        }
        Ok(node)
    }

    /// Returns true if the tree is complete: no node lacks a child.
    pub(super) fn is_whole(&self) -> bool {
        self.has_root && self.lacking.is_empty()
    }
}
