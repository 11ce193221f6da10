//! The command as a process: what it prints, and how it ends.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use pte::lint::{RULES, Rule};
use serde_json::{Value, json};

use crate::edited;
use crate::programs::{all, one, scratch};

fn pte(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pte"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The same in 10 MB of addresses: what is mapped, the stack and the libraries included.
fn in_ten_megabytes(arguments: &[&str]) -> Output {
    Command::new("sh")
        .args([
            "-c",
            "ulimit -v 9765; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_pte"),
        ])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Its exit code, standard output and standard error.
fn parts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().expect("no signal"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// The path of a program, as an argument.
fn file(name: &str) -> String {
    one(name).path.to_str().unwrap().to_owned()
}

#[test]
fn show_is_a_page() {
    let (code, page, errors) = parts(&pte(&["show", &file("h0d1_i0o0_n1")]));
    let expected = format!(
        "\
{}: 1 method, 2031 B of file, 1664 B of program

forward

  caller (2 inputs) ─▶ 2 × copy to cuda:0, 512 B ─▶ CudaBackend ─▶ caller (1 output)

  takes
    0   float32[8, 8]   256 B   host   yours: the runtime uses your memory
    1   float32[8, 8]   256 B   host   yours: the runtime uses your memory
  gives
    0   float32[8, 8]   256 B   cuda:0   yours: hand it over with set_output before the first execution
  callers
    Python                        no: output 0 is on cuda:0 and not planned: the caller must bring its memory (L4)
    C++                           yes
    Rust (executorch 0.13)        no: output 0 is on cuda:0 and not planned: the caller must bring its memory (L4)
    Rust with executorch-device   yes
  contract    host in, cuda:0 out; not mixed
  memory      arena 0: 512 B on cuda:0
  copies      2 to the device (512 B), 0 to the host (0 B), each execution
  backends    CudaBackend (method_name=forward, target_device=cuda:0)
  operators   et_copy::_h2d_copy.out
",
        file("h0d1_i0o0_n1")
    );
    let page = page.split("\nnamed data").next().unwrap();
    // The sizes of the file are the exporter's business.
    let (head, body) = page.split_once('\n').unwrap();
    assert!(
        head.starts_with(&format!("{}: 1 method, ", file("h0d1_i0o0_n1"))),
        "{head}"
    );
    assert_eq!(
        (code, body, errors.as_str()),
        (0, expected.split_once('\n').unwrap().1, "")
    );
}

#[test]
fn every_program_has_a_page_and_a_document_of_the_schema() {
    let schemas = ["show", "check", "diff"]
        .map(|name| serde_json::from_slice::<Value>(&pte(&["schema", name]).stdout).unwrap());
    for exported in all() {
        let path = exported.path.to_str().unwrap();
        let (code, page, errors) = parts(&pte(&["show", path]));
        assert_eq!((code, errors.as_str()), (0, ""), "{path}");
        assert!(
            page.lines().all(|line| line.chars().count() < 400),
            "{page}"
        );

        let shown: Value = serde_json::from_slice(&pte(&["show", "--json", path]).stdout).unwrap();
        valid(&schemas[0], &schemas[0], &shown, "show").unwrap();
        let read: pte::Program =
            serde_json::from_value(shown["files"][0]["program"].clone()).unwrap();
        assert_eq!(read, exported.program());
        let checked: Value =
            serde_json::from_slice(&pte(&["check", "--json", "--caller", "python", path]).stdout)
                .unwrap();
        valid(&schemas[1], &schemas[1], &checked, "check").unwrap();
        let changed: Value =
            serde_json::from_slice(&pte(&["diff", "--json", path, &file("mlp")]).stdout).unwrap();
        valid(&schemas[2], &schemas[2], &changed, "diff").unwrap();
    }
}

/// Holds a document against the part of JSON Schema that our schemas use, and against fields that no schema has.
fn valid(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let unknown = |name: &&String| !known(root, schema, name);
    match value
        .as_object()
        .and_then(|fields| fields.keys().find(unknown))
    {
        Some(name) => Err(format!("{place}: {name} is in no schema")),
        None => narrowed(root, schema, value, place),
    }
}

/// The same without the last: what one of several schemas does not know, another one may.
fn narrowed(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let all = |schemas: &Value| schemas.as_array().cloned().unwrap_or_default();
    if let Some(name) = schema["$ref"].as_str() {
        narrowed(root, referred(root, name), value, place)?;
    }
    for alternatives in [all(&schema["anyOf"]), all(&schema["oneOf"])] {
        let narrow = |schema| narrowed(root, schema, value, place).err();
        let wrong: Vec<String> = alternatives.iter().filter_map(narrow).collect();
        if !alternatives.is_empty() && wrong.len() == alternatives.len() {
            return Err(wrong.join("; or "));
        }
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let wanted = if schema["type"].is_string() {
        vec![schema["type"].clone()]
    } else {
        all(&schema["type"])
    };
    let number = kind == "integer" && wanted.contains(&json!("number"));
    if !wanted.is_empty() && !wanted.contains(&json!(kind)) && !number {
        return Err(format!("{place}: {value} is none of {wanted:?}"));
    }
    let words = all(&schema["enum"]);
    if (!words.is_empty() && !words.contains(value))
        || (!schema["const"].is_null() && schema["const"] != *value)
    {
        return Err(format!("{place}: {value} is not among the words"));
    }
    if let (Value::Array(items), false) = (value, schema["items"].is_null()) {
        items
            .iter()
            .try_for_each(|item| valid(root, &schema["items"], item, place))?;
    }
    let missing = all(&schema["required"])
        .into_iter()
        .find(|name| value.get(name.as_str().unwrap()).is_none());
    if let Some(name) = missing {
        return Err(format!("{place}: no {name}"));
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        value.get(name).map_or(Ok(()), |field| {
            valid(root, schema, field, &format!("{place}.{name}"))
        })?;
    }
    Ok(())
}

fn referred<'a>(root: &'a Value, name: &str) -> &'a Value {
    root.pointer(name.trim_start_matches('#'))
        .unwrap_or_else(|| panic!("no {name}"))
}

/// Whether a schema has this field, itself or in what it refers to.
fn known(root: &Value, schema: &Value, name: &str) -> bool {
    let parts = ["anyOf", "oneOf"].map(|key| schema[key].as_array().cloned().unwrap_or_default());
    !schema["properties"][name].is_null()
        || schema["$ref"]
            .as_str()
            .is_some_and(|reference| known(root, referred(root, reference), name))
        || parts
            .iter()
            .flatten()
            .any(|schema| known(root, schema, name))
}

#[test]
fn the_schema_is_held_against_what_is_not_in_it() {
    let schema: Value = serde_json::from_slice(&pte(&["schema", "show"]).stdout).unwrap();
    let shown: Value =
        serde_json::from_slice(&pte(&["show", "--json", &file("mlp")]).stdout).unwrap();
    valid(&schema, &schema, &shown, "show").unwrap();
    let edits: [fn(&mut Value); 5] = [
        |it| it["more"] = json!(1),
        |it| it["version"] = json!("1"),
        |it| it["files"][0]["program"]["methods"][0]["inputs"][0]["dtype"] = json!("float33"),
        |it| it["files"][0]["program"]["methods"][0]["chain"][0]["direction"] = Value::Null,
        |it| it["files"][0]["program"]["methods"][0]["arenas"][0] = json!({}),
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        let mut edited = shown.clone();
        edit(&mut edited);
        assert!(
            valid(&schema, &schema, &edited, "show").is_err(),
            "edit {index}"
        );
    }
}

#[test]
fn exit_codes() {
    let code = |arguments: &[&str]| parts(&pte(arguments)).0;
    let (fine, unpaired, rust) = (
        file("h1d1_i0o1_n1"),
        file("h1d1_i1o1_n1"),
        file("h1d1_i0o0_n1"),
    );
    assert_eq!(code(&["check", &fine]), 0);
    assert_eq!(code(&["check", &unpaired]), 1);
    assert_eq!(code(&["check", &fine, &unpaired]), 1);
    assert_eq!(code(&["check", &rust]), 0, "a warning is no error");
    assert_eq!(code(&["check", "--deny", "warning", &rust]), 1);
    assert_eq!(code(&["check", "--deny", "note", &fine]), 1);
    assert_eq!(code(&["check", "--deny", "note", &file("portable")]), 0);
    assert_eq!(code(&["check", "--caller", "rust", &rust]), 1);
    assert_eq!(code(&["check", "--caller", "rust-device", &rust]), 0);
    assert_eq!(
        code(&["check", "--expect", "device-in,planned-device-out", &fine]),
        0
    );
    assert_eq!(code(&["check", "--expect", "host-in", &fine]), 1);
    assert_eq!(code(&["check", "--data", "none", &file("mlp")]), 1);
    let data = one("mlp")
        .path
        .with_extension("")
        .join("aoti_cuda_blob.ptd");
    assert_eq!(
        code(&["check", "--data", data.to_str().unwrap(), &file("mlp")]),
        0
    );
    assert_eq!(
        code(&["check", "--data", &fine, &file("mlp")]),
        2,
        "a program is no data file"
    );
    assert_eq!(code(&["check", &fine, "/no/such/file"]), 2);
    assert_eq!(code(&["show", "/no/such/file", &fine]), 2);
    assert_eq!(code(&["diff", &fine, &fine]), 0);
    assert_eq!(code(&["diff", &fine, &unpaired]), 1);
    assert_eq!(code(&["diff", &fine, "/no/such/file"]), 2);
    assert_eq!(code(&["explain", "L1"]), 0);
}

#[test]
fn wrong_arguments_are_told_in_a_line() {
    let cases: &[(&[&str], &str)] = &[
        (
            &[],
            "no subcommand: expected show, check, diff, explain or schema",
        ),
        (
            &["sho"],
            "`sho` is no subcommand: expected show, check, diff, explain or schema",
        ),
        (&["--frobnicate"], "invalid option '--frobnicate'"),
        (
            &["show"],
            "`pte show` needs a file, or `-` for standard input",
        ),
        (
            &["show", "x", "--caller", "cpp"],
            "--caller is no option of `pte show`",
        ),
        (
            &["check", "x", "--caller", "java"],
            "`java` is no caller: expected python, cpp, rust or rust-device",
        ),
        (
            &["check", "x", "--runtime", "new"],
            "`new` is no version of ExecuTorch: expected one like 1.5.1",
        ),
        (
            &["check", "x", "--expect", "cuda-in"],
            "`cuda-in` is no expectation: expected [planned-|unplanned-][device-|host-] and in or out, such as device-in or planned-device-out",
        ),
        (
            &["check", "x", "--deny", "all"],
            "--deny is one of error, warning, note, not `all`",
        ),
        (
            &["check", "x", "--format", "xml"],
            "--format is one of text, json, sarif, github, not `xml`",
        ),
        (
            &["check", "x", "--caller"],
            "missing argument for option '--caller'",
        ),
        (
            &["diff", "x"],
            "`pte diff` needs two files, the old and the new, and got 1",
        ),
        (
            &["diff", "x", "y", "--format", "sarif"],
            "--format of `pte diff` is text or json",
        ),
        (
            &["explain", "L99"],
            "there is no rule `L99`: `pte explain` without a rule lists them",
        ),
        (
            &["schema", "explain"],
            "`pte schema` knows show, check and diff",
        ),
    ];
    for (arguments, expected) in cases {
        let (code, output, errors) = parts(&pte(arguments));
        let expected = format!("error: {expected}\n       `pte --help` shows how to call it\n");
        assert_eq!(
            (code, output.as_str(), errors),
            (2, "", expected),
            "{arguments:?}"
        );
    }
}

#[test]
fn one_method_of_several() {
    let path = file("two_methods");
    let (_, page, _) = parts(&pte(&["show", "--method", "encode", &path]));
    assert!(
        page.contains("\nencode\n") && !page.contains("\nforward\n"),
        "{page}"
    );
    let (code, _, errors) = parts(&pte(&["show", "--method", "decode", &path]));
    assert_eq!(
        (code, errors),
        (
            2,
            format!("error: {path}: has no method `decode`, but `encode`, `forward`\n")
        )
    );
}

#[test]
fn standard_input_is_a_file_called_dash() {
    let bytes = &one("mlp").bytes;
    let mut child = Command::new(env!("CARGO_BIN_EXE_pte"))
        .args(["show", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let shown: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(shown["files"][0]["file"], "-");
    let read: pte::Program = serde_json::from_value(shown["files"][0]["program"].clone()).unwrap();
    assert_eq!(read, one("mlp").program());

    let (code, _, errors) = parts(&pte(&["show", "-"]));
    assert_eq!(
        (code, errors.as_str()),
        (
            2,
            "error: standard input: is no ExecuTorch program: it is empty\n"
        )
    );
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pte"))
        .args(["show", "--json"])
        .args(vec![file("example_lstm"); 20])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).as_ref()
        ),
        (Some(0), "")
    );
}

