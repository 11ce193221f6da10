//! Programs out of streams, which go by once.

use std::io::{self, Read};

use crate::header::HEAD_BYTES;
use crate::source::ReadAt;
use crate::{Error, ExtendedHeader, Limits, Program, keys};

/// Bytes that go by at once.
const CHUNK: usize = 1 << 16;

/// What was kept of a stream that has gone by.
struct Kept {
    len: u64,
    /// Ranges of it, each with where it begins; the first is the program part.
    parts: Vec<(u64, Vec<u8>)>,
}

impl ReadAt for Kept {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let inside =
            |(start, part): &&(u64, Vec<u8>)| (*start..start + part.len() as u64).contains(&offset);
        let Some((start, part)) = self.parts.iter().find(inside) else {
            return Ok(0);
        };
        part.read_at(offset - start, buffer)
    }
}

impl Program {
    /// Reads the program that comes out of this stream, to the stream's end: all of it passes by, and only what
    /// [`Program::read`] would ask for is kept.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::File`].
    pub fn from_stream(mut stream: impl Read, limits: Limits) -> Result<Self, Error> {
        let mut part = Vec::new();
        stream
            .by_ref()
            .take(HEAD_BYTES as u64)
            .read_to_end(&mut part)?;
        // How long the stream is nobody knows yet, if it is longer than this; its end is held against the header below.
        let head_bytes = part.len() as u64;
        let header = ExtendedHeader::parse(
            &part,
            if part.len() < HEAD_BYTES {
                head_bytes
            } else {
                u64::MAX
            },
        )?;
        let end = header.map_or(u64::MAX, |header| header.program_bytes);
        // One byte more than allowed shows that there is too much.
        let most = end.min(limits.program_bytes.saturating_add(1));
        stream
            .by_ref()
            .take(most.saturating_sub(head_bytes))
            .read_to_end(&mut part)?;
        let part_bytes = part.len() as u64;
        if part_bytes > limits.program_bytes {
            return Err(Error::TooLarge {
                bytes: header.map_or(part_bytes, |_| end),
                limit: limits.program_bytes,
            });
        }
        if header.is_none() {
            return Self::from_bytes(&part);
        }
        if part_bytes < end {
            return Err(Error::CutShort {
                part: "the program".into(),
                end,
                file_bytes: part_bytes,
            });
        }

        let mut program = Self::from_program_part(&part, u64::MAX)?;
        let delegates = program
            .methods
            .iter_mut()
            .flat_map(|method| &mut method.delegates);
        let blobs = keys::wanted(delegates)
            .map(|(_, blob)| blob)
            .filter(|blob| blob.offset >= part_bytes);
        let blobs: Vec<_> = blobs
            .map(|blob| (blob.offset, vec![0; blob.nbytes as usize]))
            .collect();
        let mut kept = Kept {
            len: part_bytes,
            parts: vec![(0, part)],
        };
        kept.parts.extend(blobs);
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::Read(error)),
            };
            for (start, blob) in &mut kept.parts[1..] {
                // The overlap of what passes by with what is wanted, from both ends' point of view.
                let from = (*start).max(kept.len);
                let to = (*start + blob.len() as u64).min(kept.len + count as u64);
                if from < to {
                    let passing = &chunk[(from - kept.len) as usize..(to - kept.len) as usize];
                    blob[(from - *start) as usize..(to - *start) as usize].copy_from_slice(passing);
                }
            }
            kept.len += count as u64;
        }
        let header = ExtendedHeader::parse(&kept.parts[0].1[..HEAD_BYTES], kept.len)?;
        Self::parse(&kept.parts[0].1, header, kept.len, &kept)
    }
}
