//! V8's tree of nodes, each with its children inside. JavaScript recurses deeper than a parser may, so the walk has an
//! explicit stack.

use cg_reader::Error;
use cg_reader::json::Scanner;

use super::call_node::{CallFrame, CallNode};

/// Reads a tree. Returns all nodes, each after its caller.
pub(super) fn nodes<'a>(scanner: &mut Scanner<'a>) -> Result<Vec<CallNode<'a>>, Error> {
    let mut nodes: Vec<CallNode> = Vec::new();
    /// A node whose end was not read yet.
    struct OpenNode {
        node: usize,
        is_in_children: bool,
    }
    let mut open: Vec<OpenNode> = Vec::new();
    let begin = |scanner: &mut Scanner<'a>, nodes: &mut Vec<CallNode<'a>>, below: Option<usize>| {
        scanner.expect(b'{')?;
        nodes.push(CallNode {
            below,
            ..CallNode::default()
        });
        Ok::<OpenNode, Error>(OpenNode {
            node: nodes.len() - 1,
            is_in_children: false,
        })
    };
    open.push(begin(scanner, &mut nodes, None)?);
    while let Some(innermost) = open.last_mut() {
        if innermost.is_in_children {
            if scanner.next_element()? {
                let below = Some(innermost.node);
                let child = begin(scanner, &mut nodes, below)?;
                open.push(child);
            } else {
                innermost.is_in_children = false;
            }
            continue;
        }
        let key = scanner.next_key()?;
        let node = &mut nodes[innermost.node];
        match key {
            None => {
                open.pop();
            }
            Some(b"children") => {
                if scanner.peek()? == Some(b'n') {
                    scanner.value::<()>()?;
                } else {
                    scanner.expect(b'[')?;
                    innermost.is_in_children = true;
                }
            }
            Some(b"callFrame") => node.call_frame = scanner.value()?,
            Some(b"id") => node.id = scanner.value()?,
            Some(b"hitCount") => node.hit_count = scanner.value()?,
            Some(b"selfSize") => node.self_size = Some(scanner.value()?),
            // Until 2017 these fields were in the node, and lines were counted from 1.
            Some(b"functionName") => call_frame(node).function_name = scanner.value()?,
            Some(b"url") => call_frame(node).url = scanner.value()?,
            Some(b"lineNumber") => {
                let line: Option<i64> = scanner.value()?;
                call_frame(node).line_number = line.map(|line| line.saturating_sub(1));
            }
            Some(_) => {
                scanner.skip_value()?;
            }
        }
    }
    Ok(nodes)
}

fn call_frame<'n, 'a>(node: &'n mut CallNode<'a>) -> &'n mut CallFrame<'a> {
    node.call_frame.get_or_insert_default()
}
