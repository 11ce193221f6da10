//! What is read of a source, and what happens when it is not what it was.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Instant;

use pte::{Error, ExtendedHeader, Found, Limits, Program, ReadAt};

use crate::programs::{all, one, scratch};

/// A source that notes what is asked of it, and may answer a little at a time or not at all.
struct Watched<'a> {
    bytes: &'a [u8],
    len: u64,
    most: usize,
    reads: RefCell<Vec<(u64, usize)>>,
}

impl<'a> Watched<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            len: bytes.len() as u64,
            most: usize::MAX,
            reads: RefCell::default(),
        }
    }
}

impl ReadAt for Watched<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut reads = self.reads.borrow_mut();
        reads.push((offset, buffer.len()));
        if self.most < usize::MAX && reads.len().is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(self.most);
        self.bytes.read_at(offset, &mut buffer[..most])
    }
}

#[test]
fn the_head_the_program_and_a_delegates_names_are_all_that_is_read() {
    let exported = one("mlp");
    let watched = Watched::new(&exported.bytes);
    let program = Program::read(&watched, Limits::DEFAULT).unwrap();
    let blob = program.methods[0].delegates[0].processed;
    let program_bytes = program.layout.program_bytes as usize;
    assert!(program_bytes < exported.bytes.len());
    assert_eq!(
        *watched.reads.borrow(),
        [
            (0, 64),
            (0, program_bytes),
            (blob.offset, blob.nbytes as usize)
        ]
    );
    assert_eq!(program, exported.program());
}

#[test]
fn a_source_that_answers_a_byte_at_a_time_reads_the_same() {
    for exported in all() {
        let watched = Watched {
            most: 7,
            ..Watched::new(&exported.bytes)
        };
        assert_eq!(
            Program::read(&watched, Limits::DEFAULT).unwrap(),
            exported.program(),
            "{}",
            exported.name
        );
    }
}

#[test]
fn bytes_file_and_program_part_read_the_same() {
    for exported in all() {
        let program = exported.program();
        assert_eq!(
            Program::from_bytes(&exported.bytes).unwrap(),
            program,
            "{}",
            exported.name
        );

        let file_bytes = exported.bytes.len() as u64;
        let header = ExtendedHeader::parse(&exported.bytes[..64], file_bytes).unwrap();
        assert_eq!(header, program.layout.header);
        let part = &exported.bytes[..program.layout.program_bytes as usize];
        let mut without_names = program;
        for delegate in without_names
            .methods
            .iter_mut()
            .flat_map(|method| &mut method.delegates)
        {
            if delegate.processed.segment.is_some() {
                delegate.data_keys = None;
            }
        }
        assert_eq!(
            Program::from_program_part(part, file_bytes).unwrap(),
            without_names,
            "{}",
            exported.name
        );
        let error = Program::from_program_part(&part[..part.len() - 1], file_bytes).unwrap_err();
        assert!(matches!(error, Error::CutShort { .. }), "{error}");
    }
}

#[test]
fn ten_gigabytes_of_weights_cost_nothing() {
    let folder = scratch();
    let path = folder.path().join("ten-gigabytes.pte");
    let exported = one("mlp");
    fs::write(&path, &exported.bytes).unwrap();
    // The file says that its segments go on to its end; between here and there is a hole that takes no disk.
    let bytes = 10_u64 << 30;
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(bytes)
        .unwrap();
    let start = Instant::now();
    let program = Program::open(&path).unwrap();
    let took = start.elapsed();
    assert_eq!(program.layout.file_bytes, bytes);
    assert_eq!(program.methods, exported.program().methods);
    assert!(took.as_millis() < 100, "{took:?}");
}

#[test]
fn a_program_part_over_the_limit_is_not_read() {
    let exported = one("mlp");
    let watched = Watched::new(&exported.bytes);
    let program_bytes = exported.program().layout.program_bytes;
    let error = Program::read(
        &watched,
        Limits {
            program_bytes: program_bytes - 1,
        },
    )
    .unwrap_err();
    assert!(
        matches!(error, Error::TooLarge { bytes, .. } if bytes == program_bytes),
        "{error}"
    );
    assert_eq!(watched.reads.borrow().len(), 1);
    assert!(Program::read(&watched, Limits { program_bytes }).is_ok());

    // Without a header the whole file is the program part.
    let bytes = one("portable").bytes.len() as u64;
    let error = Program::open_within(
        &one("portable").path,
        Limits {
            program_bytes: bytes - 1,
        },
    )
    .unwrap_err();
    assert!(error.to_string().ends_with(&format!("has a program part of {bytes} bytes, and the limit is {}: raise `Limits::program_bytes` if the file is to be trusted", bytes - 1)), "{error}");
}

#[test]
fn a_file_that_shrinks_or_changes_while_it_is_read_is_an_error() {
    let bytes = &one("mlp").bytes;
    for there in [0, 10, 63, 64, 100, bytes.len() / 2] {
        let shrunk = Watched {
            len: bytes.len() as u64,
            ..Watched::new(&bytes[..there])
        };
        let error = Program::read(&shrunk, Limits::DEFAULT).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{there}: {error}");
    }

    struct Rewritten<'a>(&'a [u8], RefCell<u32>);
    impl ReadAt for Rewritten<'_> {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read_at(offset, buffer)?;
            *self.1.borrow_mut() += 1;
            buffer[0] ^= u8::from(*self.1.borrow() == 2);
            Ok(count)
        }
    }
    let error = Program::read(&Rewritten(bytes, RefCell::default()), Limits::DEFAULT).unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
}

