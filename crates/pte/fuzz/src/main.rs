//! Whatever the bytes are: no panic, one line of error or an answer, the same from every source, and little of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pte::lint::{self, Caller, Conditions, Data};
use pte::{DataFile, Limits, Program};

fuzz_target!(|bytes: &[u8]| {
    let read = Program::from_bytes(bytes);
    let streamed = Program::from_stream(bytes, Limits::DEFAULT);
    match (&read, &streamed) {
        (Ok(read), Ok(streamed)) => {
            assert_eq!(read, streamed);
            answered(read, bytes.len());
        }
        (Err(read), Err(streamed)) => {
            told(&read.to_string());
            told(&streamed.to_string());
        }
        (read, streamed) => panic!("{read:?} and {streamed:?}"),
    }
    match DataFile::from_bytes(bytes) {
        Ok(data) => assert!(serde_json::to_vec(&data).is_ok()),
        Err(error) => told(&error.to_string()),
    }
});

fn told(error: &str) {
    assert!(
        !error.is_empty() && !error.contains(char::is_control),
        "{error:?}"
    );
}

fn answered(program: &Program, len: usize) {
    let json = serde_json::to_string(program).expect("plain data");
    assert!(
        json.len() < 200 * len + 4096,
        "{} bytes of answer for {len}",
        json.len()
    );
    let again: Program = serde_json::from_str(&json).expect("what was written");
    assert_eq!(again, *program);
    for caller in Caller::ALL {
        let conditions = Conditions {
            caller: Some(caller),
            data: Data::Files(Vec::new()),
            ..Conditions::default()
        };
        lint::check(program, &conditions);
    }
    assert!(pte::diff::diff(program, program).is_empty());
}
