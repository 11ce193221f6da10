//! A program with sizes: made once for each set of input sizes, run once for each execution.

use std::ptr::NonNull;

use crate::{
    fault::{Fault, planted},
    fence::{Fence, POISON},
    operators::{MOST_OPERANDS, Operator, View},
    recipe::{Program, Source},
};

/// Everything that an execution needs, so that it neither infers nor resolves anything again.
#[derive(Debug)]
pub(crate) struct Plan {
    calls: Vec<Call>,
    /// Sizes of the delegate's inputs that this plan is for.
    inputs: Vec<Vec<usize>>,
    /// Sizes of the outputs that they give.
    outputs: Vec<Vec<usize>>,
    weights: Vec<Argument>,
    /// Elements of scratch memory for results that are no output.
    scratch: usize,
}

#[derive(Debug)]
struct Call {
    operator: &'static Operator,
    operands: Vec<(Slot, Vec<usize>)>,
    dims: Vec<usize>,
    result: Slot,
    sizes: Vec<usize>,
}

/// Where a value lies during a run.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// In the delegate's argument with this number: inputs first, then outputs.
    Argument(usize),
    /// In the weight with this number.
    Weight(usize),
    /// In the scratch memory, from this element on.
    Scratch(usize),
}

/// The elements of one tensor in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    /// Device address: aligned for `f32`, with all elements in one live block for as long as work that uses it is queued.
    /// Meaningless without elements.
    pub(crate) address: usize,
    /// How many elements.
    pub(crate) len: usize,
    /// An input that work of another stream writes at a time that nothing orders: it is read as poison.
    pub(crate) raced: bool,
    /// During a run: where in the scratch memory it is instead.
    aside: Option<usize>,
}

impl Argument {
    pub(crate) fn new(address: usize, len: usize) -> Self {
        Self {
            address,
            len,
            raced: false,
            aside: None,
        }
    }

    pub(crate) fn nbytes(&self) -> usize {
        self.len * size_of::<f32>()
    }

    /// Whether any byte of it is among these.
    pub(crate) fn overlaps(&self, address: usize, nbytes: usize) -> bool {
        self.address < address + nbytes && address < self.address + self.nbytes()
    }

    /// Its elements: aligned and valid for reads and writes while no block is freed; dangling when there are none.
    ///
    /// # Panics
    ///
    /// When they do not all lie in one live block, aligned: a fault of this crate's, as arguments are checked before they
    /// are queued, and freeing waits. The slices made of this rest on it, so it is looked up, not assumed.
    fn in_memory(&self, fence: &Fence) -> *mut f32 {
        if self.len == 0 {
            return std::ptr::dangling_mut();
        }
        let elements = fence
            .bytes(self.address, self.nbytes())
            .map(NonNull::cast::<f32>)
            .filter(|elements| elements.is_aligned());
        let Some(elements) = elements else {
            panic!(
                "queued work uses {} bytes at {:#x}, which are in no live block",
                self.nbytes(),
                self.address
            );
        };
        elements.as_ptr()
    }
}

impl Program {
    /// The plan for these input sizes; `weights` are the device addresses of the program's weights.
    ///
    /// # Errors
    ///
    /// In one line: which operator cannot take its operands, or that a size overflows.
    pub(crate) fn plan(&self, inputs: Vec<Vec<usize>>, weights: &[usize]) -> Result<Plan, String> {
        debug_assert_eq!(
            (inputs.len(), weights.len()),
            (self.inputs, self.weights.len())
        );
        let mut calls: Vec<Call> = Vec::with_capacity(self.calls.len());
        let mut scratch = 0_usize;
        for (index, call) in self.calls.iter().enumerate() {
            let operands: Vec<(Slot, Vec<usize>)> = call
                .operands
                .iter()
                .map(|&source| match source {
                    Source::Input(input) => (Slot::Argument(input), inputs[input].clone()),
                    Source::Weight(weight) => {
                        (Slot::Weight(weight), self.weights[weight].sizes.clone())
                    }
                    Source::Result(call) => (calls[call].result, calls[call].sizes.clone()),
                })
                .collect();
            let sizes: Vec<&[usize]> = operands.iter().map(|(_, sizes)| &sizes[..]).collect();
            let sizes = call.operator.sizes(&sizes, &call.dims)?;
            let too_large = || format!("a result of sizes {sizes:?} is too large");
            let len = elements(&sizes).ok_or_else(too_large)?;
            let result = match self.outputs.iter().position(|&output| output == index) {
                Some(output) => Slot::Argument(self.inputs + output),
                None => {
                    let offset = scratch;
                    scratch = scratch.checked_add(len).ok_or_else(too_large)?;
                    Slot::Scratch(offset)
                }
            };
            calls.push(Call {
                operator: call.operator,
                operands,
                dims: call.dims.clone(),
                result,
                sizes,
            });
        }
        let outputs = self
            .outputs
            .iter()
            .map(|&call| calls[call].sizes.clone())
            .collect();
        let weights = weights.iter().zip(&self.weights);
        let weights = weights
            .map(|(&address, weight)| Argument::new(address, weight.sizes.iter().product()))
            .collect();
        Ok(Plan {
            calls,
            inputs,
            outputs,
            weights,
            scratch,
        })
    }
}

