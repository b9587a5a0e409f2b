//! Stacks from a table in which each row refers to the row of its caller. Rows may be in any order.

use cg_reader::{Error, get_checked};

use super::table::{FrameId, StackLinkId, StackTable};

/// Returns the stack of each row. `outer` returns the row of a row's caller. `frames` appends a row's frames, innermost
/// first.
///
/// # Errors
/// Returns an error if a row calls itself, directly or through other rows.
pub(super) fn stacks(
    table: &mut StackTable,
    count: usize,
    outer: impl Fn(usize) -> Result<Option<usize>, Error>,
    mut frames: impl FnMut(usize, &mut StackTable, &mut Vec<FrameId>) -> Result<(), Error>,
) -> Result<Vec<Option<StackLinkId>>, Error> {
    let mut stacks: Vec<Option<Option<StackLinkId>>> = vec![None; count];
    let mut path = Vec::new();
    let mut row_frames = Vec::new();
    for row in 0..count {
        let mut next = Some(row);
        let mut stack = None;
        // The stack of the caller is usually known, so the path usually has one row.
        while let Some(row) = next {
            match get_checked(&stacks, row, "stacks")? {
                Some(known) => {
                    stack = *known;
                    break;
                }
                None if path.len() < count => path.push(row),
                None => {
                    return Err(Error::whole(format!("stack {row} is called from itself")));
                }
            }
            next = outer(row)?;
        }
        while let Some(row) = path.pop() {
            row_frames.clear();
            frames(row, table, &mut row_frames)?;
            for frame in row_frames.iter().rev() {
                stack = Some(table.push(stack, *frame)?);
            }
            stacks[row] = Some(stack);
        }
    }
    Ok(stacks.into_iter().map(Option::flatten).collect())
}

#[cfg(test)]
mod tests {
    use super::super::table::FrameParts;
    use super::*;

    fn check(outer: &[Option<usize>], expected: Result<&[&str], &str>) {
        let mut table = StackTable::new(["samples"]);
        let found = stacks(
            &mut table,
            outer.len(),
            |row| Ok(outer[row]),
            |row, table, frames| {
                let name = table.text_unless_empty(row.to_string().as_bytes())?;
                frames.push(table.frame(FrameParts {
                    name,
                    ..FrameParts::default()
                })?);
                Ok(())
            },
        );
        let shown = found.map_err(|error| error.to_string()).map(|stacks| {
            let show = |stack: &Option<StackLinkId>| {
                let frames = table.frames_of(*stack);
                let names = frames.map(|frame| {
                    use cg_collections::intern::Id;
                    table
                        .name(table.frames()[frame.index()].name)
                        .unwrap_or("")
                        .to_owned()
                });
                names.collect::<Vec<_>>().join("<")
            };
            stacks.iter().map(show).collect::<Vec<_>>()
        });
        let expected =
            expected.map(|stacks| stacks.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(shown, expected.map_err(str::to_owned));
    }

    #[test]
    fn rows_may_be_in_any_order() {
        check(
            &[None, Some(0), Some(0), Some(2)],
            Ok(&["0", "1<0", "2<0", "3<2<0"]),
        );
        check(&[Some(2), Some(0), None], Ok(&["0<2", "1<0<2", "2"]));
        check(&[], Ok(&[]));
    }

    #[test]
    fn cycles_and_missing_rows_are_errors() {
        check(&[Some(0)], Err("stack 0 is called from itself"));
        check(
            &[None, Some(2), Some(1)],
            Err("stack 2 is called from itself"),
        );
        check(&[Some(9)], Err("expected one of 1 stacks, found number 9"));
    }

    #[test]
    fn deep_stacks_do_not_overflow_the_call_stack() {
        let mut table = StackTable::new(["samples"]);
        let frame = table.frame(FrameParts::default()).unwrap();
        let count = 1_000_000;
        let found = stacks(
            &mut table,
            count,
            |row| Ok((row + 1 < count).then_some(row + 1)),
            |_, _, frames| {
                frames.push(frame);
                Ok(())
            },
        );
        assert_eq!(table.frames_of(found.unwrap()[0]).count(), count);
    }
}
