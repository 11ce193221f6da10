//! The form that asks `pte` about a reader's own file: it says what the command says, about whatever file, and sends nothing.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pte::command::{Outcome, run};
use serde_json::{Value, json};

use crate::audit::{Audit, WIDTHS};
use crate::browser::{Browser, Scheme};
use crate::server::Server;
use crate::{axe, require_none, site};

const PAGE: &str = "recipes/check-a-pte.html";
/// What the form has in its list of callers, but for the first, which is no answer.
const CALLERS: [&str; 4] = ["python", "cpp", "rust", "rust-device"];

/// Gives files to the form and waits for its answer.
fn choose(browser: &mut Browser, files: &[&Path]) {
    browser.evaluate("document.querySelector('.check-result').replaceChildren()");
    let document = browser.call("DOM.getDocument", &json!({}));
    let input = browser.call(
        "DOM.querySelector",
        &json!({ "nodeId": document["root"]["nodeId"], "selector": ".check input[type=file]" }),
    );
    browser.call(
        "DOM.setFileInputFiles",
        &json!({ "nodeId": input["nodeId"], "files": files }),
    );
    is_answered(browser);
}

fn is_answered(browser: &mut Browser) {
    assert!(
        browser.comes_to_hold(
            "document.querySelector('.check-result').children.length > 0
                && !document.querySelector('.check-result').textContent.startsWith('Reading')"
        ),
        "the form answers"
    );
}

/// The text of an element of the answer; empty if there is none.
fn text(browser: &mut Browser, selector: &str) -> String {
    let text = browser.evaluate(&format!(
        "document.querySelector('.check-result {selector}')?.textContent ?? ''"
    ));
    text.as_str().unwrap_or_default().to_owned()
}

/// What the command says, with the file called by its name alone, as a browser calls it.
fn said(arguments: &[&str], file: &Path) -> Outcome {
    let arguments = arguments.iter().map(OsString::from).chain([file.into()]);
    let mut outcome = run(arguments);
    let folder = format!("{}/", file.parent().unwrap_or(Path::new("")).display());
    for text in [&mut outcome.stdout, &mut outcome.stderr] {
        *text = text.replace(&folder, "");
    }
    outcome
}

/// Every program of every listing, as the exporter wrote it.
fn programs() -> Vec<PathBuf> {
    let listings = export::listings().expect("the listings");
    let programs = listings
        .iter()
        .map(|listing| export::programs(listing).expect("its programs"));
    let requests: Vec<_> = programs.flatten().map(export::Request::from).collect();
    // What the exporter refuses is no program.
    let exported = export::all(&requests).expect("an exporter");
    exported
        .into_iter()
        .flatten()
        .map(|program| program.pte)
        .collect()
}

#[test]
fn the_form_says_of_every_program_what_the_command_says() {
    let server = Server::start(&site());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    browser.open(&server.url(PAGE));
    let programs = programs();
    assert!(programs.len() > 40, "{} programs", programs.len());
    for (number, program) in programs.iter().enumerate() {
        let caller = CALLERS[number % CALLERS.len()];
        browser.evaluate(&format!(
            "document.querySelector('.check select').value = '{caller}'"
        ));
        choose(&mut browser, &[program]);
        assert_eq!(
            text(&mut browser, "> pre"),
            said(&["show", "--color=never"], program).stdout
        );
        let checked = said(&["check", "--json", "--caller", caller], program);
        assert_eq!(text(&mut browser, ".check-json"), checked.stdout);
        // Each finding as one line of the command: what it says, the answer, the fix.
        let lines = said(&["check", "--format=github", "--caller", caller], program).stdout;
        let lines = lines
            .lines()
            .map(|line| line.replace('`', "").replace("%25", "%"));
        let shown = browser.evaluate(
            "[...document.querySelectorAll('.check-findings > li')].map(item => [
                item.querySelector('p').textContent.replace(/^[^:]*: /, ''),
                ...[...item.querySelectorAll('dd')].map(said => said.textContent),
            ].join('%0A').replaceAll('`', ''))",
        );
        let shown = shown.as_array().into_iter().flatten();
        let shown = shown.map(|text| text.as_str().unwrap_or_default().to_owned());
        let wanted = lines.map(|line| {
            let (_, said) = line.rsplit_once("::").unwrap_or_default();
            let (said, _page) = said.rsplit_once("%0A").unwrap_or_default();
            said.to_owned()
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            wanted.collect::<Vec<_>>(),
            "{}",
            program.display()
        );
    }
}

#[test]
fn a_file_that_is_no_program_gets_the_line_of_the_command() {
    let server = Server::start(&site());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    browser.open(&server.url(PAGE));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = fs::read(&programs()[0]).expect("a program");
    let half = &program[..program.len() / 2];
    let mut damaged = program.clone();
    damaged[8..].fill(0xff);
    let files: [(&str, &[u8]); 6] = [
        ("empty.pte", b""),
        ("half.pte", half),
        ("damaged.pte", &damaged),
        ("archive.pte", b"PK\x03\x04 and so on"),
        ("--json", b"an option?"),
        ("<b>ä 'name'.pte", b"a name?"),
    ];
    for (name, bytes) in files {
        let file = folder.path().join(name);
        fs::write(&file, bytes).expect("the file can be written");
        choose(&mut browser, &[&file]);
        let line = said(&["check", "--json"], &file).stderr;
        // The command knows an option from a file by the `./` before it.
        let line = line.replacen("error: --", "error: ./--", 1);
        assert!(line.contains(name), "{line}");
        assert_eq!(text(&mut browser, ".check-failed"), line.trim());
        assert!(browser.holds("document.querySelector('.check-result pre') === null"));
    }
    // Gone since it was chosen.
    let file = folder.path().join("gone.pte");
    fs::write(&file, &program).expect("the file can be written");
    choose(&mut browser, &[&file]);
    assert_eq!(text(&mut browser, ".check-failed"), "");
    fs::remove_file(&file).expect("the file can be removed");
    browser.evaluate("document.querySelector('.check select').dispatchEvent(new Event('change'))");
    is_answered(&mut browser);
    assert_eq!(
        text(&mut browser, ".check-failed"),
        "error: gone.pte: cannot be read: the browser could not read it; choose it again"
    );
}

