//! Makes the expectations what the runs showed: the same comparison as the gate's, written instead of reported.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use similar::TextDiff;

use crate::config;
use crate::failure::{Failure, Failures, Kind};
use crate::gate::{Edit, judge};
use crate::page::Source;
use crate::proving::prove;
use crate::runner::Limits;
use crate::workspace::{Workspace, files_below, write_whole};

/// Rewrites every `output.txt` and every `{{fact … = value}}` to what the runs showed. Gives back the difference as a
/// patch: empty where every expectation was met.
///
/// # Errors
///
/// When a claim does not hold or a listing gives no run: then nothing is written.
pub fn bless(workspace: &Workspace) -> Result<String, Failures> {
    let config = config::read(workspace)?;
    let (settings, wrong) = config::check(workspace, &config);
    if !wrong.is_empty() {
        return Err(Failures::new(wrong));
    }
    let (proof, failures) = prove(workspace, Limits::from_environment()?)?;
    let refusals: Vec<Failure> = failures
        .into_iter()
        .filter(|failure| !can_be_blessed(failure.kind))
        .collect();
    if !refusals.is_empty() {
        return Err(Failures::new(refusals));
    }
    let src = config::src(&config);
    let folder = workspace.root().join(src);
    let mut sources = Vec::new();
    for path in files_below(&folder, "md") {
        let page = folder.join(&path);
        let file = workspace.relative(&page);
        let text = fs::read_to_string(&page).map_err(|error| unwritten(&file, &error))?;
        sources.push(Source { path, file, text });
    }
    let judgement = judge(workspace, src, &settings, sources, &proof);

    let mut by_file = BTreeMap::<&str, Vec<&Edit>>::new();
    for edit in &judgement.edits {
        by_file.entry(&edit.file).or_default().push(edit);
    }
    let mut patch = String::new();
    for (file, edits) in by_file {
        let path = workspace.root().join(file);
        let before = fs::read_to_string(&path).unwrap_or_default();
        let after = edited(&before, &edits);
        write_whole(&path, after.as_bytes()).map_err(|error| unwritten(file, &error))?;
        let diff = TextDiff::from_lines(&before, &after);
        let _ = write!(
            patch,
            "{}",
            diff.unified_diff().context_radius(1).header(file, file)
        );
    }
    Ok(patch)
}

fn unwritten(file: &str, error: &std::io::Error) -> Failures {
    Failure::new(
        Kind::RunFails,
        file,
        file,
        1,
        "a file that can be read and written",
        error.to_string(),
    )
    .repeated_by("cargo xtask bless")
    .into()
}

fn edited(before: &str, edits: &[&Edit]) -> String {
    let mut after = before.to_owned();
    let mut edits = edits.to_vec();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.as_ref().map_or(0, |span| span.start)));
    for edit in edits {
        match &edit.span {
            Some(span) => after.replace_range(span.clone(), &edit.text),
            None => after.clone_from(&edit.text),
        }
    }
    after
}

/// What rewriting an expectation cures. Everything else that a run can show means that an assertion fails, or that there
/// is no run.
fn can_be_blessed(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::OutputDiffers
            | Kind::ListingWithoutOutput
            | Kind::OutputWithoutListing
            | Kind::FactMisnamed
    )
}
