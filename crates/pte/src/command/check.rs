//! `pte check`.

use crate::lint::{self, Answer, Conditions, Data, Finding, Level, Origin, Part};
use crate::{DataFile, Files, Limits, Method, Program};
use annotate_snippets::{
    AnnotationKind, Group, Level as Severity, Origin as Place, Renderer, Snippet,
};
use serde::Serialize;
use std::path::PathBuf;

use super::args::{Check, Format};
use super::describe::{clean, planned, plural, row, table};
use super::input::Input;
use super::{FINE, FOUND, JSON_VERSION, Outcome, PAGES, json, sarif, show};

/// What `pte check --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
struct Checked<'a> {
    /// The version of this document: 1.
    version: u32,
    /// The files, in the order in which they were named.
    files: &'a [File],
}

/// One file.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct File {
    /// The name that it was asked for by; `-` is standard input.
    pub file: String,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// Why it could not be read; `null` if it was.
    pub error: Option<String>,
}

/// The JSON Schema of what `--json` prints.
pub(crate) fn schema() -> String {
    json(&schemars::schema_for!(Checked))
}

pub(crate) fn run(check: &Check, system: &dyn Files) -> Outcome {
    let mut outcome = Outcome::new(FINE, String::new());
    let conditions = match conditions(check, system) {
        Ok(conditions) => conditions,
        Err(error) => {
            outcome.fail(error);
            return outcome;
        }
    };
    let mut files = Vec::new();
    for path in &check.files {
        let Input { name, program } = Input::read(system, path);
        let program = program
            .map_err(|error| error.to_string())
            .and_then(|program| show::only(program, &name, check.method.as_deref()));
        let (findings, error) = match &program {
            Ok(program) => (lint::check(program, &conditions), None),
            Err(error) => (Vec::new(), Some(error.clone())),
        };
        let found = findings.iter().any(|finding| finding.level >= check.deny);
        outcome.code = outcome.code.max(if found { FOUND } else { FINE });
        let file = File {
            file: name,
            findings,
            error,
        };
        if check.format == Format::Text
            && let Ok(program) = &program
        {
            outcome.stdout.push_str(&text(&file, program, check.color));
        }
        files.push(file);
    }
    match check.format {
        Format::Text => {}
        Format::Json => {
            outcome.stdout = json(&Checked {
                version: JSON_VERSION,
                files: &files,
            });
        }
        Format::Sarif => outcome.stdout = sarif::log(&files),
        Format::Github => outcome.stdout = files.iter().flat_map(github).collect(),
    }
    files
        .iter()
        .filter_map(|file| file.error.as_ref())
        .for_each(|error| outcome.fail(error));
    outcome
}

fn conditions(check: &Check, system: &dyn Files) -> Result<Conditions, crate::Error> {
    let data = match &check.data {
        None => Data::Unsaid,
        Some(files) => {
            let open = |path: &PathBuf| DataFile::open_from(system, path, Limits::DEFAULT);
            Data::Files(files.iter().map(open).collect::<Result<_, _>>()?)
        }
    };
    Ok(Conditions {
        caller: check.caller,
        runtime: check.runtime,
        data,
        expect: check.expect.clone(),
    })
}

/// What the runtime says, in one paragraph.
pub(crate) fn said(answer: &Answer) -> String {
    let code = answer
        .code
        .map_or(String::new(), |code| format!(" answers 0x{code:02x}"));
    let text = if answer.text.is_empty() {
        String::new()
    } else {
        format!(": {}", answer.text)
    };
    let origin = match answer.origin {
        Origin::Runtime => format!("ExecuTorch {}, measured", answer.runtime),
        Origin::CudaSource => format!("CUDA delegate of {}, read in its source", answer.runtime),
        Origin::Unverified => "not verified".to_owned(),
    };
    format!("`{}`{code}{text} [{origin}]", answer.at)
}

