//! Programs that verify as data and contradict themselves: real ones, with one number or name changed by hand.

use std::fs;
use std::io::Write;
use std::process::Command;

use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Vector, WIPOffset};
use pte::{Error, Program};
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::flat::program_generated::executorch_flatbuffer as schema;
use crate::programs::{one, scratch, wheel};

/// The exporter's plan of this program after `edit`, written by `flatc` as `edited.pte`. Constants and delegates are
/// inline.
pub fn write(name: &str, edit: impl FnOnce(&mut Value)) -> TempDir {
    let mut plan = one(name).plan.clone();
    edit(&mut plan);
    let folder = scratch();
    fs::write(
        folder.path().join("edited.json"),
        without_nulls(plan).to_string(),
    )
    .unwrap();
    let written = Command::new(wheel().join("data/bin/flatc"))
        .args(["--binary", "-o"])
        .arg(folder.path())
        .arg(wheel().join("schema/program.fbs"))
        .arg(folder.path().join("edited.json"))
        .output()
        .unwrap();
    assert!(written.status.success(), "{written:?}");
    folder
}

fn read(name: &str, edit: impl FnOnce(&mut Value)) -> Result<Program, Error> {
    Program::open(write(name, edit).path().join("edited.pte")).map_err(|error| match error {
        Error::File { error, .. } => *error,
        other => panic!("{other}"),
    })
}

/// A program whose only arena is on a device of type 7, written by hand: `flatc` holds an enum against the schema.
pub fn unnamed_arena_device() -> NamedTempFile {
    let exported = one(PAIRED);
    let mut bytes = exported.bytes.clone();
    let part = schema::root_as_program(&bytes[..exported.program().layout.program_bytes as usize])
        .unwrap();
    let entry = part
        .execution_plan()
        .unwrap()
        .get(0)
        .non_const_buffer_device()
        .unwrap()
        .get(0);
    let at = entry._tab.loc()
        + usize::from(
            entry
                ._tab
                .vtable()
                .get(schema::NonConstBufferDevice::VT_DEVICE_TYPE),
        );
    assert_eq!(bytes[at], 1);
    bytes[at] = 7;
    let mut file = tempfile::Builder::new()
        .suffix(".pte")
        .tempfile_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    file.write_all(&bytes).unwrap();
    file
}

/// `flatc` knows absent fields, not null ones.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

const PAIRED: &str = "h1d1_i0o1_n1";
const DEFAULT: &str = "h0d0_i1o1_n1";

/// Where in the exporter's JSON the forward method, or a value of it, is.
pub fn plan(program: &mut Value) -> &mut Value {
    &mut program["execution_plan"][0]
}

pub fn value(program: &mut Value, index: usize) -> &mut Value {
    &mut plan(program)["values"][index]["val"]
}

pub fn instruction(program: &mut Value, index: usize) -> &mut Value {
    &mut plan(program)["chains"][0]["instructions"][index]["instr_args"]
}

#[track_caller]
fn refused(name: &str, text: &str, edit: impl FnOnce(&mut Value)) {
    match read(name, edit) {
        Ok(program) => panic!("no error, but {program:?}"),
        Err(error) => assert_eq!(error.to_string(), format!("is damaged: {text}")),
    }
}

#[test]
fn an_unedited_program_reads_as_it_was() {
    let whole = one(DEFAULT).program();
    let read = read(DEFAULT, |_| {}).unwrap();
    assert_eq!(read.methods[0].inputs, whole.methods[0].inputs);
    assert_eq!(read.methods[0].chain, whole.methods[0].chain);
}

