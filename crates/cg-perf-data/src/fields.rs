//! Fields of records: numbers in the byte order of the recording machine.

/// The byte order of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileEndian {
    Little,
    Big,
}

impl FileEndian {
    /// Returns the byte order of a recording, from its first bytes; `None` if it is not a recording.
    pub(crate) fn from_magic(bytes: &[u8]) -> Option<FileEndian> {
        match bytes.get(..8)? {
            b"PERFILE2" => Some(FileEndian::Little),
            b"2ELIFREP" => Some(FileEndian::Big),
            _ => None,
        }
    }

    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            FileEndian::Little => u16::from_le_bytes(bytes),
            FileEndian::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            FileEndian::Little => u32::from_le_bytes(bytes),
            FileEndian::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            FileEndian::Little => u64::from_le_bytes(bytes),
            FileEndian::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// The unread fields of a record. Each call reads one; `None` if the record is too short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordFields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) endian: FileEndian,
}

impl<'a> RecordFields<'a> {
    pub(crate) fn new(bytes: &'a [u8], endian: FileEndian) -> RecordFields<'a> {
        RecordFields { bytes, endian }
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    #[inline]
    fn chunk<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (chunk, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*chunk)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.chunk().map(|bytes| self.endian.u16(bytes))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.chunk().map(|bytes| self.endian.u32(bytes))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.chunk().map(|bytes| self.endian.u64(bytes))
    }

    /// Reads `count` words of eight bytes.
    #[inline]
    pub(crate) fn words(&mut self, count: u64) -> Option<RecordWords<'a>> {
        let length = usize::try_from(count).ok()?.checked_mul(8)?;
        let bytes = self.take(length)?;
        let endian = self.endian;
        Some(RecordWords { bytes, endian })
    }

    /// Returns the text up to a zero byte or the end of the record.
    pub(crate) fn text(&self) -> &'a [u8] {
        let end = memchr::memchr(0, self.bytes);
        &self.bytes[..end.unwrap_or(self.bytes.len())]
    }

    /// Reads a text of a feature: its length, then its bytes, padded with zeros.
    pub(crate) fn counted_text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let bytes = self.take(length)?;
        Some(RecordFields::new(bytes, self.endian).text())
    }
}

/// Words of eight bytes inside a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordWords<'a> {
    bytes: &'a [u8],
    endian: FileEndian,
}

impl<'a> RecordWords<'a> {
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (chunks, _) = self.bytes.as_chunks();
        let endian = self.endian;
        chunks.iter().map(move |chunk| endian.u64(*chunk))
    }

    pub(crate) fn get(&self, position: usize) -> Option<u64> {
        let (chunks, _) = self.bytes.as_chunks();
        chunks.get(position).map(|chunk| self.endian.u64(*chunk))
    }
}
