//! The delegate's operators: one table, one row an operator. Sequential `f32` on contiguous, row-major tensors.
//!
//! To add one: a row in [`TABLE`] with a `sizes` function (sizes of the result, or why the operands do not fit) and a
//! `compute` function, and a case in the tests below, whose expected values come from PyTorch.

use std::ops::RangeInclusive;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) name: &'static str,
    /// How many operands it takes; at most [`MOST_OPERANDS`].
    pub(crate) arity: RangeInclusive<usize>,
    /// The sizes of the result for these operands' sizes.
    sizes: Sizes,
    /// Fills `result`, which has as many elements as the sizes say and overlaps no operand.
    compute: Compute,
}

/// From the operands' sizes and the operator's `dims`.
type Sizes = fn(operands: &[&[usize]], dims: &[usize]) -> Result<Vec<usize>, String>;

/// From the operands, the operator's `dims` and the result's sizes.
type Compute = fn(operands: &[View], dims: &[usize], sizes: &[usize], result: &mut [f32]);

/// The most operands that any operator takes.
pub(crate) const MOST_OPERANDS: usize = 3;

/// A tensor in device memory, or in the delegate's scratch memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) sizes: &'a [usize],
}

/// What an output becomes when it is not the result of an operator of its own.
pub(crate) static CLONE: Operator = row("clone", 1..=1, same_as_first, |operands, _, _, result| {
    result.copy_from_slice(operands[0].data);
});

pub(crate) static TABLE: [Operator; 9] = [
    row(
        "add",
        2..=2,
        broadcast_sizes,
        |operands, _, sizes, result| broadcast(operands, sizes, result, |a, b| a + b),
    ),
    row(
        "mul",
        2..=2,
        broadcast_sizes,
        |operands, _, sizes, result| broadcast(operands, sizes, result, |a, b| a * b),
    ),
    row("relu", 1..=1, same_as_first, |operands, _, _, result| {
        for (out, &x) in result.iter_mut().zip(operands[0].data) {
            // Not `max`, which would turn NaN, and with it poison, into 0.
            *out = if x < 0.0 { 0.0 } else { x };
        }
    }),
    row("clone", 1..=1, same_as_first, CLONE.compute),
    row("linear", 2..=3, linear_sizes, linear),
    row("mm", 2..=2, mm_sizes, |operands, _, _, result| {
        mm(operands[0], operands[1], result);
    }),
    row("addmm", 3..=3, addmm_sizes, addmm),
    row(
        "permute",
        1..=1,
        permute_sizes,
        |operands, dims, sizes, result| permute(operands[0], dims, sizes, result),
    ),
    row(
        "transpose",
        1..=1,
        transpose_sizes,
        |operands, _, sizes, result| {
            permute(operands[0], &[1, 0], sizes, result);
        },
    ),
];

const fn row(
    name: &'static str,
    arity: RangeInclusive<usize>,
    sizes: Sizes,
    compute: Compute,
) -> Operator {
    assert!(*arity.end() <= MOST_OPERANDS);
    Operator {
        name,
        arity,
        sizes,
        compute,
    }
}

/// The operator of that name.
pub(crate) fn find(name: &str) -> Option<&'static Operator> {
    TABLE.iter().find(|operator| operator.name == name)
}

impl Operator {
    /// The sizes of the result, or in one line why these operands do not go together.
    pub(crate) fn sizes(
        &self,
        operands: &[&[usize]],
        dims: &[usize],
    ) -> Result<Vec<usize>, String> {
        (self.sizes)(operands, dims).map_err(|why| format!("{}: {why}", self.name))
    }

    /// Computes the result.
    ///
    /// `sizes` is what [`sizes`](Self::sizes) gave for these operands, and `result` has that many elements.
    pub(crate) fn compute(
        &self,
        operands: &[View],
        dims: &[usize],
        sizes: &[usize],
        result: &mut [f32],
    ) {
        (self.compute)(operands, dims, sizes, result);
    }
}

fn same_as_first(operands: &[&[usize]], _: &[usize]) -> Result<Vec<usize>, String> {
    Ok(operands[0].to_vec())
}

