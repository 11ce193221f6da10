//! What a page of the site must be, whatever is on it; and what is found where it is not.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use crate::browser::{Browser, Scheme};
use crate::server::{Server, file_of};

/// The first visit to any page, in bytes as a server with gzip sends them.
pub const BUDGET: usize = 110_000;

/// A desktop and a telephone, in CSS pixels.
pub const WIDTHS: [u32; 2] = [1280, 390];

/// Something that a page must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// An axe rule, or one of `console`, `foreign-request`, `weight`, `cut-off`, `code`, `scheme`, `focus`, `without-script`.
    pub kind: String,
    /// The page and the circumstances.
    pub place: String,
    /// What there is.
    pub seen: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}: {}", self.place, self.kind, self.seen)
    }
}

/// Looks at the pages of one built site.
pub struct Audit {
    folder: PathBuf,
    server: Server,
    axe: String,
}

impl Audit {
    /// Serves the site in `folder`; `axe` is the text of axe-core.
    pub fn new(folder: &Path, axe: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            server: Server::start(folder),
            axe: axe.to_owned(),
        }
    }

    /// The address of `page`.
    pub fn url(&self, page: &str) -> String {
        self.server.url(page)
    }

    /// Every page, relative to the site. `toc.html` is none: it is a frame of the others where there is no JavaScript.
    pub fn pages(&self) -> Vec<String> {
        let mut pages = Vec::new();
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path
                    .extension()
                    .is_some_and(|extension| extension == "html")
                    && entry.file_name() != "toc.html"
                {
                    let page = path.strip_prefix(&self.folder).unwrap_or(&path);
                    pages.push(page.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        pages.sort();
        pages
    }

    /// Everything that is wrong with `page` as a first visitor gets it, at one width, in both colour schemes.
    pub fn page(&self, browser: &mut Browser, page: &str, width: u32) -> Vec<Finding> {
        let mut findings = Vec::new();
        browser.set_up(Scheme::Light, width);
        browser.open(&self.url(page));
        let requests = browser.activity().requests;
        for scheme in Scheme::BOTH {
            browser.set_scheme(scheme);
            browser.settle();
            let place = format!("{page} ({width} px, {})", scheme.name());
            findings.extend(scheme_is_followed(browser, scheme, &place));
            findings.extend(self.axe(browser, &place));
            if let Some(folder) = std::env::var_os("GUIDE_PICTURES") {
                let name = format!(
                    "{}-{width}-{}.png",
                    page.trim_end_matches(".html").replace('/', "-"),
                    scheme.name()
                );
                fs::write(Path::new(&folder).join(name), browser.picture())
                    .expect("GUIDE_PICTURES names a folder");
            }
        }
        let place = format!("{page} ({width} px)");
        let mut find = |kind: &str, seen: String| {
            findings.push(Finding {
                kind: kind.to_owned(),
                place: place.clone(),
                seen,
            });
        };
        if let Some(name) = browser.evaluate(CUT_OFF).as_str() {
            find(
                "cut-off",
                format!("`{name}` reaches beyond the window, where nothing scrolls"),
            );
        }
        if let Some(code) = browser.evaluate(CODE_CHANGED).as_str() {
            find(
                "code",
                format!("a script changes `{code}`, which a reader copies"),
            );
        }
        let activity = browser.activity();
        for message in activity.console {
            find("console", message);
        }
        for url in &activity.requests {
            if !url.starts_with(self.server.origin()) && !url.starts_with("data:") {
                find("foreign-request", url.clone());
            }
        }
        let weight = self.weight(browser, &requests);
        if weight > BUDGET {
            find(
                "weight",
                format!("the first visit is {weight} bytes, of {BUDGET} allowed"),
            );
        }
        findings
    }

    /// What axe-core says about the page as it stands.
    pub fn axe(&self, browser: &mut Browser, place: &str) -> Vec<Finding> {
        if !browser.holds("'axe' in window") {
            browser.evaluate(&format!("{};0", self.axe));
        }
        let violations = browser.evaluate(
            "axe.run(document, { resultTypes: ['violations'], preload: false }).then(({ violations }) => \
             violations.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => [id, help, target.join(' ')])))",
        );
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        violations
            .as_array()
            .into_iter()
            .flatten()
            .map(|violation| Finding {
                kind: text(&violation[0]),
                place: place.to_owned(),
                seen: format!("{} at `{}`", text(&violation[1]), text(&violation[2])),
            })
            .collect()
    }

    /// The bytes that a server with gzip sends for the page that is open: all `requests`, and the icon, which a browser
    /// with a window asks for too.
    pub fn weight(&self, browser: &mut Browser, requests: &[String]) -> usize {
        let icons = browser
            .evaluate("[...document.querySelectorAll('link[rel~=icon]')].map(link => link.href)");
        let icons = icons
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let urls: BTreeSet<&str> = requests.iter().map(String::as_str).chain(icons).collect();
        urls.into_iter()
            .filter_map(|url| url.strip_prefix(self.server.origin()))
            .filter_map(|path| {
                fs::read(file_of(&self.folder, path)?)
                    .ok()
                    .map(|content| sent(path, &content))
            })
            .sum()
    }

    /// Everything that is wrong with `page` for a reader who has only a keyboard: each stop of the Tab key must be seen.
    pub fn keyboard(&self, browser: &mut Browser, page: &str, width: u32) -> Vec<Finding> {
        browser.set_up(Scheme::Light, width);
        browser.open(&self.url(page));
        let mut findings = Vec::new();
        let mut stops = 0;
        loop {
            browser.press("Tab");
            let stop = browser.evaluate(FOCUS);
            let Some(name) = stop["name"].as_str() else {
                break;
            };
            stops += 1;
            if let Some(fault) = stop["fault"].as_str() {
                findings.push(Finding {
                    kind: "focus".to_owned(),
                    place: format!("{page} ({width} px, Tab {stops})"),
                    seen: format!("`{name}` {fault}"),
                });
            }
        }
        if stops < 5 {
            findings.push(Finding {
                kind: "focus".to_owned(),
                place: format!("{page} ({width} px)"),
                seen: format!("the Tab key stops {stops} times"),
            });
        }
        findings
    }

    /// Everything that is wrong with `page` where scripts do not run.
    pub fn without_scripts(&self, browser: &mut Browser, page: &str, width: u32) -> Vec<Finding> {
        browser.set_up(Scheme::Light, width);
        browser.set_scripts(false);
        browser.open(&self.url(page));
        let faults = browser.evaluate(WITHOUT_SCRIPT);
        let mut findings: Vec<Finding> = faults
            .as_array()
            .into_iter()
            .flatten()
            .map(|fault| Finding {
                kind: "without-script".to_owned(),
                place: format!("{page} ({width} px)"),
                seen: fault.as_str().unwrap_or_default().to_owned(),
            })
            .collect();
        for scheme in Scheme::BOTH {
            browser.set_scheme(scheme);
            findings.extend(scheme_is_followed(
                browser,
                scheme,
                &format!("{page} ({width} px, no scripts, {})", scheme.name()),
            ));
        }
        browser.set_scripts(true);
        findings
    }
}

/// The first element of the text that a reader cannot bring into the window, by name.
const CUT_OFF: &str = "(() => {
    const scrolls = element => element !== null && element.localName !== 'main'
        && (getComputedStyle(element).overflowX !== 'visible' || scrolls(element.parentElement));
    const cut = [...document.querySelectorAll('main *')].find(element =>
        element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element.parentElement));
    return cut && `${cut.localName} ${cut.textContent.trim().slice(0, 40)}`;
})()";

