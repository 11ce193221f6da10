//! Measuring: every export in one Python process, then every case in a process of its own, on all cores.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use export::{Exported, Request};

use crate::judge::{Expected, judge};
use crate::observe::{COLUMNS, Case};
use crate::process::{Language, Runner};
use crate::schema::{Answer, Export, Matrix, Plan, Run};
use crate::{Caller, Error, Key, Policy, Program, Settings};

/// What of the matrix to measure, and how to say where it is.
pub struct Sweep<'a> {
    /// Whether to measure a cell.
    pub of_interest: &'a dyn Fn(&Key) -> bool,
    /// Called after each case, from any thread: the caller, the cases done and all of them.
    pub progress: &'a (dyn Fn(Caller, usize, usize) + Sync),
}

/// Gives programs in the order of the requests.
type Exporter = fn(&[Request]) -> Result<Vec<Result<Exported, export::Error>>, export::Error>;

/// A program that there is.
struct Ready {
    exported: Exported,
    expected: Expected,
    values: PathBuf,
}

impl Sweep<'_> {
    /// Measures.
    ///
    /// # Errors
    ///
    /// When something could not be measured, the first case of all: a matrix is whole or it is not there.
    pub fn measure(&self) -> Result<Matrix, Error> {
        let keys: Vec<Key> = Key::all().filter(|key| (self.of_interest)(key)).collect();
        let folder = tempfile::tempdir().map_err(Error::io(std::env::temp_dir()))?;
        let mut matrix = Matrix::new(export::executorch()?);
        let programs = programs(&keys, folder.path(), &mut matrix, export::all)?;

        let mut cases = Vec::new();
        for key in &keys {
            let ready = programs.get(&(key.program, key.settings));
            match (ready, key.not_applicable()) {
                (None, _) => matrix.insert(key, Answer::NotExported),
                (_, Some(reason)) => {
                    let reason = reason.to_owned();
                    matrix.insert(key, Answer::NotApplicable { reason });
                }
                (Some(ready), None) => {
                    let maker = &programs[&(maker_of(key.program), MAKER)];
                    cases.extend(Policy::ALL.iter().map(|&policy| {
                        let case = Case {
                            key: *key,
                            policy,
                            pte: ready.exported.pte.clone(),
                            maker: maker.exported.pte.clone(),
                            values: ready.values.clone(),
                        };
                        (case, &ready.expected)
                    }));
                }
            }
        }
        for (key, runs) in self.run(cases)? {
            let [refuse, accept] = runs;
            matrix.insert(
                &key,
                if refuse == accept {
                    Answer::Measured { run: refuse }
                } else {
                    Answer::DependsOnTheDriver { refuse, accept }
                },
            );
        }
        Ok(matrix)
    }

    /// Runs all cases: by cell, under each policy.
    fn run(&self, cases: Vec<(Case, &Expected)>) -> Result<Vec<(Key, [Run; 2])>, Error> {
        // By language, so that each worker starts a language's program once.
        let mut by_language: BTreeMap<Language, Vec<(Case, &Expected)>> = BTreeMap::new();
        let total = cases.len();
        for case in cases {
            let language = Language::of(case.0.key.caller);
            by_language.entry(language).or_default().push(case);
        }
        let done = AtomicUsize::new(0);
        let mut runs = BTreeMap::new();
        for (language, cases) in &by_language {
            let next = AtomicUsize::new(0);
            let stop = AtomicBool::new(false);
            let results = Mutex::new(Vec::new());
            let work = || {
                let mut runner = match Runner::new(*language) {
                    Ok(runner) => runner,
                    Err(error) => {
                        lock(&results).push((usize::MAX, Err(error)));
                        return;
                    }
                };
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((case, expected)) = cases.get(index) else {
                        break;
                    };
                    let run = runner.run(case).and_then(|(observations, end)| {
                        judge(&case.key, &observations, end, expected).map_err(|why| Error::Case {
                            case: format!("{} {}", case.key, case.policy),
                            why,
                        })
                    });
                    stop.fetch_or(run.is_err(), Ordering::Relaxed);
                    lock(&results).push((index, run));
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    (self.progress)(case.key.caller, done, total);
                }
            };
            let workers = thread::available_parallelism()
                .map_or(1, usize::from)
                .min(cases.len());
            thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(work);
                }
            });
            let mut results = results
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            results.sort_by_key(|(index, _)| *index);
            for (index, run) in results {
                let run = run?;
                let case = &cases[index].0;
                runs.insert((case.key, case.policy), run);
            }
        }
        let mut by_cell = Vec::new();
        let mut runs = runs.into_iter();
        // The policies of one cell are neighbours.
        while let (Some(((key, _), refuse)), Some((_, accept))) = (runs.next(), runs.next()) {
            by_cell.push((key, [refuse, accept]));
        }
        Ok(by_cell)
    }
}

impl Matrix {
    /// The exports alone, without a cell.
    ///
    /// # Errors
    ///
    /// When Python cannot export at all.
    pub fn export_all() -> Result<Self, Error> {
        Self::exported_by(export::all)
    }

