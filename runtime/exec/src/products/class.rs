//! Classes of products. All products of a class are assumed to have the same fastest kernel.

use tch::{Device, Kind, Tensor};

/// The minimum number of multiplications. For fewer, the overhead of other kernels is larger than their gain.
pub(super) const SMALLEST: u64 = 1 << 17;

/// All products with at least this number of multiplications are assumed to have the same fastest kernel.
const LARGEST: u64 = 1 << 24;

/// A product with fewer rows than this has few rows; the same limit applies to columns.
pub(super) const FEW: u64 = 16;

/// The number of sizes: powers of two between `SMALLEST` and `LARGEST`.
pub(super) const SIZES: usize = (LARGEST / SMALLEST).ilog2() as usize + 1;

/// The number of kinds.
pub(super) const KINDS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) kind: ProductKind,
    /// The product has at least `SMALLEST << size` multiplications and, except for the last size, fewer than twice as
    /// many. `size` is less than `SIZES`.
    pub(super) size: usize,
}

/// The properties of a product `[rows, inner] x [inner, columns]` besides its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ProductKind {
    pub(super) has_few_rows: bool,
    pub(super) has_few_columns: bool,
    /// Whether the operands are stored by columns, as `t()` of a contiguous matrix is.
    pub(super) is_transposed: [bool; 2],
}

impl Class {
    /// `None` for small products, and for operands that only libtorch's kernel supports.
    pub(super) fn of(a: &Tensor, b: &Tensor) -> Option<Self> {
        let ([rows, inner], [also_inner, columns]) = (matrix(a)?, matrix(b)?);
        // Mismatched operands are rejected by libtorch. It has a separate kernel for products of a matrix and a vector.
        (inner == also_inner && rows > 1 && columns > 1).then_some(())?;
        let multiplications = rows.checked_mul(inner)?.checked_mul(columns)?;
        (multiplications >= SMALLEST).then_some(())?;
        let size = (multiplications.min(LARGEST) / SMALLEST).ilog2() as usize;
        let is_transposed = [is_transposed(a, [rows, inner])?, is_transposed(b, [inner, columns])?];
        let kind = ProductKind { has_few_rows: rows < FEW, has_few_columns: columns < FEW, is_transposed };
        Some(Self { kind, size })
    }
}

impl ProductKind {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..KINDS).map(|index| Self {
            has_few_rows: index & 1 != 0,
            has_few_columns: index & 2 != 0,
            is_transposed: [index & 4 != 0, index & 8 != 0],
        })
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.has_few_rows)
            | usize::from(self.has_few_columns) << 1
            | usize::from(self.is_transposed[0]) << 2
            | usize::from(self.is_transposed[1]) << 3
    }

    /// Returns the rows, the inner dimension and the columns of a typical product of this kind and size.
    pub(super) fn example(self, size: usize) -> [i64; 3] {
        const SOME: f64 = 8.0;
        // If there are many rows, they are usually a batch, which is small compared with the size of a layer.
        const BATCH: f64 = 64.0;
        // The number of multiplications is between this size and the next one.
        let multiplications = (SMALLEST << size) as f64 * std::f64::consts::SQRT_2;
        let rows = match (self.has_few_rows, self.has_few_columns) {
            (true, _) => SOME,
            (false, true) => (multiplications / SOME).sqrt(),
            (false, false) => multiplications.cbrt().min(BATCH),
        };
        let columns = if self.has_few_columns { SOME } else { (multiplications / rows).sqrt() };
        let inner = multiplications / rows / columns;
        [rows, inner, columns].map(|size| size.round() as i64)
    }
}

/// Returns the rows and columns of a matrix. `None` unless it is a matrix of `f32` in the memory of the CPU.
fn matrix(tensor: &Tensor) -> Option<[u64; 2]> {
    (tensor.device() == Device::Cpu && tensor.kind() == Kind::Float && !tensor.is_sparse()).then_some(())?;
    let (rows, columns) = tensor.size2().ok()?;
    Some([u64::try_from(rows).ok()?, u64::try_from(columns).ok()?])
}

/// Returns whether a matrix is stored by columns; `None` if it is not dense.
fn is_transposed(matrix: &Tensor, [rows, columns]: [u64; 2]) -> Option<bool> {
    let strides = matrix.stride();
    let strides: [u64; 2] = [u64::try_from(*strides.first()?).ok()?, u64::try_from(*strides.get(1)?).ok()?];
    if strides[1] == 1 && strides[0] >= columns {
        Some(false)
    } else if strides[0] == 1 && strides[1] >= rows {
        Some(true)
    } else {
        None
    }
}
