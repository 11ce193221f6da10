//! Damaged files: an error in one line or a right answer, never a panic, never much memory.

use std::fs;
use std::path::Path;

use flatbuffers::VerifierOptions;
use pte::lint::Conditions;
use pte::{Error, Limits, Program};

use crate::flat::program_generated::executorch_flatbuffer as schema;
use crate::programs::{all, one};

/// A file of each kind: with and without header, with a `.ptd`, with control flow, with lists, the old layout.
const DAMAGED: &[&str] = &[
    "h0d0_i1o1_n1",
    "h1d0_i0o0_n1",
    "mlp",
    "branch",
    "state_initialised",
    "named",
    "inline_delegate",
    "old_example_linear",
    "old_scalars",
    "split",
    "xnnpack",
];

/// Reads whatever this is, and holds the answer to what every answer must be.
fn read(bytes: &[u8]) -> Result<Program, Error> {
    let answer = Program::from_bytes(bytes);
    match &answer {
        Ok(program) => {
            // All that was read is in the answer, so its size is that of the memory it takes.
            let size = serde_json::to_string(program).unwrap().len();
            assert!(
                size < 100 * bytes.len() + 4096,
                "{size} bytes of answer for {} of file",
                bytes.len()
            );
        }
        Err(error) => {
            let line = error.to_string();
            assert!(
                !line.is_empty() && !line.contains(char::is_control) && line.len() < 400,
                "{line:?}"
            );
        }
    }
    answer
}

#[test]
fn cut_short_at_every_byte() {
    for name in DAMAGED {
        let exported = one(name);
        let whole = exported.program();
        for end in 0..exported.bytes.len() {
            match read(&exported.bytes[..end]) {
                // A program with a header knows where it ends.
                Ok(_) if whole.layout.header.is_some() => panic!("{name}, {end} bytes: no error"),
                Ok(program) => assert_eq!(program.methods, whole.methods, "{name}, {end} bytes"),
                Err(_) => {}
            }
        }
    }
}

#[test]
fn every_byte_flipped() {
    let (mut answers, mut errors) = (0, 0);
    for name in DAMAGED {
        let mut bytes = one(name).bytes.clone();
        for at in 0..bytes.len() {
            for flip in [0xFF, 0x01, 0x80, 0x10] {
                bytes[at] ^= flip;
                match read(&bytes) {
                    Ok(_) => answers += 1,
                    Err(_) => errors += 1,
                }
                bytes[at] ^= flip;
            }
        }
    }
    assert!(
        answers > 1000 && errors > 1000,
        "{answers} answers, {errors} errors: neither should be rare"
    );
}

#[test]
fn every_number_at_its_limits() {
    for name in DAMAGED {
        let bytes = &one(name).bytes;
        let len = bytes.len() as u64;
        for at in (0..bytes.len() - 8).step_by(4) {
            for value in [
                0,
                1,
                len - 1,
                len,
                len + 1,
                0x7FFF_FFFF,
                0x8000_0000,
                0xFFFF_FFFF,
            ] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
                _ = read(&damaged);
            }
            for value in [u64::MAX, u64::MAX - len, 1 << 63, i64::MAX as u64, 1 << 40] {
                let mut damaged = bytes.clone();
                damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
                _ = read(&damaged);
            }
        }
    }
}

#[test]
fn headers_that_contradict_themselves() {
    let bytes = &one("mlp").bytes;
    let with = |at: usize, value: &[u8]| {
        let mut damaged = bytes.clone();
        damaged[at..at + value.len()].copy_from_slice(value);
        read(&damaged).unwrap_err().to_string()
    };
    assert_eq!(
        with(12, &23_u32.to_le_bytes()),
        "has a damaged extended header: it says that it is 23 bytes long, and the shortest is 24"
    );
    assert_eq!(
        with(16, &8_u64.to_le_bytes()),
        "has a damaged extended header: a program of 8 bytes has no room for the header itself"
    );
    assert_eq!(
        with(16, &u64::MAX.to_le_bytes()),
        format!(
            "is cut short: the program ends at byte {}, and the file has {}: copy or download it again",
            u64::MAX,
            bytes.len()
        )
    );
    assert_eq!(
        with(24, &u64::MAX.to_le_bytes()),
        "has a damaged extended header: the segments end beyond any file"
    );
    assert!(with(24, &100_u64.to_le_bytes()).starts_with(
        "has a damaged extended header: segments begin at byte 100, inside the program of "
    ));
    assert!(
        with(32, &(1_u64 << 40).to_le_bytes())
            .starts_with("is cut short: the segment data ends at byte ")
    );
}

/// A header of 24 bytes has no room for the segments' size: programs from before that field.
#[test]
fn the_shorter_header_is_a_header() {
    let exported = one("mlp");
    let mut bytes = exported.bytes.clone();
    bytes[12..16].copy_from_slice(&24_u32.to_le_bytes());
    bytes[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    let program = read(&bytes).unwrap();
    assert_eq!(program.layout.header.unwrap().segment_data_bytes, 0);
    assert_eq!(program.methods, exported.program().methods);
    // The segments are held against the file's size all the same.
    let error = read(&bytes[..bytes.len() - 1]).unwrap_err();
    assert!(matches!(error, Error::CutShort { .. }), "{error}");
}

/// What fuzzing has found worth keeping: every way through the readers, and every input that once broke something.
#[test]
fn the_fuzzers_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let (mut answers, mut errors) = (0, 0);
    for entry in fs::read_dir(corpus).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        match (
            read(&bytes),
            Program::from_stream(&bytes[..], Limits::DEFAULT),
        ) {
            (Ok(read), Ok(streamed)) => {
                assert_eq!(read, streamed);
                let json = serde_json::to_string(&read).unwrap();
                assert_eq!(serde_json::from_str::<Program>(&json).unwrap(), read);
                pte::lint::check(&read, &Conditions::default());
                assert_eq!(pte::diff::diff(&read, &read), []);
                answers += 1;
            }
            (Err(_), Err(_)) => errors += 1,
            (read, streamed) => panic!("{read:?} and {streamed:?}"),
        }
    }
    assert!(
        answers > 50 && errors > 100,
        "{answers} answers, {errors} errors: is the corpus there?"
    );
}

/// Half of what `pte` allows, so that no real program is near it.
#[test]
fn real_programs_stay_far_from_the_verifiers_limits() {
    for exported in all() {
        let part = &exported.bytes[..exported.program().layout.program_bytes as usize];
        let half = VerifierOptions {
            max_depth: 8,
            max_tables: part.len() / 16,
            max_apparent_size: part.len() * 4,
            ..Default::default()
        };
        let verified = schema::root_as_program_with_opts(&half, part);
        assert!(
            verified.is_ok(),
            "{} ({} bytes): {verified:?}",
            exported.name,
            part.len()
        );
    }
}
