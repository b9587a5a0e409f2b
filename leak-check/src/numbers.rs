//! Numbers as people read them.

pub(crate) use cg_stream::number::grouped;
use cg_stream::record::Count;

/// `64 bytes in 1 block`.
pub(crate) fn amount(bytes: Count, blocks: Count) -> String {
    format!(
        "{} in {}",
        plural(bytes, "byte", "bytes"),
        plural(blocks, "block", "blocks")
    )
}

/// `1 byte`, `1,234 bytes`.
pub(crate) fn plural(count: Count, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}
