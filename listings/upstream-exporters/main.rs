//! What upstream's own exporters ask of `to_executorch`, read from the examples in the installed wheel.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::Command;

use proof::Origin::Exporter;
use proof::{claim, fact, table};
use serde::Deserialize;

/// A line of `choices.py`.
#[derive(Deserialize)]
struct Choice {
    file: String,
    line: usize,
    settings: BTreeMap<String, String>,
    flags: Vec<(String, String)>,
}

impl Choice {
    /// What a flag is set to, anywhere in the configuration.
    fn flag(&self, name: &str) -> Option<&str> {
        let mut flags = self.flags.iter();
        Some(&flags.find(|(flag, _)| flag == name)?.1)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.flag(name) == Some(value)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let output = Command::new(".venv/bin/python")
        .args(["-I", "listings/upstream-exporters/choices.py"])
        .arg(".venv/executorch/examples")
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let choices = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Choice>, _>>()?;

    let mut rows = Vec::new();
    for choice in &choices {
        let flag = |name| {
            let set = choice.flag(name).map(|value| format!("`{value}`"));
            let by_method = choice
                .settings
                .values()
                .any(|setting| setting.starts_with('{') && setting.contains(name));
            set.map_or_else(String::new, |set| {
                if by_method {
                    format!("{set}, some methods")
                } else {
                    set
                }
            })
        };
        rows.push(vec![
            format!("`{}:{}`", choice.file, choice.line),
            flag("alloc_graph_input"),
            flag("alloc_graph_output"),
            flag("skip_h2d_for_method_inputs"),
            flag("skip_d2h_for_method_outputs"),
        ]);
    }
    let header = [
        "exporter",
        "alloc_graph_input",
        "alloc_graph_output",
        "skip_h2d…",
        "skip_d2h…",
    ];
    table(Exporter, "upstream-exporters.choices", &header, rows);

    let of = |is: &dyn Fn(&Choice) -> bool| {
        choices.iter().filter(|choice| is(choice)).count()
    };
    let configured = of(&|choice| !choice.settings.is_empty());
    let starts = of(&|choice| choice.is("skip_h2d_for_method_inputs", "True"));
    let stays = of(&|choice| choice.is("skip_d2h_for_method_outputs", "True"));
    println!("configurations: {}", choices.len());
    println!("of them by default: {}", choices.len() - configured);
    println!("keep inputs on the device: {starts}");
    println!("keep outputs on the device: {stays}");
    fact(Exporter, "upstream-exporters.configurations", choices.len());
    fact(
        Exporter,
        "upstream-exporters.by-default",
        choices.len() - configured,
    );
    fact(Exporter, "upstream-exporters.starts", starts);
    fact(Exporter, "upstream-exporters.stays", stays);
    claim(
        Exporter,
        "upstream.inputs-unplanned",
        "Every one that hands over a configuration leaves its inputs unplanned.",
        configured > 0
            && of(&|choice| choice.is("alloc_graph_input", "False")) == configured,
    );
    claim(
        Exporter,
        "upstream.pairs",
        "Every one that skips the input copy pairs it with unplanned inputs.",
        starts > 0
            && of(&|choice| {
                choice.flag("skip_h2d_for_method_inputs").is_some()
                    && !choice.is("alloc_graph_input", "False")
            }) == 0,
    );
    claim(
        Exporter,
        "upstream.outputs-planned",
        "None of them sets `alloc_graph_output`: a result that stays on the device is in the runtime's own buffer.",
        of(&|choice| choice.flag("alloc_graph_output").is_some()) == 0,
    );
    Ok(())
}