fn broadcast_sizes(operands: &[&[usize]], _: &[usize]) -> Result<Vec<usize>, String> {
    let (a, b) = (operands[0], operands[1]);
    let rank = a.len().max(b.len());
    let size = |sizes: &[usize], dim: usize| {
        (dim + sizes.len())
            .checked_sub(rank)
            .map_or(1, |dim| sizes[dim])
    };
    (0..rank)
        .map(|dim| match (size(a, dim), size(b, dim)) {
            (a, b) if a == b => Ok(a),
            (1, b) => Ok(b),
            (a, 1) => Ok(a),
            _ => Err(format!("sizes {a:?} and {b:?} do not broadcast")),
        })
        .collect()
}

fn linear_sizes(operands: &[&[usize]], _: &[usize]) -> Result<Vec<usize>, String> {
    let (x, weight) = (operands[0], operands[1]);
    let (Some((&inner, outer)), &[features, depth]) = (x.split_last(), weight) else {
        return Err(format!(
            "wants x [.., k] and weight [n, k], got {x:?} and {weight:?}"
        ));
    };
    if inner != depth {
        return Err(format!(
            "x {x:?} and weight {weight:?} differ in their last size"
        ));
    }
    if let Some(&bias) = operands.get(2)
        && bias != [features]
    {
        return Err(format!("wants a bias [{features}], got {bias:?}"));
    }
    Ok([outer, &[features]].concat())
}

fn mm_sizes(operands: &[&[usize]], _: &[usize]) -> Result<Vec<usize>, String> {
    match (operands[0], operands[1]) {
        (&[rows, depth], &[inner, columns]) if depth == inner => Ok(vec![rows, columns]),
        (a, b) => Err(format!("wants [m, k] and [k, n], got {a:?} and {b:?}")),
    }
}

fn addmm_sizes(operands: &[&[usize]], _: &[usize]) -> Result<Vec<usize>, String> {
    let product = mm_sizes(&operands[1..], &[])?;
    let sum = broadcast_sizes(&[operands[0], &product], &[])?;
    if sum == product {
        Ok(product)
    } else {
        Err(format!(
            "{:?} does not broadcast to {product:?}",
            operands[0]
        ))
    }
}

fn permute_sizes(operands: &[&[usize]], dims: &[usize]) -> Result<Vec<usize>, String> {
    let sizes = operands[0];
    let mut sorted = dims.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..sizes.len()) {
        return Err(format!(
            "dims {dims:?} is no order of the dimensions of {sizes:?}"
        ));
    }
    Ok(dims.iter().map(|&dim| sizes[dim]).collect())
}

fn transpose_sizes(operands: &[&[usize]], _: &[usize]) -> Result<Vec<usize>, String> {
    match operands[0] {
        &[rows, columns] => Ok(vec![columns, rows]),
        sizes => Err(format!("wants two dimensions, got {sizes:?}")),
    }
}

fn broadcast(
    operands: &[View],
    sizes: &[usize],
    result: &mut [f32],
    combine: impl Fn(f32, f32) -> f32,
) {
    let (a, b) = (operands[0], operands[1]);
    if a.sizes == b.sizes {
        for ((out, &a), &b) in result.iter_mut().zip(a.data).zip(b.data) {
            *out = combine(a, b);
        }
    } else {
        let (a, b) = (Strided::broadcast(a, sizes), Strided::broadcast(b, sizes));
        for ((out, a), b) in result.iter_mut().zip(a).zip(b) {
            *out = combine(a, b);
        }
    }
}

fn linear(operands: &[View], _: &[usize], sizes: &[usize], result: &mut [f32]) {
    let (x, weight, bias) = (operands[0], operands[1], operands.get(2));
    let (features, depth) = (sizes[sizes.len() - 1], weight.sizes[1]);
    if features == 0 {
        return;
    }
    for (row, out) in result.chunks_exact_mut(features).enumerate() {
        let x = &x.data[row * depth..][..depth];
        for (feature, out) in out.iter_mut().enumerate() {
            let weight = &weight.data[feature * depth..][..depth];
            let product: f32 = x.iter().zip(weight).map(|(x, w)| x * w).sum();
            *out = bias.map_or(product, |bias| product + bias.data[feature]);
        }
    }
}

