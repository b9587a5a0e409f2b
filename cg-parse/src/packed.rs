//! Compressed inputs: gzip (RFC 1952) and zstd (RFC 8878), recognised by their magic bytes.
//!
//! A file may contain several members (gzip) or frames (zstd), whose contents form one text. As in gzip, zeros after a
//! member are padding. Other data there is an error, and so is a wrong checksum. All complete blocks are returned before the
//! error, because the profile of a killed program simply ends.

use std::error::Error as _;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use cg_collections::limits;
use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The length of the longest magic number, which is zstd's.
const MAGIC_LENGTH: u64 = 4;

/// The maximum number of compressed bytes per read.
const BUFFER_SIZE: usize = 128 * 1024;

/// The number of unpacked bytes between two checks of the memory.
const BETWEEN_CHECKS: u64 = 4 << 20;

/// Decompresses the input if it begins with a magic number; otherwise returns it unchanged.
pub(crate) fn unpacked(input: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut input = Counted(input);
    let mut head = Vec::new();
    (&mut input).take(MAGIC_LENGTH).read_to_end(&mut head)?;
    let is_packed = matches!(
        head[..],
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]
    );
    let whole: Box<dyn Read> = Box::new(Cursor::new(head).chain(input));
    Ok(if is_packed {
        Box::new(Members {
            state: State::Between(BufReader::with_capacity(
                BUFFER_SIZE,
                Box::new(Filled(whole)),
            )),
            seen: false,
            length: 0,
        })
    } else {
        whole
    })
}

/// Counts the bytes of an input, which raise the limits of its contents.
struct Counted<R>(R);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.0.read(out)?;
        limits::count_input(length as u64);
        Ok(length)
    }
}

/// An input that fills the whole buffer of each read, except at the end.
///
/// A decoder of damaged data drops what it decoded in the call that finds the damage. With full buffers, the text before the
/// damage is the same for a file and for a pipe.
struct Filled<R>(R);

impl<R: Read> Read for Filled<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut length = 0;
        while length < out.len() {
            match self.0.read(&mut out[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }
}

/// A compressed input. Dynamic dispatch is cheap here, because each call reads a large buffer.
type Packed = BufReader<Box<dyn Read>>;

/// The contents of the members of a compressed input, one after the other.
struct Members {
    state: State,
    /// True if a member was read. Only then are zeros padding.
    seen: bool,
    /// The number of unpacked bytes.
    length: u64,
}

enum State {
    Between(Packed),
    Gzip(GzDecoder<Packed>),
    Zstd(Box<ZstdFrame>),
    AtEnd,
}

impl Read for Members {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = match &mut self.state {
                State::AtEnd => return Ok(0),
                State::Between(_) => 0,
                State::Gzip(member) => {
                    (member.read(out)).map_err(|error| with_format_name("gzip", error))?
                }
                State::Zstd(frame) => frame.read(out)?,
            };
            if length > 0 || out.is_empty() {
                self.count(length as u64)?;
                return Ok(length);
            }
            self.state = match std::mem::replace(&mut self.state, State::AtEnd) {
                State::Between(input) => self.begin(input)?,
                State::Gzip(member) => State::Between(member.into_inner()),
                State::Zstd(frame) => State::Between(frame.input),
                State::AtEnd => State::AtEnd,
            };
        }
    }
}

impl Members {
    /// Counts unpacked bytes, and checks the limits now and then.
    fn count(&mut self, length: u64) -> io::Result<()> {
        let before = self.length;
        self.length += length;
        if before / BETWEEN_CHECKS == self.length / BETWEEN_CHECKS {
            return Ok(());
        }
        if self.length > limits::longest_unpacked() {
            return Err(invalid_data(format!(
                "the compressed data unpacks to more than {} MiB, too much for its size",
                self.length >> 20
            )));
        }
        limits::check_memory(0).map_err(|error| invalid_data(error.to_string()))
    }

    /// Begins the next member, if any.
    fn begin(&mut self, mut input: Packed) -> io::Result<State> {
        let first = loop {
            let Some(first) = input.fill_buf()?.first().copied() else {
                return Ok(State::AtEnd);
            };
            if first != 0 || !self.seen {
                break first;
            }
            input.consume(1);
        };
        self.seen = true;
        match first {
            0x1f => Ok(State::Gzip(GzDecoder::new(input))),
            0x28 | 0x50..=0x5f => ZstdFrame::begin(input),
            _ => Err(invalid_data(
                "the data after the compressed data is neither gzip nor zstd".to_owned(),
            )),
        }
    }
}