/// How many elements a tensor of these sizes has, if its bytes can be counted.
pub(crate) fn elements(sizes: &[usize]) -> Option<usize> {
    let len = sizes
        .iter()
        .try_fold(1_usize, |len, &size| len.checked_mul(size))?;
    len.checked_mul(size_of::<f32>()).map(|_| len)
}

impl Plan {
    /// Sizes of the inputs that this plan is for.
    pub(crate) fn inputs(&self) -> &[Vec<usize>] {
        &self.inputs
    }

    /// Sizes of the outputs.
    pub(crate) fn outputs(&self) -> &[Vec<usize>] {
        &self.outputs
    }

    /// The weights that a run reads.
    pub(crate) fn weights(&self) -> &[Argument] {
        &self.weights
    }

    /// Computes every output of one execution. `arguments` are inputs, then outputs, with the sizes of this plan.
    ///
    /// The outputs are written where they belong, unless one shares memory with another argument or with a weight: then
    /// all are computed aside first, so that an output that *is* an input holds the right result afterwards. (A GPU gives
    /// that only for operators that read each element before they write it.)
    ///
    /// # Panics
    ///
    /// When the arguments are not of this plan's sizes, or have elements that lie in no live block: a fault of this crate's.
    pub(crate) fn run(&self, arguments: &mut [Argument], fence: &Fence, scratch: &mut Vec<f32>) {
        let sizes = self.inputs.iter().chain(&self.outputs);
        assert!(
            arguments
                .iter()
                .map(|argument| Some(argument.len))
                .eq(sizes.map(|sizes| elements(sizes))),
            "queued work has arguments of another plan"
        );
        let shared = self.an_output_shares_memory(arguments);
        let mut len = self.scratch;
        for (index, argument) in arguments.iter_mut().enumerate() {
            if argument.raced || (shared && index >= self.inputs.len()) {
                argument.aside = Some(len);
                len += argument.len;
            }
        }
        if scratch.len() < len {
            scratch.resize(len, 0.0);
        }
        for argument in arguments.iter().filter(|argument| argument.raced) {
            if let Some(aside) = argument.aside {
                scratch[aside..][..argument.len].fill(f32::from_bits(POISON));
            }
        }

        let base = scratch.as_mut_ptr();
        let at = |slot| match slot {
            Slot::Argument(index) => match arguments[index].aside {
                Some(offset) => base.wrapping_add(offset),
                None => arguments[index].in_memory(fence),
            },
            Slot::Weight(index) => self.weights[index].in_memory(fence),
            Slot::Scratch(offset) => base.wrapping_add(offset),
        };
        for call in &self.calls {
            let mut operands = [View::default(); MOST_OPERANDS];
            for (operand, (slot, sizes)) in operands.iter_mut().zip(&call.operands) {
                // SAFETY: `at` points at the elements of a live block (an argument's or a weight's, as `in_memory` checks;
                // arguments have this plan's lengths, as checked above) or of the scratch memory, which is as long as the
                // plan and the arguments aside need. All are initialised, aligned, and written by no reference but
                // `result` below.
                operand.data =
                    unsafe { std::slice::from_raw_parts(at(*slot), sizes.iter().product()) };
                operand.sizes = sizes;
            }
            let len = call.sizes.iter().product();
            // SAFETY: as above; and no operand is in it: every result has a slot of its own, the parts of the scratch
            // memory do not overlap, and an output that overlaps another argument or a weight is aside.
            let result = unsafe { std::slice::from_raw_parts_mut(at(call.result), len) };
            call.operator.compute(
                &operands[..call.operands.len()],
                &call.dims,
                &call.sizes,
                result,
            );
        }

        for argument in &arguments[self.inputs.len()..] {
            let memory = argument.in_memory(fence);
            if let Some(aside) = argument.aside {
                // SAFETY: both are valid for that many elements, and the scratch memory is no device memory.
                unsafe { base.add(aside).copy_to_nonoverlapping(memory, argument.len) };
            }
            if planted(Fault::WrongResult) && argument.len > 0 {
                // SAFETY: the first element of a live block, which no reference points at any more.
                unsafe { *memory += 1.0 };
            }
        }
    }

