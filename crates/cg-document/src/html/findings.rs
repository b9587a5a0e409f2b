//! A page of findings. Each finding is a fold with its stack, and with the source around the line of each frame. The address
//! of the page can refer to a finding.
//!
//! Without a script the page is static. The script searches the findings and filters them by kind, status, process, function
//! or file. The address contains the filter: `#q=parse&kind=definite`. The script is plain JavaScript, in files by purpose
//! (`findings/*.js`).

use std::io;

use super::{HtmlWriter, Script, Tone, head, heading, spans};
use crate::{Block, Span, push_encoded};

const STYLE: &str = include_str!("findings/findings.css");
const SCRIPT: Script = Script {
    text: include_str!("sent/findings.js"),
    hash: include_str!("sent/findings.js.sha256"),
};

/// The number of findings that a browser lays out together when they become visible. Without this, a search among many
/// findings would be slow.
const CHUNK: usize = 50;

/// A page of findings, from top to bottom.
pub struct FindingsPage<'a> {
    /// The title of the page.
    pub title: String,
    /// The tone of `lead`.
    pub tone: Tone,
    /// The first sentences.
    pub lead: Vec<Block<'a>>,
    /// The rest of the page.
    pub parts: Vec<PagePart<'a>>,
}

/// A part of a page of findings.
pub enum PagePart<'a> {
    /// Blocks as in any document.
    Blocks(Vec<Block<'a>>),
    /// Findings.
    Findings {
        /// The common heading of the findings.
        heading: &'static str,
        /// True if the folds are open.
        is_open: bool,
        /// The findings in the order of display.
        findings: Vec<PageFinding>,
    },
}

/// A fold for a finding, or for several equal findings.
pub struct PageFinding {
    /// The id of the finding in the address, of letters, digits and `-`: `#finding-ID`.
    pub id: String,
    /// The visible line.
    pub summary: Vec<Span>,
    /// The kind, for filters.
    pub kind: String,
    /// The status, for filters.
    pub status: &'static str,
    /// The numbers of the processes with this finding, one for each of the equal findings.
    pub processes: Vec<usize>,
    /// The stack, innermost frame first.
    pub frames: Vec<PageFrame>,
    /// Further remarks, one per line. A remark about a single process has its number.
    pub remarks: Vec<(String, Option<usize>)>,
}

/// A line of a stack.
pub struct PageFrame {
    /// The text of the line in parts.
    pub parts: Vec<FramePart>,
    /// True if this is the blamed frame.
    pub is_blamed: bool,
    /// The source around the line; `None` if it was not requested.
    pub source: Option<FrameSource>,
}

/// A part of the line of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramePart {
    /// Words.
    Words(String),
    /// A function, which links to other findings with it.
    Function(String),
    /// A file, which links to other findings with it.
    File(String),
}

/// The source of a frame.
pub enum FrameSource {
    /// The source is shown.
    Shown {
        /// The lines around the line of the frame, with their numbers.
        lines: Vec<(u64, String)>,
        /// The number of the frame's line.
        line: u64,
        /// A remark about the source.
        remark: Option<&'static str>,
    },
    /// The source is not shown, for this reason.
    Missing(String),
}

/// Returns a filter of the page in the form of its address: `kind=definite&status=new`.
pub fn filter_address<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let mut address = String::new();
    for (key, value) in pairs {
        if !address.is_empty() {
            address.push('&');
        }
        address.push_str(key);
        address.push('=');
        push_encoded(&mut address, value, b"-_.");
    }
    address
}