#[test]
fn a_program_may_be_dropped() {
    let server = Server::start(&site());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    // The home page has the form too, and loads nothing of the reader either until there is a file.
    browser.open(&server.url("index.html"));
    assert!(!server.served().iter().any(|path| path.ends_with(".wasm")));
    let program = &programs()[0];
    let name = program.file_name().and_then(|name| name.to_str());
    browser.evaluate(&format!(
        "(() => {{
            const dropped = new DataTransfer();
            dropped.items.add(new File([new Uint8Array({})], {}));
            const place = document.querySelector('.check');
            place.dispatchEvent(new DragEvent('drop', {{ dataTransfer: dropped, cancelable: true }}));
        }})()",
        json!(fs::read(program).expect("a program")),
        json!(name)
    ));
    is_answered(&mut browser);
    assert_eq!(
        text(&mut browser, "> pre"),
        said(&["show", "--color=never"], program).stdout
    );
}

#[test]
fn a_large_program_is_read_in_parts() {
    let server = Server::start(&site());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    browser.open(&server.url(PAGE));
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Ten gigabytes, nearly all of them a hole.
    let large = folder.path().join("large.pte");
    fs::copy(&programs()[0], &large).expect("the file can be written");
    let file = File::options().write(true).open(&large);
    let file = file.expect("the file can be opened");
    file.set_len(10_000_000_000).expect("a file with a hole");
    choose(&mut browser, &[&large]);
    assert_eq!(
        text(&mut browser, "> pre"),
        said(&["show", "--color=never"], &large).stdout
    );
}

#[test]
fn the_reader_is_loaded_at_the_first_file_and_nothing_is_sent() {
    let server = Server::start(&site());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    browser.open(&server.url(PAGE));
    let reader = ["/scripts/worker.js", "/scripts/pte.wasm"];
    let served = server.served();
    assert!(
        served.contains(&"GET /scripts/check.js".to_owned()),
        "{served:?}"
    );
    assert!(
        !served
            .iter()
            .any(|path| reader.iter().any(|file| path.ends_with(file)))
    );
    choose(&mut browser, &[&programs()[0]]);
    let mut asked: Vec<String> = server.served().split_off(served.len());
    asked.sort();
    assert_eq!(asked, ["GET /scripts/pte.wasm", "GET /scripts/worker.js"]);
    let origin = server.origin();
    let activity = browser.activity();
    let here = |url: &String| url.starts_with(origin) || url.starts_with("data:");
    assert!(
        activity.requests.iter().all(here),
        "{:?}",
        activity.requests
    );
    assert!(activity.console.is_empty(), "{:?}", activity.console);
}

#[test]
fn an_error_that_was_pasted_leads_to_its_finding() {
    let server = Server::start(&site());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    browser.open(&server.url(PAGE));
    let program = export::pte("pairing-rule/unpaired").expect("an export").pte;
    choose(&mut browser, &[&program]);
    let finding = said(&["check", "--json"], &program).stdout;
    let finding: Value = serde_json::from_str(&finding).expect("JSON");
    let answer = &finding["files"][0]["findings"][0]["answer"];
    let message = answer["text"].as_str().expect("a text that is foretold");
    let code = format!("error: 0x:{:x}", answer["code"].as_u64().expect("a code"));
    for pasted in [message, &code] {
        browser.evaluate(&format!(
            "(() => {{
                const error = document.querySelector('.check textarea');
                error.value = {};
                error.dispatchEvent(new Event('input'));
            }})()",
            json!(pasted)
        ));
        assert!(browser.comes_to_hold(
            "document.querySelector('.check-findings > li:first-child strong')?.textContent.endsWith('the one you have')"
        ), "{pasted}");
    }
    browser.evaluate(
        "(() => {
            const error = document.querySelector('.check textarea');
            error.value = 'something else';
            error.dispatchEvent(new Event('input'));
        })()",
    );
    assert!(browser.comes_to_hold(
        "document.querySelector('.check-result > p a')?.href.endsWith('/when-it-fails/errors.html')"
    ));
}

#[test]
fn the_form_and_its_answer_are_accessible() {
    let audit = Audit::new(&site(), &axe());
    let mut browser = Browser::start();
    let program = export::pte("pairing-rule/unpaired").expect("an export").pte;
    let mut findings = Vec::new();
    for width in WIDTHS {
        for scheme in Scheme::BOTH {
            browser.set_up(scheme, width);
            browser.open(&audit.url(PAGE));
            choose(&mut browser, &[&program]);
            browser.settle();
            findings.extend(audit.axe(
                &mut browser,
                &format!("an answer ({width} px, {})", scheme.name()),
            ));
            if let Some(folder) = std::env::var_os("GUIDE_PICTURES") {
                let picture = format!("check {width} {}.png", scheme.name());
                fs::write(Path::new(&folder).join(picture), browser.picture()).expect("a picture");
            }
            assert!(
                browser.holds("document.documentElement.scrollWidth <= innerWidth"),
                "nothing is wider than {width} px"
            );
        }
    }
    require_none(&findings);
    for selector in [".check input", ".check select", ".check textarea"] {
        assert!(
            browser.tab_to("Tab", selector),
            "the keyboard reaches {selector}"
        );
    }
}