    fn an_output_shares_memory(&self, arguments: &[Argument]) -> bool {
        (self.inputs.len()..arguments.len()).any(|output| {
            let others = arguments
                .iter()
                .enumerate()
                .filter(|&(index, _)| index != output)
                .map(|(_, other)| other);
            let mut others = others.chain(&self.weights);
            others
                .any(|other| other.overlaps(arguments[output].address, arguments[output].nbytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    /// `t = x + y; out = t * w`, with `w` a weight.
    const RECIPE: &str = r#"{"version": 1, "method": "forward",
        "inputs": [{"name": "x", "dtype": "float32"}, {"name": "y", "dtype": "float32"}],
        "weights": [{"name": "w", "key": "k", "dtype": "float32", "sizes": [1]}],
        "ops": [{"op": "add", "in": ["x", "y"], "out": "t"}, {"op": "mul", "in": ["t", "w"], "out": "u"}],
        "outputs": ["u"]}"#;

    struct Bench {
        fence: Fence,
        program: Program,
        weight: usize,
    }

    impl Bench {
        fn new() -> Self {
            let mut fence = Fence::with_reach(1 << 24).unwrap();
            let program = Recipe::parse(RECIPE.as_bytes()).unwrap().resolve().unwrap();
            let weight = fence.allocate(4).unwrap();
            let mut bench = Self {
                fence,
                program,
                weight,
            };
            bench.write(weight, &[2.0]);
            bench
        }

        fn block(&mut self, values: &[f32]) -> Argument {
            let address = self.fence.allocate(size_of_val(values)).unwrap();
            self.write(address, values);
            Argument::new(address, values.len())
        }

        fn write(&mut self, address: usize, values: &[f32]) {
            let bytes = self.fence.bytes(address, size_of_val(values)).unwrap();
            // SAFETY: inside a live block.
            unsafe {
                bytes
                    .as_ptr()
                    .cast::<f32>()
                    .copy_from(values.as_ptr(), values.len());
            };
        }

        fn read(&self, argument: Argument) -> Vec<f32> {
            // SAFETY: inside a live block.
            unsafe { std::slice::from_raw_parts(argument.in_memory(&self.fence), argument.len) }
                .to_vec()
        }

        fn run(&self, arguments: &mut [Argument]) {
            let sizes = vec![vec![arguments[0].len], vec![arguments[1].len]];
            let plan = self.program.plan(sizes, &[self.weight]).unwrap();
            plan.run(arguments, &self.fence, &mut Vec::new());
        }
    }

    #[test]
    fn results_are_written_in_place() {
        let mut bench = Bench::new();
        let (x, y, out) = (
            bench.block(&[1.0, 2.0]),
            bench.block(&[10.0, 20.0]),
            bench.block(&[0.0, 0.0]),
        );
        bench.run(&mut [x, y, out]);
        assert_eq!(bench.read(out), [22.0, 44.0]);
        assert_eq!(bench.read(x), [1.0, 2.0]);
    }

    #[test]
    fn an_output_may_share_memory_with_an_input() {
        let mut bench = Bench::new();
        let only_add = RECIPE
            .replace(r#", {"op": "mul", "in": ["t", "w"], "out": "u"}"#, "")
            .replace(r#"["u"]"#, r#"["t"]"#);
        bench.program = Recipe::parse(only_add.as_bytes())
            .unwrap()
            .resolve()
            .unwrap();
        let (x, y) = (bench.block(&[1.0, 2.0, 3.0]), bench.block(&[10.0, 20.0]));
        let shifted = Argument::new(x.address + 4, 2);
        bench.run(&mut [Argument::new(x.address, 2), y, shifted]);
        assert_eq!(
            bench.read(x),
            [1.0, 11.0, 22.0],
            "computed before anything was overwritten"
        );
    }

    #[test]
    fn a_raced_input_reads_as_poison_and_keeps_its_memory() {
        let mut bench = Bench::new();
        let (mut x, y, out) = (
            bench.block(&[1.0, 2.0]),
            bench.block(&[10.0, 20.0]),
            bench.block(&[0.0, 0.0]),
        );
        x.raced = true;
        bench.run(&mut [x, y, out]);
        assert!(bench.read(out).iter().all(|value| value.is_nan()));
        assert_eq!(bench.read(x), [1.0, 2.0]);
    }

    #[test]
    fn tensors_without_elements_need_no_memory() {
        let bench = Bench::new();
        bench.run(&mut [
            Argument::new(0, 0),
            Argument::new(0, 0),
            Argument::new(0, 0),
        ]);
    }

    #[test]
    #[should_panic(expected = "in no live block")]
    fn an_argument_that_is_gone_is_not_read() {
        let mut bench = Bench::new();
        let (x, y, out) = (
            bench.block(&[1.0, 2.0]),
            bench.block(&[10.0, 20.0]),
            bench.block(&[0.0, 0.0]),
        );
        bench.fence.free(y.address);
        bench.run(&mut [x, y, out]);
    }

    #[test]
    #[should_panic(expected = "arguments of another plan")]
    fn arguments_of_other_sizes_are_not_read() {
        let mut bench = Bench::new();
        let plan = bench.program.plan(vec![vec![2], vec![2]], &[bench.weight]);
        let (x, short) = (bench.block(&[1.0, 2.0]), bench.block(&[1.0]));
        plan.unwrap()
            .run(&mut [x, short, x], &bench.fence, &mut Vec::new());
    }

    #[test]
    fn a_plan_names_the_operator_that_does_not_fit() {
        let bench = Bench::new();
        let error = bench
            .program
            .plan(vec![vec![2], vec![3]], &[bench.weight])
            .unwrap_err();
        assert_eq!(error, "add: sizes [2] and [3] do not broadcast");
        let error = bench
            .program
            .plan(vec![vec![usize::MAX, 4], vec![1]], &[bench.weight])
            .unwrap_err();
        assert!(error.ends_with("is too large"), "{error}");
    }
}
