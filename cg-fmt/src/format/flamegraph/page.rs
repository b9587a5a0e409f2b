//! The picture as a part of a page: inferno's script runs in the picture's own frame, with keys beside the mouse.

use anyhow::Context;
use cg_document::Picture;

use super::svg::attribute;

const STYLE: &str = include_str!("page.css");
const KEYS: &str = include_str!("page.js");

/// Takes inferno's picture apart: the element, and its script without what a file of XML needs around it.
pub(super) fn picture(title: String, file: &str) -> anyhow::Result<Picture> {
    let height = attribute(file, "height").context("cannot read the height of the picture")?;
    let start = file.find("<svg ").context("cannot find the picture")?;
    let file = file[start..].replacen(r#" onload="init(evt)""#, "", 1);
    let (svg, script) = match file.split_once("<script") {
        None => (file, String::new()),
        Some((before, rest)) => {
            let (script, after) = rest
                .split_once("</script>")
                .context("cannot find the end of the picture's script")?;
            let (_, script) = script.split_once('>').unwrap_or_default();
            let script = script.replace("<![CDATA[", "").replace("]]>", "");
            (format!("{before}{after}"), format!("{script}{KEYS}"))
        }
    };
    Ok(Picture {
        title: format!("flame graph: {title}"),
        svg,
        style: STYLE.to_owned(),
        script,
        height,
    })
}
