//! Programs of the real exporter on the real runtime, through `Module`.

mod device;

use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use device::{Buffer, HANDLES, MEMORY, device, program, read, state};
use executorch::evalue::EValue;
use executorch::tensor::TensorPtr;
use executorch_device::{
    Code, Device, DeviceType, Error, Input, Module, ModuleBuilder, ScalarType, TensorMut,
    TensorRef, Value,
};

const SIZES: [i32; 2] = [8, 8];
const FLOAT: ScalarType = ScalarType::Float;

fn values(scale: f32) -> Vec<f32> {
    (0_u8..64).map(|index| f32::from(index) * scale).collect()
}

fn load<'buf>(name: &str) -> Module<'buf> {
    Module::load(program(&format!("{name}.pte"))).unwrap()
}

fn tensor(buffer: &Buffer) -> TensorRef<'_> {
    TensorRef::over(buffer, FLOAT, &SIZES).unwrap()
}

#[test]
fn the_callers_output() {
    let _device = device();
    let (a, b, mut sum) = (
        Buffer::new(&values(1.0)),
        Buffer::new(&values(0.5)),
        Buffer::new(&[0.0; 64]),
    );
    let addresses = [a.address.addr(), b.address.addr(), sum.address.addr()];
    {
        let mut module = load("caller_output");
        module
            .set_output(
                "forward",
                0,
                TensorMut::over(&mut sum, FLOAT, &SIZES).unwrap(),
            )
            .unwrap();
        for _ in 0..2 {
            let outputs = module.forward([&tensor(&a), &tensor(&b)]).unwrap();
            let output = outputs.tensor(0).unwrap();
            assert_eq!(output.data_ptr().addr(), addresses[2]);
            assert_eq!(read(output.data_ptr(), 64), values(1.5));
            assert_eq!(
                (output.device(), output.sizes()),
                (Device::new(DeviceType::Cuda, 0), SIZES.to_vec())
            );
            assert_eq!(
                output.as_slice::<f32>().unwrap_err().kind(),
                Code::NotSupported
            );
        }
    }
    // The pointers went through as they are: nothing was copied on the way.
    assert_eq!(state().pointers, addresses);
    assert_eq!(sum.read(), values(1.5));
}

#[test]
fn a_planned_output_is_the_methods_own() {
    let _device = device();
    let (a, b, mut mine) = (
        Buffer::new(&values(1.0)),
        Buffer::new(&values(2.0)),
        Buffer::new(&[0.0; 64]),
    );
    let mut module = load("planned_output");
    let meta = module.method_meta("forward").unwrap();
    assert_eq!(
        meta.planned_buffers
            .iter()
            .map(|buffer| buffer.nbytes)
            .collect::<Vec<_>>(),
        [256]
    );
    assert_eq!(
        meta.planned_buffers[0].device,
        Device::new(DeviceType::Cuda, 0)
    );
    assert_eq!(meta.delegates, ["TestDelegate"]);
    assert_eq!(meta.name, "forward");
    let planned = |tensors: &[Option<executorch_device::TensorMeta>]| {
        tensors
            .iter()
            .map(|tensor| tensor.as_ref().unwrap().planned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (planned(&meta.inputs), planned(&meta.outputs)),
        (vec![false, false], vec![true])
    );
    assert!(
        !module.is_method_loaded("forward"),
        "the metadata is the file's"
    );

    let refused = module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut mine, FLOAT, &SIZES).unwrap(),
        )
        .unwrap_err();
    let text =
        "Output 0 is memory planned, or is a constant. Cannot override the existing data pointer.";
    assert_eq!(
        (refused.code(), refused.log()),
        (0x2, &[text.to_owned()][..])
    );
    assert!(refused.to_string().ends_with(&format!(
        "set_output(\"forward\", 0) refused: {text} (InvalidState, 0x2)"
    )));
    assert_eq!(state().log, [format!("Error: {text}")]);

    let outputs = module.forward([&tensor(&a), &tensor(&b)]).unwrap();
    let output = outputs.tensor(0).unwrap();
    assert_eq!(read(output.data_ptr(), 64), values(3.0));
    assert_eq!(
        state().pointers,
        [a.address.addr(), b.address.addr(), output.data_ptr().addr()]
    );
}