#[test]
fn what_a_file_calls_its_parts_cannot_move_the_cursor() {
    let folder = edited::write("named", |program| {
        let plan = edited::plan(program);
        plan["name"] = json!("evil\u{1b}[2J\r\n::error::x");
        plan["operators"][0]["name"] = json!("aten::\u{7}mul");
        let spec = plan["container_meta_type"]["encoded_inp_str"]
            .as_str()
            .unwrap()
            .replace("scale", "sc\\\\u001b]0;ale");
        plan["container_meta_type"]["encoded_inp_str"] = json!(spec);
    });
    let path = folder.path().join("edited.pte");
    let path = path.to_str().unwrap();
    let portable = file("portable");
    let calls: [&[&str]; 5] = [
        &["show", path],
        &["check", "--deny", "note", path],
        &["check", "--expect", "device-in", "--format", "github", path],
        &["diff", path, &portable],
        &["diff", &portable, path],
    ];
    for arguments in calls {
        let (_, output, errors) = parts(&pte(arguments));
        let text = output + &errors;
        let wild: Vec<char> = text
            .chars()
            .filter(|c| c.is_control() && *c != '\n')
            .collect();
        assert!(
            wild.is_empty() && !text.contains("\n::error::x"),
            "{arguments:?}: {wild:?}\n{text}"
        );
        assert!(
            text.contains("evil") || arguments[0] == "check",
            "{arguments:?}: {text}"
        );
    }
}

