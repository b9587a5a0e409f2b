//! A self-contained HTML page. It includes its style and script. Its policy (`Content-Security-Policy`) forbids external
//! resources and all other scripts.
//!
//! Without a script the page is static: tables with all rows, and trees that fold. The script sorts and searches.
//! The page of a whole profile is in the crate cg-viewer, because its script creates the rows as they come into view.

use std::io;

use crate::markup::Markup;
use crate::{Block, Document, Span, Table, chart};

mod findings;
mod table;
mod tree;

pub use findings::{
    FindingsPage, FramePart, FrameSource, PageFinding, PageFrame, PagePart, filter_address,
    write_findings,
};
pub use table::write as write_table_element;

const STYLE: &str = include_str!("page.css");
// tests/tests/page_scripts.rs joins and minifies the scripts of `page/` and `findings/` into `sent/`.
const SCRIPT: Script = Script {
    text: include_str!("sent/page.js"),
    hash: include_str!("sent/page.js.sha256"),
};

/// The script of a kind of page.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// Its text.
    pub text: &'static str,
    /// The SHA-256 hash of the text in base64, with a newline. tests/tests/page_scripts.rs writes and checks it.
    pub hash: &'static str,
}

impl Script {
    /// Returns the script as a policy names it (`Content-Security-Policy: script-src`).
    pub fn source(self) -> String {
        format!("'sha256-{}'", self.hash.trim_ascii_end())
    }
}

/// The tone of the first sentences of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// A gate passed.
    Good,
    /// A gate failed.
    Bad,
    /// A gate could not decide.
    Doubtful,
}

/// Writes a document as a page. Its first heading is the title, and the sentences after the title have this tone.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(document: &Document, tone: Tone, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(page(document, tone).as_bytes())?;
    out.flush()
}

fn page(document: &Document, tone: Tone) -> String {
    let (title, blocks) = match document.blocks.split_first() {
        Some((Block::Heading(title), rest)) => (title.as_str(), rest),
        _ => ("profile", &document.blocks[..]),
    };
    let lead = blocks
        .iter()
        .take_while(|block| matches!(block, Block::Text(_) | Block::Marker(_)));
    let (lead, blocks) = blocks.split_at(lead.count());

    const FEW: usize = 12;
    let folds = blocks
        .iter()
        .filter(|block| matches!(block, Block::Details { .. }));
    let mut writer = HtmlWriter {
        page: head(title, title, &[], SCRIPT),
        sections: 0,
        unfolds: folds.count() <= FEW,
    };
    writer.lead(lead, tone);
    writer.contents(blocks.iter().filter_map(heading));
    writer
        .page
        .tag("<div class=search role=search hidden><label for=search>Search</label> <input id=search type=search autocomplete=off spellcheck=false placeholder=\"function, file, …\" aria-describedby=found> <output id=found for=search></output></div>\n</header>\n<main>\n");
    for block in blocks {
        writer.block(block);
    }
    let mut page = writer.page;
    page.tag("</main>\n<script>");
    page.tag(SCRIPT.text);
    page.tag("</script>\n</body>\n</html>\n");
    page.into_string()
}

/// Returns the page up to its title, with the common style sheet and these. The policy allows only these styles and the
/// script with this hash.
fn head(title: &str, heading: &str, styles: &[&'static str], script: Script) -> Markup {
    let mut page = Markup::default();
    page.tag("<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    page.tag("<meta http-equiv=Content-Security-Policy content=\"");
    page.text(&format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src {}; base-uri 'none'; form-action 'none'",
        script.source()
    ));
    page.tag("\">\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n");
    page.tag("<meta name=color-scheme content=\"light dark\">\n<title>");
    page.text(title);
    page.tag("</title>\n<style>\n");
    page.tag(STYLE);
    for style in styles {
        page.tag(style);
    }
    page.tag("</style>\n</head>\n<body>\n<header>\n<h1>");
    page.text(heading);
    page.tag("</h1>\n");
    page
}

/// Returns the words of a heading; `None` for other blocks.
fn heading<'b>(block: &'b Block<'_>) -> Option<&'b str> {
    match block {
        Block::Heading(words) => Some(words),
        _ => None,
    }
}

/// Writes blocks in order.
struct HtmlWriter {
    page: Markup,
    /// The number of headings so far.
    sections: usize,
    /// True if folds are open, because there are few.
    unfolds: bool,
}

impl HtmlWriter {
    /// Writes the first sentences.
    fn lead(&mut self, lead: &[Block], tone: Tone) {
        if lead.is_empty() {
            return;
        }
        self.page.tag(match tone {
            Tone::Plain => "<div class=lead>\n",
            Tone::Good => "<div class=\"lead good\">\n",
            Tone::Bad => "<div class=\"lead bad\">\n",
            Tone::Doubtful => "<div class=\"lead doubtful\">\n",
        });
        for block in lead {
            self.block(block);
        }
        self.page.tag("</div>\n");
    }

