//! What is done in each situation, and what the result has to be.

use device::Part;
use export::{
    ExecutorchBackendConfig, Flag, MemoryPlanningPass, Model, PerMethod, PropagateDeviceConfig,
};

use super::run::{Between, Elements};
use crate::Settings;

/// A situation: one case for each of its settings and callers.
pub(super) struct Situation {
    pub(super) name: &'static str,
    /// What is done, for a reader.
    pub(super) what: &'static str,
    pub(super) model: Model,
    pub(super) settings: &'static [&'static str],
    /// Whether the crate `executorch` can do it too.
    pub(super) public: bool,
    /// Changes the configuration beyond the five settings.
    pub(super) adjust: fn(&mut ExecutorchBackendConfig),
    pub(super) missing: Option<Part>,
    pub(super) without_data: bool,
    pub(super) share_memory_arenas: bool,
    /// Whether the caller is a runner on the crate `executorch` that makes the arenas itself, all of them on the host.
    pub(super) host_arenas: bool,
    /// Whether the executions happen at once.
    pub(super) at_once: bool,
    pub(super) methods: &'static [&'static str],
    /// For `set_output`, by output of the first method.
    pub(super) outputs: Vec<Option<Passed>>,
    pub(super) executions: Vec<Vec<Passed>>,
    pub(super) between: Option<Between>,
}

/// A tensor to pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) place: Place,
    pub(super) sizes: Sizes,
    pub(super) elements: Elements,
    /// Whether the columns are the outer dimension in memory.
    pub(super) transposed: bool,
}