#[test]
fn findings_for_a_terminal() {
    let path = file("h1d1_i1o1_n1");
    let (code, text, errors) = parts(&pte(&["check", "--caller", "python", &path]));
    let first = text.split("\n\n").next().unwrap();
    let expected = format!(
        "\
error[L1]: input 0 and input 1 are on cuda:0 and planned: the runtime copies into a buffer of its own
--> {path}, method forward
 |
 | input 0   float32[8, 8]   256 B   cuda:0   planned
 |                                   ^^^^^^^^^^^^^^^^
 | input 1   float32[8, 8]   256 B   cuda:0   planned
 |                                   ^^^^^^^^^^^^^^^^
 |
 = note: `set_input` answers 0x10: Planned-buffer copy needs host memory on both sides: dst device 1, src device 0. Export with MemoryPlanningPass(alloc_graph_input=False) to share the caller's memory. [ExecuTorch 1.5.1, measured]
 = note: handed device memory, it says `src device 1` and refuses it all the same
 = help: export with memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False)
 = note: `pte explain L1`, or the ExecuTorch CUDA Guide: reference/pte.html#l1-planned-device-input"
    );
    assert_eq!((code, first, errors.as_str()), (1, expected.as_str(), ""));
    assert!(
        text.ends_with(&format!("{path}: 1 error, 0 warnings, 2 notes\n")),
        "{text}"
    );
    let colored = parts(&pte(&["check", "--color", "always", &path])).1;
    assert!(colored.contains("\u{1b}[1m") && !text.contains('\u{1b}'));
}

