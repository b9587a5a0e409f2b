//! Frames and stacks as lines of text.

use cg_document::visible;
use cg_names::whose::{StackLine, folded, whose};
use cg_stream::record::Frame;

use crate::paths::Paths;

/// The function of a frame; where it has none, its object or address.
pub(crate) fn function_name(frame: &Frame) -> String {
    let name = frame.name.as_deref().filter(|name| *name != "???");
    let text = match (name, frame.obj.as_deref(), frame.addr.as_deref()) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(object), _) => {
            format!("??? in {}", object.rsplit('/').next().unwrap_or(object))
        }
        (None, None, Some(address)) => address.to_owned(),
        (None, None, None) => "???".to_owned(),
    };
    visible(&text).into_owned()
}

/// `make_node (src/tree.c:12)`, `malloc (in vgpreload_memcheck-amd64-linux.so)`.
pub(crate) fn frame_line(frame: &Frame, paths: &Paths) -> String {
    let name = frame.name.as_deref().unwrap_or("???");
    match (&frame.file, frame.line, &frame.obj) {
        (Some(file), Some(line), _) => format!("{name} ({}:{line})", paths.shown(file)),
        (Some(file), None, _) => format!("{name} ({})", paths.shown(file)),
        (None, _, Some(object)) => {
            format!(
                "{name} (in {})",
                object.rsplit('/').next().unwrap_or(object)
            )
        }
        (None, _, None) => match &frame.addr {
            Some(address) if name == "???" => address.to_string(),
            _ => name.to_owned(),
        },
    }
}

/// A stack, a line a frame. A frame that repeats, as recursion does, is on one line, and so are frames in a row that are
/// not the program's own: a Rust test has some twenty of them below its own. With `all_frames` each has its line.
pub(crate) fn stack_lines(stack: &[Frame], paths: &Paths, all_frames: bool) -> Vec<String> {
    let whose = whose(stack);
    let mut pieces = match all_frames {
        true => (0..stack.len()).map(StackLine::Frame).collect(),
        false => folded(&whose),
    };
    // The innermost frame is where it happened; it is said in any case.
    if let Some(StackLine::Libraries { frames, of }) = pieces.first().cloned() {
        let rest = match frames.len() {
            2 => StackLine::Frame(1),
            _ => StackLine::Libraries {
                frames: 1..frames.end,
                of,
            },
        };
        pieces.splice(..1, [StackLine::Frame(0), rest]);
    }
    let mut lines: Vec<(String, usize)> = Vec::new();
    for piece in pieces {
        let line = match piece {
            StackLine::Frame(position) => {
                visible(&frame_line(&stack[position], paths)).into_owned()
            }
            StackLine::Libraries { frames, of } => format!("… {} frames of {of}", frames.len()),
        };
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => lines.push((line, 1)),
        }
    }
    lines
        .into_iter()
        .enumerate()
        .map(|(position, (line, count))| {
            let word = if position == 0 { "at" } else { "by" };
            match count {
                1 => format!("{word} {line}"),
                count => format!("{word} {line}, {count} times"),
            }
        })
        .collect()
}
