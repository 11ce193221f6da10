//! The programs that the tests run.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use export::{
    ExecutorchBackendConfig, Exported, Exporter, MemoryPlanningPass, Model, PropagateDeviceConfig,
    Request,
};

/// Every program, so that one Python process exports all that the cache does not have.
const ADD: [&str; 5] = [
    "h0d0_i1o1",
    "h0d0_i0o1",
    "h1d0_i0o1",
    "h1d1_i0o1",
    "h1d1_i0o0",
];
const MLP: [&str; 1] = ["h1d1_i0o1"];
const OWN: [&str; 9] = [
    "dynamic",
    "dynamic_caller",
    "methods",
    "every_operator",
    "untagged",
    "integers",
    "channels_last",
    "layers",
    "other_layers",
];

/// `a + b`, exported as the label says: `h1d0_i0o1` skips the copies of inputs and not those of
/// outputs, leaves inputs unplanned and plans outputs.
pub fn add(label: &str) -> Exported {
    assert!(ADD.contains(&label), "list {label}");
    pte(with_config(Model::Add, label))
}

/// The small MLP, which has weights; labelled in the same way.
pub fn mlp(label: &str) -> Exported {
    assert!(MLP.contains(&label), "list {label}");
    pte(with_config(Model::Mlp, label))
}

/// A program of `tests/programs`.
pub fn own(program: &str) -> Exported {
    assert!(OWN.contains(&program), "list {program}");
    pte(recipe(program))
}

/// Exports all programs, once, and tells `child` where they are.
pub fn hand_to(child: &mut Command) {
    static EXPORTER: OnceLock<Exporter> = OnceLock::new();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.join("tests/programs");
    let cache = env::var_os("GUIDE_CACHE")
        .map_or_else(|| manifest.join("../../target/exports"), PathBuf::from);
    let exporter = EXPORTER.get_or_init(|| {
        let exporter = Exporter::new(&root).cache(&cache);
        let add = ADD.iter().map(|label| with_config(Model::Add, label));
        let mlp = MLP.iter().map(|label| with_config(Model::Mlp, label));
        let requests: Vec<_> = add
            .chain(mlp)
            .chain(OWN.iter().map(|program| recipe(program)))
            .collect();
        for exported in exporter
            .all(&requests)
            .unwrap_or_else(|error| panic!("{error}"))
        {
            exported.unwrap_or_else(|error| panic!("{error}"));
        }
        exporter
    });
    exporter
        .hand_down(child)
        .unwrap_or_else(|error| panic!("{error}"));
    child.env("GUIDE_ROOT", root).env("GUIDE_CACHE", cache);
}

fn pte(request: Request) -> Exported {
    export::pte(request).unwrap_or_else(|error| panic!("{error}"))
}

fn recipe(program: &str) -> Request {
    format!("device/{program}").into()
}

fn with_config(model: Model, label: &str) -> Request {
    let set = |letter| label.contains(&format!("{letter}1"));
    let propagate = PropagateDeviceConfig {
        skip_h2d_for_method_inputs: set('h').into(),
        skip_d2h_for_method_outputs: set('d').into(),
    };
    let planning = MemoryPlanningPass {
        alloc_graph_input: set('i'),
        alloc_graph_output: set('o'),
        ..MemoryPlanningPass::default()
    };
    let config = ExecutorchBackendConfig {
        propagate_device_config: propagate.into(),
        memory_planning_pass: planning.into(),
        ..ExecutorchBackendConfig::default()
    };
    Request::Config { model, config }
}