#[test]
fn findings_for_github() {
    let path = file("h1d0_i0o0_n1");
    let (code, text, _) = parts(&pte(&["check", "--format", "github", &path]));
    let first = text.lines().next().unwrap();
    assert_eq!(code, 1);
    assert!(first.starts_with(&format!("::error file={path},title=L3 unreachable-device-tensor%2C method forward::value 2 is on cuda:0")), "{first}");
    assert!(
        first.contains("%0Aexport with alloc_graph_output=True")
            && first.ends_with(&Rule::UnreachableDeviceTensor.page()),
        "{first}"
    );
    assert!(
        text.lines()
            .all(|line| line.starts_with("::error ") || line.starts_with("::notice ")),
        "{text}"
    );
}

#[test]
fn findings_as_sarif() {
    let path = file("h1d1_i1o1_n1");
    let (code, text, _) = parts(&pte(&[
        "check",
        "--format",
        "sarif",
        &path,
        "/no/such file",
    ]));
    let log: Value = serde_json::from_str(&text).unwrap();
    let run = &log["runs"][0];
    assert_eq!((code, &log["version"]), (2, &json!("2.1.0")));
    assert_eq!(
        run["tool"]["driver"]["rules"].as_array().unwrap().len(),
        RULES.len()
    );
    for (described, rule) in run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .zip(RULES)
    {
        let help = described["help"]["text"].as_str().unwrap();
        assert!(help.ends_with(&rule.page()), "{help}");
    }
    let result = &run["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&json!("L1"), &json!("error"))
    );
    let place = &result["locations"][0];
    assert_eq!(
        place["physicalLocation"]["artifactLocation"]["uri"],
        json!(path)
    );
    assert_eq!(
        place["logicalLocations"],
        json!([{"name": "forward", "kind": "function"}])
    );
    assert_eq!(run["invocations"][0]["executionSuccessful"], json!(false));
    assert!(
        run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
            .as_str()
            .unwrap()
            .starts_with("/no/such file: cannot be read")
    );
    let (code, text, _) = parts(&pte(&["check", "--format", "sarif", &file("portable")]));
    let log: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (
            code,
            &log["runs"][0]["results"],
            &log["runs"][0]["invocations"][0]["executionSuccessful"]
        ),
        (0, &json!([]), &json!(true))
    );
}