#[test]
fn a_device_without_a_name_is_shown_by_its_number() {
    // Written by hand: flatc holds an enum's numbers against the schema's.
    let exported = one(PAIRED);
    let mut bytes = exported.bytes.clone();
    let part = schema::root_as_program(&bytes[..exported.program().layout.program_bytes as usize])
        .unwrap();
    let input = part
        .execution_plan()
        .unwrap()
        .get(0)
        .values()
        .unwrap()
        .get(0)
        .val_as_tensor()
        .unwrap();
    let extra = input.extra_tensor_info().unwrap();
    let at = extra._tab.loc()
        + usize::from(
            extra
                ._tab
                .vtable()
                .get(schema::ExtraTensorInfo::VT_DEVICE_TYPE),
        );
    assert_eq!(bytes[at], 1);
    bytes[at] = 7;
    let program = Program::from_bytes(&bytes).unwrap();
    let devices: Vec<String> = program.methods[0]
        .input_tensors()
        .map(|input| input.device.to_string())
        .collect();
    assert!(devices.contains(&"device-7:0".into()), "{devices:?}");
    let json = serde_json::to_string(&program).unwrap();
    assert!(json.contains(r#"{"type":"device-7","index":0}"#));
    assert_eq!(serde_json::from_str::<Program>(&json).unwrap(), program);
}

#[test]
fn a_second_device_keeps_its_index() {
    let program = read(PAIRED, |it| {
        value(it, 0)["extra_tensor_info"]["device_index"] = json!(-3);
    })
    .unwrap();
    assert_eq!(
        program.methods[0]
            .input_tensors()
            .next()
            .unwrap()
            .device
            .to_string(),
        "cuda:-3"
    );
}

#[test]
fn tensors_that_cannot_be() {
    refused(
        DEFAULT,
        "method `forward`, value 0 has the sizes [2147483647, 2147483647, 2147483647, 8], which overflow",
        |it| {
            value(it, 0)["sizes"] = json!([i32::MAX, i32::MAX, i32::MAX, 8]);
            value(it, 0)["dim_order"] = json!([0, 1, 2, 3]);
        },
    );
    refused(
        DEFAULT,
        "method `forward`, value 1 has a negative size",
        |it| value(it, 1)["sizes"][0] = json!(-1),
    );
    let dimensions = "sizes and 2 entries in its dim order; both must agree and be 16 at most";
    refused(
        DEFAULT,
        &format!("method `forward`, value 1 has 3 {dimensions}"),
        |it| value(it, 1)["sizes"] = json!([1, 2, 3]),
    );
    let dimensions =
        "has 17 sizes and 17 entries in its dim order; both must agree and be 16 at most";
    refused(
        DEFAULT,
        &format!("method `forward`, value 1 {dimensions}"),
        |it| {
            value(it, 1)["sizes"] = json!(vec![1; 17]);
            value(it, 1)["dim_order"] = json!((0..17).collect::<Vec<_>>());
        },
    );
    for order in [[0, 0], [1, 2], [0, 200]] {
        let text = format!(
            "method `forward`, value 1 has the dim order {order:?}, which is no order of its 2 dimensions"
        );
        refused(DEFAULT, &text, |it| {
            value(it, 1)["dim_order"] = json!(order);
        });
    }
    refused(
        DEFAULT,
        "method `forward`, value 1 is a tensor without sizes or without a dim order",
        |it| value(it, 1)["sizes"] = Value::Null,
    );
    assert_eq!(
        read(DEFAULT, |it| {
            value(it, 0)["sizes"] = json!([0, i32::MAX]);
        })
        .unwrap()
        .methods[0]
            .input_tensors()
            .next()
            .unwrap()
            .nbytes,
        0
    );
}

#[test]
fn memory_that_is_not_there() {
    refused(
        DEFAULT,
        "method `forward`, value 0 is planned in memory 0, and the method has 2 arenas",
        |it| value(it, 0)["allocation_info"]["memory_id"] = json!(0),
    );
    refused(
        DEFAULT,
        "method `forward`, value 0 is planned in memory 3, and the method has 2 arenas",
        |it| value(it, 0)["allocation_info"]["memory_id"] = json!(3),
    );
    refused(DEFAULT, "method `forward`, arena 1 has -768 bytes", |it| {
        plan(it)["non_const_buffer_sizes"][2] = json!(-768);
    });

    // The offset has two halves.
    let program = read(DEFAULT, |it| {
        value(it, 0)["allocation_info"]["memory_offset_high"] = json!(3);
    })
    .unwrap();
    assert_eq!(
        program.methods[0]
            .input_tensors()
            .next()
            .unwrap()
            .planned
            .unwrap()
            .offset,
        (3 << 32) + 256
    );
}

#[test]
fn the_first_device_of_an_arena_counts_as_it_does_in_the_runtime() {
    let program = read(DEFAULT, |it| {
        let devices = plan(it)["non_const_buffer_device"].as_array_mut().unwrap();
        devices.push(json!({"buffer_idx": 2, "device_type": 0, "device_index": 0}));
        devices.push(json!({"buffer_idx": 1, "device_type": 1, "device_index": 5}));
        devices.push(json!({"buffer_idx": 99, "device_type": 1, "device_index": 5}));
        devices.push(json!({"buffer_idx": -1, "device_type": 1, "device_index": 5}));
    });
    let devices: Vec<String> = program.unwrap().methods[0]
        .arenas
        .iter()
        .map(|arena| arena.device.to_string())
        .collect();
    assert_eq!(devices, ["cuda:5", "cuda:0"]);
}

#[test]
fn values_that_are_not_there() {
    refused(
        DEFAULT,
        "method `forward`, input 1 names value 6, and the method has 6",
        |it| plan(it)["inputs"][1] = json!(6),
    );
    refused(
        DEFAULT,
        "method `forward`, output 0 names value -1, and the method has 6",
        |it| plan(it)["outputs"][0] = json!(-1),
    );
    refused(
        DEFAULT,
        "method `forward`, step 2 names value 77, and the method has 6",
        |it| instruction(it, 2)["args"][1] = json!(77),
    );
    refused(
        DEFAULT,
        "method `forward`, step 0 names value -5, and the method has 6",
        |it| instruction(it, 0)["args"][0] = json!(-5),
    );
    refused(
        "branch",
        "method `forward`, step 5 names value 999, and the method has 20",
        |it| instruction(it, 5)["move_to"] = json!(999),
    );
    refused(
        "branch",
        "method `forward`, step 2 names value -9, and the method has 20",
        |it| instruction(it, 2)["cond_value_index"] = json!(-9),
    );
    refused(
        DEFAULT,
        "method `forward`, the output list has 9000 entries for 6 values",
        |it| plan(it)["outputs"] = json!(vec![5; 9000]),
    );
    assert_eq!(
        read(DEFAULT, |it| plan(it)["outputs"] = json!([5, 5]))
            .unwrap()
            .methods[0]
            .outputs
            .len(),
        2
    );
}

#[test]
fn steps_that_go_nowhere() {
    refused(
        DEFAULT,
        "method `forward`, step 1 calls operator 2, and the method has 2",
        |it| instruction(it, 1)["op_index"] = json!(2),
    );
    refused(
        DEFAULT,
        "method `forward`, step 2 calls delegate -1, and the method has 1",
        |it| instruction(it, 2)["delegate_index"] = json!(-1),
    );
    refused(
        "branch",
        "method `forward`, step 2 jumps to step 11 of 10",
        |it| instruction(it, 2)["destination_instruction"] = json!(11),
    );
    let end = read("branch", |it| {
        instruction(it, 2)["destination_instruction"] = json!(10);
    })
    .unwrap();
    assert_eq!(
        end.methods[0].chain[2],
        pte::Step::JumpIfFalse {
            condition: 5,
            to: 10
        }
    );
    refused(
        DEFAULT,
        "method `forward`, step 0 calls et_copy::_h2d_copy.out on something else than two tensors",
        |it| instruction(it, 0)["args"] = json!([0]),
    );
    refused(
        "branch",
        "method `forward`, step 0 calls et_copy::_d2h_copy.out on something else than two tensors",
        |it| {
            plan(it)["operators"][0] = json!({"name": "et_copy::_d2h_copy", "overload": "out"});
        },
    );
    let endless = "x".repeat(2000);
    refused(
        DEFAULT,
        "method `forward`, operator 1 has no name, or one without end",
        |it| plan(it)["operators"][1]["name"] = json!(endless),
    );
    refused(
        DEFAULT,
        "method `forward`, operator 0 has no name, or one without end",
        |it| plan(it)["operators"][0]["name"] = Value::Null,
    );
}

#[test]
fn delegates_without_data() {
    refused(
        DEFAULT,
        "method `forward`, delegate 0 has its data at entry 1 of the program, which has no such entry",
        |it| plan(it)["delegates"][0]["processed"]["index"] = json!(1),
    );
    refused(
        DEFAULT,
        "method `forward`, delegate 0 is in segment 0, and the file has 0",
        |it| plan(it)["delegates"][0]["processed"]["location"] = json!(1),
    );
    refused(DEFAULT, "method `forward`, delegate 0 has no data", |it| {
        plan(it)["delegates"][0]["processed"] = Value::Null;
    });
    refused(
        DEFAULT,
        "method `forward`, delegate 0 has no name, or one without end",
        |it| plan(it)["delegates"][0]["id"] = json!("x".repeat(2000)),
    );
}

#[test]
fn data_that_is_not_there() {
    refused(
        "example_linear",
        "method `forward`, value 0 has its data in constant 9, and the program has 3",
        |it| value(it, 0)["data_buffer_idx"] = json!(9),
    );
    refused(
        "state_initialised",
        "method `forward`, value 0 has an initial state, and the program has no data for it",
        |_| {},
    );
    refused(
        "external_constants",
        "method `forward`, value 0 has its data in another file and no name to find it by",
        |it| value(it, 0)["extra_tensor_info"]["fully_qualified_name"] = Value::Null,
    );
    let segment = |it: &mut Value, offset: u64| {
        it["segments"] = json!([{"offset": 0, "size": 0}]);
        it["constant_segment"] = json!({"segment_index": 0, "offsets": [0, offset, 0]});
    };
    refused(
        "example_linear",
        "method `forward`, value 0 has its data at byte 1 of segment 0, which has 0 bytes",
        |it| segment(it, 1),
    );
    refused(
        "example_linear",
        "method `forward`, value 1 has its data at entry 3 of segment 0, which has no such entry",
        |it| {
            segment(it, 0);
            value(it, 1)["data_buffer_idx"] = json!(3);
        },
    );
    refused(
        "example_linear",
        "method `forward`, value 0 is in segment 4, and the file has 1",
        |it| {
            segment(it, 0);
            it["constant_segment"]["segment_index"] = json!(4);
        },
    );
    refused(
        DEFAULT,
        "segment 0 has 5 bytes, and no header says where",
        |it| it["segments"] = json!([{"offset": 0, "size": 5}]),
    );
    refused(
        DEFAULT,
        "named data `lib` is in segment 2, and the file has 0",
        |it| it["named_data"] = json!([{"key": "lib", "segment_index": 2}]),
    );
    refused(DEFAULT, "an entry of the named data has no name", |it| {
        it["named_data"] = json!([{"segment_index": 0}]);
    });
}

#[test]
fn a_method_without_a_name_is_no_method_and_an_empty_one_is_empty() {
    refused(DEFAULT, "method 0 has no name", |it| {
        plan(it)["name"] = Value::Null;
    });
    let program = read(DEFAULT, |it| {
        it["execution_plan"] = json!([{"name": "empty"}]);
    })
    .unwrap();
    assert_eq!(program.methods[0].planned_bytes(), 0);
    let program = read(DEFAULT, |it| it["execution_plan"] = Value::Null).unwrap();
    assert!(program.methods.is_empty());
}

#[test]
fn what_the_file_calls_itself_stays_in_one_line_of_the_error() {
    let long = "n".repeat(300);
    refused(
        DEFAULT,
        &format!(
            "method `{}…`, output 0 names value -1, and the method has 6",
            "n".repeat(80)
        ),
        |it| {
            plan(it)["name"] = json!(long);
            plan(it)["outputs"][0] = json!(-1);
        },
    );
    refused(
        DEFAULT,
        r"method `a\n\u{1b}[31m`, output 0 names value -1, and the method has 6",
        |it| {
            plan(it)["name"] = json!("a\n\u{1b}[31m");
            plan(it)["outputs"][0] = json!(-1);
        },
    );
}

#[test]
fn a_list_of_tensors_is_a_delegates_argument_tensor_by_tensor() {
    // The delegate's output, unplanned, reached by a list alone.
    let unplanned = |it: &mut Value| value(it, 4)["allocation_info"] = Value::Null;
    let listed = |items: Value| {
        move |it: &mut Value| {
            unplanned(it);
            let values = plan(it)["values"].as_array_mut().unwrap();
            values.push(json!({"val_type": "TensorList", "val": {"items": items}}));
            instruction(it, 2)["args"] = json!([2, 3, 6]);
        }
    };
    assert_eq!(
        read(DEFAULT, unplanned).unwrap().methods[0].unreachable,
        [4]
    );
    assert_eq!(
        read(DEFAULT, listed(json!([4]))).unwrap().methods[0].unreachable,
        [4]
    );
    assert!(
        read(DEFAULT, listed(json!([-1, 1000, 6]))).unwrap().methods[0]
            .unreachable
            .is_empty()
    );
}

#[test]
fn values_of_every_kind_are_shown() {
    let program = read("scalars", |it| {
        let values = plan(it)["values"].as_array_mut().unwrap();
        let first = values.len();
        values.push(json!({"val_type": "String", "val": {"string_val": "text"}}));
        values.push(json!({"val_type": "IntList", "val": {"items": [1, 2]}}));
        values.push(json!({"val_type": "DoubleList", "val": {"items": [1.5]}}));
        values.push(json!({"val_type": "BoolList", "val": {"items": [true, false, true]}}));
        values.push(json!({"val_type": "OptionalTensorList", "val": {"items": [-1]}}));
        values.push(json!({"val_type": "TensorList", "val": {}}));
        values.push(json!({}));
        plan(it)["outputs"] = json!((first..first + 7).collect::<Vec<_>>());
    });
    let outputs = serde_json::to_value(&program.unwrap().methods[0].outputs).unwrap();
    assert_eq!(
        outputs,
        json!([
            {"kind": "string", "value": "text"}, {"kind": "list", "of": "int", "len": 2}, {"kind": "list", "of": "double", "len": 1},
            {"kind": "list", "of": "bool", "len": 3}, {"kind": "list", "of": "optional_tensor", "len": 1},
            {"kind": "list", "of": "tensor", "len": 0}, {"kind": "unknown", "code": 0},
        ])
    );
}

#[test]
fn an_operators_name_stays_in_one_line_of_the_error() {
    refused(
        DEFAULT,
        r"method `forward`, step 0 calls et_copy::_h2d_copy.\n\u{7} on something else than two tensors",
        |it| {
            plan(it)["operators"][0]["overload"] = json!("\n\u{7}");
            instruction(it, 0)["args"] = json!([0]);
        },
    );
}

/// A host tensor without memory is the exporter's mistake, and not the one that `unreachable` is about.
#[test]
fn a_host_tensor_is_not_unreachable() {
    let program = read(DEFAULT, |it| {
        value(it, 4)["allocation_info"] = Value::Null;
        value(it, 4)["extra_tensor_info"] = Value::Null;
    });
    assert!(program.unwrap().methods[0].unreachable.is_empty());
}

/// A finished program of one method with these delegates and values.
fn built<'a>(
    mut builder: FlatBufferBuilder<'a>,
    delegates: Option<WIPOffset<Vector<'a, ForwardsUOffset<schema::BackendDelegate<'a>>>>>,
    values: Option<WIPOffset<Vector<'a, ForwardsUOffset<schema::EValue<'a>>>>>,
) -> Vec<u8> {
    let name = builder.create_string("forward");
    let plan = schema::ExecutionPlanArgs {
        name: Some(name),
        delegates,
        values,
        ..Default::default()
    };
    let plan = schema::ExecutionPlan::create(&mut builder, &plan);
    let plans = builder.create_vector(&[plan]);
    let program = schema::ProgramArgs {
        execution_plan: Some(plans),
        ..Default::default()
    };
    let program = schema::Program::create(&mut builder, &program);
    schema::finish_program_buffer(&mut builder, program);
    builder.finished_data().to_vec()
}

/// One table many times over: the file is small, and the tree that it stands for is not.
#[test]
fn a_small_file_of_large_tables_is_refused() {
    let mut builder = FlatBufferBuilder::new();
    let sizes = builder.create_vector(&[1_i32; 16]);
    let dim_order = builder.create_vector(&std::array::from_fn::<u8, 16, _>(|dim| dim as u8));
    let name = builder.create_string(&"n".repeat(1 << 16));
    let extra = schema::ExtraTensorInfoArgs {
        fully_qualified_name: Some(name),
        ..Default::default()
    };
    let extra = schema::ExtraTensorInfo::create(&mut builder, &extra);
    let tensor = schema::TensorArgs {
        scalar_type: schema::ScalarType::FLOAT,
        sizes: Some(sizes),
        dim_order: Some(dim_order),
        extra_tensor_info: Some(extra),
        ..Default::default()
    };
    let tensor = schema::Tensor::create(&mut builder, &tensor);
    let value = schema::EValueArgs {
        val_type: schema::KernelTypes::Tensor,
        val: Some(tensor.as_union_value()),
    };
    let value = schema::EValue::create(&mut builder, &value);
    let values = builder.create_vector(&vec![value; 100_000]);
    let bytes = built(builder, None, Some(values));
    let error = Program::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("Apparent size"), "{error}");
}

#[test]
fn a_small_file_of_many_tables_is_refused() {
    let mut builder = FlatBufferBuilder::new();
    let spec = schema::CompileSpec::create(&mut builder, &schema::CompileSpecArgs::default());
    let specs = builder.create_vector(&vec![spec; 100_000]);
    let id = builder.create_string("id");
    let processed = schema::BackendDelegateDataReference::create(
        &mut builder,
        &schema::BackendDelegateDataReferenceArgs::default(),
    );
    let delegate = schema::BackendDelegateArgs {
        id: Some(id),
        processed: Some(processed),
        compile_specs: Some(specs),
    };
    let delegate = schema::BackendDelegate::create(&mut builder, &delegate);
    let delegates = builder.create_vector(&[delegate]);
    let bytes = built(builder, Some(delegates), None);
    let error = Program::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("Too many tables"), "{error}");
}
