//! The text behind an error code: where the runtime puts it, and the three ways to it from Rust.
#![allow(unsafe_code)]

use std::env;
use std::error::Error;
use std::process::Command;
use std::sync::{Arc, Mutex};

use executorch::Error as RuntimeError;
use executorch::module::Module;
use executorch::platform::{LogEntry, PlatformImpl, register_platform_impl};
use executorch_device::set_log_sink;
use export::pte;
use proof::Origin::{Library, Runtime};
use proof::{claim, fact, quoted};

// ANCHOR: hook
static REASONS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps each line of the runtime's log. Call it once, at the start of `main`.
fn keep_log() {
    let mut platform = PlatformImpl::new(None);
    platform.set_emit_log_message(|entry: LogEntry<'_>| {
        if let Ok(mut reasons) = REASONS.lock() {
            reasons.push(entry.message.to_owned());
        }
    });
    // SAFETY: called once, while there is one thread.
    assert!(unsafe { register_platform_impl(platform) });
}
// ANCHOR_END: hook

fn main() -> Result<(), Box<dyn Error>> {
    // No `device::install()` here: this is the runtime of the plain wheel, as a reader has it.
    match env::args().nth(1) {
        // What the listing starts to see where a program without a hook prints.
        Some(path) => Ok(Module::new(path).load_method("forward", None, None)?),
        None => prove(),
    }
}

fn prove() -> Result<(), Box<dyn Error>> {
    let path = &pte("see-the-reason/default")?.pte;

    let unhooked = Command::new(env::current_exe()?).arg(path).output()?;
    let printed = String::from_utf8(unhooked.stderr)?;
    let first = printed.lines().next().ok_or("nothing was printed")?;
    let (head, text) = first.split_once("] ").ok_or("no source line")?;
    // Time and line change with each run and release.
    let head = head.replace(|c: char| c.is_ascii_digit(), "n");
    println!("on standard error: {head}] {text}");

    // ANCHOR: device
    let error = executorch_device::Module::load(path)
        .and_then(|mut module| module.load_method("forward"))
        .err()
        .ok_or("it loads")?;
    println!("code: {:#x}", error.code());
    if let Some(reason) = error.log().first() {
        println!("reason: {reason}");
    }
    // ANCHOR_END: device

    // ANCHOR: sink
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    set_log_sink(move |_level, line| {
        if let Ok(mut kept) = kept.lock() {
            kept.push(line.to_owned());
        }
    });
    // ANCHOR_END: sink
    let code = fails(path)?;
    let of_sink = lines.lock().map_err(|_| "a sink panicked")?.clone();
    println!("to the sink: {}", of_sink[0]);

    keep_log();
    let again = fails(path)?;
    let of_hook = REASONS.lock().map_err(|_| "the hook panicked")?.clone();
    println!("to the hook: {}", of_hook[0]);

    fact(
        Runtime,
        "see-the-reason.code",
        format!("{:#x}", code as u32),
    );
    fact(Runtime, "see-the-reason.text", text);
    fact(Runtime, "see-the-reason.head", format!("{head}]"));
    claim(
        Runtime,
        "see.only-in-the-log",
        "The code says which kind of error it is; the text that says why is in the runtime's log alone.",
        code == RuntimeError::NotFound
            && again == code
            && !code.to_string().contains(text)
            && of_sink[0] == text,
    );
    claim(
        Runtime,
        "see.standard-error",
        "A program that does nothing about the log has it on standard error, and nothing of it on standard output.",
        printed.contains(&of_sink[0]) && unhooked.stdout.is_empty(),
    );
    claim(
        Library,
        "see.device-error",
        "An error of `executorch-device` has the lines that its call logged, the cause first, and prints the first.",
        error.log() == of_sink && error.to_string().contains(text),
    );
    claim(
        Library,
        "see.sink",
        "`set_log_sink` hands you every line in place of standard error, without time and source line.",
        !of_sink.is_empty() && of_sink.iter().all(|line| !line.contains("] ")),
    );
    claim(
        Runtime,
        "see.hook",
        "A log function registered with the `executorch` crate alone gets the same lines.",
        of_hook == of_sink,
    );
    quoted(
        "see-the-reason.option",
        "EXECUTORCH_ENABLE_LOGGING",
        "tools/cmake/preset/default.cmake",
        "00a3a96b9397056e399dd9a4464ca7bc9c0652c8",
    );
    Ok(())
}

/// Loads `forward`, which must fail.
fn fails(path: &std::path::Path) -> Result<RuntimeError, Box<dyn Error>> {
    let loaded = Module::new(path).load_method("forward", None, None);
    Ok(loaded.err().ok_or("it loads")?)
}
