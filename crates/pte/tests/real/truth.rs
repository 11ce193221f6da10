//! The contract that is read is the one that was written, and the one that the runtime sees.

use pte::{DType, Method, SpecValue, Step, TensorData, TensorInfo, Value as Io};
use serde_json::{Value, json};

use crate::programs::{Exported, all, one};

/// Every fact of the exporter's own plan, laid out as `pte` lays its answer out. What exists in the file alone (segments,
/// and names that are not tensors') is compared elsewhere.
fn expected(plan: &Value) -> Value {
    let values = plan["values"].as_array().unwrap();
    let indices = |list: &Value| -> Vec<usize> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|index| index.as_u64().unwrap() as usize)
            .collect()
    };
    let inputs = indices(&plan["inputs"]);
    let outputs = indices(&plan["outputs"]);
    let device = |of: &Value| json!({"type": (["cpu", "cuda"][of["device_type"].as_u64().unwrap_or(0) as usize]), "index": of["device_index"].as_i64().unwrap_or(0)});
    let tensor = |index: usize| -> Option<Value> {
        let tensor = &values[index]["val"];
        if values[index]["val_type"] != "Tensor" {
            return None;
        }
        let extra = &tensor["extra_tensor_info"];
        let dtype = DType::from_code(tensor["scalar_type"].as_i64().unwrap() as i8).unwrap();
        let elements: u64 = tensor["sizes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|size| size.as_u64().unwrap())
            .product();
        let place = &tensor["allocation_info"];
        let planned = place.is_object().then(|| {
            let offset = place["memory_offset_low"].as_u64().unwrap()
                + (place["memory_offset_high"].as_u64().unwrap() << 32);
            json!({"arena": place["memory_id"].as_u64().unwrap() - 1, "offset": offset})
        });
        let buffer = tensor["data_buffer_idx"].as_u64().unwrap();
        let data = match extra["location"].as_u64() {
            Some(1) => json!({"external": extra["fully_qualified_name"], "index": buffer}),
            _ if buffer > 0 => json!("in the file"),
            _ => Value::Null,
        };
        Some(json!({
            "value": index, "name": extra["fully_qualified_name"], "dtype": dtype.name(), "sizes": tensor["sizes"],
            "dynamism": (["static", "bound", "unbound"][tensor["shape_dynamism"].as_u64().unwrap() as usize]),
            "dim_order": tensor["dim_order"], "nbytes": elements * dtype.size(), "device": device(extra),
            "planned": planned, "data": data,
        }))
    };
    let io = |index: &usize| {
        let value = &values[*index]["val"];
        match values[*index]["val_type"].as_str().unwrap() {
            "Tensor" => tensor(*index).unwrap(),
            "Int" => json!({"int": value["int_val"]}),
            "Double" => json!({"double": value["double_val"]}),
            "Bool" => json!({"bool": value["bool_val"]}),
            "Null" => json!("none"),
            other => panic!("no program has a {other} for an input or output"),
        }
    };
    let operators: Vec<String> = plan["operators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            format!(
                "{}.{}",
                it["name"].as_str().unwrap(),
                it["overload"].as_str().unwrap()
            )
            .trim_end_matches('.')
            .to_owned()
        })
        .collect();
    let mut delegate_arguments = Vec::new();
    let mut chain = Vec::new();
    for instruction in plan["chains"][0]["instructions"].as_array().unwrap() {
        let call = &instruction["instr_args"];
        chain.push(match instruction["instr_args_type"].as_str().unwrap() {
            "KernelCall" => {
                let name = operators[call["op_index"].as_u64().unwrap() as usize].as_str();
                let (from, to) = (&call["args"][0], &call["args"][1]);
                let end = |end: &Value| tensor(end.as_u64().unwrap() as usize).unwrap();
                match name {
                    "et_copy::_h2d_copy.out" => json!({"copy": "host_to_device", "from": from, "to": to, "device": end(to)["device"], "nbytes": end(from)["nbytes"]}),
                    "et_copy::_d2h_copy.out" => json!({"copy": "device_to_host", "from": from, "to": to, "device": end(from)["device"], "nbytes": end(to)["nbytes"]}),
                    _ => json!({"operator": name, "args": call["args"]}),
                }
            }
            "DelegateCall" => {
                delegate_arguments.extend(indices(&call["args"]));
                json!({"delegate": call["delegate_index"], "args": call["args"]})
            }
            "MoveCall" => json!({"move": [call["move_from"], call["move_to"]]}),
            "JumpFalseCall" => json!({"jump if false": [call["cond_value_index"], call["destination_instruction"]]}),
            other => panic!("no program has a {other}"),
        });
    }
    let arenas = plan["non_const_buffer_sizes"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .skip(1)
        .map(|(index, size)| {
            let devices = plan["non_const_buffer_device"].as_array();
            let on = devices
                .and_then(|devices| devices.iter().find(|it| it["buffer_idx"] == index))
                .unwrap_or(&Value::Null);
            json!({"nbytes": size, "device": device(on)})
        });
    let spec = |spec: &Value| {
        let bytes: Vec<u8> = serde_json::from_value(spec["value"].clone()).unwrap();
        json!([spec["key"], SpecValue::from_bytes(&bytes)])
    };
    let delegates = plan["delegates"].as_array().unwrap();
    let delegates = delegates.iter().map(|it| {
        json!([
            it["id"],
            it["compile_specs"]
                .as_array()
                .unwrap()
                .iter()
                .map(spec)
                .collect::<Vec<_>>()
        ])
    });

    let mut lists = [const { Vec::new() }; 4];
    for index in 0..values.len() {
        let Some(tensor) = tensor(index) else {
            continue;
        };
        let is_io = inputs.contains(&index) || outputs.contains(&index);
        let [constants, mutable_buffers, activations, unreachable] = &mut lists;
        let (planned, data) = (!tensor["planned"].is_null(), !tensor["data"].is_null());
        if delegate_arguments.contains(&index)
            && tensor["device"]["type"] == "cuda"
            && !planned
            && !data
            && !is_io
        {
            unreachable.push(json!(index));
        }
        if data && !planned {
            constants.push(tensor);
        } else if data || (!tensor["name"].is_null() && !is_io) {
            mutable_buffers.push(tensor);
        } else if !is_io {
            activations.push(tensor);
        }
    }
    let [constants, mutable_buffers, activations, unreachable] = lists;
    json!({
        "name": plan["name"], "inputs": inputs.iter().map(io).collect::<Vec<_>>(), "outputs": outputs.iter().map(io).collect::<Vec<_>>(),
        "arenas": arenas.collect::<Vec<_>>(), "chain": chain, "delegates": delegates.collect::<Vec<_>>(), "operators": operators,
        "constants": constants, "mutable_buffers": mutable_buffers, "activations": activations, "unreachable": unreachable,
    })
}

