//! Checks the built book: that it came through the preprocessor, and that nothing in it leads nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::failure::{Failure, Failures, Kind};
use crate::html::{Tag, tags};
use crate::include::normalise;
use crate::llms;
use crate::markdown::{DIRECTIVE, has_scheme};
use crate::pattern::regex;
use crate::record::{RunRecord, run_mark};
use crate::workspace::{Workspace, files_below, write_whole};

/// Pages that mdBook makes itself.
const OF_MDBOOK: &[&str] = &["404.html", "print.html", "toc.html"];

/// What a browser loads besides pages.
const LOADED: &[&str] = &[
    "js", "css", "wasm", "woff2", "woff", "ttf", "svg", "png", "ico",
];

/// What mdBook puts into the name of a file so that a browser sees when it changes.
static HASH: LazyLock<Regex> = LazyLock::new(|| regex(r"-[0-9a-f]{8}\."));

/// Something in a style sheet that comes from elsewhere.
static REMOTE_STYLE: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?:url\(\s*['"]?|@import\s+['"])(?:https?:)?//[^'")\s]*"#));

/// What the licences of the site's parts ask to go with them: files of the workspace, and their names in the site.
pub(crate) const NOTICES: [(&str, &str); 3] = [
    ("THIRD-PARTY.md", "THIRD-PARTY.txt"),
    ("LICENSE-MIT", "LICENSE-MIT.txt"),
    ("LICENSE-APACHE", "LICENSE-APACHE.txt"),
];

/// The last line of every page: links to the notices. `page` is a path in `src/`.
pub(crate) fn notices(page: &str) -> String {
    let root = "../".repeat(page.matches('/').count());
    let [third_party, mit, apache] = NOTICES.map(|(_, name)| format!("{root}{name}"));
    format!(
        "<footer class=\"notices\">Licensed under <a href=\"{mit}\">MIT</a> or <a href=\"{apache}\">Apache-2.0</a>; \
         <a href=\"{third_party}\">third-party notices</a></footer>"
    )
}

/// Checks the book in the folder `site` against the record of the last run, and puts `claims.json`, `llms.txt` and the notices into it.
///
/// # Errors
///
/// Every page that is missing, foreign or without this run's id; every directive, dead link and foreign request in it.
pub fn check(workspace: &Workspace, site: &Path) -> Result<RunRecord, Failures> {
    let record = read_record(workspace)?;
    let root = site.canonicalize().unwrap_or_else(|_| site.to_owned());
    let mut checker = Checker {
        shown: workspace.relative(&root),
        pages: BTreeMap::new(),
        failures: Vec::new(),
        root,
    };
    checker.read();
    checker.add_notices(workspace);
    checker.check_pages(&record);
    checker.check_links();
    checker.check_styles();
    checker.check_origins(workspace);
    if !checker.failures.is_empty() {
        return Err(Failures::new(checker.failures));
    }
    let claims = serde_json::to_vec_pretty(&record.claims).unwrap_or_default();
    let summary = fs::read_to_string(workspace.root().join("src/SUMMARY.md")).unwrap_or_default();
    let llms = llms::text(&summary, &checker.root);
    for (name, bytes) in [("claims.json", claims), ("llms.txt", llms.into_bytes())] {
        write_whole(&checker.root.join(name), &bytes).map_err(|error| {
            Failure::new(
                Kind::RunFails,
                name,
                checker.file(name),
                1,
                "a file that can be written",
                error.to_string(),
            )
        })?;
    }
    Ok(record)
}

fn read_record(workspace: &Workspace) -> Result<RunRecord, Failures> {
    let path = workspace.run_record();
    let missing = |seen: String| {
        Failure::new(
            Kind::RunRecordMissing,
            "run.json",
            workspace.relative(&path),
            1,
            "the record of the run that proved this book",
            seen,
        )
    };
    let text = fs::read_to_string(&path).map_err(|error| missing(error.to_string()))?;
    Ok(serde_json::from_str(&text).map_err(|error| missing(error.to_string()))?)
}

/// A page of the site that has been read.
struct SitePage {
    text: String,
    tags: Vec<Tag>,
    ids: BTreeSet<String>,
    /// Where its relative links start: the folder of the page, or what `<base>` says.
    base: PathBuf,
}

impl SitePage {
    fn line(&self, offset: usize) -> usize {
        self.text[..offset].matches('\n').count() + 1
    }
}

struct Checker {
    /// The folder of the site, absolute.
    root: PathBuf,
    /// The folder as reports show it.
    shown: String,
    pages: BTreeMap<String, SitePage>,
    failures: Vec<Failure>,
}

