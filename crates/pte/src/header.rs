//! The parts of a file: the extended header, the program, the segments.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Found};

/// Bytes of a file's head that hold everything needed to find the program part.
pub(crate) const HEAD_BYTES: usize = 64;
const IDENTIFIER: &[u8] = b"ET12";
/// The identifier of a data file.
pub(crate) const DATA_IDENTIFIER: &[u8] = b"FT01";
const HEADER_MAGIC: &[u8] = b"eh00";
/// Where the extended header begins: behind the root offset and the identifier.
const HEADER_OFFSET: usize = 8;
/// The shortest header that the runtime accepts: it ends behind the segment offset.
const HEADER_MINIMUM: u32 = 24;

/// The header that `to_executorch` puts at byte 8 of a file with segments. Its numbers are the file's own, unchecked
/// against each other only here: a [`Program`](crate::Program) holds one whose parts lie in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtendedHeader {
    /// Bytes of the header itself. Below 32 it has no `segment_data_size`.
    pub header_bytes: u32,
    /// Bytes of the program part, from the start of the file, this header included.
    pub program_bytes: u64,
    /// Where the first segment begins, in bytes from the start of the file; 0 if there are none.
    pub segment_base_offset: u64,
    /// Bytes from the first segment's start to the last one's end; 0 where the exporter did not write it.
    pub segment_data_bytes: u64,
}

/// One contiguous piece of data behind the program part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// Its bytes, without padding.
    pub nbytes: u64,
}

/// Data with a name that a delegate, or a tensor, asks the runtime for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedData {
    /// The name.
    pub key: String,
    /// The segment that holds it, by index into [`Layout::segments`].
    pub segment: u32,
    /// Its bytes.
    pub nbytes: u64,
}

/// Where everything lies in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layout {
    /// The file's size in bytes, with whatever follows the program in it.
    pub file_bytes: u64,
    /// Bytes of the program part: what this crate reads.
    pub program_bytes: u64,
    /// The extended header, if the file has one; without it the whole file is the program part.
    pub header: Option<ExtendedHeader>,
    /// The segments, as the program numbers them.
    pub segments: Vec<Segment>,
    /// The segment that holds the constants. `None`: they are inside the program part, as exporters of before ExecuTorch
    /// 0.4 put them, and the runtime of the 1.5.1 wheel refuses the file, even where there are no constants at all.
    pub constant_segment: Option<u32>,
}

impl ExtendedHeader {
    /// Reads the head of a file: its first 64 bytes, or all of them if there are fewer. `Ok(None)` is a program without
    /// an extended header.
    ///
    /// # Errors
    /// [`Error::NotAProgram`] or [`Error::Format`] by the identifier, [`Error::Header`] and [`Error::CutShort`] by the
    /// header's numbers and the file's size.
    pub fn parse(head: &[u8], file_bytes: u64) -> Result<Option<Self>, Error> {
        match head.get(4..8) {
            Some(IDENTIFIER) => {}
            Some(other)
                if other.starts_with(b"ET") && other[2..].iter().all(u8::is_ascii_digit) =>
            {
                return Err(Error::Format {
                    identifier: String::from_utf8_lossy(other).into_owned(),
                });
            }
            _ => return Err(Error::NotAProgram(sniff(head))),
        }
        // The runtime reads 64 bytes before anything else, so nothing shorter has ever been loaded.
        if head.len() < HEAD_BYTES {
            return Err(Error::CutShort {
                part: "the file's head".into(),
                end: HEAD_BYTES as u64,
                file_bytes,
            });
        }
        if head[HEADER_OFFSET..HEADER_OFFSET + 4] != *HEADER_MAGIC {
            return Ok(None);
        }
        let u32_at =
            |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[HEADER_OFFSET + at + i]));
        let u64_at =
            |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[HEADER_OFFSET + at + i]));
        let header_bytes = u32_at(4);
        if header_bytes < HEADER_MINIMUM {
            return Err(Error::Header(format!(
                "it says that it is {header_bytes} bytes long, and the shortest is {HEADER_MINIMUM}"
            )));
        }
        let header = Self {
            header_bytes,
            program_bytes: u64_at(8),
            segment_base_offset: u64_at(16),
            segment_data_bytes: if header_bytes > HEADER_MINIMUM {
                u64_at(24)
            } else {
                0
            },
        };
        header.check(file_bytes)?;
        Ok(Some(header))
    }

    fn check(&self, file_bytes: u64) -> Result<(), Error> {
        if self.program_bytes < HEAD_BYTES as u64 {
            return Err(Error::Header(format!(
                "a program of {} bytes has no room for the header itself",
                self.program_bytes
            )));
        }
        if self.program_bytes > file_bytes {
            return Err(Error::CutShort {
                part: "the program".into(),
                end: self.program_bytes,
                file_bytes,
            });
        }
        if self.segment_base_offset == 0 {
            return Ok(());
        }
        if self.segment_base_offset < self.program_bytes {
            return Err(Error::Header(format!(
                "segments begin at byte {}, inside the program of {} bytes",
                self.segment_base_offset, self.program_bytes
            )));
        }
        match self
            .segment_base_offset
            .checked_add(self.segment_data_bytes)
        {
            None => Err(Error::Header("the segments end beyond any file".into())),
            Some(end) if end > file_bytes => Err(Error::CutShort {
                part: "the segment data".into(),
                end,
                file_bytes,
            }),
            Some(_) => Ok(()),
        }
    }
}

/// What a file is whose identifier is not the one wanted.
pub(crate) fn sniff(head: &[u8]) -> Found {
    match (head, head.get(4..8)) {
        ([], _) => Found::Empty,
        ([b'P', b'K', 3 | 5, 4 | 6, ..], _) => Found::Zip,
        (_, Some(IDENTIFIER)) => Found::Program,
        (_, Some(DATA_IDENTIFIER)) => Found::TensorData,
        (_, Some(b"BP08")) => Found::Bundled,
        (_, Some(b"ED00")) => Found::Trace,
        _ => Found::Unknown,
    }
}
