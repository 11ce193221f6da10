//! Findings as SARIF 2.1.0, for code-scanning services.

use crate::lint::{Level, RULES};
use serde_json::{Value, json};

use super::PAGES;
use super::check::{File, said};

/// The log of one run over these files.
pub(crate) fn log(files: &[File]) -> String {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id(),
                "name": rule.name(),
                "shortDescription": {"text": rule.summary()},
                "fullDescription": {"text": rule.why()},
                "help": {"text": format!(
                    "Finds:\n{}\n\nDoes not find:\n{}\n\n{PAGES}: {}",
                    rule.bad(),
                    rule.good(),
                    rule.page()
                )},
            })
        })
        .collect();
    let results: Vec<Value> = files.iter().flat_map(results).collect();
    let failures: Vec<Value> = files
        .iter()
        .filter_map(|file| file.error.as_ref())
        .map(|error| json!({"level": "error", "message": {"text": error}}))
        .collect();
    super::json(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "pte", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "invocations": [{"executionSuccessful": failures.is_empty(), "toolExecutionNotifications": failures}],
            "results": results,
        }],
    }))
}

fn results(file: &File) -> Vec<Value> {
    let result = |finding: &crate::lint::Finding| {
        let level = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        let mut text = finding.message.clone();
        for more in finding
            .answer
            .iter()
            .map(said)
            .chain(finding.notes.iter().cloned())
            .chain(finding.help.clone())
        {
            text.push('\n');
            text.push_str(&more);
        }
        let logical: Vec<Value> = finding
            .method
            .iter()
            .map(|method| json!({"name": method, "kind": "function"}))
            .collect();
        json!({
            "ruleId": finding.rule.id(),
            "level": level,
            "message": {"text": text},
            "locations": [{
                "physicalLocation": {"artifactLocation": {"uri": uri(&file.file)}},
                "logicalLocations": logical,
            }],
        })
    };
    file.findings.iter().map(result).collect()
}

/// A file's name as a relative URI, as far as SARIF wants it escaped.
fn uri(file: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let escaped = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    file.bytes().map(escaped).collect()
}
