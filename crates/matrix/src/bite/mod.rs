//! The models and the calls that bite: `bite.json`, the second table.
//!
//! A case is a situation, five settings and a caller: `mixed/all-device h1d1_i0o1_n1 rust-public`. The callers are the two
//! crates: `rust` refuses by itself what would be undefined, `rust-public` lets the runtime answer. Inputs are where the
//! program expects them unless the situation says otherwise, and each execution has other values (except of a program with
//! a state). Execution *n* is the *n*th entry of a run; a refused load or `set_output` is its only entry.

mod run;
mod situations;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use device::{Copies, POISON};
use export::{Exported, Model, Request};
use proof::Origin;
use serde::{Deserialize, Serialize};

use crate::judge::{failed, line, name, normal};
use crate::observe::Tensor;
use crate::schema::{
    self, Answer, Call, Difference, Export, Line, Outcome, Plan, Side, json, no_copies, table,
    write,
};
use crate::sweep::{lock, plan};
use crate::{Caller, Error, Settings};
pub use run::run as run_case;
use run::{Asked, Between, Execution, Given, Memory, Seen};
use situations::{Passed, Place, Situation, Sizes, all, configuration, formula};

/// The version of the schema that this module reads and writes.
pub const VERSION: u32 = 1;

/// The whole of `bite.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bite {
    /// [`VERSION`].
    pub version: u32,
    /// The version of the ExecuTorch package that exported and ran.
    pub executorch: String,
    /// What is done in each situation.
    pub situations: BTreeMap<String, String>,
    /// What each export gave, by situation, settings and method: `mixed/as-planned h1d1_i0o1_n1 forward`.
    pub programs: BTreeMap<String, Export>,
    /// What happened in each case: an entry for each execution, or for what prevented them.
    pub cases: BTreeMap<String, Answer<Vec<Step>>>,
}

/// One execution, or what prevented it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// How it ended. Right: every output holds what eager PyTorch gives.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Who decided that, as in [`crate::Execution`].
    pub origin: Origin,
    /// ExecuTorch's copies from the host to the device.
    #[serde(default, skip_serializing_if = "no_copies")]
    pub h2d: Copies,
    /// ExecuTorch's copies from the device to the host.
    #[serde(default, skip_serializing_if = "no_copies")]
    pub d2h: Copies,
    /// What ExecuTorch or the device logged at error level although the call succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned: Vec<Line>,
    /// The outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Produced>,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Produced {
    /// The side that its memory is on. Absent: it has no element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Side>,
    /// What it holds.
    pub holds: Holds,
    /// What else is at its address: `input 0` of this execution, `output 0`, `set_output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
}

/// What an output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// What eager PyTorch gives.
    Expected,
    /// What it would give for the values that came into the inputs' memory after they were set.
    LaterValues,
    /// What it would give for another number of rows.
    OtherSizes,
    /// What the device fills new memory with: nobody wrote it.
    Unwritten,
    /// Something else.
    Other,
}

/// The committed file.
#[must_use]
pub fn committed() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("bite.json")
}

/// The names of the situations in the order in which their sentences are to be read: "the same" is the one before.
pub fn in_order() -> impl Iterator<Item = &'static str> {
    all().into_iter().map(|situation| situation.name)
}

/// One method of a program that there is.
struct Method {
    plan: Plan,
    inputs: Vec<export::Tensor>,
    outputs: Vec<export::Tensor>,
}

/// What an execution has to give: the bits of each output, and those for later values.
struct Expected {
    outputs: Vec<(Vec<usize>, Vec<u32>)>,
    later: Option<Vec<Vec<u32>>>,
}

/// A case to run.
struct Case {
    name: String,
    asked: Asked,
    expected: Vec<Expected>,
}

impl Bite {
    /// Measures the cases whose names are of interest, as [`has`] says of a command's words.
    ///
    /// # Errors
    ///
    /// When something could not be measured.
    pub fn measure(of_interest: impl Fn(&str) -> bool) -> Result<Self, Error> {
        let (mut bite, cases) = Self::prepare(of_interest)?;
        for pair in run_all(&cases)?.chunks(2) {
            let [(name, refuse), (_, accept)] = pair else {
                continue;
            };
            let answer = if refuse == accept {
                Answer::Measured {
                    run: refuse.clone(),
                }
            } else {
                Answer::DependsOnTheDriver {
                    refuse: refuse.clone(),
                    accept: accept.clone(),
                }
            };
            bite.cases.insert(name.clone(), answer);
        }
        Ok(bite)
    }

