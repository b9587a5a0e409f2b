//! A page of findings: each is a fold that the address can name, with its stack and, below a frame, the source around its
//! line.
//!
//! Without script it is a page to read. The script searches the findings and narrows them to a kind, a status, a process, a
//! function or a file, which the address says: `#q=parse&kind=definite`. It is plain JavaScript, in files by purpose
//! (`findings/*.js`).

use std::io;

use super::{HtmlWriter, Tone, head, heading, spans};
use crate::{Block, Span, push_encoded};

const STYLE: &str = include_str!("findings/findings.css");
const SCRIPT: &str = include_str!("sent/findings.js");

/// Findings that a browser lays out together when they come into sight: with many of them a search would take long otherwise.
const CHUNK: usize = 50;

/// A page of findings, top to bottom.
pub struct FindingsPage<'a> {
    /// What it is.
    pub title: &'a str,
    /// Whether `lead` is good or bad news.
    pub tone: Tone,
    /// What is to be said first.
    pub lead: Vec<Block<'a>>,
    /// What follows.
    pub parts: Vec<PagePart<'a>>,
}

/// One part of a page of findings.
pub enum PagePart<'a> {
    /// What any document has.
    Blocks(Vec<Block<'a>>),
    /// Findings.
    Findings {
        /// What they have in common.
        heading: &'static str,
        /// Whether their folds are open.
        is_open: bool,
        /// In the order they are shown.
        findings: Vec<PageFinding>,
    },
}

/// One fold: a finding, or several that are equal.
pub struct PageFinding {
    /// What the address knows it by, of letters, digits and `-`: `#finding-ID`.
    pub id: String,
    /// The line that stays.
    pub summary: Vec<Span>,
    /// A kind that it can be narrowed to.
    pub kind: String,
    /// A status that it can be narrowed to.
    pub status: &'static str,
    /// The numbers of the processes that have it, one for each of those that are equal.
    pub processes: Vec<usize>,
    /// Its stack, innermost first.
    pub frames: Vec<PageFrame>,
    /// What else there is to say, a line each; those of one process have its number.
    pub remarks: Vec<(String, Option<usize>)>,
}

/// A line of a stack.
pub struct PageFrame {
    /// What it says, one part after the other.
    pub parts: Vec<FramePart>,
    /// Whether the finding is blamed on it.
    pub is_blamed: bool,
    /// The source of its line, as far as that was looked for.
    pub source: Option<FrameSource>,
}

/// A part of the line of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramePart {
    /// Words.
    Words(String),
    /// A function, by which other findings are found.
    Function(String),
    /// A file, by which other findings are found.
    File(String),
}

/// What became of the source of a frame.
pub enum FrameSource {
    /// The lines around that of the frame.
    Shown {
        /// With their numbers.
        lines: Vec<(u64, String)>,
        /// The frame's own.
        line: u64,
        /// What is to be said of it.
        remark: Option<&'static str>,
    },
    /// It is not shown, for this reason.
    Missing(String),
}

/// What a page is narrowed to, as its address says it: `kind=definite&status=new`.
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
/// Those of the writer.
pub fn write_findings(page: &FindingsPage<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = HtmlWriter {
        page: head(page.title, &[STYLE], SCRIPT),
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
    page.trusted(SCRIPT);
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

    /// The lines of a source, that of the frame marked by a letter too: not everybody tells colours apart.
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