/// The first block of code whose text, hidden lines and all, is not the text that the page was sent with.
const CODE_CHANGED: &str = "fetch(location.href).then(page => page.text()).then(page => {
    const blocks = root => [...root.querySelectorAll('pre > code')].map(code => code.textContent);
    const sent = blocks(new DOMParser().parseFromString(page, 'text/html'));
    return blocks(document).find((code, index) => code !== sent[index])?.trim().slice(0, 40);
})";

/// The element that has the focus, by name, and what is wrong with it; without a name behind the last stop.
const FOCUS: &str = "(() => {
    const at = document.activeElement;
    const before = window.stops ??= new Set([document.body]);
    if (before.has(at)) return {};
    before.add(at);
    const box = at.getBoundingClientRect();
    const style = getComputedStyle(at);
    const name = at.id ? `#${at.id}` : `${at.localName} ${(at.getAttribute('aria-label') ?? at.textContent).trim().slice(0, 40)}`;
    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    const inside = box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    return { name, fault: !inside ? 'is out of sight' : !ring ? 'shows no focus ring' : null };
})()";

/// What a page lacks that must be there without scripts.
const WITHOUT_SCRIPT: &str = "(() => {
    const faults = [];
    const main = document.querySelector('main');
    const shown = element => element && element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
    if (document.documentElement.classList.contains('js')) faults.push('scripts ran');
    if (!shown(main?.querySelector('h1')) || main.innerText.trim().length < 20) faults.push('the text is not shown');
    for (const block of main?.querySelectorAll('pre, table, details') ?? []) {
        if (!shown(block)) faults.push(`${block.localName} is not shown`);
    }
    return faults;
})()";

/// Whether the page has the ground of `scheme`.
fn scheme_is_followed(browser: &mut Browser, scheme: Scheme, place: &str) -> Option<Finding> {
    let ground = browser.evaluate(
        "(getComputedStyle(document.documentElement).backgroundColor.match(/[0-9.]+/g) ?? []).slice(0, 3).map(Number)",
    );
    let brightness: f64 = ground
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .sum::<f64>()
        / 3.0;
    let seen = if brightness > 127.0 {
        Scheme::Light
    } else {
        Scheme::Dark
    };
    (seen != scheme).then(|| Finding {
        kind: "scheme".to_owned(),
        place: place.to_owned(),
        seen: format!(
            "the page is {} where the system asks for {}",
            seen.name(),
            scheme.name()
        ),
    })
}

/// How many bytes a server with gzip sends for a file: text is compressed, the rest goes as it is.
fn sent(path: &str, content: &[u8]) -> usize {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    if !matches!(
        extension,
        None | Some("html" | "css" | "js" | "json" | "svg" | "wasm" | "txt")
    ) {
        return content.len();
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(content).expect("memory takes all");
    gzip.finish().expect("memory takes all").len()
}