/// A zstd frame.
struct ZstdFrame {
    decoder: FrameDecoder,
    input: Packed,
    /// The error for a truncated frame, returned after its contents.
    truncation: Option<io::Error>,
}

impl ZstdFrame {
    /// Begins a frame, or skips a skippable frame.
    fn begin(mut input: Packed) -> io::Result<State> {
        let mut decoder = FrameDecoder::new();
        match decoder.init(&mut input) {
            Ok(()) => Ok(State::Zstd(Box::new(ZstdFrame {
                decoder,
                input,
                truncation: None,
            }))),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut (&mut input).take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(zstd_error(io::ErrorKind::UnexpectedEof.into()));
                }
                Ok(State::Between(input))
            }
            Err(error) => Err(from_decoder_error(error)),
        }
    }

    /// Reads the contents of the frame. If the frame is truncated, the error follows all complete blocks.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        /// An empty last block, and a checksum for frames that need one.
        const LAST_BLOCK: &[u8] = &[1, 0, 0, 0, 0, 0, 0];
        const ONE_BLOCK: BlockDecodingStrategy = BlockDecodingStrategy::UptoBlocks(1);
        loop {
            let length = self.decoder.read(out)?;
            if length > 0 || out.is_empty() {
                return Ok(length);
            }
            if self.decoder.is_finished() {
                return match self.truncation.take() {
                    Some(error) => Err(error),
                    None => self.verify().map(|()| 0),
                };
            }
            if let Err(error) = self.decoder.decode_blocks(&mut self.input, ONE_BLOCK) {
                let error = from_decoder_error(error);
                if error.kind() != io::ErrorKind::UnexpectedEof {
                    return Err(error);
                }
                // The decoder holds back text that a later block may refer to. A last block makes it release this text.
                self.decoder
                    .decode_blocks(LAST_BLOCK, ONE_BLOCK)
                    .map_err(from_decoder_error)?;
                self.truncation = Some(error);
            }
        }
    }

    fn verify(&self) -> io::Result<()> {
        let claimed = self.decoder.get_checksum_from_data();
        if claimed.is_some() && claimed != self.decoder.get_calculated_checksum() {
            return Err(invalid_data(
                "the zstd data is damaged: its checksum differs".to_owned(),
            ));
        }
        Ok(())
    }
}

/// Converts a decoder error to an I/O error. Keeps the underlying read error, which distinguishes a truncated input from a
/// damaged one.
fn from_decoder_error(error: FrameDecoderError) -> io::Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(inner) = inner.downcast_ref::<io::Error>() {
            return match inner.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => zstd_error(inner.kind().into()),
            };
        }
        cause = inner.source();
    }
    invalid_data(format!("the zstd data is damaged: {error}"))
}

fn zstd_error(error: io::Error) -> io::Error {
    with_format_name("zstd", error)
}

/// Adds the name of the compression to errors about truncated and damaged data. Returns other errors unchanged.
fn with_format_name(format: &str, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the {format} data ends early: the file is truncated"),
        ),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            invalid_data(format!("the {format} data is damaged: {error}"))
        }
        _ => error,
    }
}

