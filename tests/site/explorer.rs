//! The explorer: it says of a configuration what `matrix.json` says, by address, by keyboard and by an error's text.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::audit::{Audit, WIDTHS};
use crate::browser::{Browser, Scheme};
use crate::server::Server;
use crate::{axe, require_none, site};

const PAGE: &str = "reference/behaviour.html";

/// The published table.
fn matrix() -> Value {
    let file = site().join("reference/matrix.json");
    let text = fs::read_to_string(file).expect("the table is published");
    serde_json::from_str(&text).expect("the table is JSON")
}

/// The address of a cell: `static h1d1_i0o1_n1 cpp device-tensor no-set-output`.
fn address(cell: &str) -> String {
    let names = ["program", "settings", "caller", "inputs", "output"];
    let words = names.iter().zip(cell.split(' '));
    let words: Vec<_> = words.map(|(name, word)| format!("{name}={word}")).collect();
    format!("{PAGE}?{}", words.join("&"))
}

fn text(browser: &mut Browser, selector: &str) -> String {
    let text = browser.evaluate(&format!(
        "document.querySelector('.explorer-result {selector}')?.innerText ?? ''"
    ));
    text.as_str().unwrap_or_default().to_owned()
}

/// Opens a cell and waits for what it says.
fn open(browser: &mut Browser, url: &str) {
    browser.open(url);
    assert!(
        browser.comes_to_hold("document.querySelector('.explorer-outcome') !== null"),
        "{url} says something"
    );
}

/// Whether both executions of an answer are right.
fn works(answer: &Value) -> bool {
    answer["is"] == "measured"
        && answer["run"]["first"]["outcome"] == "right"
        && answer["run"]["second"]["outcome"] == "right"
}

/// A cell for each different answer, and for each refusal of the exporter.
fn cells(matrix: &Value) -> BTreeMap<String, &str> {
    let cells = matrix["cells"].as_object().expect("cells");
    let mut chosen = BTreeMap::new();
    for (cell, answer) in cells {
        let answer = answer.as_str().expect("an answer's name");
        let key = if matrix["answers"][answer]["is"] == "not-exported" {
            let mut words = cell.split(' ');
            let program = [words.next(), words.next()].map(Option::unwrap_or_default);
            format!(
                "{answer} {}",
                matrix["programs"][program.join(" ")]["refused"]["message"]
            )
        } else {
            answer.to_owned()
        };
        chosen.entry(key).or_insert(cell.as_str());
    }
    chosen
}

#[test]
fn every_answer_is_shown_as_it_was_measured() {
    let (server, matrix) = (Server::start(&site()), matrix());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    let cells = cells(&matrix);
    assert!(cells.len() > 100, "{} answers", cells.len());
    for cell in cells.values() {
        open(&mut browser, &server.url(&address(cell)));
        let answer = &matrix["answers"][matrix["cells"][*cell].as_str().expect("a name")];
        let program: Vec<_> = cell.split(' ').take(2).collect();
        let program = &matrix["programs"][program.join(" ")];
        let shown = text(&mut browser, "> dl");
        let outcome = text(&mut browser, ".explorer-outcome");
        let must = |texts: &[&Value]| {
            for text in texts {
                let text = text.as_str().expect("a text");
                let folded: Vec<_> = text.split_whitespace().collect();
                let shown: Vec<_> = shown.split_whitespace().collect();
                assert!(
                    shown.join(" ").contains(&folded.join(" ")),
                    "{cell}: {text}\n{shown:?}"
                );
            }
        };
        match answer["is"].as_str() {
            Some("not-exported") => {
                assert_eq!(outcome, "The exporter refuses.");
                must(&[&program["refused"]["message"], &program["refused"]["kind"]]);
            }
            Some("not-applicable") => {
                let reason = answer["reason"]
                    .as_str()
                    .unwrap_or_default()
                    .replace('`', "");
                assert_eq!(outcome, format!("This caller cannot do it: {reason}."));
            }
            Some("depends-on-the-driver") => {
                assert!(
                    outcome.starts_with("It depends on the driver"),
                    "{cell}: {outcome}"
                );
            }
            _ => {
                for (part, list) in [
                    ("Planned", "arenas"),
                    ("inputs", "inputs"),
                    ("outputs", "outputs"),
                ] {
                    let list = program["plan"][list].as_array().into_iter().flatten();
                    let list = list.map(|item| item.as_str().unwrap_or_default());
                    let list = match part {
                        "Planned" => list.map(|arena| arena.replace(' ', " bytes on ")).collect(),
                        _ => list.map(str::to_owned).collect::<Vec<_>>(),
                    };
                    must(&[&format!("{part} {}", list.join(", ")).into()]);
                }
                let right = if works(answer) {
                    "It runs right, with our stand-in for a GPU."
                } else {
                    "It does not run."
                };
                assert_eq!(outcome, right, "{cell}");
            }
        }
        for run in ["run", "refuse", "accept"] {
            let run = &answer[run]["first"];
            // A stand-in's text is nothing that a reader will meet.
            let is_ours = |origin: &Value| origin == "stand-in";
            for line in run["log"].as_array().into_iter().flatten() {
                let line_shown = shown.contains(line["text"].as_str().unwrap_or_default());
                if is_ours(&line["origin"]) {
                    assert!(!line_shown, "{cell} vouches for {line}");
                } else if !is_ours(&run["origin"]) {
                    must(&[&line["text"]]);
                }
            }
            if run["outcome"] == "right" {
                let copies = |way: &str| match &run[way] {
                    Value::Null => "none".to_owned(),
                    some => format!("{} ({} bytes)", some["calls"], some["bytes"]),
                };
                let whose = match run["output"]["of"].as_str() {
                    Some("caller") => "your own memory",
                    Some("runtime") => "the runtime's buffer",
                    _ => "memory of its own",
                };
                let on = run["output"]["on"].as_str().unwrap_or_default();
                let (h2d, d2h) = (copies("h2d"), copies("d2h"));
                must(&[
                    &format!("right, on the {on}, in {whose}").into(),
                    &format!("{h2d} to the device, {d2h} to the host").into(),
                ]);
            }
        }
    }
}