/// The answer of `pte`, laid out the same way.
fn read(method: &Method, plan: &Value) -> Value {
    let tensor = |tensor: &TensorInfo| {
        let mut json = serde_json::to_value(tensor).unwrap();
        // An input's name may come from how the model was called; those names have a test of their own.
        json["name"] = plan["values"][tensor.value as usize]["val"]["extra_tensor_info"]["fully_qualified_name"].clone();
        json["data"] = match &tensor.data {
            Some(TensorData::External { key, index }) => json!({"external": key, "index": index}),
            Some(_) => json!("in the file"),
            None => Value::Null,
        };
        json
    };
    let io = |value: &Io| match value {
        Io::Tensor(info) => tensor(info),
        Io::Int { value } => json!({"int": value}),
        Io::Double { value } => json!({"double": value}),
        Io::Bool { value } => json!({"bool": value}),
        Io::None => json!("none"),
        other => panic!("no program has {other:?} for an input or output"),
    };
    let step = |step: &Step| match step {
        Step::Copy(copy) => {
            json!({"copy": copy.direction, "from": copy.from, "to": copy.to, "device": copy.device, "nbytes": copy.nbytes})
        }
        Step::Operator(call) => json!({"operator": call.name, "args": call.args}),
        Step::Delegate(call) => {
            assert_eq!(call.id, method.delegates[call.delegate as usize].id);
            json!({"delegate": call.delegate, "args": call.args})
        }
        Step::Move { from, to } => json!({"move": [from, to]}),
        Step::JumpIfFalse { condition, to } => json!({"jump if false": [condition, to]}),
        other => panic!("no program has {other:?}"),
    };
    let delegates = method.delegates.iter().map(|it| {
        json!([
            it.id,
            it.specs
                .iter()
                .map(|spec| json!([spec.key, spec.value]))
                .collect::<Vec<_>>()
        ])
    });
    let tensors = |list: &[TensorInfo]| list.iter().map(tensor).collect::<Vec<_>>();
    json!({
        "name": method.name, "inputs": method.inputs.iter().map(io).collect::<Vec<_>>(), "outputs": method.outputs.iter().map(io).collect::<Vec<_>>(),
        "arenas": method.arenas, "chain": method.chain.iter().map(step).collect::<Vec<_>>(), "delegates": delegates.collect::<Vec<_>>(),
        "operators": method.operators, "constants": tensors(&method.constants), "mutable_buffers": tensors(&method.mutable_buffers),
        "activations": tensors(&method.activations), "unreachable": method.unreachable,
    })
}

