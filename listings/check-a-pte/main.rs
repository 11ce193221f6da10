//! What `pte check` says of programs, held against what the runtime does with them.
//!
//! $ pte check --caller python --expect device-in,planned-device-out unpaired.pte

use std::error::Error;

use device::Device;
use executorch_device::{
    Error as Refusal, Module, ScalarType, TensorMut, TensorRef,
};
use export::{Exported, pte};
use listings::{Shell, with_device};
use proof::Origin::{Library, Runtime, StandIn};
use proof::claim;
use pte::command::{FAILED, FINE, FOUND};
use pte::lint::{self, Caller, Conditions, Finding, Level, Rule};
use serde_json::Value;

const CHECK: &str =
    "pte check --caller python --expect device-in,planned-device-out";
const WORKFLOW: &str = include_str!("workflow.yml");

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let unpaired = pte("pairing-rule/unpaired")?;
    let paired = pte("planned-output/planned_output")?;
    let kept = pte("choose-a-recipe/device_to_host")?;
    let callers = pte("caller-output/caller_output")?;
    let half = pte("half-a-pair/half")?;
    let weights = pte("first-device-program/device")?;
    let shell = Shell::with(&[
        (&unpaired.pte, "unpaired.pte"),
        (&paired.pte, "paired.pte"),
        (&kept.pte, "kept.pte"),
        (&callers.pte, "callers.pte"),
        (&half.pte, "half.pte"),
        (&weights.pte, "weights.pte"),
        (&weights.ptd[0], "weights.ptd"),
        (&paired.pte, "right/models/model.pte"),
        (&unpaired.pte, "wrong/models/model.pte"),
    ])?;
    let code = |line: &str| shell.types(line).code;

    print!("{}", shell.types(&format!("{CHECK} unpaired.pte")).stdout);
    println!("$ {CHECK} paired.pte");
    print!("{}", shell.types(&format!("{CHECK} paired.pte")).stdout);
    let unreadable = shell.types("pte check weights.ptd");
    claim(
        Library,
        "check.exit-codes",
        "The exit code is 0 where nothing is wrong, 1 where a finding is at or above the level of `--deny`, and 2 where a file is no program.",
        code(&format!("{CHECK} paired.pte")) == FINE
            && code(&format!("{CHECK} unpaired.pte")) == FOUND
            && code(&format!("{CHECK} --deny note paired.pte")) == FOUND
            && (FINE, FOUND, FAILED) == (0, 1, 2)
            && unreadable.code == FAILED
            && unreadable.stderr.lines().count() == 1,
    );

    // What is foretold happens, and what is not, does not.
    let refusal = run(gpu, &unpaired)?
        .err()
        .ok_or("the unpaired program runs")?;
    let foretold = errors(&unpaired, Caller::RustDevice)?;
    let answer = foretold
        .iter()
        .find(|finding| finding.rule == Rule::PlannedDeviceInput)
        .and_then(|finding| finding.answer.clone())
        .ok_or("nothing is foretold")?;
    let on_device = answer.text.replace("src device 0", "src device 1");
    claim(
        Runtime,
        "check.foretold",
        "The runtime refuses the unpaired program with the code and the text that `pte check` foretells.",
        answer.code == Some(refusal.code()) && refusal.log().contains(&on_device),
    );
    let mut fine = true;
    for program in [&paired, &kept, &callers] {
        let result = run(gpu, program)?;
        fine &= errors(program, Caller::RustDevice)?.is_empty()
            && result.ok() == Some(program.eager.outputs[0].f32()?);
    }
    claim(
        StandIn,
        "check.runs",
        "Three programs without an error run, and their results equal eager PyTorch.",
        fine,
    );
    claim(
        StandIn,
        "check.half",
        "a program that no caller can run, which the exporter wrote without a warning, is an error for every caller.",
        run(gpu, &half)?.is_err()
            && Caller::ALL.into_iter().all(|caller| {
                errors(&half, caller).is_ok_and(|errors| {
                    errors
                        .iter()
                        .any(|it| it.rule == Rule::UnreachableDeviceTensor)
                })
            }),
    );

    let for_caller =
        |caller: &str| code(&format!("pte check --caller {caller} callers.pte"));
    claim(
        Library,
        "check.caller",
        "The program whose output the caller supplies passes for `cpp` and `rust-device`, and fails for `python` and `rust`.",
        ["cpp", "rust-device", "python", "rust"].map(for_caller)
            == [FINE, FINE, FOUND, FOUND],
    );
    claim(
        Library,
        "check.expect",
        "A program that runs, and still copies its result to the host, passes without `--expect` and fails with `--expect device-out`.",
        code("pte check kept.pte") == FINE
            && code("pte check --expect device-out kept.pte") == FOUND,
    );
    claim(
        Library,
        "check.data",
        "With `--data none` a program with weights fails; with its `.ptd` it passes.",
        code("pte check --data none weights.pte") == FOUND
            && code("pte check --data weights.ptd weights.pte") == FINE,
    );

    // The lines of the workflow, as it runs them.
    let lines: Vec<&str> = WORKFLOW
        .lines()
        .filter_map(|line| line.trim().strip_prefix("run: "))
        .filter(|line| line.starts_with("pte "))
        .map(|line| line.split(" > ").next().unwrap_or_default())
        .collect();
    let [step, scanning] = lines.as_slice() else {
        return Err(format!("the workflow runs {lines:?}").into());
    };
    let there = |line: &str, folder: &str| {
        shell.types(&line.replace("models/", &format!("{folder}/models/")))
    };
    let marked = there(step, "wrong");
    let log: Value = serde_json::from_str(&there(scanning, "wrong").stdout)?;
    claim(
        Library,
        "check.workflow",
        "Its two steps pass for the paired program and fail for the unpaired one, whose error they report.",
        there(step, "right").code == FINE
            && there(scanning, "right").code == FINE
            && marked.code == FOUND
            && marked.stdout.starts_with(
                "::error file=wrong/models/model.pte,title=L1 planned-device-input",
            )
            && there(scanning, "wrong").code == FOUND
            && log["runs"][0]["results"][0]["ruleId"] == "L1",
    );
    Ok(())
}

