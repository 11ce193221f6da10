//! The built site in a real browser: every page in both colour schemes on a desktop and on a telephone, by keyboard
//! alone and without scripts; and the faults that these tests are for, planted one at a time.
//!
//! It reads `book/`, which `cargo xtask build` makes, and axe-core and Chromium, which `cargo xtask setup` and
//! `.ci/packages` bring. What is missing fails, with the command that brings it.

mod audit;
mod browser;
mod check;
mod explorer;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use audit::{Audit, Finding, WIDTHS};
use browser::{Browser, Scheme};

/// The workspace, in which `setup` has put its tools.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this package lies in the workspace")
}

/// The built site: `book/` in the workspace, or in the copy that `$GUIDE_ROOT` names.
fn site() -> PathBuf {
    let root = std::env::var_os("GUIDE_ROOT").map_or_else(|| workspace().to_owned(), PathBuf::from);
    let site = root.join("book");
    assert!(
        site.join("index.html").exists(),
        "{} is not built: run `cargo xtask build`",
        site.display()
    );
    site
}

/// The text of axe-core, which the package `axe-playwright-python` carries.
fn axe() -> String {
    let libraries = workspace().join(".venv/lib");
    fs::read_dir(&libraries)
        .into_iter()
        .flatten()
        .flatten()
        .find_map(|python| {
            fs::read_to_string(
                python
                    .path()
                    .join("site-packages/axe_playwright_python/axe.min.js"),
            )
            .ok()
        })
        .unwrap_or_else(|| {
            panic!(
                "axe-core is not in {}: run `cargo xtask setup`",
                libraries.display()
            )
        })
}

/// Fails with everything that was found.
fn require_none(findings: &[Finding]) {
    let list: Vec<String> = findings
        .iter()
        .map(|finding| format!("  {finding}\n"))
        .collect();
    assert!(
        list.is_empty(),
        "{} findings on the site:\n{}",
        list.len(),
        list.concat()
    );
}