#[test]
fn every_fact_is_the_exporters_own() {
    for exported in all() {
        let program = exported.program();
        let plans = exported.plan["execution_plan"].as_array().unwrap();
        assert_eq!(program.methods.len(), plans.len(), "{}", exported.name);
        for (method, plan) in program.methods.iter().zip(plans) {
            pretty_eq(&exported.name, &read(method, plan), &expected(plan));
        }
    }
}

/// Shows the part that differs, not all of a program.
fn pretty_eq(place: &str, read: &Value, expected: &Value) {
    match (read, expected) {
        (Value::Object(left), Value::Object(right)) => {
            assert_eq!(
                left.keys().collect::<Vec<_>>(),
                right.keys().collect::<Vec<_>>(),
                "{place}"
            );
            left.iter()
                .for_each(|(key, value)| pretty_eq(&format!("{place}.{key}"), value, &right[key]));
        }
        (Value::Array(left), Value::Array(right)) => {
            assert_eq!(left.len(), right.len(), "{place}: {read} is not {expected}");
            left.iter()
                .zip(right)
                .enumerate()
                .for_each(|(index, (left, right))| {
                    pretty_eq(&format!("{place}[{index}]"), left, right);
                });
        }
        _ => assert_eq!(read, expected, "{place}"),
    }
}

/// `MethodMeta`'s view of a tensor.
fn meta_of(tensor: &TensorInfo) -> Value {
    json!({
        "dtype": tensor.dtype.code(), "sizes": tensor.sizes, "dim_order": tensor.dim_order, "nbytes": tensor.nbytes,
        "planned": tensor.is_memory_planned(), "name": "",
    })
}

#[test]
fn every_fact_that_the_runtime_exposes_is_the_same() {
    let mut methods = 0;
    for exported in all() {
        let program = exported.program();
        // The one thing for which the runtime refuses a program that the exporter can write.
        let refused = exported.meta.get("error").and_then(Value::as_i64);
        assert_eq!(
            refused,
            program.layout.constant_segment.is_none().then_some(0x23),
            "{}",
            exported.name
        );
        if refused.is_some() {
            continue;
        }
        let read: Vec<Value> = program
            .methods
            .iter()
            .map(|method| meta(exported, method))
            .collect();
        pretty_eq(&exported.name, &json!({ "methods": read }), &exported.meta);
        methods += read.len();
    }
    assert!(methods > 50, "{methods} methods are too few to show much");
}

fn meta(exported: &Exported, method: &Method) -> Value {
    let io = |value: &Io| match value {
        Io::Tensor(tensor) => meta_of(tensor),
        // The runtime's `Tag`.
        Io::None => json!({"tag": 0}),
        Io::Double { .. } => json!({"tag": 3}),
        Io::Int { .. } => json!({"tag": 4}),
        Io::Bool { .. } => json!({"tag": 5}),
        other => panic!("{}: {other:?}", exported.name),
    };
    let mut named: Vec<_> = method
        .constants
        .iter()
        .chain(&method.mutable_buffers)
        .filter(|it| it.name.is_some())
        .collect();
    named.sort_by_key(|tensor| tensor.value);
    let attribute = |tensor: &&TensorInfo| {
        let mut json = meta_of(tensor);
        json["name"] = json!(tensor.name);
        json
    };
    let arenas = method.arenas.iter().map(|it| json!({"nbytes": it.nbytes, "device_type": it.device.device_type.code(), "device_index": it.device.index}));
    json!({
        "name": method.name, "inputs": method.inputs.iter().map(io).collect::<Vec<_>>(), "outputs": method.outputs.iter().map(io).collect::<Vec<_>>(),
        "attributes": named.iter().map(attribute).collect::<Vec<_>>(), "arenas": arenas.collect::<Vec<_>>(),
        "backends": method.delegates.iter().map(|it| &*it.id).collect::<Vec<_>>(), "instructions": method.chain.len(),
    })
}

