//! The pools of a chunk, from checkpoint events: values that events refer to by number.

use cg_collections::limits::Growth;
use cg_collections::maps::{Entry, Map};
use cg_reader::Error;

use super::cursor::{JfrCursor, JfrText};
use super::metadata::{JfrTypes, Step, Taken, run};

type ByKey<T> = Map<u64, T>;

/// A name: a text, or the number of a symbol.
#[derive(Clone, Debug)]
enum JfrName<'a> {
    Symbol(u64),
    Text(JfrText<'a>),
}

#[derive(Default)]
pub(super) struct JfrPools<'a> {
    symbols: ByKey<JfrText<'a>>,
    strings: ByKey<JfrText<'a>>,
    classes: ByKey<JfrName<'a>>,
    /// The class, and the method's name in the class.
    methods: ByKey<(u64, JfrName<'a>)>,
    /// The thread's name in Java, and in the operating system.
    threads: ByKey<(JfrText<'a>, JfrText<'a>)>,
    frame_types: ByKey<JfrText<'a>>,
    thread_states: ByKey<JfrText<'a>>,
    /// True if the recorder truncated the stack, and the offset of the frames in the chunk.
    traces: ByKey<(bool, usize)>,
    growth: Growth,
}

/// The pools to read, with the fields to read from their values.
const POOLS: [(&[u8], &[&str]); 8] = [
    (b"jdk.types.Symbol", &["string"]),
    (b"java.lang.String", &[]),
    (b"java.lang.Class", &["name"]),
    (b"jdk.types.Method", &["type", "name"]),
    (b"java.lang.Thread", &["javaName", "osName"]),
    (b"jdk.types.FrameType", &["description"]),
    (b"jdk.types.StackTrace", &["truncated", "frames"]),
    (b"jdk.types.ThreadState", &["name"]),
];

/// Keeps the first value for a key. A renamed thread is in several checkpoints: most of its events occurred under the first
/// name. The JDK's own reader, which goes from the last checkpoint to the first, keeps the first name too.
fn keep<T>(pool: &mut ByKey<T>, key: u64, value: T) {
    pool.entry(key).or_insert(value);
}

impl<'a> JfrPools<'a> {
    /// Adds the pools of a checkpoint event. The cursor is after its size and type.
    pub(super) fn read(
        &mut self,
        mut cursor: JfrCursor<'a>,
        types: &JfrTypes,
        steps: &mut ByKey<Vec<Step>>,
    ) -> Result<(), Error> {
        for _ in ["start", "duration", "distance to the previous checkpoint"] {
            cursor.number()?;
        }
        let _kind = cursor.byte()?;
        for _ in 0..cursor.number()? {
            let type_id = cursor.number()?;
            let name = types.name(type_id).ok_or_else(|| {
                cursor.error(format!(
                    "expected a pool of a known type, found type {type_id}"
                ))
            })?;
            let pool = POOLS.iter().position(|(known, _)| *known == name);
            let steps = match steps.entry(type_id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let wanted = pool.map_or(&[][..], |pool| POOLS[pool].1);
                    let mut steps = types.steps(type_id, wanted)?;
                    if name == b"java.lang.String" {
                        steps.insert(0, Step::Take(0));
                    }
                    new.insert(steps)
                }
            };
            for _ in 0..cursor.number()? {
                let key = cursor.number()?;
                let mut taken = Taken::default();
                run(steps, &mut cursor, &mut taken)?;
                self.growth.add(size_of::<Taken>())?;
                self.add(pool, key, taken);
            }
        }
        Ok(())
    }

    fn add(&mut self, pool: Option<usize>, key: u64, mut taken: Taken<'a>) {
        let nothing = || JfrText::Given((&[][..]).into());
        let numbers = taken.numbers;
        let mut text = |slot: usize| taken.texts[slot].take();
        let name = |slot: usize, text: Option<JfrText<'a>>| match text {
            Some(text) => JfrName::Text(text),
            None => JfrName::Symbol(numbers[slot]),
        };
        match pool {
            Some(0) => keep(&mut self.symbols, key, text(0).unwrap_or_else(nothing)),
            Some(1) => keep(&mut self.strings, key, text(0).unwrap_or_else(nothing)),
            Some(2) => keep(&mut self.classes, key, name(0, text(0))),
            Some(3) => keep(&mut self.methods, key, (numbers[0], name(1, text(1)))),
            Some(4) => {
                let mut text = |slot| text(slot).unwrap_or_else(nothing);
                keep(&mut self.threads, key, (text(0), text(1)));
            }
            Some(5) => keep(&mut self.frame_types, key, text(0).unwrap_or_else(nothing)),
            Some(6) => keep(
                &mut self.traces,
                key,
                (numbers[0] != 0, numbers[1] as usize),
            ),
            Some(7) => {
                let name = text(0).unwrap_or_else(nothing);
                keep(&mut self.thread_states, key, name);
            }
            _ => {}
        }
    }

    /// Returns the bytes of a text; empty if the pool lacks it.
    pub(super) fn text<'t>(&'t self, text: &'t JfrText<'a>) -> &'t [u8] {
        let given = match text {
            JfrText::Pooled(key) => self.strings.get(key),
            JfrText::Given(_) => Some(text),
        };
        match given {
            Some(JfrText::Given(text)) => text,
            _ => &[],
        }
    }

    fn name<'t>(&'t self, name: &'t JfrName<'a>) -> &'t [u8] {
        match name {
            JfrName::Symbol(key) => self.symbols.get(key).map_or(&[], |text| self.text(text)),
            JfrName::Text(text) => self.text(text),
        }
    }

    /// Returns the names of a method's class and of the method; `None` if the chunk does not have the method.
    pub(super) fn method(&self, key: u64) -> Option<(&[u8], &[u8])> {
        let (class, name) = self.methods.get(&key)?;
        let class = self.classes.get(class);
        Some((
            class.map_or(&[][..], |class| self.name(class)),
            self.name(name),
        ))
    }

    /// Returns a thread's name in Java; if that is empty, its name in the operating system.
    pub(super) fn thread(&self, key: u64) -> &[u8] {
        let Some((java, system)) = self.threads.get(&key) else {
            return &[];
        };
        match self.text(java) {
            b"" => self.text(system),
            name => name,
        }
    }

    pub(super) fn frame_type(&self, key: u64) -> &[u8] {
        self.frame_types
            .get(&key)
            .map_or(&[], |text| self.text(text))
    }

    /// Returns the name of a thread's state: `STATE_RUNNABLE`. Empty if it is unknown.
    pub(super) fn thread_state(&self, key: u64) -> &[u8] {
        self.thread_states
            .get(&key)
            .map_or(&[], |text| self.text(text))
    }

    pub(super) fn trace(&self, key: u64) -> Option<(bool, usize)> {
        self.traces.get(&key).copied()
    }
}