    /// The exports alone.
    ///
    /// # Errors
    ///
    /// When Python cannot export at all.
    pub fn export() -> Result<Self, Error> {
        let (mut bite, _) = Self::prepare(|_| true)?;
        bite.cases.clear();
        Ok(bite)
    }

    /// Everything but the runs, and the cases to run.
    fn prepare(of_interest: impl Fn(&str) -> bool) -> Result<(Self, Vec<Case>), Error> {
        let mut bite = Self {
            version: VERSION,
            executorch: export::executorch()?,
            situations: BTreeMap::new(),
            programs: BTreeMap::new(),
            cases: BTreeMap::new(),
        };
        let situations = all();
        let mut wanted = Vec::new();
        for situation in &situations {
            bite.situations
                .insert(situation.name.to_owned(), situation.what.to_owned());
            for label in situation.settings {
                let settings: Settings = label.parse()?;
                let callers: Vec<Caller> = [Caller::Rust, Caller::RustPublic]
                    .into_iter()
                    .filter(|caller| match caller {
                        Caller::Rust => !situation.host_arenas,
                        _ => situation.public,
                    })
                    .filter(|caller| of_interest(&case_name(situation, settings, *caller)))
                    .collect();
                if !callers.is_empty() {
                    wanted.push((situation, settings, callers));
                }
            }
        }
        let requests = wanted.iter().map(|(situation, settings, _)| {
            let mut config = configuration(*settings);
            (situation.adjust)(&mut config);
            let model = situation.model;
            Request::Config { model, config }
        });
        let requests: Vec<Request> = requests.collect();
        let exports = export_each(&requests)?;
        let mut cases = Vec::new();
        for ((situation, settings, callers), request) in wanted.iter().zip(&requests) {
            let exported = &exports[&request.to_string()];
            let program = format!("{} {settings}", situation.name);
            let absent = match exported {
                Ok(exported) => {
                    let mut methods = BTreeMap::new();
                    for method in situation.methods {
                        let method_of = read(method, exported)?;
                        let plan = Export::Plan(method_of.plan.clone());
                        bite.programs.insert(format!("{program} {method}"), plan);
                        methods.insert(*method, method_of);
                    }
                    for caller in callers {
                        let name = case_name(situation, *settings, *caller);
                        for accept in [false, true] {
                            cases.push(prepare(
                                &name, situation, *caller, accept, exported, &methods,
                            )?);
                        }
                    }
                    continue;
                }
                Err(export::Error::Python { kind, message, .. }) if kind == "StandInError" => {
                    Answer::NotApplicable {
                        reason: message.clone(),
                    }
                }
                Err(export::Error::Python { kind, message, .. }) => {
                    // After its reason ExecuTorch's `InternalError` has the graph.
                    let end = message.find("\nHere is the node").unwrap_or(message.len());
                    let message = normal(&message[..end]);
                    for method in situation.methods {
                        let (kind, message) = (kind.clone(), message.clone());
                        let refused = Export::Refused { kind, message };
                        bite.programs.insert(format!("{program} {method}"), refused);
                    }
                    Answer::NotExported
                }
                Err(error) => {
                    return Err(Error::Case {
                        case: program,
                        why: error.to_string(),
                    });
                }
            };
            for caller in callers {
                let name = case_name(situation, *settings, *caller);
                bite.cases.insert(name, absent.clone());
            }
        }
        Ok((bite, cases))
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and [`Error::Malformed`], also for another version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        schema::read(path.as_ref(), VERSION, |bite: &Self| bite.version)
    }