/// The errors that are foretold for a caller.
fn errors(
    program: &Exported,
    caller: Caller,
) -> Result<Vec<Finding>, Box<dyn Error>> {
    let conditions = Conditions {
        caller: Some(caller),
        ..Conditions::default()
    };
    let mut findings = lint::check(&pte::Program::open(&program.pte)?, &conditions);
    findings.retain(|finding| finding.level == Level::Error);
    Ok(findings)
}

/// One execution with device inputs, as a caller with `set_output`: the result, or the runtime's refusal.
fn run(
    gpu: Device,
    program: &Exported,
) -> Result<Result<Vec<f32>, Refusal>, Box<dyn Error>> {
    let file = pte::Program::open(&program.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    let output = method.output_tensors().next().ok_or("no output")?;
    let (a, b) = (
        gpu.buffer(&program.eager.inputs[0].f32()?)?,
        gpu.buffer(&program.eager.inputs[1].f32()?)?,
    );
    let mut sum = gpu.empty::<f32>(64)?;
    let mut module = Module::load(&program.pte)?;
    if output.planned.is_none() {
        let sum = TensorMut::over(&mut sum, ScalarType::Float, &[8, 8])?;
        module.set_output("forward", 0, sum)?;
    }
    let inputs = [
        TensorRef::over(&a, ScalarType::Float, &[8, 8])?,
        TensorRef::over(&b, ScalarType::Float, &[8, 8])?,
    ];
    let outputs = match module.forward(&inputs) {
        Ok(outputs) => outputs,
        Err(refusal) => return Ok(Err(refusal)),
    };
    gpu.synchronize()?;
    let result = outputs.tensor(0)?;
    Ok(Ok(if output.device.is_cpu() {
        result.as_slice::<f32>()?.to_vec()
    } else {
        gpu.read(result.data_ptr() as *const f32, 64)?
    }))
}