#[test]
fn an_unpaired_program_is_refused_by_the_runtime() {
    let _device = device();
    let (a, b) = (Buffer::new(&values(1.0)), Buffer::new(&values(2.0)));
    let mut module = load("unpaired");
    let refused = module.forward([&tensor(&a), &tensor(&b)]).unwrap_err();
    assert_eq!((refused.code(), refused.kind()), (0x10, Code::NotSupported));
    assert!(
        refused.log()[0].starts_with("Planned-buffer copy needs host memory on both sides"),
        "{refused}"
    );
}

#[test]
fn host_tensors_are_copied_where_the_program_says_so() {
    let _device = device();
    let (a, b) = (values(1.0), values(2.0));
    let a =
        TensorPtr::from_array_view(ndarray::ArrayView2::from_shape((8, 8), &a).unwrap()).unwrap();
    let b =
        TensorPtr::from_array_view(ndarray::ArrayView2::from_shape((8, 8), &b).unwrap()).unwrap();
    let inputs = [EValue::new(&a), EValue::new(&b)];
    for name in ["copies", "unplanned_copies"] {
        let mut module = load(name);
        let outputs = module.forward(&inputs).unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().as_slice::<f32>().unwrap(),
            values(3.0)
        );
        assert_eq!(format!("{outputs:?}"), "[Tensor(Float[8, 8]@Cpu:0)]");
    }
}

#[test]
fn the_public_module_takes_our_tensors() {
    let _device = device();
    let (a, b) = (Buffer::new(&values(1.0)), Buffer::new(&values(2.0)));
    let (a, b) = (tensor(&a), tensor(&b));
    assert_eq!(
        unsafe_tensor::<i32>(&a).err().unwrap().kind(),
        Code::InvalidType
    );
    let (a, b) = (
        unsafe_tensor::<f32>(&a).unwrap(),
        unsafe_tensor::<f32>(&b).unwrap(),
    );
    let mut module = executorch::module::Module::new(program("planned_output.pte"));
    let outputs = module.forward(&[EValue::new(&a), EValue::new(&b)]).unwrap();
    assert_eq!(
        read(
            outputs[0].as_tensor().as_data_ptr_raw().cast_mut().cast(),
            64
        ),
        values(3.0)
    );
}

#[allow(unsafe_code)]
fn unsafe_tensor<'a, S: executorch::tensor::Scalar>(
    tensor: &TensorRef<'a>,
) -> Result<TensorPtr<'a, executorch::tensor::View<S>>, Error> {
    // SAFETY: given to the runtime only, in modules that do not outlive the buffers.
    unsafe { tensor.to_tensor_ptr::<S>() }
}

#[test]
fn inputs_held_for_many_executions() {
    let _device = device();
    let (a, b, mut sum) = (
        Buffer::new(&values(1.0)),
        Buffer::new(&values(0.5)),
        Buffer::new(&[0.0; 64]),
    );
    let mut module = load("caller_output");
    module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut sum, FLOAT, &SIZES).unwrap(),
        )
        .unwrap();
    let missing = |error: Error, index: usize| {
        assert_eq!(error.kind(), Code::InvalidState);
        assert!(
            error
                .message()
                .starts_with(&format!("input {index} of method `forward` is not set")),
            "{error}"
        );
    };
    missing(module.execute_held("forward").unwrap_err(), 0);
    module.set_input("forward", 0, tensor(&a)).unwrap();
    missing(module.execute_held("forward").unwrap_err(), 1);
    module.set_input("forward", 1, tensor(&b)).unwrap();
    for _ in 0..3 {
        let outputs = module.execute_held("forward").unwrap();
        assert_eq!(read(outputs.tensor(0).unwrap().data_ptr(), 64), values(1.5));
    }
    // An execution with its own inputs takes over: what it left behind may be freed, so it must not be run on.
    {
        let short = Buffer::new(&values(4.0));
        module.forward([&tensor(&short), &tensor(&b)]).unwrap();
    }
    missing(module.execute_held("forward").unwrap_err(), 0);
    module.set_input("forward", 0, tensor(&a)).unwrap();
    missing(module.execute_held("forward").unwrap_err(), 1);
    module.set_input("forward", 1, tensor(&b)).unwrap();
    module.execute_held("forward").unwrap();
    // One that fails half way has left an address behind as well.
    {
        let short = Buffer::new(&values(4.0));
        let error = module
            .forward([Input::from(&tensor(&short)), Input::from(3)])
            .unwrap_err();
        assert_eq!(error.kind(), Code::InvalidArgument);
    }
    missing(module.execute_held("forward").unwrap_err(), 0);
    module.set_input("forward", 0, tensor(&a)).unwrap();
    module.set_input("forward", 1, tensor(&b)).unwrap();
    module.set_input("forward", 1, 3).unwrap_err();
    missing(module.execute_held("forward").unwrap_err(), 1);
    module.set_input("forward", 1, tensor(&b)).unwrap();
    assert!(module.unload_method("forward") && !module.unload_method("forward"));
    missing(module.execute_held("forward").unwrap_err(), 0);
}

