//! `pte explain`.

use crate::lint::{RULES, Rule};

use super::PAGES;
use super::describe::table;

/// A rule at length, or all of them in short.
pub(crate) fn text(rule: Option<Rule>) -> String {
    let Some(rule) = rule else {
        let rows: Vec<[String; 3]> = RULES
            .iter()
            .map(|rule| [rule.id().into(), rule.name().into(), rule.summary().into()])
            .collect();
        return table(&rows, 0);
    };
    let indented = |code: &str| {
        code.lines()
            .map(|line| format!("    {line}\n"))
            .collect::<String>()
    };
    format!(
        "{} {}\n\n{}\n\n{}\n\nfinds\n\n{}\ndoes not find\n\n{}\npage of {PAGES}: {}\n",
        rule.id(),
        rule.name(),
        rule.summary(),
        filled(rule.why()),
        indented(rule.bad()),
        indented(rule.good()),
        rule.page()
    )
}

/// The text in lines that fit.
fn filled(text: &str) -> String {
    const WIDTH: usize = 100;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
