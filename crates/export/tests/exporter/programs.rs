//! What is exported, in one process for all of it.

use std::collections::HashMap;
use std::fs;
use std::sync::LazyLock;

use export::{
    Error, ExecutorchBackendConfig, Exported, Flag, MemoryPlanningPass, Model, PerMethod,
    PropagateDeviceConfig, Request, Tensor,
};
use serde_json::{Value, json};

use crate::scratch::{Scratch, recipe};

fn config(skip: impl Into<Flag>, alloc_graph_input: bool) -> ExecutorchBackendConfig {
    let skip = skip.into();
    ExecutorchBackendConfig {
        propagate_device_config: PropagateDeviceConfig {
            skip_h2d_for_method_inputs: skip.clone(),
            skip_d2h_for_method_outputs: skip,
        }
        .into(),
        memory_planning_pass: MemoryPlanningPass {
            alloc_graph_input,
            ..MemoryPlanningPass::default()
        }
        .into(),
        ..ExecutorchBackendConfig::default()
    }
}

fn by_method<T>(method: &str, value: T) -> PerMethod<T> {
    PerMethod::ByMethod([(method.to_owned(), value)].into())
}

/// Everything that the tests below look at, by name.
struct Batch {
    results: HashMap<&'static str, Result<Exported, Error>>,
    starts: usize,
    _scratch: Scratch,
}

static BATCH: LazyLock<Batch> = LazyLock::new(|| {
    let scratch = Scratch::new();
    scratch.copy_listing("pairing-rule");
    scratch.copy_listing("default-copies");
    scratch.listing("sigmoid", &recipe("return torch.sigmoid(x)"));
    scratch.listing("double", &recipe("return x.double() + 1"));
    scratch.listing(
        "mutates",
        &recipe("self.buffer.add_(x)\n        return self.buffer * x"),
    );
    scratch.listing(
        "matrices",
        &recipe("return torch.addmm(self.buffer, x, x.t() @ self.buffer).permute(1, 0), x"),
    );
    let dies = "print('on its way'); os.write(2, b'the last word\\n\\n'); os._exit(3)";
    scratch.listing(
        "dies",
        &recipe("return x").replace("def program():", &format!("def program():\n    {dies}")),
    );
    scratch.listing(
        "leaves",
        &recipe("return x").replace("def program():", "def program():\n    raise SystemExit(7)"),
    );
    scratch.listing(
        "bare",
        &recipe("return x + x")
            .replace("model = Model()", "the_model = Model()")
            .replace("(model,", "(the_model,"),
    );
    scratch.listing("renamed", &(recipe("return x + x") + "programs = {}\n"));

    let paired = config(true, false);
    let mut by_flag = paired.clone();
    by_flag.propagate_device_config = PropagateDeviceConfig {
        skip_h2d_for_method_inputs: Flag::ByMethod([("forward".to_owned(), true)].into()),
        skip_d2h_for_method_outputs: Flag::ByMethod([("forward".to_owned(), true)].into()),
    }
    .into();
    let mut per_method = paired.clone();
    let (PerMethod::All(propagate), PerMethod::All(planning)) = (
        per_method.propagate_device_config,
        per_method.memory_planning_pass,
    ) else {
        unreachable!("`config` makes one for all methods");
    };
    per_method.propagate_device_config = by_method("forward", propagate);
    per_method.memory_planning_pass = by_method("forward", planning);
    let impossible = ExecutorchBackendConfig {
        enable_non_cpu_memory_planning: false,
        ..config(true, true)
    };

    let add = |config| Request::Config {
        model: Model::Add,
        config,
    };
    let requests: Vec<(&str, Request)> = vec![
        ("unpaired", "pairing-rule/unpaired".into()),
        ("paired", "pairing-rule/paired".into()),
        ("upstream_example", "pairing-rule/upstream_example".into()),
        ("default", "default-copies/default".into()),
        ("add default", add(ExecutorchBackendConfig::default())),
        ("add paired", add(paired)),
        ("add paired, flags by method", add(by_flag)),
        ("add paired, by method", add(per_method)),
        ("add impossible", add(impossible)),
        (
            "mlp",
            Request::Config {
                model: Model::Mlp,
                config: ExecutorchBackendConfig::default(),
            },
        ),
        ("matrices", "matrices/program".into()),
        ("sigmoid", "sigmoid/program".into()),
        ("double", "double/program".into()),
        ("mutates", "mutates/program".into()),
        ("leaves", "leaves/program".into()),
        ("bare", "bare/program".into()),
        ("renamed", "renamed/program".into()),
        ("dies", "dies/program".into()),
        ("again", "pairing-rule/paired".into()),
    ];
    let exporter = scratch.exporter().plant(scratch.counting());
    let (names, requests): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
    let results = names
        .into_iter()
        .zip(exporter.all(&requests).unwrap())
        .collect();
    Batch {
        results,
        starts: scratch.starts(),
        _scratch: scratch,
    }
});

