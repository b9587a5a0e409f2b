//! Attributes: keys with values, on resources, profiles, samples, locations and mappings.

use std::borrow::Cow;

use cg_reader::Error;
use cg_stream::record::Name;

use super::super::wire::{MessageBytes, WireValue};

/// An attribute as texts. `value` is `None` for lists and bytes; no attribute that is used here has such a value.
#[derive(Clone, Debug, Default)]
pub(super) struct OtlpAttribute<'a> {
    pub(super) key: &'a [u8],
    pub(super) value: Option<Cow<'a, [u8]>>,
}

/// The thread and process of a sample, from the attributes of the sample and its resource. The keys come from
/// OpenTelemetry's semantic conventions (`docs/registry/attributes/{process,thread}.md` of
/// open-telemetry/semantic-conventions).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OtlpOrigin {
    pub(super) thread: Option<Vec<u8>>,
    pub(super) thread_number: Option<Vec<u8>>,
    pub(super) process: Option<Vec<u8>>,
    /// The service of the resource, used if the process has no name.
    pub(super) service: Option<Vec<u8>>,
    pub(super) pid: Option<u64>,
}

impl<'a> OtlpAttribute<'a> {
    /// Reads a `KeyValue`, which resources have (and dictionaries until 1.7), or a `KeyValueAndUnit`, whose key is in the
    /// string table.
    pub(super) fn read(
        message: MessageBytes<'a>,
        strings: &[&'a [u8]],
        is_in_dictionary: bool,
    ) -> Result<OtlpAttribute<'a>, Error> {
        let mut attribute = OtlpAttribute::default();
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1, WireValue::Bytes(key)) => attribute.key = key.bytes,
                // The third field of a `KeyValueAndUnit` is the unit.
                (1, _) => attribute.key = string(strings, value, message)?,
                (3, _) if !is_in_dictionary => attribute.key = string(strings, value, message)?,
                (2, WireValue::Bytes(any)) => attribute.value = text(any, strings)?,
                _ => {}
            }
        }
        Ok(attribute)
    }

    /// Returns key and value for a label; `None` if one of them is not a text.
    pub(super) fn shown(&self) -> Option<(String, String)> {
        let value = self.value.as_deref()?;
        let shown = |bytes| Name::from_bytes(bytes).into_string();
        (!self.key.is_empty()).then(|| (shown(self.key), shown(value)))
    }
}

/// Returns a string of the table.
fn string<'a>(
    strings: &[&'a [u8]],
    position: WireValue,
    within: MessageBytes,
) -> Result<&'a [u8], Error> {
    let position = position.number();
    let found = usize::try_from(position).ok();
    let found = found.and_then(|position| strings.get(position));
    found.copied().ok_or_else(|| {
        Error::whole(format!(
            "byte {}: expected one of the {} strings of the dictionary, found number {position}",
            within.start,
            strings.len()
        ))
    })
}

/// Returns an `AnyValue` as text.
fn text<'a>(any: MessageBytes<'a>, strings: &[&'a [u8]]) -> Result<Option<Cow<'a, [u8]>>, Error> {
    let mut text = None;
    let written = |text: String| Some(Cow::Owned(text.into_bytes()));
    let mut fields = any.fields();
    while let Some((number, value)) = fields.next()? {
        text = match (number, value) {
            (1, WireValue::Bytes(text)) => Some(Cow::Borrowed(text.bytes)),
            (2, WireValue::Varint(flag)) => written((flag != 0).to_string()),
            (3, WireValue::Varint(number)) => written((number as i64).to_string()),
            (4, WireValue::Fixed64(bits)) => written(f64::from_bits(bits).to_string()),
            (8, WireValue::Varint(_)) => Some(Cow::Borrowed(string(strings, value, any)?)),
            _ => text,
        };
    }
    Ok(text)
}

/// The keys that [`OtlpOrigin`] is read from.
const THREAD: &[u8] = b"thread.name";
const THREAD_NUMBER: &[u8] = b"thread.id";
const PROCESS: &[u8] = b"process.executable.name";
const SERVICE: &[u8] = b"service.name";
const PID: &[u8] = b"process.pid";

impl OtlpAttribute<'_> {
    /// Returns true if the attribute is part of an [`OtlpOrigin`].
    pub(super) fn is_origin(&self) -> bool {
        [THREAD, THREAD_NUMBER, PROCESS, SERVICE, PID].contains(&self.key)
    }
}

impl OtlpOrigin {
    /// Sets the field that an attribute contains.
    pub(super) fn read(&mut self, attribute: &OtlpAttribute) {
        let value = attribute.value.as_deref();
        let owned = || value.map(<[u8]>::to_vec);
        match attribute.key {
            THREAD => self.thread = owned(),
            THREAD_NUMBER => self.thread_number = owned(),
            PROCESS => self.process = owned(),
            SERVICE => self.service = owned(),
            PID => {
                let text = value.and_then(|text| std::str::from_utf8(text).ok());
                self.pid = text.and_then(|text| text.parse().ok());
            }
            _ => {}
        }
    }
}