    /// Writes links to the headings if there are several.
    fn contents<'h>(&mut self, headings: impl Iterator<Item = &'h str> + Clone) {
        if headings.clone().count() < 2 {
            return;
        }
        self.page.tag("<nav aria-label=Contents>");
        for (position, words) in headings.enumerate() {
            self.page.tag(" <a href=\"#s");
            self.page.integer(position + 1);
            self.page.tag("\">");
            self.page.text(words);
            self.page.tag("</a>");
        }
        self.page.tag("</nav>\n");
    }

    fn block(&mut self, block: &Block) {
        let page = &mut self.page;
        match block {
            Block::Marker(_) => {}
            Block::Heading(words) => {
                self.sections += 1;
                page.tag("<h2 id=s");
                page.integer(self.sections);
                page.tag(">");
                page.text(words);
                page.tag("</h2>\n");
            }
            Block::Text(words) => {
                page.tag("<p>");
                page.text(words);
                page.tag("</p>\n");
            }
            Block::Note(words) => {
                page.tag("<p class=note>");
                page.text(words);
                page.tag("</p>\n");
            }
            Block::List(items) => {
                page.tag("<ul>\n");
                for item in items {
                    page.tag("<li>");
                    spans(page, item);
                    page.tag("</li>\n");
                }
                page.tag("</ul>\n");
            }
            Block::Table(table) => write_table(page, table),
            Block::Graph(graph) => {
                page.tag("<figure>");
                chart::draw(graph, page);
                page.tag("</figure>\n");
            }
            Block::Verbatim(lines) => {
                page.tag("<pre tabindex=0>");
                for line in lines {
                    page.text(line);
                    page.tag("\n");
                }
                page.tag("</pre>\n");
            }
            Block::Details { summary, blocks } => {
                page.tag(match self.unfolds {
                    true => "<details class=fold open><summary>",
                    false => "<details class=fold><summary>",
                });
                spans(page, summary);
                page.tag("</summary>\n");
                for block in blocks {
                    self.block(block);
                }
                self.page.tag("</details>\n");
            }
        }
    }
}

fn write_table(page: &mut Markup, table: &Table) {
    match table.depths.is_empty() {
        true => table::write(page, table),
        false => tree::write(page, table),
    }
}

fn spans(page: &mut Markup, spans: &[Span]) {
    for span in spans {
        match span {
            Span::Text(words) => page.text(words),
            Span::Code(name) => {
                page.tag("<code>");
                page.text(name);
                page.tag("</code>");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Column, Layout};

    const HOSTILE: &str = "</title></script></pre>\"'><img src=x onerror=alert(1)>&lt;\u{1b}";

    fn written(blocks: Vec<Block>) -> String {
        page(&Document { blocks }, Tone::Plain)
    }

    #[test]
    fn hostile_names_are_text_in_every_block() {
        let hostile = || HOSTILE.to_owned();
        let table = || {
            let columns = vec![
                Column::new(HOSTILE, Layout::Number, |_| Cell::Count(1)),
                Column::new("fn", Layout::Name, |_| Cell::Name(HOSTILE)),
                Column::new("who", Layout::Name, |_| Cell::Called {
                    name: HOSTILE,
                    calls: 1,
                }),
                Column::new("where", Layout::Path, |_| Cell::Text(HOSTILE.into()))
                    .with_total(Cell::Text(HOSTILE.into())),
            ];
            Table::new(columns, vec![0, 1])
        };
        let mut tree = table();
        tree.depths = vec![0, 1];
        let clean = written(Vec::new());
        let page = written(vec![
            Block::Heading(hostile()),
            Block::Text(hostile()),
            Block::Heading(hostile()),
            Block::Heading(hostile()),
            Block::Note(hostile()),
            Block::List(vec![vec![Span::code(hostile()), Span::text(hostile())]]),
            Block::Table(table()),
            Block::Table(tree),
            Block::Verbatim(vec![hostile()]),
            Block::Details {
                summary: vec![Span::code(hostile())],
                blocks: vec![Block::Text(hostile())],
            },
        ]);
        assert!(!page.contains("<img"), "{page}");
        for tag in ["</title>", "</script>"] {
            let in_clean = clean.matches(tag).count();
            assert_eq!(page.matches(tag).count(), in_clean, "{tag}");
        }
        assert!(!page.contains('\u{1b}'));
    }

    #[test]
    fn the_policy_forbids_external_resources_and_other_scripts() {
        let page = written(vec![Block::Text("words".to_owned())]);
        let policy = page.split("content=\"").nth(1).unwrap();
        let policy = policy.split('"').next().unwrap();
        assert!(policy.starts_with("default-src &#39;none&#39;; "));
        assert_eq!(policy.matches("sha256-").count(), 1);
        // A SHA-256 hash has 32 bytes, which are 44 characters of base64.
        assert_eq!(SCRIPT.hash.trim_ascii_end().len(), 44);
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