/// What `chain` of `program.py` computes of `values(1.0)` and `values(0.5)`.
fn chained() -> Vec<f32> {
    let terms = values(1.0).into_iter().zip(values(0.5));
    terms
        .map(|(a, b)| ((a * b + 1.0) * 3.0 + 2.0) * 0.5)
        .collect()
}

#[test]
fn a_planned_input_holds_for_one_execution() {
    let _device = device();
    let (a, b) = (values(1.0), values(0.5));
    let (a, b) = (
        TensorRef::host(&a, &SIZES).unwrap(),
        TensorRef::host(&b, &SIZES).unwrap(),
    );
    let run = |module: &mut Module<'_>| -> Result<Vec<f32>, Error> {
        let outputs = module.execute_held("forward")?;
        Ok(outputs.tensor(0)?.as_slice::<f32>()?.to_vec())
    };
    let mut module = load("chain");
    for _ in 0..2 {
        module.set_input("forward", 0, &a).unwrap();
        module.set_input("forward", 1, &b).unwrap();
        assert_eq!(run(&mut module).unwrap(), chained());
        // The chain's later results lie where its inputs were: another run would compute with those.
        let error = run(&mut module).unwrap_err();
        assert_eq!(error.kind(), Code::InvalidState);
        assert_eq!(
            error.message(),
            "input 0 of method `forward` is not set: it is planned, and what was copied there may be overwritten since; \
             give it again with set_input before each execution, or export with \
             MemoryPlanningPass(alloc_graph_input=False)"
        );
    }
    module.set_input("forward", 0, &a).unwrap();
    let error = run(&mut module).unwrap_err();
    assert!(
        error.message().starts_with("input 1 of method `forward`"),
        "{error}"
    );
    module.forward([&a, &b]).unwrap();
    assert!(
        run(&mut module).is_err(),
        "`execute` leaves nothing to hold"
    );

    let mut module = load("chain_unplanned");
    module.set_input("forward", 0, &a).unwrap();
    module.set_input("forward", 1, &b).unwrap();
    for _ in 0..3 {
        assert_eq!(run(&mut module).unwrap(), chained());
    }
}

#[test]
fn methods_that_share_their_planned_memory_end_each_others_inputs() {
    let _device = device();
    let (a, b) = (values(1.0), values(0.5));
    let (a, b) = (
        TensorRef::host(&a, &SIZES).unwrap(),
        TensorRef::host(&b, &SIZES).unwrap(),
    );
    type Intrusion<'a> = &'a dyn Fn(&mut Module<'_>) -> Result<(), Error>;
    let nothing: Intrusion<'_> = &|_| Ok(());
    let load: Intrusion<'_> = &|module| module.load_method("product");
    // It lies where the input of the other method does.
    let set = |module: &mut Module<'_>| {
        let ones = [1.0_f32; 64];
        let ones = TensorRef::host(&ones, &SIZES).unwrap();
        let refused = module
            .execute("product", [Input::from(&ones), Input::from(3)])
            .map(drop);
        assert!(refused.is_err(), "after its first input was copied");
        Ok(())
    };
    let set: Intrusion<'_> = &set;
    let run: Intrusion<'_> = &|module| module.execute("unplanned", [&b, &a]).map(drop);
    for (share, before, between, held) in [
        (true, nothing, nothing, true),
        (true, load, nothing, true),
        (true, nothing, load, false),
        (true, load, set, false),
        (true, run, run, false),
        (false, nothing, load, true),
        (false, run, run, true),
    ] {
        let mut module = ModuleBuilder::new(program("three_methods.pte"))
            .share_memory_arenas(share)
            .load()
            .unwrap();
        before(&mut module).unwrap();
        module.set_input("forward", 0, &a).unwrap();
        module.set_input("forward", 1, &b).unwrap();
        between(&mut module).unwrap();
        match module.execute_held("forward") {
            Ok(outputs) => {
                assert!(held);
                let output = outputs.tensor(0).unwrap();
                assert_eq!(output.as_slice::<f32>().unwrap(), chained());
            }
            Err(error) => {
                assert!(!held, "{error}");
                assert!(error.message().contains("it is planned"), "{error}");
            }
        }
    }
}