/// The bytes that the program points at are the bytes that the exporter had.
#[test]
fn constants_and_delegates_lie_where_the_program_says() {
    let (mut constants, mut delegates) = (0, 0);
    for exported in all() {
        let program = exported.program();
        let bytes = |value: &Value| -> Vec<u8> { serde_json::from_value(value.clone()).unwrap() };
        let at = |offset: u64, nbytes: u64| {
            exported.bytes[offset as usize..][..nbytes as usize].to_vec()
        };
        for (method, plan) in program
            .methods
            .iter()
            .zip(exported.plan["execution_plan"].as_array().unwrap())
        {
            for tensor in &method.constants {
                let index = plan["values"][tensor.value as usize]["val"]["data_buffer_idx"]
                    .as_u64()
                    .unwrap() as usize;
                let Some(TensorData::Segment { segment, offset }) = tensor.data else {
                    continue;
                };
                let start = program.layout.segments[segment as usize].offset + offset;
                let place = format!("{}, value {}", exported.name, tensor.value);
                assert_eq!(
                    at(start, tensor.nbytes),
                    bytes(&exported.plan["constant_buffer"][index]["storage"]),
                    "{place}"
                );
                constants += 1;
            }
            for (delegate, plan) in method
                .delegates
                .iter()
                .zip(plan["delegates"].as_array().unwrap())
            {
                let index = plan["processed"]["index"].as_u64().unwrap() as usize;
                let blob = at(delegate.processed.offset, delegate.processed.nbytes);
                assert_eq!(
                    blob,
                    bytes(&exported.plan["backend_delegate_data"][index]["data"]),
                    "{}",
                    exported.name
                );
                delegates += 1;
            }
        }
    }
    assert!(
        constants > 20 && delegates > 30,
        "{constants} constants and {delegates} delegates are too few to show much"
    );
}

#[test]
fn a_buffers_initial_state_lies_where_the_program_says() {
    let exported = one("state_initialised");
    let program = exported.program();
    let [total] = program.methods[0].mutable_buffers.as_slice() else {
        panic!("one buffer")
    };
    let Some(TensorData::Segment { segment, offset }) = total.data else {
        panic!("{total:?}")
    };
    let start = (program.layout.segments[segment as usize].offset + offset) as usize;
    assert_eq!(
        exported.bytes[start..][..16],
        [2.0_f32; 4].map(f32::to_le_bytes).concat()
    );
}

#[test]
fn keywords_and_keys_name_inputs_and_outputs() {
    let program = one("named").program();
    let method = program.method("forward").unwrap();
    let names = |values: &[Io]| {
        values
            .iter()
            .map(|value| value.tensor().unwrap().name.clone())
            .collect::<Vec<_>>()
    };
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(
        names(&method.inputs),
        [
            None,
            some("scale"),
            some("extras.left"),
            some("extras.right")
        ]
    );
    assert_eq!(
        names(&method.outputs),
        [some("scaled"), some("rest.0"), some("rest.1")]
    );
}

#[test]
fn data_outside_the_file_is_asked_for_by_name() {
    let program = one("external_constants").program();
    let method = &program.methods[0];
    assert_eq!(
        program.external_keys(method),
        ["first.weight", "first.bias", "second.weight", "second.bias"]
    );

    // The CUDA delegate names its library, which is in the file, and its weights, which are in the .ptd.
    let program = one("mlp").program();
    let keys = program.methods[0].delegates[0].data_keys.clone().unwrap();
    let [library, weights] = keys.as_slice() else {
        panic!("{keys:?}")
    };
    assert_eq!(
        program
            .named_data
            .iter()
            .map(|data| &data.key)
            .collect::<Vec<_>>(),
        [library]
    );
    assert_eq!(program.external_keys(&program.methods[0]), [weights]);
    assert!(
        one("h1d1_i0o1_n1")
            .program()
            .external_keys(&one("h1d1_i0o1_n1").program().methods[0])
            .is_empty()
    );

    // Another backend's blob is its own.
    assert_eq!(
        one("xnnpack").program().methods[0].delegates[0].data_keys,
        None
    );
}

#[test]
fn named_data_lies_where_the_program_says() {
    let exported = one("mlp");
    let program = exported.program();
    let [library] = program.named_data.as_slice() else {
        panic!("{:?}", program.named_data)
    };
    let segment = program.layout.segments[library.segment as usize];
    assert_eq!(segment.nbytes, library.nbytes);
    assert!(exported.bytes[segment.offset as usize..].starts_with(b"compiled library of "));
}

#[test]
fn each_method_has_its_own_contract() {
    let program = one("two_methods").program();
    let devices = |name: &str| {
        program
            .method(name)
            .unwrap()
            .input_tensors()
            .map(|it| it.device.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(devices("forward"), ["cuda:0", "cuda:0"]);
    assert_eq!(devices("encode"), ["cpu"]);
    assert!(program.method("decode").is_none());
}

#[test]
fn json_holds_everything_that_was_read() {
    for exported in all() {
        let program = exported.program();
        let json = serde_json::to_string(&program).unwrap();
        assert_eq!(
            serde_json::from_str::<pte::Program>(&json).unwrap(),
            program,
            "{}",
            exported.name
        );
    }
}
