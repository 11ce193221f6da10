//! `book.toml`: mdBook ignores a key that it does not know in some tables, and all of its table with it.

use std::fs;
use std::path::Path;

use mdbook_preprocessor::config::{Config, HtmlConfig};
use serde::Deserialize;

use crate::failure::{Failure, Failures, Kind};
use crate::workspace::Workspace;

/// `[preprocessor.guide]` of `book.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// For mdBook: the command that it runs. Named here so that a misspelt key is found.
    #[serde(default)]
    pub command: String,
    /// For mdBook: must hold `links`.
    #[serde(default)]
    pub before: Vec<String>,
    /// Pages that state nothing about behaviour, and so have no `{{strip}}`: paths in `src/`.
    #[serde(default)]
    pub without_strip: Vec<String>,
    /// The page of errors that readers meet, on which no stand-in may speak: a path in `src/`.
    #[serde(default = "error_index")]
    pub error_index: String,
}

fn error_index() -> String {
    "when-it-fails/errors.md".to_owned()
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            command: String::new(),
            before: vec!["links".to_owned()],
            without_strip: Vec::new(),
            error_index: error_index(),
        }
    }
}

/// The line of `book.toml` that has `text`, from 1; 1 where none has.
pub(crate) fn line_of(workspace: &Workspace, text: &str) -> usize {
    fs::read_to_string(workspace.root().join("book.toml"))
        .ok()
        .and_then(|config| config.lines().position(|line| line.contains(text)))
        .map_or(1, |index| index + 1)
}

/// Reads `book.toml` as mdBook does.
pub(crate) fn read(workspace: &Workspace) -> Result<Config, Failures> {
    Config::from_disk(workspace.root().join("book.toml")).map_err(|error| {
        let expected = "a configuration that mdBook reads";
        let seen = format!("{error:#}");
        Failure::new(
            Kind::ConfigValue,
            "book.toml",
            "book.toml",
            1,
            expected,
            seen,
        )
        .into()
    })
}

/// Reads our settings and checks the rest of the configuration as mdBook read it.
pub(crate) fn check(workspace: &Workspace, config: &Config) -> (Settings, Vec<Failure>) {
    let mut failures = Vec::new();
    let wrong = |kind, key: &str, expected: &str, seen: &str| {
        Failure::new(
            kind,
            key,
            "book.toml",
            line_of(workspace, key),
            expected,
            seen,
        )
    };
    let settings: Settings = match config.get("preprocessor.guide") {
        Ok(settings) => settings.unwrap_or_default(),
        Err(error) => {
            failures.push(unknown_key(
                workspace,
                "preprocessor.guide",
                &error.root_cause().to_string(),
            ));
            Settings::default()
        }
    };
    if !settings.before.iter().any(|name| name == "links") {
        let seen = settings.before.join(", ");
        failures.push(wrong(
            Kind::ConfigValue,
            "before",
            "`before = [\"links\"]`",
            &seen,
        ));
    }
    if config.build.create_missing {
        let expected = "`create-missing = false`, else a missing page is made empty";
        failures.push(wrong(
            Kind::ConfigValue,
            "create-missing",
            expected,
            "true, which is also its default",
        ));
    }
    if !config.build.use_default_preprocessors {
        let expected = "`use-default-preprocessors = true`, else includes are not done";
        failures.push(wrong(
            Kind::ConfigValue,
            "use-default-preprocessors",
            expected,
            "false",
        ));
    }
    match config.get::<HtmlConfig>("output.html") {
        Ok(html) => {
            if html.unwrap_or_default().playground.runnable {
                let expected = "`playground.runnable = false`, else pages ask play.rust-lang.org";
                failures.push(wrong(
                    Kind::ConfigValue,
                    "runnable",
                    expected,
                    "true, which is also its default",
                ));
            }
        }
        Err(error) => failures.push(unknown_key(
            workspace,
            "output.html",
            &error.root_cause().to_string(),
        )),
    }
    (settings, failures)
}

/// A table that mdBook would silently replace by its defaults.
fn unknown_key(workspace: &Workspace, table: &str, error: &str) -> Failure {
    let key = error.split('`').nth(1).unwrap_or(table);
    Failure::new(
        Kind::ConfigKey,
        key,
        "book.toml",
        line_of(workspace, key),
        format!("keys and values that [{table}] has"),
        error.lines().next().unwrap_or_default(),
    )
}

/// The folder of the pages, relative to the root.
pub(crate) fn src(config: &Config) -> &Path {
    &config.book.src
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr as _;

    const GOOD: &str = "[book]\ntitle = \"T\"\n[build]\ncreate-missing = false\n[preprocessor.guide]\ncommand = \"x\"\n\
                        before = [\"links\"]\n[output.html]\nplayground.runnable = false\n";

    fn kinds(config: &str) -> Vec<(Kind, String, usize)> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("book.toml"), config).unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let (_, failures) = check(&workspace, &Config::from_str(config).unwrap());
        failures
            .into_iter()
            .map(|failure| (failure.kind, failure.id, failure.line))
            .collect()
    }

    #[test]
    fn a_good_configuration_passes() {
        assert_eq!(kinds(GOOD), []);
    }

    #[test]
    fn a_key_that_nothing_reads_is_found() {
        let html = GOOD.replace(
            "playground.runnable = false",
            "playground.runnable = false\nsmart-punctation = false",
        );
        assert_eq!(
            kinds(&html),
            [(Kind::ConfigKey, "smart-punctation".into(), 10)]
        );
        let ours = GOOD.replace("before =", "witout-strip = []\nbefore =");
        assert_eq!(kinds(&ours), [(Kind::ConfigKey, "witout-strip".into(), 7)]);
        let optional = GOOD.replace("before =", "optional = true\nbefore =");
        assert_eq!(kinds(&optional), [(Kind::ConfigKey, "optional".into(), 7)]);
    }

    #[test]
    fn a_setting_that_lets_faults_pass_is_found() {
        for (from, to, key) in [
            (
                "playground.runnable = false",
                "playground.copyable = true",
                "runnable",
            ),
            (
                "create-missing = false",
                "create-missing = true",
                "create-missing",
            ),
            (
                "create-missing = false",
                "create-missing = false\nuse-default-preprocessors = false",
                "use-default-preprocessors",
            ),
            ("before = [\"links\"]", "before = [\"index\"]", "before"),
        ] {
            let found = kinds(&GOOD.replace(from, to));
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!((found[0].0, found[0].1.as_str()), (Kind::ConfigValue, key));
        }
    }
}
