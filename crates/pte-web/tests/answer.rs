//! What a page gets for what it asks.

use std::io;

use pte_web::answer;

fn asked(question: &str) -> serde_json::Value {
    let answer = answer(question.as_bytes(), &|file, offset, buffer| {
        assert_eq!(
            (file, offset),
            (1, 0),
            "the file that was named, from its start"
        );
        let bytes = b"PK\x03\x04";
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        match count {
            0 => Err(io::Error::other("read twice")),
            count => Ok(count),
        }
    });
    serde_json::from_slice(&answer).unwrap()
}

#[test]
fn the_command_answers() {
    let files = r#"[{"name": "a.pte", "bytes": 4}, {"name": "b.pte", "bytes": 4}]"#;
    let outcome = asked(&format!(
        r#"{{"arguments": ["show", "b.pte"], "files": {files}}}"#
    ));
    assert_eq!(outcome["code"], 2);
    let line = outcome["stderr"].as_str().unwrap();
    assert!(
        line.starts_with("error: b.pte: is no ExecuTorch program: it is a zip archive"),
        "{line}"
    );
}

#[test]
fn what_was_not_chosen_is_not_there() {
    let outcome = asked(r#"{"arguments": ["show", "/etc/passwd"], "files": []}"#);
    assert_eq!(
        outcome["stderr"],
        "error: /etc/passwd: cannot be read: no such file was chosen\n"
    );
}

#[test]
fn a_question_that_is_none_is_an_error() {
    for question in ["", "[]", r#"{"arguments": [], "files": [], "more": 1}"#] {
        let outcome = asked(question);
        assert_eq!(outcome["code"], 2);
        assert!(
            outcome["stderr"]
                .as_str()
                .unwrap()
                .starts_with("error: the page asked")
        );
    }
}