fn mm(a: View, b: View, result: &mut [f32]) {
    let (depth, columns) = (b.sizes[0], b.sizes[1]);
    if columns == 0 {
        return;
    }
    for (row, out) in result.chunks_exact_mut(columns).enumerate() {
        out.fill(0.0);
        for k in 0..depth {
            let a = a.data[row * depth + k];
            for (out, b) in out.iter_mut().zip(&b.data[k * columns..][..columns]) {
                *out += a * b;
            }
        }
    }
}

fn addmm(operands: &[View], _: &[usize], sizes: &[usize], result: &mut [f32]) {
    mm(operands[1], operands[2], result);
    for (out, bias) in result
        .iter_mut()
        .zip(Strided::broadcast(operands[0], sizes))
    {
        *out += bias;
    }
}

fn permute(x: View, dims: &[usize], sizes: &[usize], result: &mut [f32]) {
    let mut strides = vec![1; x.sizes.len()];
    for dim in (1..x.sizes.len()).rev() {
        strides[dim - 1] = strides[dim] * x.sizes[dim];
    }
    let steps = dims
        .iter()
        .zip(sizes)
        .map(|(&dim, &size)| (size, strides[dim]))
        .collect();
    for (out, x) in result.iter_mut().zip(Strided::new(x.data, steps)) {
        *out = x;
    }
}

/// The elements of a tensor in the order in which a result of other sizes wants them. Endless: zip it with the result.
struct Strided<'a> {
    data: &'a [f32],
    /// For each dimension of the result: its size and the operand's stride.
    steps: Vec<(usize, usize)>,
    index: Vec<usize>,
    offset: usize,
}

impl<'a> Strided<'a> {
    fn new(data: &'a [f32], steps: Vec<(usize, usize)>) -> Self {
        Self {
            data,
            index: vec![0; steps.len()],
            steps,
            offset: 0,
        }
    }

    fn broadcast(x: View<'a>, sizes: &[usize]) -> Self {
        let mut steps: Vec<_> = sizes.iter().map(|&size| (size, 0)).collect();
        let mut stride = 1;
        for (step, &size) in steps.iter_mut().rev().zip(x.sizes.iter().rev()) {
            step.1 = if size == 1 { 0 } else { stride };
            stride *= size;
        }
        Self::new(x.data, steps)
    }
}