fn invalid_data(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Reads an input that arrives byte by byte. Returns the data before an error, and the error.
    fn read(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
        struct Dripping(Cursor<Vec<u8>>);
        impl Read for Dripping {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let length = out.len().min(1);
                self.0.read(&mut out[..length])
            }
        }
        read_all(Dripping(Cursor::new(bytes.to_vec())))
    }

    fn read_all(input: impl Read + 'static) -> (Vec<u8>, Option<String>) {
        let mut text = Vec::new();
        let error = match unpacked(input) {
            Ok(mut reader) => reader.read_to_end(&mut text).err(),
            Err(error) => Some(error),
        };
        (text, error.map(|error| error.to_string()))
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    /// `printf 'one\ntwo\n' | zstd --check`: one frame with a checksum.
    const ONE_TWO: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x41, 0x00, 0x00, b'o', b'n', b'e', b'\n', b't', b'w',
        b'o', b'\n', 0xe6, 0xa6, 0x0e, 0x40,
    ];

    #[test]
    fn members_and_frames_are_one_text() {
        let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let cases: [(&str, Vec<u8>, &[u8]); 8] = [
            ("not compressed", b"one\n".to_vec(), b"one\n"),
            ("shorter than a magic number", b"o".to_vec(), b"o"),
            ("gzip", gzip(b"one\n"), b"one\n"),
            (
                "two members",
                [gzip(b"one\n"), gzip(b"two\n")].concat(),
                b"one\ntwo\n",
            ),
            (
                "padding between members and at the end",
                [&gzip(b"one\n")[..], &[0; 600], &gzip(b"two\n"), &[0; 9]].concat(),
                b"one\ntwo\n",
            ),
            ("zstd", ONE_TWO.to_vec(), b"one\ntwo\n"),
            (
                "frames to skip",
                [&skippable[..], ONE_TWO, &skippable, ONE_TWO].concat(),
                b"one\ntwo\none\ntwo\n",
            ),
            (
                "both",
                [&gzip(b"zero\n")[..], ONE_TWO].concat(),
                b"zero\none\ntwo\n",
            ),
        ];
        for (case, packed, expected) in cases {
            assert_eq!(read(&packed), (expected.to_vec(), None), "{case}");
        }
    }

    #[test]
    fn complete_blocks_are_read_before_an_error_is_returned() {
        let zipped = gzip(b"one\ntwo\n");
        let without_end = [&ONE_TWO[..6], &[0x40], &ONE_TWO[7..17]].concat();
        let mut damaged = ONE_TWO.to_vec();
        damaged[9] = b'u';
        let cases: [(&str, Vec<u8>, &[u8], &str); 6] = [
            (
                "garbage after a member",
                [&zipped[..], b"GARBAGE"].concat(),
                b"one\ntwo\n",
                "the data after the compressed data is neither gzip nor zstd",
            ),
            (
                "gzip without its checksum",
                zipped[..zipped.len() - 8].to_vec(),
                b"one\ntwo\n",
                "the gzip data ends early: the file is truncated",
            ),
            (
                "zstd without its checksum",
                ONE_TWO[..17].to_vec(),
                b"one\ntwo\n",
                "the zstd data ends early: the file is truncated",
            ),
            (
                "zstd without its last block",
                without_end,
                b"one\ntwo\n",
                "the zstd data ends early: the file is truncated",
            ),
            (
                "zstd with a changed byte",
                damaged,
                b"une\ntwo\n",
                "the zstd data is damaged: its checksum differs",
            ),
            (
                "a truncated skippable frame",
                [ONE_TWO, &[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]].concat(),
                b"one\ntwo\n",
                "the zstd data ends early: the file is truncated",
            ),
        ];
        for (case, packed, text, error) in cases {
            let expected = (text.to_vec(), Some(error.to_owned()));
            assert_eq!(read(&packed), expected, "{case}");
        }
    }

    #[test]
    fn damaged_data_is_the_same_from_a_file_and_from_a_pipe() {
        // A stored block, and a block of an unknown type.
        let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        let damaged = [&header[..], &[0, 4, 0, 251, 255], b"one\n", &[7]].concat();
        let whole = read_all(Cursor::new(damaged.clone()));
        let error = "the gzip data is damaged: corrupt deflate stream";
        assert_eq!(whole.1.as_deref(), Some(error));
        assert_eq!(read(&damaged), whole);
    }

    #[test]
    fn unpacked_length_is_limited() {
        let mut members = Members {
            state: State::AtEnd,
            seen: true,
            length: 0,
        };
        assert!(members.count(BETWEEN_CHECKS).is_ok());
        // Other tests of this process raise the limit by the bytes that they read.
        assert!(members.count(u64::MAX / 2).is_err());
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_an_error() {
        for packed in [gzip(b"one\ntwo\n"), ONE_TWO.to_vec()] {
            for length in 4..packed.len() {
                let (text, error) = read(&packed[..length]);
                assert!(b"one\ntwo\n".starts_with(&text[..]), "{length}");
                assert!(error.is_some(), "{length}");
            }
        }
        // Skip byte 5, the size of the window: a larger window decodes the same data.
        for position in 6..ONE_TWO.len() {
            let mut damaged = ONE_TWO.to_vec();
            damaged[position] ^= 0x55;
            let (_, error) = read(&damaged);
            assert!(error.is_some(), "{position}");
        }
    }
}