#[test]
fn every_page_in_both_schemes_and_widths() {
    let audit = Audit::new(&site(), &axe());
    let pages = audit.pages();
    // Two browsers: one for each core of the machine that this must be quick on.
    let findings: Vec<Finding> = thread::scope(|scope| {
        let halves: Vec<_> = WIDTHS
            .into_iter()
            .map(|width| {
                let (audit, pages) = (&audit, &pages);
                scope.spawn(move || {
                    let mut browser = Browser::start();
                    pages
                        .iter()
                        .flat_map(|page| audit.page(&mut browser, page, width))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        halves
            .into_iter()
            .flat_map(|half| half.join().expect("no finding is a panic"))
            .collect()
    });
    require_none(&findings);
}

#[test]
fn what_opens_is_accessible_too() {
    let audit = Audit::new(&site(), &axe());
    let mut browser = Browser::start();
    let mut findings = Vec::new();
    for width in WIDTHS {
        for scheme in Scheme::BOTH {
            for (part, keys) in [
                ("search", &["/", "c", "o", "p", "i", "e", "s"][..]),
                ("keyboard help", &["?"]),
                ("theme menu", &["Shift+Tab", "Enter"]),
                ("sidebar", &["Shift+Tab", "Shift+Tab", "Enter"]),
            ] {
                browser.set_up(scheme, width);
                browser.open(&audit.url("index.html"));
                browser.evaluate("document.getElementById('mdbook-search-toggle').focus()");
                keys.iter().for_each(|key| browser.press(key));
                if part == "search" {
                    assert!(browser.comes_to_hold(
                        "document.querySelectorAll('#mdbook-searchresults li').length > 0"
                    ));
                }
                browser.settle();
                findings.extend(audit.axe(
                    &mut browser,
                    &format!("{part} ({width} px, {})", scheme.name()),
                ));
            }
        }
    }
    require_none(&findings);
}

#[test]
fn the_keyboard_alone_is_enough() {
    let audit = Audit::new(&site(), &axe());
    let mut browser = Browser::start();
    let mut findings: Vec<Finding> = audit
        .pages()
        .iter()
        .flat_map(|page| audit.keyboard(&mut browser, page, WIDTHS[0]))
        .collect();
    findings.extend(audit.keyboard(&mut browser, "index.html", WIDTHS[1]));
    require_none(&findings);

    // Skip to the content.
    browser.set_up(Scheme::Light, 1280);
    browser.open(&audit.url("index.html"));
    browser.press("Tab");
    assert!(
        browser.holds("document.activeElement.matches('.skip-link')"),
        "the first stop skips to the content"
    );
    browser.press("Enter");
    browser.press("Tab");
    assert!(
        browser.holds("document.activeElement.closest('main') !== null"),
        "the skip link leads into the text"
    );

    // The sidebar: there on a desktop, away and back.
    let links_shown =
        "document.querySelector('#mdbook-sidebar a').checkVisibility({ checkVisibilityCSS: true })";
    let toggle = "button[aria-controls=mdbook-sidebar]";
    assert!(browser.holds(links_shown));
    for shown in [false, true] {
        assert!(browser.tab_to("Tab", toggle) || browser.tab_to("Shift+Tab", toggle));
        browser.press("Enter");
        assert!(
            browser.comes_to_hold(&format!("{links_shown} === {shown}")),
            "Enter shows and hides the sidebar"
        );
        assert!(
            browser.holds(&format!(
                "document.activeElement.ariaExpanded === '{shown}'"
            )),
            "the button tells its state"
        );
    }

    // And on a telephone, away at first; the way into it leads back from the button.
    browser.set_up(Scheme::Light, 390);
    browser.open(&audit.url("index.html"));
    assert!(browser.holds(&format!("!{links_shown}")));
    assert!(browser.tab_to("Tab", toggle));
    browser.press("Enter");
    assert!(browser.tab_to("Shift+Tab", "#mdbook-sidebar a[href*=first-device-program]"));
    browser.wait_for_navigation(|browser| browser.press("Enter"));
    assert!(browser.holds("location.pathname.endsWith('first-device-program.html')"));

    // What is wider than the window scrolls by arrow keys, and the page stays.
    browser.open(&audit.url("index.html"));
    assert!(
        browser.tab_to("Tab", ".table-wrapper"),
        "a wide table takes the focus"
    );
    browser.press("ArrowRight");
    assert!(
        browser.comes_to_hold("document.activeElement.scrollLeft > 0"),
        "an arrow key scrolls a wide table"
    );
    assert!(browser.holds("location.pathname.endsWith('index.html')"));

    // The colour scheme: chosen, kept on the next visit, given back to the system.
    browser.set_up(Scheme::Light, 1280);
    browser.open(&audit.url("index.html"));
    let chosen = "document.documentElement.classList.contains('navy')";
    for (key, dark) in [("End", true), ("Home", false)] {
        assert!(browser.tab_to("Tab", "#mdbook-theme-toggle"));
        browser.press("Enter");
        assert!(
            browser.holds("document.activeElement.matches('.theme')"),
            "the theme menu takes the focus"
        );
        browser.press(key);
        browser.press("Enter");
        browser.press("Escape");
        assert!(
            browser.holds("document.activeElement.id === 'mdbook-theme-toggle'"),
            "Escape leads back to the button"
        );
        assert!(browser.holds(&format!("{chosen} === {dark}")));
        browser.visit(&audit.url("index.html"));
        assert!(
            browser.holds(&format!("{chosen} === {dark}")),
            "the choice is kept"
        );
    }

    // Search: opened, typed, the first result followed.
    browser.press("/");
    browser.type_text("synchronise");
    assert!(
        browser.comes_to_hold("document.querySelectorAll('#mdbook-searchresults a').length > 0"),
        "search finds"
    );
    browser.press("ArrowDown");
    browser.wait_for_navigation(|browser| browser.press("Enter"));
    assert!(
        browser.comes_to_hold("document.querySelectorAll('main mark').length > 0"),
        "what was searched is marked"
    );
}

#[test]
fn tabs_keep_the_language_that_was_chosen() {
    let audit = Audit::new(&site(), &axe());
    let page = audit.url("recipes/planned-output.html");
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    browser.open(&page);
    let all_show = |language: &str| {
        format!(
            "[...document.querySelectorAll('.tabs')].every(group => {{
                const shown = [...group.querySelectorAll('[role=tabpanel]')]
                    .filter(panel => panel.checkVisibility({{ contentVisibilityAuto: true }}) && !panel.hidden);
                const tab = group.querySelector('[aria-selected=true]');
                return shown.length === 1 && tab.textContent === '{language}' && tab.tabIndex === 0
                    && shown[0].getAttribute('aria-labelledby') === tab.id
                    && document.getElementById(tab.getAttribute('aria-controls')) === shown[0];
            }})"
        )
    };
    assert!(browser.holds("document.querySelectorAll('.tabs [role=tablist]').length === 2"));
    assert!(browser.holds(&all_show("Rust")), "the first at first");

    // By keyboard: one stop for each group, arrows inside, and mdBook does not turn the page.
    assert!(browser.tab_to("Tab", "[role=tab]"));
    for (key, language) in [
        ("ArrowRight", "C++"),
        ("ArrowLeft", "Rust"),
        ("ArrowLeft", "Python"),
        ("ArrowRight", "Rust"),
        ("End", "Python"),
    ] {
        browser.press(key);
        assert!(browser.holds(&all_show(language)), "{key} shows {language}");
        assert!(browser.holds(&format!(
            "document.activeElement.textContent === '{language}'"
        )));
    }
    assert!(browser.holds("location.pathname.endsWith('planned-output.html')"));
    require_none(&audit.axe(&mut browser, "tabs of Python"));

    // Kept on other pages, and where there is no such language the first is shown.
    browser.visit(&audit.url("recipes/pair-the-input-skip.html"));
    assert!(browser.holds(&all_show("Python")));
    browser.visit(&audit.url("recipes/caller-output.html"));
    assert!(browser.holds(&all_show("Rust")));

    // A link into a tab that is not shown shows it.
    browser.visit(&page);
    assert!(browser.holds(&all_show("Python")));
    browser.evaluate(
        "document.querySelector('.claim-proof[href=\"#listing-planned-output\"]').click()",
    );
    assert!(browser.comes_to_hold(&all_show("Rust")));
    browser.visit(&audit.url("index.html"));
    browser.visit(&format!("{page}#listing-planned-output.cc"));
    assert!(browser.comes_to_hold(&all_show("C++")));
}

#[test]
fn a_message_pasted_whole_is_found() {
    let audit = Audit::new(&site(), &axe());
    let mut browser = Browser::start();
    browser.set_up(Scheme::Light, 1280);
    // Error texts stand under a heading of this name; a text block elsewhere may be anything.
    let mut errors = BTreeSet::new();
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for page in audit.pages() {
        browser.open(&audit.url(&page));
        let messages = browser.evaluate(
            "[...document.querySelectorAll('.message')].map(message =>
                [message.innerText.trim(), message.matches('#when-it-fails ~ .message')])",
        );
        for message in messages.as_array().into_iter().flatten() {
            let text = message[0].as_str().unwrap_or_default().to_owned();
            if message[1] == true {
                errors.insert(text.clone());
            }
            shown.entry(text).or_default().push(audit.url(&page));
        }
    }
    assert!(!errors.is_empty(), "the pages show how it fails");
    for message in errors {
        browser.open(&audit.url("index.html"));
        browser.press("/");
        browser.paste(&message);
        let result = "document.querySelector('#mdbook-searchresults a')";
        assert!(
            browser.comes_to_hold(&format!("{result} !== null")),
            "search does not find: {message}"
        );
        let found = browser.evaluate(&format!("{result}.href"));
        let found = found.as_str().unwrap_or_default().to_owned();
        // Shown as a message, or a cell of one of the tables of all messages.
        browser.open(&found);
        let cells =
            "[...document.querySelectorAll('main td code')].map(cell => cell.innerText.trim())";
        let cells = browser.evaluate(cells);
        let in_a_cell = cells.as_array().is_some_and(|cells| {
            let mut cells = cells.iter().filter_map(|cell| cell.as_str());
            cells.any(|cell| cell.contains(&message))
        });
        assert!(
            in_a_cell || shown[&message].iter().any(|page| found.starts_with(page)),
            "search leads to {found}, which does not show: {message}"
        );
    }
}