    /// Writes a file: a temporary one beside it, then the rename.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write(path.as_ref(), &self.to_json())
    }

    /// The file's text: one entry a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!(
            "{{\n\"version\": {},\n\"executorch\": {},\n{},\n{},\n{}\n}}\n",
            self.version,
            json(&self.executorch),
            table("situations", &self.situations),
            table("programs", &self.programs),
            table("cases", &self.cases)
        )
    }

    /// What differs between this, the committed file, and `measured`, among the cases whose names are of
    /// interest.
    #[must_use]
    pub fn differences(
        &self,
        measured: &Self,
        of_interest: impl Fn(&str) -> bool,
    ) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut compare = |name: &str, committed: Option<String>, measured: Option<String>| {
            if committed != measured {
                let name = name.to_owned();
                found.push(Difference {
                    name,
                    committed,
                    measured,
                });
            }
        };
        compare(
            "executorch",
            Some(self.executorch.clone()),
            Some(measured.executorch.clone()),
        );
        let names = |ours: Vec<&String>, theirs: Vec<&String>| -> BTreeSet<String> {
            ours.into_iter().chain(theirs).cloned().collect()
        };
        for name in names(
            self.situations.keys().collect(),
            measured.situations.keys().collect(),
        ) {
            compare(
                &name,
                self.situations.get(&name).cloned(),
                measured.situations.get(&name).cloned(),
            );
        }
        let cases = names(self.cases.keys().collect(), measured.cases.keys().collect());
        let cases: Vec<String> = cases.into_iter().filter(|name| of_interest(name)).collect();
        let of_these = |program: &String| {
            let program = program.rsplit_once(' ').map_or(&**program, |(of, _)| of);
            cases.iter().any(|case| {
                case.strip_prefix(program)
                    .is_some_and(|rest| rest.starts_with(' '))
            })
        };
        for name in names(
            self.programs.keys().collect(),
            measured.programs.keys().collect(),
        ) {
            if of_these(&name) {
                compare(
                    &name,
                    self.programs.get(&name).map(json),
                    measured.programs.get(&name).map(json),
                );
            }
        }
        for name in &cases {
            compare(
                name,
                self.cases.get(name).map(json),
                measured.cases.get(name).map(json),
            );
        }
        found
    }
}

/// Each request once, however many situations use it: by what it prints as.
fn export_each(
    requests: &[Request],
) -> Result<BTreeMap<String, Result<Exported, export::Error>>, Error> {
    let unique: BTreeMap<String, Request> = requests
        .iter()
        .map(|request| (request.to_string(), request.clone()))
        .collect();
    let (names, unique): (Vec<_>, Vec<_>) = unique.into_iter().unzip();
    Ok(names.into_iter().zip(export::all(&unique)?).collect())
}

fn case_name(situation: &Situation, settings: Settings, caller: Caller) -> String {
    format!("{} {settings} {caller}", situation.name)
}

/// Whether a case's name has all of these words: a situation, its first part, settings or a caller.
#[must_use]
pub fn has(name: &str, words: &[&str]) -> bool {
    let parts: Vec<&str> = name.split([' ', '/']).chain(name.split(' ')).collect();
    words.iter().all(|word| parts.contains(word))
}

fn read(method: &str, exported: &Exported) -> Result<Method, Error> {
    let eager = exported.method(method).unwrap_or(&exported.eager);
    Ok(Method {
        plan: plan(method, &exported.pte)?,
        inputs: eager.inputs.clone(),
        outputs: eager.outputs.clone(),
    })
}

