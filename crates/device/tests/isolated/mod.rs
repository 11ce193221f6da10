//! Every test runs in a process of its own: the device, its counters and its log belong to the process, and some of these
//! processes must die.

use std::{
    any::type_name_of_val,
    env,
    os::unix::process::ExitStatusExt,
    process::{Command, Output},
};

use crate::exported;

/// Set in the process of a test: run the body here.
const CHILD: &str = "DEVICE_TEST_CHILD";

/// Runs `body` in a process of its own, which must succeed.
#[track_caller]
pub fn isolated(body: impl FnOnce()) {
    if let Some(output) = elsewhere(&body) {
        assert!(output.status.success(), "{}", text(&output));
    } else {
        body();
    }
}

/// Runs `body` in a process of its own, which must die by SIGSEGV, after it printed `last`.
#[track_caller]
pub fn dies_by_sigsegv(last: &str, body: impl FnOnce()) {
    if let Some(output) = elsewhere(&body) {
        assert_eq!(
            output.status.signal(),
            Some(libc::SIGSEGV),
            "{}",
            text(&output)
        );
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(last),
            "{}",
            text(&output)
        );
    } else {
        body();
    }
}

/// The result of this test's own process, or nothing in that process itself. The test is the function around `body`.
fn elsewhere<Body>(body: &Body) -> Option<Output> {
    if env::var_os(CHILD).is_some() {
        return None;
    }
    let name = type_name_of_val(body);
    let name = name
        .split("::")
        .nth(1)
        .expect("a closure's name has its function in it");
    Some(run(name, &[(CHILD, "1")]))
}

/// Runs one test of this binary, with more environment variables.
pub fn run(name: &str, variables: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env::current_exe().unwrap());
    exported::hand_to(&mut child);
    child.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    child.envs(variables.iter().copied());
    let output = child.output().unwrap();
    let ran = String::from_utf8_lossy(&output.stdout).contains("running 1 test\n");
    assert!(ran, "no test of this name: {name}");
    output
}

pub fn text(output: &Output) -> String {
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    format!("{}\n{stdout}\n{stderr}", output.status)
}