#[test]
fn pages_are_whole_without_scripts() {
    let audit = Audit::new(&site(), &axe());
    let mut browser = Browser::start();
    let pages = audit.pages();
    let mut findings = Vec::new();
    for width in WIDTHS {
        findings.extend(
            pages
                .iter()
                .flat_map(|page| audit.without_scripts(&mut browser, page, width)),
        );
    }
    require_none(&findings);

    // The next page is one link away, and all of them are behind the sidebar's box, which the keyboard reaches.
    browser.set_up(Scheme::Light, 1280);
    browser.set_scripts(false);
    browser.open(&audit.url("index.html"));
    assert!(browser.tab_to("Tab", ".nav-wrapper a[rel~=next]"));
    browser.wait_for_navigation(|browser| browser.press("Enter"));
    assert!(browser.holds(
        "!location.pathname.endsWith('index.html') && document.querySelector('main h1') !== null"
    ));
    let shown =
        "document.getElementById('mdbook-sidebar').checkVisibility({ checkVisibilityCSS: true })";
    assert!(browser.holds(&format!("!{shown}")));
    assert!(browser.tab_to("Shift+Tab", "#mdbook-sidebar-toggle-anchor"));
    browser.press(" ");
    assert!(
        browser.comes_to_hold(shown),
        "the space bar opens the sidebar"
    );
    let frame = "document.querySelector('#mdbook-sidebar iframe').contentDocument";
    assert!(browser.comes_to_hold(&format!(
        "{frame}.querySelectorAll('a').length >= {}",
        pages.len() - 1
    )));
}