impl Checker {
    fn file(&self, path: &str) -> String {
        format!("{}/{path}", self.shown)
    }

    fn fail(&mut self, kind: Kind, id: &str, path: &str, line: usize, expected: &str, seen: &str) {
        let failure = Failure::new(kind, id, self.file(path), line, expected, seen);
        self.failures.push(failure);
    }

    fn read(&mut self) {
        for path in files_below(&self.root, "html") {
            let Ok(text) = fs::read_to_string(self.root.join(&path)) else {
                self.fail(
                    Kind::PageNotBuilt,
                    &path,
                    &path,
                    1,
                    "a page that can be read",
                    "an unreadable file",
                );
                continue;
            };
            let tags = tags(&text);
            let ids = tags
                .iter()
                .flat_map(|tag| [tag.get("id"), tag.get("name")])
                .flatten()
                .map(str::to_owned)
                .collect();
            let base = if tags.iter().any(|tag| tag.name == "base") {
                self.root.clone()
            } else {
                self.root
                    .join(&path)
                    .parent()
                    .unwrap_or(&self.root)
                    .to_owned()
            };
            self.pages.insert(
                path,
                SitePage {
                    text,
                    tags,
                    ids,
                    base,
                },
            );
        }
    }

    fn add_notices(&mut self, workspace: &Workspace) {
        for (file, name) in NOTICES {
            let added = fs::read(workspace.root().join(file))
                .and_then(|text| write_whole(&self.root.join(name), &text));
            if let Err(error) = added {
                self.failures.push(Failure::new(
                    Kind::NoticesMissing,
                    file,
                    file,
                    1,
                    format!("a notice that the site carries as {name}"),
                    error.to_string(),
                ));
            }
        }
    }

    fn check_pages(&mut self, record: &RunRecord) {
        let mark = run_mark(&record.run);
        let mut expected: BTreeSet<String> =
            OF_MDBOOK.iter().map(|page| (*page).to_owned()).collect();
        for page in &record.pages {
            let html = html_path(&page.path);
            let Some(built) = self.pages.get(&html) else {
                self.fail(
                    Kind::PageNotBuilt,
                    &page.path,
                    &html,
                    1,
                    "a page for every line of SUMMARY.md",
                    "no such file",
                );
                expected.insert(html);
                continue;
            };
            let marked = built.text.contains(&mark);
            let noticed = built.text.contains(&notices(&page.path));
            let other = built.text.contains("<!-- guide-run: ");
            let directives: Vec<_> = DIRECTIVE
                .find_iter(&built.text)
                .map(|found| (built.line(found.start()), found.as_str().to_owned()))
                .collect();
            if !marked {
                let seen = if other {
                    "the id of another run"
                } else {
                    "no id: the preprocessor did not run"
                };
                self.fail(Kind::RunIdMissing, &page.path, &html, 1, &mark, seen);
            }
            if marked && !noticed {
                let expected = "links to the licences and the third-party notices at its end";
                self.fail(Kind::NoticesMissing, &page.path, &html, 1, expected, "none");
            }
            if directives.len() > page.literals {
                for (line, seen) in directives {
                    self.fail(
                        Kind::DirectiveLeft,
                        &page.path,
                        &html,
                        line,
                        "what the directive stands for",
                        &seen,
                    );
                }
            }
            expected.insert(html);
        }
        // mdBook shows the first page as index.html too.
        expected.insert("index.html".to_owned());
        let unknown: Vec<_> = self
            .pages
            .keys()
            .filter(|page| !expected.contains(*page))
            .cloned()
            .collect();
        for page in unknown {
            self.fail(
                Kind::PageUnknown,
                &page,
                &page,
                1,
                "the pages of SUMMARY.md and no others",
                "a page that it does not name",
            );
        }
    }

    fn check_links(&mut self) {
        let mut failures = Vec::new();
        for (path, page) in &self.pages {
            for tag in page.tags.iter().filter(|tag| !tag.closing) {
                let line = || page.line(tag.offset);
                for (target, is_request) in targets(tag) {
                    if has_scheme(target) || target.starts_with("//") {
                        if is_request && !target.starts_with("data:") {
                            failures.push(Failure::new(
                                Kind::ThirdPartyRequest,
                                target,
                                self.file(path),
                                line(),
                                "nothing from other servers",
                                format!("<{}> asks for it", tag.name),
                            ));
                        }
                        continue;
                    }
                    if let Some((kind, expected, seen)) = self.broken(path, page, target) {
                        failures.push(Failure::new(
                            kind,
                            target,
                            self.file(path),
                            line(),
                            expected,
                            seen,
                        ));
                    }
                }
            }
        }
        self.failures.extend(failures);
    }