#[test]
fn a_growing_file_reads_as_it_was_opened() {
    let exported = one("mlp");
    let grown = [&exported.bytes[..], &[0xAB; 4096]].concat();
    let opened = Watched {
        len: exported.bytes.len() as u64,
        ..Watched::new(&grown)
    };
    assert_eq!(
        Program::read(&opened, Limits::DEFAULT).unwrap(),
        exported.program()
    );
}

#[test]
fn an_error_of_the_system_is_told() {
    let folder = scratch();
    let missing = folder.path().join("no such file.pte");
    let error = Program::open(&missing).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("{}: cannot be read: ", missing.display())),
        "{error}"
    );
    let Error::File { path, error } = error else {
        panic!("{error}")
    };
    assert_eq!(path, missing);
    assert!(matches!(*error, Error::Read(_)));
}

/// Opening a pipe would wait for somebody to write to it.
#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = scratch();
    let pipe = folder.path().join("pipe.pte");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let (answer, answered) = std::sync::mpsc::channel();
    std::thread::spawn(move || answer.send(found(&pipe)));
    let found = answered.recv_timeout(std::time::Duration::from_secs(20));
    assert_eq!(found, Ok(Found::NoFile));
}

/// What a file turns out to be that is no program.
fn found(path: &Path) -> Found {
    match Program::open(path).unwrap_err() {
        Error::File { error, .. } => match *error {
            Error::NotAProgram(found) => found,
            other => panic!("{other}"),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_no_program_is_named() {
    let folder = scratch();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let data = one("mlp")
        .path
        .with_extension("")
        .join("aoti_cuda_blob.ptd");
    assert_eq!(found(&data), Found::TensorData);
    assert_eq!(found(&write("empty.pte", b"")), Found::Empty);
    assert_eq!(
        found(&write("zip.pte", b"PK\x03\x04rest of the archive")),
        Found::Zip
    );
    assert_eq!(
        found(&write("bundled.pte", b"\0\0\0\0BP08")),
        Found::Bundled
    );
    assert_eq!(
        found(&write("text.pte", b"#!/bin/sh\necho hello\n")),
        Found::Unknown
    );
    assert_eq!(found(&write("short.pte", b"ET")), Found::Unknown);
    assert_eq!(found(Path::new(env!("CARGO_TARGET_TMPDIR"))), Found::NoFile);
    #[cfg(unix)]
    assert_eq!(found(Path::new("/dev/null")), Found::NoFile);

    let error = Program::open(write(
        "other.pte",
        &[b"\0\0\0\0ET99".as_slice(), &[0; 64]].concat(),
    ))
    .unwrap_err();
    assert!(
        error.to_string().contains("of the format `ET99`"),
        "{error}"
    );
}

#[test]
fn a_program_with_more_behind_it_reads_the_same() {
    for exported in all() {
        let longer = [&exported.bytes[..], &[0xFF; 1000]].concat();
        let read = Program::from_bytes(&longer).unwrap();
        assert_eq!(
            read.methods,
            exported.program().methods,
            "{}",
            exported.name
        );
        // With anything in front of it, it is a program no more.
        let later = [&[0; 16], &exported.bytes[..]].concat();
        assert!(
            matches!(
                Program::from_bytes(&later),
                Err(Error::NotAProgram(Found::Unknown))
            ),
            "{}",
            exported.name
        );
    }
}

/// A stream that gives a little at a time, and now and then nothing for the moment.
struct Trickle<'a> {
    bytes: &'a [u8],
    calls: usize,
}

impl io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(11);
        self.bytes.read(&mut buffer[..most])
    }
}

#[test]
fn a_stream_reads_the_same() {
    for exported in all() {
        let program = exported.program();
        let read = Program::from_stream(&exported.bytes[..], Limits::DEFAULT).unwrap();
        assert_eq!(read, program, "{}", exported.name);
        let trickle = Trickle {
            bytes: &exported.bytes,
            calls: 0,
        };
        assert_eq!(
            Program::from_stream(trickle, Limits::DEFAULT).unwrap(),
            program,
            "{}",
            exported.name
        );
    }
}

#[test]
fn a_stream_that_ends_early_or_goes_on_for_too_long_is_an_error() {
    let bytes = &one("mlp").bytes;
    for end in 0..bytes.len() {
        let error = Program::from_stream(&bytes[..end], Limits::DEFAULT).unwrap_err();
        assert_eq!(
            error.to_string(),
            Program::from_bytes(&bytes[..end]).unwrap_err().to_string(),
            "{end} bytes"
        );
    }
    let limits = Limits {
        program_bytes: 2000,
    };
    let endless = |head: &'static [u8]| io::Read::chain(head, io::repeat(0));
    let error = Program::from_stream(endless(b"\0\0\0\0ET12"), limits).unwrap_err();
    assert!(
        matches!(
            error,
            Error::TooLarge {
                bytes: 2001,
                limit: 2000
            }
        ),
        "{error}"
    );
    let error = Program::from_stream(
        endless(b"\0\0\0\0ET12eh00\x20\0\0\0\0\0\0\0\0\0\0\x10"),
        limits,
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::TooLarge {
                bytes: 0x1000_0000_0000_0000,
                limit: 2000
            }
        ),
        "{error}"
    );
    let error = Program::from_stream(endless(b"PK\x03\x04"), limits).unwrap_err();
    assert!(matches!(error, Error::NotAProgram(Found::Zip)), "{error}");
}
