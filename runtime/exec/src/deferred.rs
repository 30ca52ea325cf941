//! Sums of products of matrices that are computed for several products at once.
//!
//! ```python
//! total = total + x.t() @ g      # once for each call of a recursive function, or for each iteration of a loop
//! ```
//!
//! If `x` has one row, such a product reads and writes the whole sum and multiplies each element once. A deferred sum
//! keeps the operands `x.t()` and `g` instead. The product of the joined operands adds the same terms and reads and
//! writes the sum once: `total + torch.cat([x1, x2, …]).t() @ torch.cat([g1, g2, …])`.

use std::sync::Arc;

use tch::Tensor;

use super::aten::Shared;
use super::error::Fault;
use super::in_place;
use super::products;
use super::value::{Object, Value};

/// The joined operands are multiplied once they have this number of rows. With more rows, a product is not faster, but
/// the operands need more memory.
const MAX_ROWS: i64 = 256;

/// A matrix, and the products that have not been added to it yet.
#[derive(Debug)]
pub(super) struct Sum {
    total: Shared,
    /// The operands of the products. The left operands are transposed.
    operands: [Vec<Shared>; 2],
    /// The number of rows of the operands.
    rows: i64,
}

impl Sum {
    pub(super) fn new(total: Tensor) -> Self {
        Self { total: total.into(), operands: Default::default(), rows: 0 }
    }

    /// Adds `a @ b`. If `at_once`, the same kernels run as without a deferred sum, so the result is bitwise the same.
    pub(super) fn add(&mut self, a: &Tensor, b: &Tensor, at_once: bool) -> Result<(), Fault> {
        if at_once {
            self.compute()?;
            let product = products::mm(a, b)?;
            return self.replace(|total| in_place::add(total, &product));
        }
        let [left, right] = &mut self.operands;
        left.push(a.f_tr()?.into());
        right.push(b.shallow_clone().into());
        self.rows += b.size().first().copied().unwrap_or_default();
        if self.rows >= MAX_ROWS { self.compute() } else { Ok(()) }
    }

    /// Computes the sum.
    pub(super) fn finish(&mut self) -> Result<Tensor, Fault> {
        self.compute()?;
        Ok(std::mem::replace(&mut self.total, Tensor::new().into()).into())
    }

    /// Returns the sum in a register. The register is its only owner, because each sum has one use.
    pub(super) fn of(value: &mut Value) -> Result<&mut Self, Fault> {
        let object = if let Value::Object(object) = value { Some(object) } else { None };
        object
            .and_then(|object| Arc::get_mut(&mut object.0)?.downcast_mut())
            .ok_or_else(|| Fault::Type("expected a sum of products".into()))
    }

    /// Adds the products that are missing.
    fn compute(&mut self) -> Result<(), Fault> {
        let [left, right] = std::mem::take(&mut self.operands);
        if left.is_empty() {
            return Ok(());
        }
        self.rows = 0;
        let [left, right] = [joined(&left)?, joined(&right)?];
        let left = left.f_tr()?;
        self.replace(|total| products::addmm(&total, &left, &right))
    }

    fn replace(&mut self, by: impl FnOnce(Tensor) -> Result<Tensor, tch::TchError>) -> Result<(), Fault> {
        let total = std::mem::replace(&mut self.total, Tensor::new().into());
        self.total = by(total.into())?.into();
        Ok(())
    }
}

impl From<Sum> for Value {
    fn from(sum: Sum) -> Self {
        Self::Object(Object(Arc::new(sum)))
    }
}

fn joined(rows: &[Shared]) -> Result<Tensor, Fault> {
    let rows: Vec<&Tensor> = rows.iter().map(|row| &**row).collect();
    Ok(Tensor::f_cat(&rows, 0)?)
}