#[test]
fn an_output_without_memory_is_not_run() {
    let _device = device();
    let (a, b) = (Buffer::new(&values(1.0)), Buffer::new(&values(2.0)));
    let host = [TensorPtr::from_array(ndarray::Array2::<f32>::ones((8, 8))).unwrap()];
    let host = [EValue::new(&host[0]), EValue::new(&host[0])];
    for error in [
        load("caller_output")
            .forward([&tensor(&a), &tensor(&b)])
            .unwrap_err(),
        load("host").forward(&host).unwrap_err(), // the runtime: a null pointer for the operator to write to
    ] {
        assert_eq!(error.kind(), Code::InvalidState);
        assert!(
            error
                .message()
                .contains("output 0 of method `forward` has no memory"),
            "{error}"
        );
    }
    assert!(state().pointers.is_empty(), "the delegate did not run");
}

#[test]
fn memory_on_the_wrong_side() {
    let _device = device();
    let (a, b) = (Buffer::new(&values(1.0)), Buffer::new(&values(2.0)));
    // Device memory where a host operator reads or writes: refused, it would be read on the host.
    for name in ["host", "unplanned_copies"] {
        let error = load(name).forward([&tensor(&a), &tensor(&b)]).unwrap_err();
        assert_eq!(error.kind(), Code::InvalidArgument);
        assert!(
            error.message().contains("the program reads it on the host"),
            "{error}"
        );
    }
    let mut sum = Buffer::new(&[0.0; 64]);
    let error = load("host")
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut sum, FLOAT, &SIZES).unwrap(),
        )
        .unwrap_err();
    assert!(
        error
            .message()
            .contains("the program writes it on the host"),
        "{error}"
    );
    // Device memory for a planned host input: the runtime compares the tags.
    let error = load("host_planned")
        .forward([&tensor(&a), &tensor(&b)])
        .unwrap_err();
    assert_eq!(error.code(), 0x10, "{error}");
    // Host memory where a delegate expects a device: the delegate alone can tell.
    let mut host = values(0.0);
    let mut module = load("caller_output");
    module
        .set_output("forward", 0, TensorMut::host(&mut host, &SIZES).unwrap())
        .unwrap();
    let error = module.forward([&tensor(&a), &tensor(&b)]).unwrap_err();
    assert_eq!(
        (error.kind(), error.log()[0].as_str()),
        (Code::InvalidArgument, "tensor 2 is not device memory")
    );
}

#[test]
fn host_memory_in_and_out() {
    let _device = device();
    let array = ndarray::Array2::from_shape_vec((8, 8), values(2.0)).unwrap();
    let input = TensorPtr::from_array(array).unwrap();
    let inputs = [EValue::new(&input), EValue::new(&input)];
    let mut product = vec![0.0_f32; 64];
    let address = product.as_mut_ptr();
    {
        let mut module = load("host");
        module
            .set_output("forward", 0, TensorMut::host(&mut product, &SIZES).unwrap())
            .unwrap();
        let outputs = module.forward(&inputs).unwrap();
        assert_eq!(outputs.tensor(0).unwrap().data_ptr().cast(), address);
    }
    assert_eq!(
        product,
        values(2.0)
            .iter()
            .map(|value| value * value)
            .collect::<Vec<_>>()
    );
}