fn exported(name: &str) -> &'static Exported {
    BATCH.results[name]
        .as_ref()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn pte(name: &str) -> Vec<u8> {
    fs::read(&exported(name).pte).unwrap()
}

fn python_error(name: &str) -> (&'static str, &'static str) {
    match &BATCH.results[name] {
        Err(Error::Python {
            kind,
            message,
            traceback,
            ..
        }) => {
            assert!(
                traceback.contains(message) && traceback.starts_with("Traceback"),
                "{name}: {traceback}"
            );
            (kind, message)
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// The operators that the delegate is given.
fn operators(name: &str) -> Value {
    let pte = pte(name);
    let start = b"{\"version\":";
    let at = pte
        .windows(start.len())
        .position(|window| window == start)
        .expect("a list of operators in the program");
    serde_json::Deserializer::from_slice(&pte[at..])
        .into_iter()
        .next()
        .unwrap()
        .unwrap()
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.f32().unwrap()
}

#[test]
fn one_process_exports_all_and_one_that_dies_costs_only_the_program_that_it_was_at() {
    assert_eq!(BATCH.starts, 2, "one, and one for what comes after `dies`");
    let error = BATCH.results["dies"].as_ref().unwrap_err();
    assert_eq!(
        error.to_string(),
        "dies/program: the exporting process ended without an answer (exit status: 3); its last output: the last word"
    );
}

#[test]
fn a_configuration_by_value_makes_byte_for_byte_what_the_recipe_makes() {
    assert_eq!(pte("add paired"), pte("paired"));
    assert_eq!(pte("add default"), pte("default"));
    assert_eq!(exported("again").pte, exported("paired").pte);
}

#[test]
fn a_model_that_was_lowered_for_another_configuration_makes_the_same_bytes() {
    let request = |model, config| Request::Config { model, config };
    let models = [
        Model::TwoMethods,
        Model::Mlp,
        Model::CpuBetween,
        Model::AddDynamic,
    ];
    let paired = models.map(|model| request(model, config(true, false)));
    let bytes = |requests: &[Request]| {
        let scratch = Scratch::new();
        let made = scratch.exporter().all(requests).unwrap().into_iter();
        made.map(|made| fs::read(made.unwrap().pte).unwrap())
            .collect::<Vec<_>>()
    };
    let default = models.map(|model| request(model, ExecutorchBackendConfig::default()));
    let after_default = bytes(&[&default[..], &paired[..]].concat());
    let (default, after_default) = after_default.split_at(models.len());
    assert_eq!(after_default, bytes(&paired), "left something behind");
    assert!(default.iter().zip(after_default).all(|(a, b)| a != b));
}

#[test]
fn settings_by_method_are_the_same_settings() {
    assert_eq!(pte("add paired, flags by method"), pte("paired"));
    assert_eq!(pte("add paired, by method"), pte("paired"));
}

#[test]
fn every_setting_makes_another_program() {
    let made = ["unpaired", "paired", "upstream_example", "default"].map(pte);
    for (n, one) in made.iter().enumerate() {
        assert!(!made[..n].contains(one));
    }
}

#[test]
fn eager_pytorch_is_recorded_exactly() {
    for name in ["paired", "add default"] {
        let eager = &exported(name).eager;
        let [a, b] = eager.inputs.as_slice() else {
            panic!("{:?}", eager.inputs)
        };
        assert_eq!((a.dtype.as_str(), a.sizes.as_slice()), ("F32", &[8, 8][..]));
        let sum: Vec<f32> = values(a)
            .iter()
            .zip(values(b))
            .map(|(a, b)| a + b)
            .collect();
        assert_eq!(values(&eager.outputs[0]), sum, "{name}");
        assert_ne!(values(a), values(b));
        assert_eq!(exported(name).method("forward"), Some(eager));
        assert_eq!(exported(name).method("backward"), None);
    }
}

#[test]
fn every_value_of_the_mlp_is_exact_in_any_order_of_summation() {
    let eager = &exported("mlp").eager;
    let (x, y) = (values(&eager.inputs[0]), values(&eager.outputs[0]));
    assert_eq!(
        (
            eager.inputs[0].sizes.as_slice(),
            eager.outputs[0].sizes.as_slice()
        ),
        (&[8, 8][..], &[8, 4][..])
    );
    assert!(
        x.iter()
            .all(|x| x * 8.0 == (x * 8.0).round() && x.abs() <= 1.0)
    );
    // Three factors of 1/8 at most, and far below 2^24 of them.
    assert!(
        y.iter()
            .all(|y| y * 512.0 == (y * 512.0).round() && y.abs() < 512.0),
        "{y:?}"
    );
    assert!(y.iter().any(|y| *y != y.round()), "{y:?}");
}

#[test]
fn a_model_without_weights_has_no_ptd() {
    assert!(exported("paired").ptd.is_empty());
}

#[test]
fn weights_lie_in_the_file_that_the_cuda_backend_names() {
    let [ptd] = exported("mlp").ptd.as_slice() else {
        panic!("{:?}", exported("mlp").ptd)
    };
    assert_eq!(ptd.file_name().unwrap(), "aoti_cuda_blob.ptd");
    let ptd = fs::read(ptd).unwrap();
    let operators = operators("mlp");
    let weights = operators["weights"].as_array().unwrap();
    assert_eq!(weights.len(), 4);
    for weight in weights {
        let key = weight["key"].as_str().unwrap().as_bytes();
        assert!(
            ptd.windows(key.len()).any(|window| window == key),
            "{weight}"
        );
    }
}

#[test]
fn the_delegate_is_given_a_list_of_operators() {
    assert_eq!(
        operators("paired"),
        json!({
            "version": 1,
            "method": "forward",
            "inputs": [{"name": "a", "dtype": "float32"}, {"name": "b", "dtype": "float32"}],
            "ops": [{"op": "add", "in": ["a", "b"], "out": "aten_add_tensor"}],
            "outputs": ["aten_add_tensor"],
            "weights": [],
        })
    );
    let mlp = operators("mlp");
    let names: Vec<_> = mlp["ops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|op| op["op"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["linear", "relu", "linear"]);
    let operands = |op: usize| mlp["ops"][op]["in"].as_array().unwrap().iter();
    assert_eq!(
        operands(0)
            .map(|name| name.as_str().unwrap())
            .collect::<Vec<_>>(),
        ["x", "p_hidden_weight", "p_hidden_bias"]
    );
    assert_eq!(mlp["weights"][0]["sizes"], json!([16, 8]));

    let matrices = operators("matrices");
    let names: Vec<_> = matrices["ops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|op| op["op"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["transpose", "mm", "addmm", "permute"]);
    assert_eq!(matrices["ops"][3]["dims"], json!([1, 0]));
}

#[test]
fn the_exporters_own_error_arrives_whole() {
    let (kind, message) = python_error("add impossible");
    assert_eq!(kind, "ValueError");
    assert_eq!(
        message,
        "skip_h2d_for_method_inputs and skip_d2h_for_method_outputs are only meaningful when \
         enable_non_cpu_memory_planning=True, since they control host/device copy insertion which only happens during \
         device-aware memory planning. Set enable_non_cpu_memory_planning=True, or leave the skip options disabled."
    );
    let error = BATCH.results["add impossible"]
        .as_ref()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("add with {\"propagate_device_config\"") && error.ends_with(message),
        "{error}"
    );
}

#[test]
fn what_the_stand_in_cannot_run_is_named() {
    let (kind, message) = python_error("sigmoid");
    assert_eq!(kind, "StandInError");
    assert_eq!(
        message,
        "method `forward`, operator `aten.sigmoid.default` (`aten_sigmoid_default`): the stand-in for CUDA does not run \
         it, only aten.add.Tensor, aten.addmm.default, aten.clone.default, aten.linear.default, aten.matmul.default, \
         aten.mm.default, aten.mul.Tensor, aten.permute_copy.default, aten.relu.default, aten.t_copy.default, \
         dim_order_ops._clone_dim_order.default"
    );
    assert!(
        python_error("double").1.contains("is torch.int64"),
        "{:?}",
        python_error("double")
    );
    assert!(
        python_error("mutates")
            .1
            .contains("BUFFER_MUTATION (`buffer`)"),
        "{:?}",
        python_error("mutates")
    );
}

#[test]
fn a_recipe_that_ends_the_process_costs_only_itself() {
    assert_eq!(python_error("leaves"), ("SystemExit", "7"));
}

#[test]
fn a_recipe_without_what_the_exporter_needs_says_so() {
    assert_eq!(
        python_error("bare"),
        ("RecipeError", "bare/export.py defines no `model`")
    );
    assert_eq!(
        python_error("renamed"),
        ("RecipeError", "`programs` has no `program`: there are ")
    );
}