fn text(file: &File, program: &Program, color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text = String::new();
    for finding in &file.findings {
        let method = finding
            .method
            .as_ref()
            .and_then(|name| program.method(name));
        let place = finding.method.as_ref().map_or_else(
            || clean(&file.file),
            |method| format!("{}, method {}", clean(&file.file), clean(method)),
        );
        let rendered = renderer.render(&report(&place, finding, method));
        // A line and a column of the contract's rows, which are in no file.
        let mut lines = rendered.splitn(3, '\n');
        let (title, origin, rest) = (lines.next(), lines.next(), lines.next());
        let origin = origin.and_then(|line| line.find(&place).map(|at| &line[..at + place.len()]));
        text.push_str(
            &[title, origin, rest]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n"),
        );
        text.push_str("\n\n");
    }
    let count = |level| {
        file.findings
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    };
    let counts = [
        (Level::Error, "error"),
        (Level::Warning, "warning"),
        (Level::Note, "note"),
    ];
    let counts = counts.map(|(level, word)| plural(count(level), word, &format!("{word}s")));
    text.push_str(&format!("{}: {}\n", clean(&file.file), counts.join(", ")));
    text
}

/// One finding as rustc shows its own: the line of the contract that it is about stands for the source.
fn report<'a>(place: &'a str, finding: &'a Finding, method: Option<&Method>) -> Vec<Group<'a>> {
    let severity = match finding.level {
        Level::Error => Severity::ERROR,
        Level::Warning => Severity::WARNING,
        Level::Note => Severity::NOTE,
    };
    let title = severity
        .primary_title(clean(&finding.message))
        .id(finding.rule.id());
    let mut group = match method.and_then(|method| snippet(finding, method)) {
        Some(snippet) => title.element(snippet.path(place)),
        None => title.element(Place::path(place)),
    };
    if let Some(answer) = &finding.answer {
        group = group.element(Severity::NOTE.message(said(answer)));
    }
    for note in &finding.notes {
        group = group.element(Severity::NOTE.message(clean(note)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Severity::HELP.message(clean(help)));
    }
    if finding.level > Level::Note {
        let page = format!(
            "`pte explain {}`, or {PAGES}: {}",
            finding.rule, finding.page
        );
        group = group.element(Severity::NOTE.message(page));
    }
    vec![group]
}

/// The rows of the method's inputs and outputs that the finding is about, their last two columns marked.
fn snippet<'a>(
    finding: &Finding,
    method: &Method,
) -> Option<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut rows = Vec::new();
    for subject in &finding.subjects {
        let index = subject.index as usize;
        let (values, word) = match subject.part {
            Part::Input => (&method.inputs, "input"),
            Part::Output => (&method.outputs, "output"),
            _ => continue,
        };
        let value = values.get(index)?;
        let [name, shape, nbytes, place, _] = row(index, value, subject.part == Part::Output);
        let memory = planned(value).to_owned();
        rows.push([format!("{word} {name}"), shape, nbytes, place, memory]);
    }
    const MOST: usize = 8;
    rows.truncate(MOST);
    let source = table(&rows, 0);
    let mut snippet = Snippet::source(source.trim_end().to_owned())
        .line_numbering(false)
        .fold(false);
    let mut start = 0;
    for (line, row) in source.lines().zip(&rows) {
        let marked = line.rfind(&row[3]).filter(|_| !row[3].is_empty())?;
        snippet =
            snippet.annotation(AnnotationKind::Primary.span(start + marked..start + line.len()));
        start += line.len() + 1;
    }
    (!rows.is_empty()).then_some(snippet)
}

/// Findings as GitHub's workflow commands, which show up on the pull request.
fn github(file: &File) -> Vec<String> {
    let message = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let property = |text: &str| message(text).replace(':', "%3A").replace(',', "%2C");
    let line = |finding: &Finding| {
        let word = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "notice",
        };
        let mut text = clean(&finding.message);
        let help = finding.help.iter().cloned();
        let page = format!("{PAGES}: {}", finding.page);
        for more in finding.answer.iter().map(said).chain(help).chain([page]) {
            text.push('\n');
            text.push_str(&more);
        }
        let method = finding.method.as_ref().map_or(String::new(), |method| {
            format!(", method {}", clean(method))
        });
        let title = format!("{} {}{method}", finding.rule, finding.rule.name());
        format!(
            "::{word} file={},title={}::{}\n",
            property(&file.file),
            property(&title),
            message(&text)
        )
    };
    file.findings.iter().map(line).collect()
}