#[test]
fn an_output_buffer_is_large_enough_for_every_shape() {
    let _device = device();
    let (mut large, mut small) = (Buffer::new(&[0.0; 128]), Buffer::new(&[0.0; 64]));
    let mut double = Buffer::new(&[0.0; 128]);
    let (a, b) = (Buffer::new(&values(1.0)), Buffer::new(&values(2.0)));
    let mut module = load("dynamic");
    let slot = module.output("forward", 0).unwrap().unwrap();
    assert_eq!(
        (slot.nbytes, slot.planned, slot.scalar_type),
        (512, false, FLOAT)
    );
    assert_eq!(slot.device, Device::new(DeviceType::Cuda, 0));
    assert_eq!(
        module.input("forward", 1).unwrap().unwrap().device,
        Device::new(DeviceType::Cuda, 0)
    );
    module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut large, FLOAT, &[16, 8]).unwrap(),
        )
        .unwrap();
    for rows in [8, 2, 7] {
        let inputs = [&a, &b].map(|buffer| TensorRef::over(buffer, FLOAT, &[rows, 8]).unwrap());
        let outputs = module.forward(&inputs).unwrap();
        let output = outputs.tensor(0).unwrap();
        assert_eq!(output.sizes(), [rows, 8]);
        assert_eq!(
            read(output.data_ptr(), output.numel()),
            values(3.0)[..output.numel()]
        );
    }
    // The output has the small shape now, which is all that the runtime looks at: a later run would write past the end.
    let error = module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut small, FLOAT, &SIZES).unwrap(),
        )
        .unwrap_err();
    assert!(
        error.message().contains("it can take up to 512 bytes"),
        "{error}"
    );
    let wrong = TensorMut::over(&mut double, ScalarType::Int, &[16, 8]).unwrap();
    let error = module.set_output("forward", 0, wrong).unwrap_err();
    assert!(
        error.message().contains("its elements are Float"),
        "{error}"
    );
}

#[test]
fn a_resize_beyond_the_exported_shape_is_refused() {
    let _device = device();
    let (a, mut sum) = (Buffer::new(&[1.0; 256]), Buffer::new(&[0.0; 256]));
    let mut module = load("dynamic");
    module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut sum, FLOAT, &[32, 8]).unwrap(),
        )
        .unwrap();
    let input = TensorRef::over(&a, FLOAT, &[32, 8]).unwrap();
    let error = module.forward([&input, &input]).unwrap_err();
    assert_eq!(error.kind(), Code::NotSupported, "{error}");
}

#[test]
fn external_data() {
    let _device = device();
    let (a, b) = (Buffer::new(&values(1.0)), Buffer::new(&values(2.0)));
    let mut module = ModuleBuilder::new(program("with_data.pte"))
        .data_file(program("bias.ptd"))
        .load()
        .unwrap();
    let outputs = module.forward([&tensor(&a), &tensor(&b)]).unwrap();
    let expected: Vec<f32> = values(3.0).iter().map(|value| value + 0.5).collect();
    assert_eq!(read(outputs.tensor(0).unwrap().data_ptr(), 64), expected);

    let error = load("with_data").load_method("forward").unwrap_err();
    assert_eq!(error.code(), 0x20);
    assert_eq!(
        error.log()[0],
        "no named data `bias`: give the program's data file (.ptd) to the module"
    );
}

#[test]
fn an_output_that_is_an_input() {
    let _device = device();
    let (mut a, b) = (vec![1.0_f32; 64], values(2.0));
    let mut module = load("passes_through");
    let slots = [0, 1].map(|index| module.input("forward", index).unwrap().unwrap());
    assert_eq!(
        slots.map(|slot| (slot.returned, slot.planned)),
        [(true, false), (false, false)]
    );
    let b = TensorRef::host(&b, &SIZES).unwrap();
    let address = a.as_mut_ptr();
    let inputs = [
        Input::from(TensorMut::host(&mut a, &SIZES).unwrap()),
        Input::from(&b),
    ];
    let outputs = module.forward(inputs).unwrap();
    assert_eq!(outputs.len(), 2);
    assert_eq!(
        outputs.tensor(0).unwrap().as_slice::<f32>().unwrap(),
        values(2.0)
    );
    assert_eq!(
        outputs.tensor(1).unwrap().as_slice::<f32>().unwrap(),
        [1.0; 64]
    );
    assert_eq!(outputs.tensor(1).unwrap().data_ptr().cast(), address);
}

