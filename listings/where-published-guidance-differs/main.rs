//! Sentences of published guidance, read from the installed wheel or quoted, each beside what was measured.

use std::error::Error;
use std::fs;

use matrix::bite::{self, Bite};
use matrix::{
    Answer, Caller, Execution, Export, Inputs, Key, Matrix, Outcome, Output,
    Program, Settings, committed,
};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact, quoted};

/// Where the settings are documented in the wheel.
const CONFIG: &str = "exir/passes/propagate_device_config.py";

/// Sentences of its docstring and comments, without the breaks of lines.
const IN_THE_WHEEL: [(&str, &str); 4] = [
    ("needs", "so a program using either skip below needs::"),
    (
        "planning",
        "memory_planning_pass=MemoryPlanningPass( alloc_graph_input=False, alloc_graph_output=False ),",
    ),
    (
        "pair-output",
        "Pair with MemoryPlanningPass(alloc_graph_output=False) for the same reason as the input flag.",
    ),
    (
        "dict",
        "A dict can be used to set per-method values, keyed by method name.",
    ),
];

/// The page on the CUDA backend, and sentences of it.
const PAGE: (&str, &str) = (
    "docs/source/backends/cuda/cuda-overview.md",
    "2018b9c27fabd43f5ea32edb39e21dd93f7cd342",
);
const ON_THE_PAGE: [(&str, &str); 6] = [
    (
        "both",
        "Both flags also need unplanned graph inputs and outputs, via MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False) as shown above.",
    ),
    (
        "independent",
        "The two flags are independent. Skip only the input copies if you produce data on the GPU but want results back on the host, or only the output copies for the reverse.",
    ),
    (
        "python",
        "outputs = method([torch.randn(4, 64, device=\"cuda\")])",
    ),
    (
        "crashes",
        "On device memory that copy is a host memcpy into a device pointer, which is undefined, so the program crashes rather than returning a wrong answer.",
    ),
    (
        "rejects",
        "Leaving the device at CPU while handing over a device pointer produces a CPU-tagged tensor that the delegate rejects.",
    ),
    (
        "clone",
        "auto input = clone_tensor_ptr(host_input, DeviceType::CUDA);",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let package = listings::package()?;
    // ANCHOR: published
    let source = fold(&fs::read_to_string(package.join(CONFIG))?.replace('#', " "));
    for (id, sentence) in IN_THE_WHEEL {
        if !source.contains(sentence) {
            return Err(format!("{CONFIG} no longer says: {sentence}").into());
        }
        fact(
            Exporter,
            &format!("where-published-guidance-differs.{id}"),
            sentence,
        );
    }
    for (id, sentence) in ON_THE_PAGE {
        let (file, commit) = PAGE;
        quoted(
            &format!("where-published-guidance-differs.{id}"),
            sentence,
            file,
            commit,
        );
    }
    // ANCHOR_END: published

    let measured = Measured(Matrix::read(committed())?);
    let bite = Bite::read(bite::committed())?;
    let header = "include/executorch/extension/tensor/tensor_ptr.h";
    let header = fs::read_to_string(package.join(header))?;
    let python = |key: &Key| {
        [Caller::PythonRuntime, Caller::PythonLoad].contains(&key.caller)
    };

    let points = [
        (
            StandIn,
            "published.kept-copy",
            "A program that skips the input copy alone and leaves its output unplanned, as the docstring and the page say, runs for no caller.",
            measured.none("h1d0_i0o0_n1", |_| true)? && measured.some("h1d0_i0o1_n1", |_| true)?,
        ),
        (
            StandIn,
            "published.planned-output",
            "A skipped output copy does not need an unplanned output: with `alloc_graph_output=True` it runs in C++, Rust and Python.",
            measured.some("h1d1_i0o1_n1", |key| key.caller == Caller::Cpp)?
                && measured.some("h1d1_i0o1_n1", |key| key.caller == Caller::RustPublic)?
                && measured.some("h1d1_i0o1_n1", python)?,
        ),
        (
            StandIn,
            "published.python",
            "The page's example leaves the output unplanned, and then calls the program from Python: no Python caller gets a result from it.",
            measured.none("h1d1_i0o0_n1", python)?,
        ),
        (
            StandIn,
            "published.cpp",
            "A C++ caller gets no result from it with `forward` alone either: it has to call `set_output` first.",
            measured.none("h1d1_i0o0_n1", |key| {
                key.caller == Caller::Cpp && key.output == Output::Unset
            })? && measured.some("h1d1_i0o0_n1", |key| {
                key.caller == Caller::Cpp && key.output == Output::Device
            })?,
        ),
        (
            Exporter,
            "published.dict",
            "A dict inside a flag sets no value per method: any dict that is not empty switches the skip on, `{\"forward\": False}` too.",
            ["false", "other"].into_iter().all(|dict| {
                let name = format!("configuration/dict-in-flag-{dict} h1d1_i0o1_n1 forward");
                let program = bite.programs.get(&name);
                matches!(program, Some(Export::Plan(plan)) if plan.chain == ["delegate"])
            }),
        ),
        (
            Runtime,
            "published.error",
            "An input that is planned on the device is refused with `0x10`, whoever calls: nothing crashes.",
            measured.all("h1d1_i1o1_n1", |key| (key.inputs, key.output) == (Inputs::Device, Output::Unset), &|first| {
                matches!(&first.outcome, Outcome::Failed { code, exception, .. }
                    if code.as_deref() == Some("0x10")
                        || exception.as_deref().is_some_and(|text| text.ends_with("0x10")))
            })?,
        ),
        (
            StandIn,
            "published.tag",
            "A CPU-tagged tensor over device memory is accepted for an unplanned input: the runtime takes the pointer and keeps the program's own tag.",
            measured.all(
                "h1d1_i0o1_n1",
                |key| {
                    (key.caller, key.inputs, key.output)
                        == (Caller::Cpp, Inputs::DeviceAsCpu, Output::Unset)
                },
                &|first| first.outcome == Outcome::Right,
            )?,
        ),
        (
            Runtime,
            "published.clone",
            "The installed header has no `clone_tensor_ptr` that takes a device; there it is called `clone_tensor_ptr_to`.",
            header.contains("TensorPtr clone_tensor_ptr_to(")
                && !declarations(&header, "TensorPtr clone_tensor_ptr(")
                    .any(|declaration| declaration.contains("Device")),
        ),
    ];
    println!(
        "published sentences: {}",
        IN_THE_WHEEL.len() + ON_THE_PAGE.len()
    );
    println!(
        "points on which they differ from a measurement: {}",
        points.len()
    );
    for (origin, id, sentence, holds) in points {
        claim(origin, id, sentence, holds);
    }
    Ok(())
}

/// The committed measurement.
struct Measured(Matrix);

impl Measured {
    /// Whether each execution of the static program with these settings is as asked; there must be one.
    fn all(
        &self,
        settings: &str,
        of_interest: impl Fn(&Key) -> bool,
        is: &dyn Fn(&Execution) -> bool,
    ) -> Result<bool, Box<dyn Error>> {
        let firsts = self.firsts(settings, of_interest)?;
        Ok(!firsts.is_empty() && firsts.into_iter().all(is))
    }

    /// Whether there is a right result.
    fn some(
        &self,
        settings: &str,
        of_interest: impl Fn(&Key) -> bool,
    ) -> Result<bool, Box<dyn Error>> {
        let firsts = self.firsts(settings, of_interest)?;
        Ok(firsts.iter().any(|first| first.outcome == Outcome::Right))
    }

    /// Whether there are results, none of them right.
    fn none(
        &self,
        settings: &str,
        of_interest: impl Fn(&Key) -> bool,
    ) -> Result<bool, Box<dyn Error>> {
        self.all(settings, of_interest, &|first| {
            first.outcome != Outcome::Right
        })
    }

    fn firsts(
        &self,
        settings: &str,
        of_interest: impl Fn(&Key) -> bool,
    ) -> Result<Vec<&Execution>, Box<dyn Error>> {
        let settings: Settings = settings.parse()?;
        let keys = Key::all().filter(|key| {
            key.program == Program::Static
                && key.settings == settings
                && of_interest(key)
        });
        let mut firsts = Vec::new();
        for key in keys {
            match self.0.cell(&key).ok_or_else(|| format!("{key}: no cell"))? {
                Answer::Measured { run } => firsts.push(&run.first),
                Answer::DependsOnTheDriver { refuse, accept } => {
                    firsts.extend([&refuse.first, &accept.first]);
                }
                Answer::NotExported | Answer::NotApplicable { .. } => {}
            }
        }
        Ok(firsts)
    }
}

/// The declarations in a header that begin so, each to its semicolon.
fn declarations<'a>(
    header: &'a str,
    begin: &'a str,
) -> impl Iterator<Item = &'a str> {
    header
        .split(begin)
        .skip(1)
        .filter_map(|rest| rest.split(';').next())
}

/// With every run of white space as one space.
fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