/// Both what the process does and what has to come of it.
fn prepare(
    name: &str,
    situation: &Situation,
    caller: Caller,
    accept: bool,
    exported: &Exported,
    methods: &BTreeMap<&str, Method>,
) -> Result<Case, Error> {
    let model = situation.model;
    let unlike = |what: &str| Error::Case {
        case: name.to_owned(),
        why: what.to_owned(),
    };
    let mut executions = Vec::new();
    let mut expected: Vec<Expected> = Vec::new();
    let mut results: Vec<Vec<f32>> = Vec::new();
    for (number, passed) in situation.executions.iter().enumerate() {
        let at = number.min(situation.methods.len() - 1);
        let method_name = situation.methods[at];
        let method = &methods[method_name];
        let exported_values = method
            .inputs
            .iter()
            .map(export::Tensor::f32)
            .collect::<Result<Vec<_>, _>>()?;
        let eager = method
            .outputs
            .iter()
            .map(export::Tensor::f32)
            .collect::<Result<Vec<_>, _>>()?;
        let formula_of = |inputs: &[Vec<f32>], before| formula(model, method_name, inputs, before);
        let known = formula_of(&exported_values, 0);
        let stateful = matches!(model, Model::State | Model::StateNotOwned);
        // A program with a state has seen other values than its first execution's formula says.
        if known.as_ref().is_some_and(|outputs| *outputs != eager) {
            return Err(unlike("eager PyTorch gives other values than the formula"));
        }
        let factor = if known.is_none() || stateful {
            1.0
        } else {
            (number + 1) as f32
        };
        let mut inputs = Vec::new();
        let mut values = Vec::new();
        for (index, input) in passed.iter().enumerate() {
            let of = index.min(method.inputs.len() - 1);
            let given = give(
                input,
                &method.inputs[of],
                &exported_values[of],
                factor,
                method.plan.inputs.get(of),
            );
            values.push(match input.place {
                Place::Output(output) => results.get(output).cloned().unwrap_or_default(),
                _ if input.transposed => exported_values[of]
                    .iter()
                    .map(|value| factor * value)
                    .collect(),
                _ => given.values.clone(),
            });
            inputs.push(given);
        }
        let sizes = inputs.first().map(|input| {
            input
                .sizes
                .iter()
                .map(|size| *size as usize)
                .collect::<Vec<_>>()
        });
        results = formula_of(&values, number).unwrap_or(eager);
        let later = (situation.between == Some(Between::Overwritten)).then(|| {
            let twice: Vec<Vec<f32>> = values
                .iter()
                .map(|values| values.iter().map(|value| 2.0 * value).collect())
                .collect();
            formula_of(&twice, number)
                .unwrap_or_default()
                .iter()
                .map(|values| bits(values))
                .collect()
        });
        let outputs = results.iter().zip(&method.outputs).map(|(values, output)| {
            let same = sizes.as_ref().is_some_and(|sizes| {
                sizes.iter().product::<usize>() == output.sizes.iter().product::<usize>()
            });
            let sizes = if same { None } else { sizes.clone() };
            (sizes.unwrap_or_else(|| output.sizes.clone()), bits(values))
        });
        expected.push(Expected {
            outputs: outputs.collect(),
            later,
        });
        executions.push(Execution {
            method: method_name.to_owned(),
            inputs,
            between: situation.between,
        });
    }
    let first = &methods[situation.methods[0]];
    let outputs = situation
        .outputs
        .iter()
        .zip(&first.outputs)
        .map(|(output, like)| {
            let values = like.f32()?;
            Ok(output.map(|output| give(&output, like, &values, 1.0, None)))
        });
    Ok(Case {
        name: name.to_owned(),
        asked: Asked {
            pte: exported.pte.clone(),
            ptd: if situation.without_data {
                Vec::new()
            } else {
                exported.ptd.clone()
            },
            public: caller == Caller::RustPublic,
            accept,
            missing: situation.missing,
            xnnpack: matches!(model, Model::XnnpackApart | Model::XnnpackBetween),
            share_memory_arenas: situation.share_memory_arenas,
            host_arenas: situation.host_arenas,
            at_once: situation.at_once,
            methods: situation
                .methods
                .iter()
                .map(|method| (*method).to_owned())
                .collect(),
            outputs: outputs.collect::<Result<_, Error>>()?,
            executions,
        },
        expected,
    })
}