#[test]
fn a_program_that_mutates_its_input_needs_it_exclusively() {
    let _device = device();
    let mut a = vec![1.0_f32; 64];
    let mut module = load("mutates");
    let error = module
        .forward([&TensorRef::host(&a, &SIZES).unwrap()])
        .unwrap_err();
    assert!(
        error
            .message()
            .contains("the method returns it, and may write to it; give a TensorMut"),
        "{error}"
    );
    {
        let outputs = module
            .forward([TensorMut::host(&mut a, &SIZES).unwrap()])
            .unwrap();
        assert_eq!(
            outputs.tensor(1).unwrap().as_slice::<f32>().unwrap(),
            [4.0; 64]
        );
    }
    assert_eq!(a, [2.0; 64], "the runtime wrote to the caller's memory");
}

#[test]
fn numbers_are_those_that_were_traced() {
    let _device = device();
    let mut module = load("number");
    let a = TensorPtr::from_array(ndarray::Array2::<f32>::ones((8, 8))).unwrap();
    let a = EValue::new(&a);
    let outputs = module.forward([Input::from(&a), Input::from(3)]).unwrap();
    assert_eq!(
        outputs.tensor(0).unwrap().as_slice::<f32>().unwrap(),
        [3.0; 64]
    );
    let three = EValue::new(3_i64);
    module.forward([&a, &three]).unwrap();
    for wrong in [
        Input::from(4),
        Input::from(3.0),
        Input::from(true),
        Input::NONE,
    ] {
        assert_eq!(
            module.forward([Input::from(&a), wrong]).unwrap_err().kind(),
            Code::InvalidArgument
        );
    }
    assert!(module.input("forward", 1).unwrap().is_none());
    assert!(module.method_meta("forward").unwrap().inputs[1].is_none());
}

#[test]
fn refusals_name_file_method_and_place() {
    let _device = device();
    let error = Module::load("/no/such.pte").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot load the program /no/such.pte: "),
        "{error}"
    );
    // C++ would load what is before the NUL, which is there.
    let mut name = program("host.pte").into_os_string();
    name.push("\0.pte");
    let error = Module::load(&name).unwrap_err();
    assert!(error.message().contains("holds a NUL"), "{error}");
    let error = ModuleBuilder::new(program("with_data.pte"))
        .data_file(&name)
        .load()
        .unwrap_err();
    assert!(error.message().contains("holds a NUL"), "{error}");

    let mut sum = Buffer::new(&[0.0; 64]);
    let mut module = load("caller_output");
    assert_eq!(module.method_names().unwrap(), ["forward"]);
    let error = module.load_method("backward").unwrap_err();
    assert!(
        error
            .message()
            .ends_with("caller_output.pte: cannot load method `backward`"),
        "{error}"
    );
    assert!(
        module
            .method_meta("backward")
            .unwrap_err()
            .message()
            .contains("method `backward`")
    );
    let error = module
        .set_output(
            "forward",
            1,
            TensorMut::over(&mut sum, FLOAT, &SIZES).unwrap(),
        )
        .unwrap_err();
    assert_eq!(
        error.message(),
        "method `forward` has no output 1: it has 1"
    );
    assert_eq!(
        module.input("forward", 2).unwrap_err().message(),
        "method `forward` has no input 2: it has 2"
    );
    let error = module.forward([Input::from(1)]).unwrap_err();
    assert_eq!(error.message(), "method `forward` takes 2 inputs, not 1");
    let chars = executorch::util::ArrayRef::from_cstr(c"text");
    let text = EValue::new(&chars);
    let error = module.forward([&text, &text]).unwrap_err();
    assert_eq!(
        error.message(),
        "a method takes tensors, numbers and None, not String"
    );
    let garbage = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(garbage.path(), [0_u8; 4096]).unwrap();
    assert_eq!(
        Module::load(garbage.path()).unwrap_err().kind(),
        Code::InvalidProgram
    );
}

#[test]
fn a_module_moves_between_threads() {
    let _device = device();
    let (a, b) = (Buffer::new(&values(1.0)), Buffer::new(&values(2.0)));
    let mut module = load("planned_output");
    module.load_method("forward").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut module = module;
            let outputs = module.forward([&tensor(&a), &tensor(&b)]).unwrap();
            assert!(matches!(outputs.get(0), Some(Value::Tensor(_))) && outputs.get(1).is_none());
        });
    });
    drop((a, b));
    assert_eq!((MEMORY.live(), HANDLES.load(SeqCst)), (0, 0));
}