#[test]
fn everybody_may_read_every_file() {
    let mut folders = vec![site()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)
            .expect("the site can be read")
            .flatten()
        {
            let metadata = entry.metadata().expect("a file or a folder");
            assert_eq!(metadata.mode() & 0o044, 0o044, "{}", entry.path().display());
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    assert!(files > 60, "{files} files");
}

/// A fault, the markup that plants it at the end of a page's text, and the kinds of findings that it must cause.
const FAULTS: &[(&str, &str, &[&str])] = &[
    (
        "a pale text",
        "<p style='color: #999; background: #fff'>pale</p>",
        &["color-contrast"],
    ),
    (
        "a picture without a text",
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
        &["image-alt"],
    ),
    ("a box without a label", "<input>", &["label"]),
    (
        "a link to nothing",
        "<a href=index.html></a>",
        &["link-name", "focus"],
    ),
    (
        "a third party's picture",
        "<img src='https://example.com/x.png' alt=''>",
        &["foreign-request", "console"],
    ),
    (
        "an error message",
        "<script>console.error('planted')</script>",
        &["console"],
    ),
    (
        "an exception",
        "<script>throw new Error('planted')</script>",
        &["console"],
    ),
    (
        "a file that is not there",
        "<script src=gone.js></script>",
        &["console"],
    ),
    (
        "a heavy picture",
        "<img src=planted.png alt=''>",
        &["weight"],
    ),
    (
        "a wide box",
        "<div style='width: 2000px'>wide</div>",
        &["cut-off"],
    ),
    (
        "a script that changes code",
        "<pre><code>a</code></pre><script>document.querySelector('main pre > code').textContent = 'b'</script>",
        &["code"],
    ),
    (
        "one scheme only",
        "<style>html { background: #fff !important }</style>",
        &["scheme"],
    ),
    (
        "no focus ring",
        "<style>.content a:focus-visible { outline: none }</style>",
        &["focus"],
    ),
    (
        "a stop out of sight",
        "<a href=index.html style='position: absolute; left: -9999px'>gone</a>",
        &["focus"],
    ),
    (
        "text that a script shows",
        "<style>html:not(.js) main { display: none }</style>",
        &["without-script"],
    ),
];

#[test]
fn each_planted_fault_is_found() {
    let (site, axe) = (site(), axe());
    let copy = tempfile::tempdir().expect("a temporary folder");
    copy_folder(&site, copy.path());
    // Nothing compresses it: each byte follows from all before.
    let noise = (0..audit::BUDGET).scan(1_u32, |state, _| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(state.to_be_bytes()[0])
    });
    fs::write(copy.path().join("planted.png"), noise.collect::<Vec<_>>())
        .expect("the copy can be written");
    let page = fs::read_to_string(site.join("404.html"))
        .expect("mdBook makes a page for what is not found");
    let audit = Audit::new(copy.path(), &axe);
    let mut browser = Browser::start();
    let mut look = |markup: &str| {
        let (before, after) = page.split_once("</main>").expect("the page has a text");
        fs::write(
            copy.path().join("planted.html"),
            format!("{before}{markup}</main>{after}"),
        )
        .expect("the copy can be written");
        let mut findings = audit.page(&mut browser, "planted.html", 1280);
        findings.extend(audit.keyboard(&mut browser, "planted.html", 1280));
        findings.extend(audit.without_scripts(&mut browser, "planted.html", 1280));
        findings
    };
    require_none(&look(""));
    let mut missed = Vec::new();
    for (fault, markup, expected) in FAULTS {
        let findings = look(markup);
        let found: BTreeSet<&str> = findings
            .iter()
            .map(|finding| finding.kind.as_str())
            .collect();
        if found != expected.iter().copied().collect() {
            missed.push(format!(
                "  {fault}: expected {expected:?}, found {findings:?}\n"
            ));
        }
    }
    assert!(
        missed.is_empty(),
        "faults missed or mistaken:\n{}",
        missed.concat()
    );
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the copy can be written");
    for entry in fs::read_dir(from).expect("the site can be read").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the copy can be written");
        }
    }
}