/// A tensor like `like`, as the situation changes it.
fn give(
    passed: &Passed,
    like: &export::Tensor,
    values: &[f32],
    factor: f32,
    planned: Option<&String>,
) -> Given {
    let columns = like.sizes.get(1).copied().unwrap_or(1);
    let size = |size: usize| i32::try_from(size).unwrap_or(i32::MAX);
    let sizes: Vec<i32> = match passed.sizes {
        Sizes::Exported => like.sizes.iter().copied().map(size).collect(),
        Sizes::Rows(rows) => vec![size(rows), size(columns)],
        Sizes::These(sizes) => sizes.to_vec(),
    };
    let count = sizes.iter().map(|size| *size as usize).product();
    let mut values: Vec<f32> = values
        .iter()
        .cycle()
        .take(count)
        .map(|value| factor * value)
        .collect();
    let mut strides = None;
    if passed.transposed {
        let rows = values.len() / columns.max(1);
        values = (0..values.len())
            .map(|at| values[at % rows * columns + at / rows])
            .collect();
        strides = Some(vec![1, size(rows)]);
    }
    let on_device = match passed.place {
        Place::AsPlanned => planned.is_some_and(|place| place.ends_with("cuda")),
        Place::Device => true,
        Place::Host => false,
        // Its tag is that of the side that the process finds it on.
        Place::Output(_) => planned.is_some_and(|place| place.ends_with("cuda")),
    };
    let memory = match passed.place {
        Place::Output(index) => Memory::Output(index),
        _ if on_device => Memory::Device,
        _ => Memory::Host,
    };
    Given {
        memory,
        cuda: on_device,
        sizes,
        strides,
        elements: passed.elements,
        values,
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Runs all cases, each in a process of its own, on all cores.
fn run_all(cases: &[Case]) -> Result<Vec<(String, Vec<Step>)>, Error> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = run_one(case);
            lock(&results).push((case.name.clone(), case.asked.accept, run));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut results = std::mem::take(&mut *lock(&results));
    results.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    results
        .into_iter()
        .map(|(name, _, run)| Ok((name, run?)))
        .collect()
}

fn run_one(case: &Case) -> Result<Vec<Step>, Error> {
    use std::os::unix::process::ExitStatusExt as _;
    let failure = |why: String| Error::Case {
        case: case.name.clone(),
        why,
    };
    let program = env::current_exe().map_err(Error::io("/proc/self/exe"))?;
    let output = Command::new(&program)
        .arg("bite-case")
        .arg(json(&case.asked))
        .output()
        .map_err(Error::io(&program))?;
    if output.status.code().is_some_and(|code| code != 0) {
        return Err(failure(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    // The only paths of this machine that a message can hold.
    let pte = case.asked.pte.display().to_string();
    let text = String::from_utf8_lossy(&output.stdout).replace(&pte, "<program>");
    let mut steps = Vec::new();
    let mut executed = 0;
    let mut last = None;
    let mut set = None;
    for said in text.lines() {
        let seen: Seen =
            serde_json::from_str(said).map_err(|error| failure(format!("`{said}`: {error}")))?;
        last = Some(seen.call);
        if seen.call == Call::SetOutput {
            set = seen.given.first().copied();
        }
        let (outcome, origin, outputs) = match &seen.failure {
            Some(refusal) => {
                let (outcome, origin) = failed(seen.call, &seen.report, refusal);
                (outcome, origin, Vec::new())
            }
            None if seen.call == Call::Execute => {
                let expected = case
                    .expected
                    .get(executed)
                    .ok_or_else(|| failure("too many executions".to_owned()))?;
                let outputs: Vec<Produced> = (0..seen.results.len())
                    .map(|index| produced(index, &seen, set, expected))
                    .collect();
                let right = outputs.len() == expected.outputs.len()
                    && outputs.iter().all(|output| output.holds == Holds::Expected);
                let outcome = if right {
                    Outcome::Right
                } else {
                    Outcome::Wrong
                };
                (outcome, Origin::StandIn, outputs)
            }
            None => continue,
        };
        let warned = match outcome {
            Outcome::Right | Outcome::Wrong => seen.report.errors.iter().map(line).collect(),
            _ => Vec::new(),
        };
        executed += usize::from(seen.call == Call::Execute);
        steps.push(Step {
            outcome,
            origin,
            h2d: seen.report.h2d,
            d2h: seen.report.d2h,
            warned,
            outputs,
        });
    }
    let stopped = steps.last().is_some_and(
        |step| matches!(&step.outcome, Outcome::Failed { call, .. } if *call != Call::Execute),
    );
    // The call that was made and not reported.
    let call = match last {
        None => Call::Load,
        Some(Call::Load) if !case.asked.outputs.is_empty() => Call::SetOutput,
        Some(_) => Call::Execute,
    };
    match output.status.signal() {
        Some(signal) => steps.push(Step {
            outcome: Outcome::Died {
                call,
                signal: name(signal),
            },
            origin: Origin::StandIn,
            h2d: Copies::default(),
            d2h: Copies::default(),
            warned: Vec::new(),
            outputs: Vec::new(),
        }),
        None if stopped || executed == case.expected.len() => {}
        None => return Err(failure(format!("it ended after {executed} executions"))),
    }
    Ok(steps)
}

fn produced(index: usize, seen: &Seen, set: Option<usize>, expected: &Expected) -> Produced {
    let result = &seen.results[index];
    let same = |tensor: &Tensor| tensor.data == result.data && result.data != 0;
    let is = if let Some(input) = seen
        .given
        .iter()
        .position(|given| *given == result.data && result.data != 0)
    {
        Some(format!("input {input}"))
    } else if let Some(output) = seen.results[..index].iter().position(same) {
        Some(format!("output {output}"))
    } else {
        (set == Some(result.data)).then(|| "set_output".to_owned())
    };
    let holds = match (expected.outputs.get(index), &result.bits) {
        (Some((sizes, bits)), Some(found)) if sizes == &result.sizes && bits == found => {
            Holds::Expected
        }
        (Some(_), Some(found))
            if expected
                .later
                .as_ref()
                .is_some_and(|later| later.get(index) == Some(found)) =>
        {
            Holds::LaterValues
        }
        (_, Some(found)) if !found.is_empty() && found.iter().all(|bits| *bits == POISON) => {
            Holds::Unwritten
        }
        (Some((sizes, _)), _) if *sizes != result.sizes => Holds::OtherSizes,
        _ => Holds::Other,
    };
    Produced {
        on: (!result.sizes.contains(&0)).then_some(if result.on_device {
            Side::Device
        } else {
            Side::Host
        }),
        holds,
        is,
    }
}