/// Writes the page.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write_findings(page: &FindingsPage<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    // The first sentences repeat the rest of the title.
    let shown = page.title.split(": ").next().unwrap_or_default();
    let mut writer = HtmlWriter {
        page: head(&page.title, shown, &[STYLE], SCRIPT),
        sections: 0,
        unfolds: false,
    };
    writer.lead(&page.lead, page.tone);
    let headings = page.parts.iter().flat_map(|part| match part {
        PagePart::Blocks(blocks) => blocks.iter().filter_map(heading).collect(),
        PagePart::Findings { heading, .. } => vec![*heading],
    });
    writer.contents(headings);
    writer.page.tag("<div class=search role=search hidden><input id=search type=search autocomplete=off spellcheck=false aria-label=\"Search findings\" placeholder=\"function, file, kind, …\"> <button type=button id=previous aria-label=\"Previous match\">↑</button> <button type=button id=next aria-label=\"Next match\">↓</button> <span role=status></span></div>\n<div class=chips hidden></div>\n</header>\n<main aria-busy=false>\n");
    for part in &page.parts {
        match part {
            PagePart::Blocks(blocks) => blocks.iter().for_each(|block| writer.block(block)),
            PagePart::Findings {
                heading,
                is_open,
                findings,
            } => {
                writer.page.tag("<section class=findings>\n");
                writer.block(&Block::Heading((*heading).to_owned()));
                for chunk in findings.chunks(CHUNK) {
                    writer.page.tag("<div class=chunk>\n");
                    for finding in chunk {
                        writer.finding(finding, *is_open);
                    }
                    writer.page.tag("</div>\n");
                }
                writer.page.tag("</section>\n");
            }
        }
    }
    let mut page = writer.page;
    page.tag("</main>\n<script>");
    page.trusted(SCRIPT.text);
    page.tag("</script>\n</body>\n</html>\n");
    out.write_all(page.into_string().as_bytes())?;
    out.flush()
}

impl HtmlWriter {
    fn finding(&mut self, finding: &PageFinding, is_open: bool) {
        let page = &mut self.page;
        page.tag("<details class=\"fold finding\" id=\"finding-");
        page.text(&finding.id);
        page.tag("\" data-kind=\"");
        page.text(&finding.kind);
        page.tag("\" data-status=\"");
        page.text(finding.status);
        page.tag("\" data-processes=\"");
        for (position, process) in finding.processes.iter().enumerate() {
            page.tag(if position > 0 { " " } else { "" });
            page.integer(*process);
        }
        page.tag(if is_open {
            "\" open><summary>"
        } else {
            "\"><summary>"
        });
        spans(page, &finding.summary);
        page.tag("</summary>\n");
        if !finding.frames.is_empty() {
            page.tag("<ol class=frames>\n");
            for frame in &finding.frames {
                self.frame(frame);
            }
            self.page.tag("</ol>\n");
        }
        for (words, process) in &finding.remarks {
            self.remark(words, *process);
        }
        self.page.tag("</details>\n");
    }

    fn remark(&mut self, words: &str, process: Option<usize>) {
        let page = &mut self.page;
        page.tag("<p class=remark");
        if let Some(process) = process {
            page.tag(" data-filter=\"process=");
            page.integer(process);
            page.tag("\"");
        }
        page.tag(">");
        page.text(words);
        page.tag("</p>\n");
    }

    fn frame(&mut self, frame: &PageFrame) {
        let page = &mut self.page;
        page.tag(match frame.is_blamed {
            true => "<li class=blamed><span class=frame>",
            false => "<li><span class=frame>",
        });
        for part in &frame.parts {
            match part {
                FramePart::Words(words) => page.text(words),
                FramePart::Function(name) => {
                    page.tag("<code class=fn>");
                    page.text(name);
                    page.tag("</code>");
                }
                FramePart::File(name) => {
                    page.tag("<code class=file>");
                    page.text(name);
                    page.tag("</code>");
                }
            }
        }
        page.tag("</span>");
        match &frame.source {
            None => {}
            Some(FrameSource::Missing(reason)) => {
                page.tag(" <span class=note>");
                page.text(reason);
                page.tag("</span>");
            }
            Some(FrameSource::Shown {
                lines,
                line,
                remark,
            }) => self.passage(lines, *line, *remark),
        }
        self.page.tag("</li>\n");
    }

    /// Writes lines of a source. A letter marks the line of the frame, because some people cannot distinguish colours.
    fn passage(&mut self, lines: &[(u64, String)], own: u64, remark: Option<&str>) {
        let page = &mut self.page;
        page.tag("<details class=source><summary>source");
        if let Some(remark) = remark {
            page.tag(", ");
            page.text(remark);
        }
        page.tag("</summary><pre tabindex=0>");
        let width = lines.last().map_or(0, |(last, _)| last.to_string().len());
        for (number, text) in lines {
            let is_own = *number == own;
            page.tag(if is_own { "<b>" } else { "" });
            let mark = if is_own { '>' } else { ' ' };
            page.text(&format!(
                "{mark} {number:width$}  {}",
                text.replace('\t', "    ")
            ));
            page.tag(if is_own { "\n</b>" } else { "\n" });
        }
        page.tag("</pre></details>");
    }
}