    /// What is wrong with a link inside the site.
    fn broken(&self, path: &str, page: &SitePage, target: &str) -> Option<(Kind, String, String)> {
        let (file, fragment) = target
            .split_once('#')
            .map_or((target, None), |(file, fragment)| (file, Some(fragment)));
        let file = file
            .split('?')
            .next()
            .unwrap_or_default()
            .replace("%20", " ");
        let linked = if file.is_empty() {
            path.to_owned()
        } else {
            let absolute = match file.strip_prefix('/') {
                Some(from_root) => self.root.join(from_root),
                None => normalise(&page.base.join(&file)),
            };
            let absolute = if absolute.is_dir() {
                absolute.join("index.html")
            } else {
                absolute
            };
            if !absolute.is_file() {
                return Some((
                    Kind::SiteLinkBroken,
                    "a file of the site".to_owned(),
                    "no such file".to_owned(),
                ));
            }
            absolute
                .strip_prefix(&self.root)
                .ok()?
                .to_string_lossy()
                .into_owned()
        };
        let fragment = fragment.filter(|fragment| !fragment.is_empty())?;
        let known = self.pages.get(&linked)?;
        let fragment = fragment.replace("%20", " ");
        (!known.ids.contains(&fragment)).then(|| {
            (
                Kind::SiteFragmentBroken,
                format!("a place on {linked}"),
                "no such id".to_owned(),
            )
        })
    }

    /// Whatever a browser loads besides pages is this repository's, or THIRD-PARTY.md names it.
    fn check_origins(&mut self, workspace: &Workspace) {
        let (notices, _) = NOTICES[0];
        let Ok(text) = fs::read_to_string(workspace.root().join(notices)) else {
            // That it is missing is said already.
            return;
        };
        let ours = ["theme", "src", "."].map(|folder| workspace.root().join(folder));
        let loaded: Vec<_> = LOADED
            .iter()
            .flat_map(|extension| files_below(&self.root, extension))
            .collect();
        for path in loaded {
            let name = HASH.replace(&path, ".");
            let named = HASH.replace(&path, "-*.");
            let is_known = ours.iter().any(|folder| folder.join(&*name).is_file())
                || text.contains(&format!("`{named}`"));
            if !is_known {
                let expected = format!("a file of this repository, or `{named}` in {notices}");
                let seen = "nobody says whose it is";
                self.fail(Kind::NoticesMissing, &name, &name, 1, &expected, seen);
            }
        }
    }

    fn check_styles(&mut self) {
        let mut styles: Vec<(String, String)> = files_below(&self.root, "css")
            .into_iter()
            .filter_map(|path| Some((path.clone(), fs::read_to_string(self.root.join(path)).ok()?)))
            .collect();
        styles.extend(
            self.pages
                .iter()
                .map(|(path, page)| (path.clone(), page.text.clone())),
        );
        for (path, text) in styles {
            for found in REMOTE_STYLE.find_iter(&text) {
                let line = text[..found.start()].matches('\n').count() + 1;
                self.fail(
                    Kind::ThirdPartyRequest,
                    found.as_str(),
                    &path,
                    line,
                    "nothing from other servers",
                    "a style asks for it",
                );
            }
        }
    }
}

/// The attributes of a tag that name something, and whether a browser asks for it by itself.
fn targets(tag: &Tag) -> Vec<(&str, bool)> {
    let mut targets = Vec::new();
    for (name, value) in &tag.attributes {
        let is_request = match (tag.name.as_str(), name.as_str()) {
            ("a" | "area" | "base", "href") => false,
            ("link", "href") => !matches!(
                tag.get("rel"),
                Some("canonical" | "next" | "prev" | "license")
            ),
            (_, "src" | "poster" | "data" | "xlink:href") | ("use" | "image", "href") => true,
            (_, "srcset") => {
                targets.extend(
                    value
                        .split(',')
                        .filter_map(|part| Some((part.split_whitespace().next()?, true))),
                );
                continue;
            }
            _ => continue,
        };
        if tag.name != "base" {
            targets.push((value.as_str(), is_request));
        }
    }
    targets
}

/// The built page of a page of `src/`.
fn html_path(path: &str) -> String {
    Path::new(path)
        .with_extension("html")
        .to_string_lossy()
        .into_owned()
}
