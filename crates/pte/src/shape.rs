//! Element type, sizes and memory order of a tensor, as both formats write them.

use flatbuffers::Vector;

use crate::DType;

/// The most dimensions that the runtime has room for (`kTensorDimensionLimit`).
const MOST_DIMENSIONS: usize = 16;

/// What is known to fit together once it was read.
pub(crate) struct Shape {
    pub dtype: DType,
    pub sizes: Vec<u32>,
    pub dim_order: Vec<u8>,
    pub nbytes: u64,
}

impl Shape {
    /// Checks what the runtime checks when it makes a tensor of it.
    ///
    /// # Errors
    /// What is wrong, to follow the name of the tensor.
    pub(crate) fn read(
        code: i8,
        sizes: Option<Vector<i32>>,
        dim_order: Option<Vector<u8>>,
    ) -> Result<Self, String> {
        let dtype = DType::from_code(code).ok_or_else(|| {
            format!("has the element type {code}, which ExecuTorch 1.5.1 does not define")
        })?;
        let (sizes, dim_order) = sizes
            .zip(dim_order)
            .ok_or("is a tensor without sizes or without a dim order")?;
        if sizes.len() > MOST_DIMENSIONS || sizes.len() != dim_order.len() {
            return Err(format!(
                "has {} sizes and {} entries in its dim order; both must agree and be {MOST_DIMENSIONS} at most",
                sizes.len(),
                dim_order.len()
            ));
        }
        let dim_order = dim_order.bytes().to_vec();
        let seen = dim_order.iter().fold(0_u32, |seen, &dim| {
            seen | 1_u32.checked_shl(dim.into()).unwrap_or(0)
        });
        if seen != (1 << sizes.len()) - 1 {
            return Err(format!(
                "has the dim order {dim_order:?}, which is no order of its {} dimensions",
                sizes.len()
            ));
        }
        let sizes: Result<Vec<u32>, _> = sizes.iter().map(u32::try_from).collect();
        let sizes = sizes.map_err(|_| "has a negative size")?;
        let nbytes = sizes
            .iter()
            .try_fold(dtype.size(), |bytes, &size| bytes.checked_mul(size.into()));
        let nbytes = nbytes.ok_or_else(|| format!("has the sizes {sizes:?}, which overflow"))?;
        Ok(Self {
            dtype,
            sizes,
            dim_order,
            nbytes,
        })
    }
}
