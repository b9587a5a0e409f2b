//! Comments on pull requests, which must not get too long.

use crate::{Document, markdown};

/// GitHub refuses a comment of more than 65,536 characters; some room is left for a footer. Bytes are counted, of which
/// there are at least as many as characters.
pub const LONGEST: usize = 65_000;

/// The document with as many items as a comment has room for: `most` at most, none at least. `with` writes the document
/// with the given number of items, and says how many are left out.
///
/// # Errors
/// Those of `with`.
pub fn fitting<'a, E>(
    most: usize,
    mut with: impl FnMut(usize) -> Result<Document<'a>, E>,
) -> Result<Document<'a>, E> {
    let document = with(most)?;
    if markdown::text(&document.blocks).len() <= LONGEST {
        return Ok(document);
    }
    // Binary search, since more items make a longer comment.
    let (mut fits, mut too_many) = (0, most);
    let mut longest = with(0)?;
    while too_many - fits > 1 {
        let items = fits + (too_many - fits) / 2;
        let document = with(items)?;
        if markdown::text(&document.blocks).len() <= LONGEST {
            (fits, longest) = (items, document);
        } else {
            too_many = items;
        }
    }
    Ok(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;

    #[test]
    fn a_comment_has_as_many_items_as_there_is_room_for() {
        let length = |items: usize| {
            let with = |items: usize| -> Result<Document<'_>, ()> {
                let line = format!("{:->99}", items);
                Ok(Document {
                    blocks: vec![Block::Verbatim(vec![line; items])],
                })
            };
            markdown::text(&fitting(items, with).unwrap().blocks).len()
        };
        // Lines of 100 bytes between "```text\n" and "```\n".
        assert_eq!(length(3), 312);
        assert_eq!(length(649), 64_912);
        assert_eq!(length(650), 64_912);
        assert_eq!(length(1_000_000 / 100), 64_912);
    }
}
