//! Where the bytes come from.

use std::io;

use crate::Error;

/// Bytes of a known length that can be read at any position.
///
/// The reader asks for the first 64 bytes, then for the program part, then, where a delegate's blob names the data that
/// it wants, for that blob; so an implementation over a network or a browser's `Blob` serves a few small ranges.
pub trait ReadAt {
    /// The length of the whole in bytes, as it was when it was opened.
    fn len(&self) -> u64;

    /// Fills `buffer` with the bytes from `offset` on, and says how many came: fewer than `buffer` holds only where the
    /// bytes end.
    ///
    /// # Errors
    /// Whatever the operating system or the network answers.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ReadAt for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..))
            .unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// How much of a file may be read into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest program part, in bytes. A file without an extended header is one program part, so this bounds its
    /// whole size; such files are those with no weights outside the program, or from before ExecuTorch 0.4.
    pub program_bytes: u64,
}

impl Limits {
    /// 64 MiB: a program part holds a few hundred bytes an operator, so the largest real ones are a few MiB.
    pub const DEFAULT: Self = Self {
        program_bytes: 64 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The `count` bytes from `offset` on, all of them.
pub(crate) fn read_exactly(
    source: &(impl ReadAt + ?Sized),
    offset: u64,
    count: usize,
) -> Result<Vec<u8>, Error> {
    let mut buffer = vec![0; count];
    let mut got = 0;
    while got < count {
        match source.read_at(offset + got as u64, &mut buffer[got..]) {
            Ok(0) => {
                return Err(Error::Changed {
                    offset,
                    wanted: count as u64,
                    got: got as u64,
                });
            }
            Ok(n) => got += n.min(count - got),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Read(error)),
        }
    }
    Ok(buffer)
}