    /// The same with a Python process for each: what `cargo xtask bench` compares it with.
    ///
    /// # Errors
    ///
    /// When Python cannot export at all.
    pub fn export_each() -> Result<Self, Error> {
        Self::exported_by(|requests| {
            let each = requests.chunks(1).map(export::all);
            let each: Vec<_> = each.collect::<Result<_, _>>()?;
            Ok(each.into_iter().flatten().collect())
        })
    }

    fn exported_by(exporter: Exporter) -> Result<Self, Error> {
        let keys: Vec<Key> = Key::all().collect();
        let folder = tempfile::tempdir().map_err(Error::io(std::env::temp_dir()))?;
        let mut matrix = Self::new(export::executorch()?);
        programs(&keys, folder.path(), &mut matrix, exporter)?;
        Ok(matrix)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Takes host tensors, and leaves the result in the method's own device buffer.
const MAKER: Settings = Settings {
    skip_h2d: false,
    skip_d2h: true,
    alloc_input: true,
    alloc_output: true,
    device_planning: true,
};

/// The program whose results have the shapes of this one's inputs.
fn maker_of(program: Program) -> Program {
    if program == Program::Dynamic {
        program
    } else {
        Program::Static
    }
}

/// Exports what the cells need, fills in [`Matrix::programs`], and gives the programs that there are.
fn programs(
    keys: &[Key],
    folder: &Path,
    matrix: &mut Matrix,
    exporter: Exporter,
) -> Result<BTreeMap<(Program, Settings), Ready>, Error> {
    let mut wanted: Vec<(Program, Settings)> =
        keys.iter().map(|key| (key.program, key.settings)).collect();
    wanted.extend(keys.iter().map(|key| (maker_of(key.program), MAKER)));
    wanted.sort_unstable();
    wanted.dedup();
    let requests: Vec<Request> = wanted
        .iter()
        .map(|(program, settings)| program.request(*settings))
        .collect();
    let mut ready = BTreeMap::new();
    for ((program, settings), exported) in wanted.into_iter().zip(exporter(&requests)?) {
        let entry = match exported {
            Err(export::Error::Python { kind, message, .. }) => Export::Refused { kind, message },
            Err(error) => return Err(error.into()),
            Ok(exported) => {
                let values = folder.join(format!("{program}.f32"));
                let (expected, inputs) = values_of(program, &exported)?;
                fs::write(&values, inputs).map_err(Error::io(&values))?;
                let plan = Export::Plan(plan(program.method(), &exported.pte)?);
                let made = Ready {
                    exported,
                    expected,
                    values,
                };
                ready.insert((program, settings), made);
                plan
            }
        };
        if keys
            .iter()
            .any(|key| (key.program, key.settings) == (program, settings))
        {
            matrix
                .programs
                .insert(format!("{program} {settings}"), entry);
        }
    }
    Ok(ready)
}

/// What both executions have to give, and the bytes of what they are given: the first takes what eager PyTorch was given,
/// the second twice the first rows of that. The models are linear and work row by row, and twice a float32 is exact, so
/// the second result is twice the first rows of the first.
fn values_of(program: Program, exported: &Exported) -> Result<(Expected, Vec<u8>), Error> {
    let eager = exported.method(program.method()).unwrap_or(&exported.eager);
    let result = eager.outputs[0].f32()?;
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for (factor, rows) in [1.0, 2.0].into_iter().zip(program.rows()) {
        let count = rows * COLUMNS;
        let scaled = |values: &[f32]| -> Vec<f32> {
            values
                .iter()
                .take(count)
                .map(|value| factor * value)
                .collect()
        };
        for input in &eager.inputs {
            bytes.extend(scaled(&input.f32()?).into_iter().flat_map(f32::to_ne_bytes));
        }
        let bits = scaled(&result).into_iter().map(f32::to_bits).collect();
        expected.push((vec![rows, COLUMNS], bits));
    }
    let results = expected.try_into().unwrap_or_default();
    Ok((Expected { results }, bytes))
}

/// What the file says of the method.
pub(crate) fn plan(method: &str, pte: &Path) -> Result<Plan, Error> {
    let file = pte::Program::open(pte)?;
    let method = file.method(method).ok_or_else(|| Error::Malformed {
        path: pte.to_owned(),
        what: format!("it has no method `{method}`"),
    })?;
    let place = |tensor: &pte::TensorInfo| {
        let planned = if tensor.planned.is_some() {
            "planned"
        } else {
            "unplanned"
        };
        format!("{planned} {}", tensor.device.device_type)
    };
    let step = |step: &pte::Step| match step {
        pte::Step::Copy(copy) if copy.direction == pte::Direction::HostToDevice => "h2d".to_owned(),
        pte::Step::Copy(_) => "d2h".to_owned(),
        pte::Step::Delegate(_) => "delegate".to_owned(),
        pte::Step::Operator(call) => call.name.to_string(),
        other => format!("{other:?}"),
    };
    Ok(Plan {
        arenas: method
            .arenas
            .iter()
            .map(|arena| format!("{} {}", arena.nbytes, arena.device.device_type))
            .collect(),
        inputs: method.input_tensors().map(place).collect(),
        outputs: method.output_tensors().map(place).collect(),
        chain: method.chain.iter().map(step).collect(),
        unreachable: method.unreachable.len(),
    })
}