#[test]
fn a_changed_contract_and_changed_costs() {
    let (code, text, _) = parts(&pte(&[
        "diff",
        &file("h1d1_i0o1_n1"),
        &file("h0d1_i0o1_n1"),
    ]));
    let expected = "\
forward
  input 0 device       cuda:0 → cpu
  input 1 device       cuda:0 → cpu
  operators            new: et_copy::_h2d_copy.out
  memory planned       256 bytes on cuda:0 → 768 bytes on cuda:0 (costs)
  copies to the device 0 (0 bytes) → 2 (512 bytes) (costs)

the contract changed: a caller of the old program must change
";
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!((code, squeeze(&text)), (1, squeeze(expected)));

    // Unplanned inputs are another contract; nothing but costs is no change of contract.
    let (code, text, _) = parts(&pte(&[
        "diff",
        &file("h0d0_i1o1_n1"),
        &file("h0d0_i0o1_n1"),
    ]));
    assert!(
        code == 1 && text.contains("input 0 memory") && text.contains("planned → the caller's"),
        "{text}"
    );
    let dearer = edited::write("portable", |program| {
        edited::plan(program)["non_const_buffer_sizes"] = json!([0, 4096]);
    });
    let dearer = dearer.path().join("edited.pte");
    let (code, text, _) = parts(&pte(&["diff", &file("portable"), dearer.to_str().unwrap()]));
    assert!(
        code == 0 && text.ends_with("the contract is the same; costs changed\n"),
        "{text}"
    );
    let (code, text, _) = parts(&pte(&["diff", &file("mlp"), &file("mlp")]));
    assert_eq!(
        (code, text.as_str()),
        (
            0,
            "no change: a caller of one can call the other, at the same costs\n"
        )
    );

    let (_, text, _) = parts(&pte(&[
        "diff",
        &file("two_methods"),
        &file("prefill_decode"),
    ]));
    for line in ["method", "there no more", "new: there"] {
        assert!(text.contains(line), "{text}");
    }
    let (code, text, _) = parts(&pte(&[
        "diff",
        &file("example_linear"),
        &file("external_constants"),
    ]));
    assert!(code == 1 && text.contains("not needed → needed"), "{text}");
}