/// Where a tensor is, and what it is tagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the program says that it expects it.
    AsPlanned,
    Host,
    Device,
    /// This output of the execution before, with the tag of where it is.
    Output(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Sizes {
    /// As in the export.
    Exported,
    /// So many rows of it.
    Rows(usize),
    These(&'static [i32]),
}

impl Passed {
    const fn at(place: Place) -> Self {
        Self {
            place,
            sizes: Sizes::Exported,
            elements: Elements::Float,
            transposed: false,
        }
    }

    const fn rows(self, rows: usize) -> Self {
        Self {
            sizes: Sizes::Rows(rows),
            ..self
        }
    }

    const fn sizes(self, sizes: &'static [i32]) -> Self {
        Self {
            sizes: Sizes::These(sizes),
            ..self
        }
    }

    const fn elements(self, elements: Elements) -> Self {
        Self { elements, ..self }
    }
}

const PLANNED: Passed = Passed::at(Place::AsPlanned);
const HOST: Passed = Passed::at(Place::Host);
const DEVICE: Passed = Passed::at(Place::Device);
const RESULT: Passed = Passed::at(Place::Output(0));

/// Both copies made.
const DEFAULT: &str = "h0d0_i1o1_n1";
/// Both copies made, the first from the caller's own memory.
const UNPLANNED: &str = "h0d0_i0o1_n1";
/// Both copies skipped, the output the method's own.
const PAIRED: &str = "h1d1_i0o1_n1";
/// Both copies skipped, the output the caller's.
const CALLERS: &str = "h1d1_i0o0_n1";
/// The copy from the device skipped.
const STAYS: &str = "h0d1_i1o1_n1";
/// The copy to the device skipped.
const STARTS: &str = "h1d0_i0o1_n1";
/// Both copies made, and no graph input or output planned.
const NOTHING_PLANNED: &str = "h0d0_i0o0_n1";

/// The configuration of five settings.
pub(super) fn configuration(settings: Settings) -> ExecutorchBackendConfig {
    ExecutorchBackendConfig {
        propagate_device_config: PropagateDeviceConfig {
            skip_h2d_for_method_inputs: settings.skip_h2d.into(),
            skip_d2h_for_method_outputs: settings.skip_d2h.into(),
        }
        .into(),
        memory_planning_pass: MemoryPlanningPass {
            alloc_graph_input: settings.alloc_input,
            alloc_graph_output: settings.alloc_output,
            ..MemoryPlanningPass::default()
        }
        .into(),
        enable_non_cpu_memory_planning: settings.device_planning,
    }
}

/// What a model gives for these inputs, after this many executions with the same ones; `None`: only eager PyTorch says.
/// (The sweep compares it with eager PyTorch before it uses it.)
pub(super) fn formula(
    model: Model,
    method: &str,
    inputs: &[Vec<f32>],
    before: usize,
) -> Option<Vec<Vec<f32>>> {
    let each = |value: &dyn Fn(usize) -> f32| (0..inputs[0].len()).map(value).collect::<Vec<f32>>();
    let at = |input: usize, index: usize| {
        inputs
            .get(input)
            .and_then(|values| values.get(index))
            .copied()
            .unwrap_or(f32::NAN)
    };
    let sum = |index| at(0, index) + at(1, index);
    Some(match model {
        Model::TwoMethods if method == "decode" => vec![each(&|index| sum(index) + at(1, index))],
        Model::Add
        | Model::AddDynamic
        | Model::AddEmpty
        | Model::AddSecondDevice
        | Model::TwoMethods => vec![each(&sum)],
        Model::AddItself => vec![each(&|index| 2.0 * at(0, index))],
        Model::Apart => vec![each(&sum), each(&|index| at(2, index) * at(2, index))],
        Model::XnnpackApart => vec![each(&sum), each(&|index| at(2, index).max(0.0))],
        Model::XnnpackBetween => vec![each(&|index| sum(index).max(0.0) + at(2, index))],
        Model::InputUsedTwice => vec![each(&sum), each(&|index| at(0, index) * at(0, index))],
        Model::OutputUsedTwice => vec![each(&sum), each(&|index| sum(index) * sum(index))],
        Model::InARow | Model::TwoDevices => vec![each(&|index| sum(index) * at(2, index))],
        Model::CpuBetween => vec![each(&|index| sum(index) * sum(index) + at(2, index))],
        Model::ReturnsInput => vec![each(&sum), inputs[0].clone()],
        Model::ReturnsTwice => vec![each(&sum), each(&sum)],
        Model::State | Model::StateNotOwned => {
            vec![each(&|index| (before + 2) as f32 * at(0, index))]
        }
        Model::Mlp | Model::Weight | Model::WeightNotOwned => return None,
    })
}

/// A situation with the defaults: `forward`, both callers, nothing missing.
fn of(
    name: &'static str,
    what: &'static str,
    model: Model,
    settings: &'static [&'static str],
    executions: &[&[Passed]],
) -> Situation {
    Situation {
        name,
        what,
        model,
        settings,
        public: true,
        adjust: |_| {},
        missing: None,
        without_data: false,
        share_memory_arenas: false,
        host_arenas: false,
        at_once: false,
        methods: &["forward"],
        outputs: Vec::new(),
        executions: executions.iter().map(|inputs| inputs.to_vec()).collect(),
        between: None,
    }
}

/// Both flags as dicts.
fn dicts(config: &mut ExecutorchBackendConfig, of: &[(&str, bool)]) {
    let flag = || {
        Flag::ByMethod(
            of.iter()
                .map(|(method, skip)| ((*method).to_owned(), *skip))
                .collect(),
        )
    };
    config.propagate_device_config = PropagateDeviceConfig {
        skip_h2d_for_method_inputs: flag(),
        skip_d2h_for_method_outputs: flag(),
    }
    .into();
}

/// All of them.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn all() -> Vec<Situation> {
    use Model::{
        Add, AddDynamic, AddEmpty, AddItself, AddSecondDevice, Apart, CpuBetween, InARow,
        InputUsedTwice, Mlp, OutputUsedTwice, ReturnsInput, ReturnsTwice, State, StateNotOwned,
        TwoDevices, TwoMethods, Weight, WeightNotOwned, XnnpackApart, XnnpackBetween,
    };
    let planned2: &[Passed] = &[PLANNED, PLANNED];
    let planned3: &[Passed] = &[PLANNED, PLANNED, PLANNED];
    let mut all = vec![
        of(
            "mixed/as-planned",
            "An addition on the device and a multiplication on the CPU, with no value in common; each input is where the program expects it.",
            Apart,
            &[DEFAULT, UNPLANNED, PAIRED, STAYS],
            &[planned3, planned3],
        ),
        of(
            "mixed/all-host",
            "The same, all inputs on the host.",
            Apart,
            &[PAIRED],
            &[&[HOST, HOST, HOST]],
        ),
        of(
            "mixed/all-device",
            "The same, all inputs on the device, that of the CPU operator too.",
            Apart,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[DEVICE, DEVICE, DEVICE]],
        ),
        of(
            "mixed/input-used-twice",
            "A placeholder that both the delegate and a CPU operator use.",
            InputUsedTwice,
            &[DEFAULT, UNPLANNED, STAYS, PAIRED],
            &[planned2],
        ),
        of(
            "mixed/output-used-twice",
            "An output of the delegate that is also used by a CPU operator.",
            OutputUsedTwice,
            &[DEFAULT, STAYS, PAIRED],
            &[planned2, planned2],
        ),
        of(
            "mixed/xnnpack-as-planned",
            "An addition on the device and a ReLU that XNNPACK's partitioner took first, with no value in common; each input is where the program expects it.",
            XnnpackApart,
            &[DEFAULT, UNPLANNED, PAIRED, STAYS],
            &[planned3, planned3],
        ),
        of(
            "mixed/xnnpack-all-device",
            "The same, all inputs on the device, that of XNNPACK's delegate too.",
            XnnpackApart,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[DEVICE, DEVICE, DEVICE]],
        ),
        of(
            "mixed/xnnpack-between",
            "Two delegates on the device, with XNNPACK's delegate, on the CPU, between them.",
            XnnpackBetween,
            &[DEFAULT, PAIRED],
            &[planned3, planned3],
        ),
        of(
            "delegates/one-input-twice",
            "One placeholder that the delegate uses twice.",
            AddItself,
            &[DEFAULT, PAIRED],
            &[&[PLANNED]],
        ),
        of(
            "delegates/in-a-row",
            "Two delegates on one device, the second on the result of the first.",
            InARow,
            &[DEFAULT, PAIRED],
            &[planned3, planned3],
        ),
        of(
            "delegates/two-devices",
            "The same, the second delegate for `cuda:1`. (The stand-in has one memory, whatever the number.)",
            TwoDevices,
            &[DEFAULT, PAIRED],
            &[planned3],
        ),
        of(
            "delegates/cpu-between",
            "Two delegates on one device, with a CPU operator between them.",
            CpuBetween,
            &[DEFAULT, PAIRED],
            &[planned3, planned3],
        ),
        of(
            "delegates/second-device",
            "All of the program for `cuda:1`; the caller's tensors are on `cuda:0`. (The stand-in has one memory, whatever the number.)",
            AddSecondDevice,
            &[DEFAULT, PAIRED],
            &[planned2],
        ),
        of(
            "outputs/an-input",
            "A method that returns an input besides its result.",
            ReturnsInput,
            &[DEFAULT, UNPLANNED, STAYS, PAIRED],
            &[planned2, planned2],
        ),
        of(
            "outputs/twice",
            "A method that returns one value twice.",
            ReturnsTwice,
            &[DEFAULT, PAIRED],
            &[planned2],
        ),
        of(
            "weights/owned",
            "A parameter that the delegate owns, loaded with its `.ptd`.",
            Weight,
            &[DEFAULT, PAIRED],
            &[&[PLANNED]],
        ),
        of(
            "weights/not-owned",
            "A parameter that the delegate is given like an input: its partitioner does not tag constants.",
            WeightNotOwned,
            &[DEFAULT, UNPLANNED, STAYS, PAIRED],
            &[&[PLANNED], &[PLANNED]],
        ),
        of(
            "weights/state-owned",
            "A mutable buffer that the delegate owns.",
            State,
            &[PAIRED],
            &[&[PLANNED]],
        ),
        of(
            "weights/state-not-owned",
            "A mutable buffer that the delegate is given like an input, in three executions.",
            StateNotOwned,
            &[DEFAULT, STAYS, PAIRED],
            &[&[PLANNED], &[PLANNED], &[PLANNED]],
        ),
        Situation {
            without_data: true,
            ..of(
                "weights/no-ptd",
                "A program with weights, loaded without its `.ptd`.",
                Mlp,
                &[DEFAULT, PAIRED],
                &[&[PLANNED]],
            )
        },
        of(
            "sizes/zero-elements",
            "Inputs that were exported with no element.",
            AddEmpty,
            &[DEFAULT, PAIRED],
            &[planned2],
        ),
        of(
            "sizes/at-the-bound",
            "A dynamic program for 2 to 8 rows, with 8, then 2, then 8.",
            AddDynamic,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[
                &[PLANNED.rows(8), PLANNED.rows(8)],
                &[PLANNED.rows(2), PLANNED.rows(2)],
                &[PLANNED.rows(8), PLANNED.rows(8)],
            ],
        ),
        of(
            "sizes/below-the-bound",
            "The same with 1 row.",
            AddDynamic,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[PLANNED.rows(1), PLANNED.rows(1)]],
        ),
        of(
            "sizes/no-rows",
            "The same with no row.",
            AddDynamic,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[PLANNED.rows(0), PLANNED.rows(0)]],
        ),
        of(
            "sizes/above-the-bound",
            "The same with 9 rows, then with 8.",
            AddDynamic,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[
                &[PLANNED.rows(9), PLANNED.rows(9)],
                &[PLANNED.rows(8), PLANNED.rows(8)],
            ],
        ),
        of(
            "sizes/that-disagree",
            "The same with 8 rows of one input and 4 of the other.",
            AddDynamic,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[PLANNED.rows(8), PLANNED.rows(4)]],
        ),
        of(
            "wrong/shape",
            "4×16 instead of 8×8: as many elements.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[PLANNED.sizes(&[4, 16]), PLANNED.sizes(&[4, 16])]],
        ),
        of(
            "wrong/fewer-rows",
            "4×8 instead of 8×8, in a program without dynamic shapes.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[PLANNED.rows(4), PLANNED.rows(4)]],
        ),
        of(
            "wrong/rank",
            "64 instead of 8×8.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[PLANNED.sizes(&[64]), PLANNED.sizes(&[64])]],
        ),
        of(
            "wrong/dtype-same-size",
            "int32 instead of float32.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[
                PLANNED.elements(Elements::Int),
                PLANNED.elements(Elements::Int),
            ]],
        ),
        of(
            "wrong/dtype-larger",
            "float64 instead of float32.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[
                PLANNED.elements(Elements::Double),
                PLANNED.elements(Elements::Double),
            ]],
        ),
        of(
            "wrong/layout",
            "The first input with its columns outermost in memory.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[
                Passed {
                    transposed: true,
                    ..PLANNED
                },
                PLANNED,
            ]],
        ),
        of(
            "wrong/too-few",
            "One input instead of two.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[&[PLANNED]],
        ),
        of(
            "wrong/too-few-after-all",
            "Both inputs, then one.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[planned2, &[PLANNED]],
        ),
        of(
            "wrong/too-many",
            "Three inputs instead of two.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[planned3],
        ),
        of(
            "wrong/after-a-refusal",
            "float64 once, then what is right.",
            Add,
            &[DEFAULT, UNPLANNED, PAIRED],
            &[
                &[
                    PLANNED.elements(Elements::Double),
                    PLANNED.elements(Elements::Double),
                ],
                planned2,
            ],
        ),
        of(
            "feedback/same-method",
            "The result as the first input of the next execution of the same method, twice.",
            Add,
            &[DEFAULT, UNPLANNED, STAYS, STARTS, PAIRED],
            &[planned2, &[RESULT, PLANNED], &[RESULT, PLANNED]],
        ),
        Situation {
            methods: &["encode", "decode"],
            ..of(
                "feedback/other-method",
                "The result as the first input of another method.",
                TwoMethods,
                &[DEFAULT, UNPLANNED, STAYS, STARTS, PAIRED],
                &[planned2, &[RESULT, PLANNED]],
            )
        },
        Situation {
            public: false,
            between: Some(Between::Overwritten),
            ..of(
                "held/overwritten",
                "`set_input`, then other values in the same memory, then the execution. Right is what was there at `set_input`.",
                Add,
                &[DEFAULT, UNPLANNED, PAIRED],
                &[planned2],
            )
        },
        Situation {
            public: false,
            between: Some(Between::Freed),
            ..of(
                "held/freed",
                "`set_input`, then the memory is freed, then the execution. (Freed host memory that the method still reads is anything: not measured.)",
                Add,
                &[DEFAULT, PAIRED],
                &[planned2],
            )
        },
        Situation {
            adjust: |config| skips_for(config, "foward"),
            ..of(
                "configuration/misspelt-method",
                "`propagate_device_config` as a dict with both skips for `foward`.",
                Add,
                &[PAIRED],
                &[planned2, &[DEVICE, DEVICE]],
            )
        },
        Situation {
            adjust: |config| skips_for(config, "forward"),
            ..of(
                "configuration/dict",
                "The same dict for `forward`.",
                Add,
                &[PAIRED],
                &[planned2],
            )
        },
        Situation {
            adjust: |config| dicts(config, &[("forward", false)]),
            ..of(
                "configuration/dict-in-flag-false",
                "Each skip flag is the dict `{\"forward\": False}`.",
                Add,
                &[PAIRED],
                &[planned2],
            )
        },
        Situation {
            adjust: |config| dicts(config, &[]),
            ..of(
                "configuration/dict-in-flag-empty",
                "Each skip flag is the dict `{}`.",
                Add,
                &[PAIRED],
                &[planned2],
            )
        },
        Situation {
            adjust: |config| dicts(config, &[("other", true)]),
            ..of(
                "configuration/dict-in-flag-other",
                "Each skip flag is the dict `{\"other\": True}`, which names no method of the program.",
                Add,
                &[PAIRED],
                &[planned2],
            )
        },
        Situation {
            share_memory_arenas: true,
            ..of(
                "arenas/shared",
                "`share_memory_arenas`, as programs with `share_mutable_buffers` need.",
                Add,
                &[DEFAULT, PAIRED],
                &[planned2],
            )
        },
        Situation {
            share_memory_arenas: true,
            adjust: share_mutable_buffers,
            ..of(
                "arenas/shared-mutable-buffers",
                "`share_mutable_buffers` in the export and `share_memory_arenas`.",
                StateNotOwned,
                &[DEFAULT],
                &[&[PLANNED]],
            )
        },
        Situation {
            adjust: share_mutable_buffers,
            ..of(
                "arenas/not-shared-mutable-buffers",
                "`share_mutable_buffers` in the export, without `share_memory_arenas`.",
                StateNotOwned,
                &[DEFAULT],
                &[&[PLANNED], &[PLANNED]],
            )
        },
        Situation {
            host_arenas: true,
            ..of(
                "arenas/all-on-the-host",
                "A runner that makes the arenas itself and never asks for their device: all are on the host.",
                Add,
                &[DEFAULT, UNPLANNED, STAYS, STARTS, PAIRED, CALLERS],
                &[planned2],
            )
        },
        Situation {
            at_once: true,
            ..of(
                "threads/a-module-each",
                "Two threads, each with a module of its own and its own values, a hundred executions each. The first entry has the copies of both.",
                Add,
                &[DEFAULT, UNPLANNED, PAIRED],
                &[planned2, planned2],
            )
        },
        Situation {
            public: false,
            outputs: vec![Some(DEVICE)],
            ..of(
                "set-output/right",
                "`set_output` with device memory, two executions.",
                Add,
                &[CALLERS, PAIRED],
                &[planned2, planned2],
            )
        },
        Situation {
            public: false,
            outputs: vec![Some(DEVICE.rows(4))],
            ..of(
                "set-output/too-small",
                "`set_output` with 4×8 instead of 8×8.",
                Add,
                &[CALLERS],
                &[planned2],
            )
        },
        Situation {
            public: false,
            outputs: vec![Some(DEVICE.rows(4))],
            ..of(
                "set-output/dynamic-too-small",
                "`set_output` with 4 rows for a program of up to 8.",
                AddDynamic,
                &[CALLERS],
                &[&[PLANNED.rows(4), PLANNED.rows(4)]],
            )
        },
        Situation {
            public: false,
            outputs: vec![Some(DEVICE.elements(Elements::Double))],
            ..of(
                "set-output/dtype",
                "`set_output` with float64.",
                Add,
                &[CALLERS],
                &[planned2],
            )
        },
        Situation {
            public: false,
            outputs: vec![Some(HOST)],
            ..of(
                "set-output/host",
                "`set_output` with host memory for an output that stays on the device.",
                Add,
                &[CALLERS],
                &[planned2],
            )
        },
        of(
            "set-output/none",
            "No `set_output` where it is needed.",
            Add,
            &[CALLERS, NOTHING_PLANNED],
            &[planned2],
        ),
    ];
    all.extend([
        Situation { public: false, outputs: vec![None, Some(HOST)], ..of("mixed/output-used-twice-callers", "An output of the delegate that is also used by a CPU operator; `set_output` for the operator's.", OutputUsedTwice, &[CALLERS], &[planned2]) },
        Situation { public: false, outputs: vec![Some(DEVICE), Some(DEVICE)], ..of("outputs/twice-callers", "A method that returns one value twice, `set_output` with a buffer for each.", ReturnsTwice, &[CALLERS], &[planned2]) },
        Situation { public: false, outputs: vec![Some(DEVICE)], share_memory_arenas: true, ..of("arenas/shared-callers", "`share_memory_arenas` for a program without any arena.", Add, &[CALLERS], &[planned2]) },
        Situation { public: false, outputs: vec![Some(DEVICE)], missing: Some(Part::Allocator), ..of("missing/allocator-callers", "No allocator for CUDA is registered; the program has no arena.", Add, &[CALLERS], &[planned2]) },
        Situation { public: false, outputs: vec![Some(DEVICE)], missing: Some(Part::Kernels), ..of("missing/kernels-callers", "ExecuTorch's operators are not linked; the program has no operator.", Add, &[CALLERS], &[planned2]) },
    ]);
    for (part, name, what) in [
        (
            Part::Allocator,
            "missing/allocator",
            "No allocator for CUDA is registered.",
        ),
        (
            Part::Delegate,
            "missing/delegate",
            "The delegate is not registered.",
        ),
        (
            Part::Kernels,
            "missing/kernels",
            "ExecuTorch's operators are not linked.",
        ),
    ] {
        all.push(Situation {
            missing: Some(part),
            ..of(name, what, Add, &[DEFAULT, UNPLANNED, PAIRED], &[planned2])
        });
    }
    all
}

/// Both skips for this method, in the dict by method name.
fn skips_for(config: &mut ExecutorchBackendConfig, method: &str) {
    let skips = PropagateDeviceConfig {
        skip_h2d_for_method_inputs: true.into(),
        skip_d2h_for_method_outputs: true.into(),
    };
    config.propagate_device_config = PerMethod::ByMethod([(method.to_owned(), skips)].into());
}

fn share_mutable_buffers(config: &mut ExecutorchBackendConfig) {
    if let PerMethod::All(planning) = &mut config.memory_planning_pass {
        planning.share_mutable_buffers = true;
    }
}
