//! The runtime's log.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::{env, panic, thread};

use executorch_device::{LogLevel, Module, log, set_log_sink};

/// One test: the sink is the process's.
#[test]
fn lines_go_to_the_sink() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    set_log_sink(move |level, message| sink.lock().unwrap().push(format!("{level:?} {message}")));
    Module::load("/no/such.pte").unwrap_err();
    for level in [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Error,
        LogLevel::Fatal,
        LogLevel::Unknown,
    ] {
        log(
            level,
            "a line of Rust's, with a \0 in it, as long as it likes",
        );
    }
    let text = "a line of Rust's, with a   in it, as long as it likes";
    let expected =
        ["Debug", "Info", "Error", "Fatal", "Unknown"].map(|level| format!("{level} {text}"));
    let mut seen = std::mem::take(&mut *lines.lock().unwrap());
    assert_eq!(
        seen.remove(0),
        "Error Failed to open /no/such.pte: No such file or directory (2)"
    );
    assert_eq!(seen, expected);

    // Each call has the lines of its own thread.
    let errors = thread::scope(|scope| {
        let load = |path: &'static str| scope.spawn(move || Module::load(path).unwrap_err());
        ["/no/1.pte", "/no/2.pte", "/no/3.pte"]
            .map(load)
            .map(|thread| thread.join().unwrap())
    });
    for (index, error) in errors.iter().enumerate() {
        assert_eq!(
            error.log(),
            [format!(
                "Failed to open /no/{}.pte: No such file or directory (2)",
                index + 1
            )]
        );
    }

    // A sink that panics, and one that sets another: neither ends the process or waits for itself.
    panic::set_hook(Box::new(|_| {}));
    set_log_sink(|_, _| panic!("in the sink"));
    log(LogLevel::Info, "swallowed");
    set_log_sink(|_, _| set_log_sink(|_, _| {}));
    log(LogLevel::Info, "replaced");
}

#[test]
fn without_a_sink_the_runtime_prints() {
    const CHILD: &str = "EXECUTORCH_DEVICE_TEST_LOGS_WITHOUT_A_SINK";
    if env::var_os(CHILD).is_some() {
        log(LogLevel::Error, "to standard error");
        return;
    }
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "without_a_sink_the_runtime_prints",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(
        printed.contains("executorch:executorch-device:0] to standard error"),
        "{printed}"
    );
}