#[test]
fn every_rule_is_explained() {
    let (_, list, _) = parts(&pte(&["explain"]));
    for rule in RULES {
        assert!(list.contains(rule.summary()), "{rule}");
        let (code, text, _) = parts(&pte(&["explain", rule.name()]));
        assert!(
            code == 0
                && text.starts_with(&format!(
                    "{} {}\n\n{}\n",
                    rule.id(),
                    rule.name(),
                    rule.summary()
                )),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 120),
            "{text}"
        );
        assert!(
            text.contains("finds\n\n    ")
                && text.contains("does not find\n\n    ")
                && text.ends_with(&format!("{}\n", rule.page())),
            "{text}"
        );
        assert_ne!(rule.bad(), rule.good(), "{rule}");
    }
}

/// Damaged in the ways of `hostile`, but through the process.
#[test]
fn damaged_files_are_a_line_and_exit_code_two() {
    let bytes = &one("mlp").bytes;
    let mut cases = vec![
        Vec::new(),
        b"PK\x03\x04".to_vec(),
        bytes[..100].to_vec(),
        [&[0; 8], &bytes[..]].concat(),
    ];
    cases.extend(
        (0..bytes.len())
            .step_by(97)
            .map(|end| bytes[..end].to_vec()),
    );
    let folder = scratch();
    for (index, case) in cases.iter().enumerate() {
        let path = folder.path().join(format!("damaged-{index}.pte"));
        fs::write(&path, case).unwrap();
        let path = path.to_str().unwrap();
        for command in ["show", "check"] {
            let (code, output, errors) = parts(&in_ten_megabytes(&[command, path]));
            assert_eq!(
                (code, output.as_str(), errors.lines().count()),
                (2, "", 1),
                "{case:?}: {errors}"
            );
            assert!(errors.starts_with(&format!("error: {path}: ")), "{errors}");
        }
    }
}

#[test]
fn ten_gigabytes_need_no_memory() {
    let folder = scratch();
    let path = folder.path().join("large.pte");
    fs::write(&path, &one("mlp").bytes).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(10 << 30)
        .unwrap();
    let start = Instant::now();
    let output = in_ten_megabytes(&["show", "--json", path.to_str().unwrap()]);
    let took = start.elapsed();
    assert!(output.status.success(), "{output:?}");
    assert!(took.as_secs() < 2, "{took:?}");
}

#[test]
fn help_and_version() {
    let help = parts(&pte(&["--help"]));
    assert_eq!(help.0, 0);
    for word in [
        "show",
        "check",
        "diff",
        "explain",
        "schema",
        "--caller",
        "--runtime",
        "--data",
        "--expect",
        "--deny",
        "--format",
        "--method",
        "--json",
        "--color",
    ] {
        assert!(help.1.contains(word), "{word}");
    }
    assert_eq!(parts(&pte(&["check", "--help"])), help);
    assert_eq!(parts(&pte(&["help"])), help);
    assert!(help.1.lines().all(|line| line.chars().count() <= 120));
    assert_eq!(
        parts(&pte(&["-V"])).1,
        format!("pte {}\n", env!("CARGO_PKG_VERSION"))
    );
}
