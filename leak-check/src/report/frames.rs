//! Frames and stacks as lines of text.

use cg_document::visible;
use cg_stream::record::Frame;

use crate::own::own_frames;
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

/// A stack, a line a frame. A frame that repeats, as recursion does, is on one line, and so are frames of libraries in
/// a row: a Rust test has some twenty of them below its own.
pub(crate) fn stack_lines(stack: &[Frame], paths: &Paths) -> Vec<String> {
    /// As many frames of libraries in a row as are shown.
    const MOST_OF_LIBRARIES: usize = 2;
    let own = own_frames(stack);
    let has_own = own.contains(&true);
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut position = 0;
    while let Some(frame) = stack.get(position) {
        let of_libraries = own[position..].iter().take_while(|own| !**own).count();
        // What was called last is said in any case: it is what the program asked of the libraries.
        if has_own && position > 0 && of_libraries > MOST_OF_LIBRARIES {
            lines.push((format!("{of_libraries} frames of libraries"), 1));
            position += of_libraries;
            continue;
        }
        let line = visible(&frame_line(frame, paths)).into_owned();
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => lines.push((line, 1)),
        }
        position += 1;
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
