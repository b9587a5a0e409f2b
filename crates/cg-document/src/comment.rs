//! Comments on pull requests, which have a maximum length.

use crate::{Document, markdown};

/// The maximum length of a comment in bytes. GitHub rejects comments of more than 65,536 characters; this leaves room for a
/// footer. A text has at least as many bytes as characters.
pub const LONGEST: usize = 65_000;

/// Returns the document with as many items as fit in a comment, from 0 to `most`. `with` returns the document with the given
/// number of items; the document should state how many items are left out.
///
/// # Errors
/// Returns the errors of `with`.
pub fn fit_items<'a, E>(
    most: usize,
    mut with: impl FnMut(usize) -> Result<Document<'a>, E>,
) -> Result<Document<'a>, E> {
    let document = with(most)?;
    if markdown::text(&document.blocks).len() <= LONGEST {
        return Ok(document);
    }
    // A binary search works because more items make a longer comment.
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
    fn a_comment_has_as_many_items_as_fit() {
        let length = |items: usize| {
            let with = |items: usize| -> Result<Document<'_>, ()> {
                let line = format!("{:->99}", items);
                Ok(Document {
                    blocks: vec![Block::Verbatim(vec![line; items])],
                })
            };
            markdown::text(&fit_items(items, with).unwrap().blocks).len()
        };
        // Each line has 100 bytes. "```text\n" and "```\n" surround them.
        assert_eq!(length(3), 312);
        assert_eq!(length(649), 64_912);
        assert_eq!(length(650), 64_912);
        assert_eq!(length(1_000_000 / 100), 64_912);
    }
}
