//! The report as JSON (`+RTS -pj`): cost centres by id, and a tree of them. The reader walks the tree without recursion.

use cg_collections::maps::Map;
use cg_reader::json::{JsonText, Scanner};
use cg_reader::{Error, Head, Reading};
use cg_stream::record::Count;
use serde::Deserialize;

use super::super::table::{FrameId, StackKey, StackLinkId, StackTable};
use super::super::write::write;
use super::{BYTES, TICKS, cost_centre, describe_clock};

/// Returns true if a document is a report: it has `total_ticks`, followed by a list of cost centres.
pub fn is_document(head: &Head) -> bool {
    let mut has_ticks = false;
    Scanner::new(head.bytes).any_key(|key, mut value| {
        has_ticks |= key == b"total_ticks";
        (key == b"cost_centres").then(|| has_ticks && value.expect(b'[').is_ok())
    })
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct CostCentre<'a> {
    id: i64,
    label: JsonText<'a>,
    module: JsonText<'a>,
    #[serde(default)]
    src_loc: JsonText<'a>,
}

/// The contents of a report except its tree.
#[derive(Default)]
struct GhcDocument<'a> {
    arguments: Vec<JsonText<'a>>,
    ticks: Option<u64>,
    alloc: Option<u64>,
    interval: Option<u64>,
    capabilities: Option<u64>,
    centres: Map<i64, FrameId>,
    added: [Count; 2],
}

/// Reads a report in JSON.
pub(super) fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let mut table = StackTable::new([TICKS, BYTES]);
    let mut document = GhcDocument::default();
    let read = document.read(&text, &mut table);
    let mut run = reading.run("ghc");
    if !document.arguments.is_empty() {
        let words = document
            .arguments
            .iter()
            .map(|word| word.name().into_string());
        run.command = Some(words.collect::<Vec<_>>().join(" "));
    }
    if let Some(interval) = document.interval {
        let processors = document.capabilities.unwrap_or(1);
        describe_clock(&mut run, document.ticks, interval, processors);
    }
    run.sampling.set_unit(BYTES, BYTES);
    if read.is_ok() {
        document.check(reading);
    }
    write(run, &table, read, reading.out)
}

/// An open node of the tree.
struct OpenCentre {
    frame: Option<FrameId>,
    outer: Option<StackLinkId>,
    costs: [Count; 2],
    is_in_children: bool,
}

impl<'a> GhcDocument<'a> {
    fn read(&mut self, text: &'a [u8], table: &mut StackTable) -> Result<(), Error> {
        let mut scanner = Scanner::new(text);
        scanner.expect(b'{')?;
        while let Some(key) = scanner.next_key()? {
            match key {
                b"arguments" => self.arguments = scanner.value()?,
                b"total_ticks" => self.ticks = scanner.value()?,
                b"total_alloc" => self.alloc = scanner.value()?,
                b"tick_interval" => self.interval = scanner.value()?,
                b"initial_capabilities" => self.capabilities = scanner.value()?,
                b"cost_centres" => {
                    scanner.expect(b'[')?;
                    while scanner.next_element()? {
                        let centre: CostCentre = scanner.value()?;
                        let [label, module, place] =
                            [&centre.label, &centre.module, &centre.src_loc];
                        let [label, module, place] = [label, module, place].map(JsonText::as_bytes);
                        let frame = cost_centre(label, module, place, table)?;
                        self.centres.insert(centre.id, frame);
                    }
                }
                b"profile" => self.tree(&mut scanner, table)?,
                _ => {
                    scanner.skip_value()?;
                }
            }
        }
        scanner.expect_end()
    }

    /// Reads the tree at the scanner's position.
    fn tree(&mut self, scanner: &mut Scanner<'a>, table: &mut StackTable) -> Result<(), Error> {
        let begin = |outer| OpenCentre {
            frame: None,
            outer,
            costs: [0; 2],
            is_in_children: false,
        };
        scanner.expect(b'{')?;
        let mut open = vec![begin(None)];
        while let Some(node) = open.last_mut() {
            if node.is_in_children {
                if scanner.next_element()? {
                    let frame = node.frame.ok_or_else(|| {
                        Error::whole("expected the id of a cost centre before its children")
                    })?;
                    let stack = table.push(node.outer, frame)?;
                    scanner.expect(b'{')?;
                    open.push(begin(Some(stack)));
                } else {
                    node.is_in_children = false;
                }
                continue;
            }
            match scanner.next_key()? {
                None => {
                    if let Some(ended) = open.pop() {
                        self.add(&ended, table)?;
                    }
                }
                Some(b"id") => {
                    let id: i64 = scanner.value()?;
                    let known = self.centres.get(&id).copied();
                    node.frame = Some(known.ok_or_else(|| {
                        Error::whole(format!("expected the id of a cost centre, found {id}"))
                    })?);
                }
                Some(b"ticks") => node.costs[0] = scanner.value::<u64>()?.into(),
                Some(b"alloc") => node.costs[1] = scanner.value::<u64>()?.into(),
                Some(b"children") => {
                    scanner.expect(b'[')?;
                    node.is_in_children = true;
                }
                Some(_) => {
                    scanner.skip_value()?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, node: &OpenCentre, table: &mut StackTable) -> Result<(), Error> {
        let stack = match node.frame {
            Some(frame) => Some(table.push(node.outer, frame)?),
            None => node.outer,
        };
        for (event, cost) in node.costs.into_iter().enumerate() {
            self.added[event] += cost;
            if cost > 0 {
                table.count(StackKey::from_stack(stack), event, cost)?;
            }
        }
        Ok(())
    }

    /// Warns if the sums of the tree differ from the totals of the report, which exclude the costs of the profiler.
    fn check(&self, reading: &mut Reading) {
        let totals = [self.ticks, self.alloc];
        for ((event, total), added) in [TICKS, BYTES].into_iter().zip(totals).zip(self.added) {
            if let Some(total) = total.filter(|total| Count::from(*total) != added) {
                reading.warn(format!(
                    "the report states {total} {event}, but its tree has {added}"
                ));
            }
        }
    }
}