#[test]
fn what_it_offers_instead_works() {
    let (server, matrix) = (Server::start(&site()), matrix());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    let mut offered = 0;
    for cell in cells(&matrix).values() {
        open(&mut browser, &server.url(&address(cell)));
        let words: Vec<_> = cell.split(' ').collect();
        let links = browser.evaluate(
            "[...document.querySelectorAll('.explorer-others a')].map(link =>
                ['program', 'settings', 'caller', 'inputs', 'output'].map(name => new URL(link.href).searchParams.get(name)).join(' '))",
        );
        for link in links.as_array().into_iter().flatten() {
            let link = link.as_str().expect("a cell");
            let answer = &matrix["cells"][link];
            assert!(
                works(&matrix["answers"][answer.as_str().expect("a name")]),
                "{cell} offers {link}"
            );
            let other: Vec<_> = link.split(' ').collect();
            assert_eq!(
                [words[0], words[2], words[3]],
                [other[0], other[2], other[3]]
            );
            offered += 1;
        }
    }
    assert!(offered > 100, "{offered} offers");
}

#[test]
fn an_error_leads_to_the_settings_that_give_it() {
    let (server, matrix) = (Server::start(&site()), matrix());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    let cell = "static h1d1_i1o1_n1 cpp device-tensor no-set-output";
    let answer = &matrix["answers"][matrix["cells"][cell].as_str().expect("a name")];
    let message = answer["run"]["first"]["log"][0]["text"]
        .as_str()
        .expect("a message");
    browser.open(&server.url(PAGE));
    assert!(browser.tab_to("Tab", ".explorer input[type=search]"));
    browser.paste(message);
    assert!(browser.comes_to_hold("document.querySelectorAll('.explorer-others a').length > 0"));
    // The address has it, and leads back to the same answer.
    let url = browser.evaluate("location.href");
    let list = text(&mut browser, ".explorer-others");
    assert!(list.contains("h1d1_i1o1_n1"), "{list}");
    browser.open(url.as_str().expect("an address"));
    assert!(browser.comes_to_hold("document.querySelectorAll('.explorer-others a').length > 0"));
    assert_eq!(text(&mut browser, ".explorer-others"), list);
    // One of them followed.
    assert!(browser.tab_to("Tab", ".explorer-others a"));
    browser.press("Enter");
    assert!(browser.comes_to_hold("document.querySelector('.explorer-outcome') !== null"));
    assert!(text(&mut browser, "> dl").contains(message));
}

#[test]
fn the_keyboard_chooses_and_the_address_keeps_it() {
    let server = Server::start(&site());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    browser.open(&server.url(PAGE));
    let table = "GET /reference/matrix.json".to_owned();
    assert!(
        !server.served().contains(&table),
        "loaded before anybody asks"
    );
    for (selector, key) in [
        (".explorer select[name=caller]", "ArrowDown"),
        (".explorer input[name=skip_h2d_for_method_inputs]", " "),
        (".explorer input[name=alloc_graph_input]", " "),
    ] {
        assert!(browser.tab_to("Tab", selector), "{selector}");
        browser.press(key);
    }
    assert!(browser.comes_to_hold(
        "document.querySelector('.explorer-outcome')?.innerText === 'It runs right, with our stand-in for a GPU.'"
    ));
    assert!(server.served().contains(&table));
    let url = browser.evaluate("location.href");
    let url = url.as_str().expect("an address");
    for part in [
        "settings=h1d0_i0o1_n1",
        "caller=rust",
        "inputs=device-tensor",
    ] {
        assert!(url.contains(part), "{url}");
    }
    let said = text(&mut browser, "> dl");
    open(&mut browser, url);
    assert_eq!(text(&mut browser, "> dl"), said);
    // Its recipe is a page of the guide.
    let recipe = browser.evaluate("document.querySelector('.explorer-result > p a').href");
    let recipe = recipe.as_str().expect("a link");
    assert!(
        recipe.ends_with("/recipes/device-in-host-out.html"),
        "{recipe}"
    );
}

#[test]
fn it_is_accessible() {
    let audit = Audit::new(&site(), &axe());
    let mut browser = Browser::start();
    let mut findings = Vec::new();
    for width in WIDTHS {
        for scheme in Scheme::BOTH {
            browser.set_up(scheme, width);
            open(
                &mut browser,
                &audit.url(&address(
                    "static h1d1_i0o1_n1 cpp device-tensor no-set-output",
                )),
            );
            browser.settle();
            let place = format!("the explorer ({width} px, {})", scheme.name());
            findings.extend(audit.axe(&mut browser, &place));
            if let Some(folder) = std::env::var_os("GUIDE_PICTURES") {
                let picture = std::path::Path::new(&folder).join(format!("{place}.png"));
                fs::write(picture, browser.picture()).expect("a picture");
            }
            assert!(browser.holds("document.documentElement.scrollWidth <= innerWidth"));
        }
    }
    require_none(&findings);
}