impl Iterator for Strided<'_> {
    type Item = f32;

    fn next(&mut self) -> Option<f32> {
        let element = self.data[self.offset];
        for (index, &(size, stride)) in self.index.iter_mut().zip(&self.steps).rev() {
            *index += 1;
            self.offset += stride;
            if *index < size {
                break;
            }
            self.offset -= stride * size;
            *index = 0;
        }
        Some(element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        name: &str,
        operands: &[(&[usize], &[f32])],
        dims: &[usize],
    ) -> Result<(Vec<usize>, Vec<f32>), String> {
        let operator = find(name).unwrap();
        let sizes: Vec<_> = operands.iter().map(|operand| operand.0).collect();
        let out = operator.sizes(&sizes, dims)?;
        let views: Vec<_> = operands
            .iter()
            .map(|&(sizes, data)| View { data, sizes })
            .collect();
        let mut result = vec![f32::NAN; out.iter().product()];
        operator.compute(&views, dims, &out, &mut result);
        Ok((out, result))
    }

    const A: (&[usize], &[f32]) = (&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    const B: (&[usize], &[f32]) = (&[3, 2], &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);

    #[test]
    fn every_operator_computes_what_pytorch_does() {
        type Case<'a> = (
            &'a str,
            &'a [(&'a [usize], &'a [f32])],
            &'a [usize],
            &'a [usize],
            &'a [f32],
        );
        let cases: [Case; 17] = [
            (
                "add",
                &[A, A],
                &[],
                &[2, 3],
                &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0],
            ),
            (
                "add",
                &[A, (&[3], &[1.0, 0.0, -1.0])],
                &[],
                &[2, 3],
                &[2.0, 2.0, 2.0, 5.0, 5.0, 5.0],
            ),
            (
                "add",
                &[(&[2, 1], &[10.0, 20.0]), A],
                &[],
                &[2, 3],
                &[11.0, 12.0, 13.0, 24.0, 25.0, 26.0],
            ),
            (
                "add",
                &[(&[], &[0.5]), A],
                &[],
                &[2, 3],
                &[1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
            ),
            ("add", &[(&[], &[0.5]), (&[], &[0.25])], &[], &[], &[0.75]),
            (
                "mul",
                &[(&[2, 1], &[2.0, 3.0]), (&[1, 2], &[5.0, 7.0])],
                &[],
                &[2, 2],
                &[10.0, 14.0, 15.0, 21.0],
            ),
            (
                "mul",
                &[(&[0, 2], &[]), (&[1, 2], &[5.0, 7.0])],
                &[],
                &[0, 2],
                &[],
            ),
            (
                "relu",
                &[(&[3], &[-1.0, 0.0, 2.0])],
                &[],
                &[3],
                &[0.0, 0.0, 2.0],
            ),
            ("clone", &[A], &[], &[2, 3], A.1),
            ("linear", &[A, A], &[], &[2, 2], &[14.0, 32.0, 32.0, 77.0]),
            (
                "linear",
                &[A, A, (&[2], &[0.5, -0.5])],
                &[],
                &[2, 2],
                &[14.5, 31.5, 32.5, 76.5],
            ),
            (
                "linear",
                &[(&[3], &[1.0, 0.0, 1.0]), A],
                &[],
                &[2],
                &[4.0, 10.0],
            ),
            ("mm", &[A, B], &[], &[2, 2], &[58.0, 64.0, 139.0, 154.0]),
            (
                "addmm",
                &[(&[2], &[1.0, 2.0]), A, B],
                &[],
                &[2, 2],
                &[59.0, 66.0, 140.0, 156.0],
            ),
            (
                "transpose",
                &[A],
                &[],
                &[3, 2],
                &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0],
            ),
            (
                "permute",
                &[A],
                &[1, 0],
                &[3, 2],
                &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0],
            ),
            (
                "permute",
                &[(&[2, 1, 3], A.1)],
                &[2, 0, 1],
                &[3, 2, 1],
                &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0],
            ),
        ];
        for (name, operands, dims, sizes, values) in cases {
            assert_eq!(
                run(name, operands, dims),
                Ok((sizes.to_vec(), values.to_vec())),
                "{name} {operands:?}"
            );
        }
        assert!(
            TABLE
                .iter()
                .all(|row| cases.iter().any(|case| case.0 == row.name)),
            "an operator without a case"
        );
    }

    #[test]
    fn operands_that_do_not_fit_are_refused_in_one_line() {
        type Case<'a> = (&'a str, &'a [&'a [usize]], &'a [usize], &'a str);
        let cases: [Case; 9] = [
            (
                "add",
                &[&[2, 3], &[2]],
                &[],
                "add: sizes [2, 3] and [2] do not broadcast",
            ),
            (
                "linear",
                &[&[], &[2, 3]],
                &[],
                "linear: wants x [.., k] and weight [n, k], got [] and [2, 3]",
            ),
            (
                "linear",
                &[&[2, 4], &[2, 3]],
                &[],
                "linear: x [2, 4] and weight [2, 3] differ in their last size",
            ),
            (
                "linear",
                &[&[2, 3], &[2, 3], &[3]],
                &[],
                "linear: wants a bias [2], got [3]",
            ),
            (
                "mm",
                &[&[2, 3], &[2, 3]],
                &[],
                "mm: wants [m, k] and [k, n], got [2, 3] and [2, 3]",
            ),
            (
                "addmm",
                &[&[3], &[2, 3], &[3, 2]],
                &[],
                "addmm: sizes [3] and [2, 2] do not broadcast",
            ),
            (
                "addmm",
                &[&[4, 1, 2], &[2, 3], &[3, 2]],
                &[],
                "addmm: [4, 1, 2] does not broadcast to [2, 2]",
            ),
            (
                "permute",
                &[&[2, 3]],
                &[0, 0],
                "permute: dims [0, 0] is no order of the dimensions of [2, 3]",
            ),
            (
                "transpose",
                &[&[2]],
                &[],
                "transpose: wants two dimensions, got [2]",
            ),
        ];
        for (name, sizes, dims, expected) in cases {
            assert_eq!(
                find(name).unwrap().sizes(sizes, dims).unwrap_err(),
                expected
            );
        }
    }

    #[test]
    fn poison_stays_recognisable_through_relu() {
        let poison = f32::from_bits(crate::POISON);
        let (_, result) = run("relu", &[(&[1], &[poison])], &[]).unwrap();
        assert!(result[0].is_nan());
    }
}
