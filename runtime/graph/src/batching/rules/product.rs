//! Matrix products. If the right factor is the same in all iterations, the left factors of all iterations are joined to
//! one matrix, and one product computes all rows. Otherwise the product is `bmm`.

use crate::batching::lane::Lane;
use crate::batching::{Batching, size_list};
use crate::ir::graph::{Node, Value};
use crate::ir::operand::Operand;
use crate::ir::types::{Dim, TensorType};

pub(super) fn is_product(name: &str) -> bool {
    matches!(name, "mm.default" | "addmm.default" | "mv.default" | "dot.default")
}

impl Batching<'_> {
    pub(super) fn product(&mut self, name: &str, node: &Node, lanes: &[Lane]) -> Option<()> {
        let output = *node.outputs.first()?;
        let result = self.batched_type(&self.values[output.index()].ty)?;
        let sizes = result.sizes()?;
        match (name, lanes) {
            ("mm.default", [a, b]) => {
                let product = self.matrices(a, b, &result)?;
                self.define_each(output, product)
            }
            ("addmm.default", [bias, a, b, Lane::Same(Operand::Int(1)), Lane::Same(Operand::Int(1))]) => {
                let product = match (bias, a, b) {
                    (Lane::Same(bias), Lane::Each(a), Lane::Same(b)) if self.is_row(bias) => {
                        let rows = self.rows(*a)?;
                        let whole = [sizes[0] * sizes[1], sizes[2]];
                        let operands = vec![bias.clone(), rows.into(), b.clone(), 1.into(), 1.into()];
                        let product = self.tensor("addmm.default", operands, &result, &whole);
                        self.tensor("view.default", vec![product.into(), size_list(&sizes)], &result, &sizes)
                    }
                    _ => {
                        let product = self.matrices(a, b, &result)?;
                        let bias = match bias {
                            Lane::Same(bias) => bias.clone(),
                            // A number, a row or a matrix for each iteration
                            Lane::Each(bias) => {
                                let mut whole = self.sizes(&(*bias).into())?;
                                let missing = 3_usize.checked_sub(whole.len())?;
                                whole.splice(1..1, std::iter::repeat_n(1, missing));
                                let operands = vec![(*bias).into(), size_list(&whole)];
                                self.tensor("view.default", operands, &result, &whole).into()
                            }
                            _ => return None,
                        };
                        self.tensor("add.Tensor", vec![bias, product.into(), 1.into()], &result, &sizes)
                    }
                };
                self.define_each(output, product)
            }
            // `a @ b` with a vector `b`
            ("mv.default", [a, b]) => {
                let column = match b {
                    Lane::Same(b) => {
                        let inner = self.sizes(b)?[0];
                        let operands = vec![b.clone(), size_list(&[inner, 1])];
                        Lane::Same(self.tensor("view.default", operands, &result, &[inner, 1]).into())
                    }
                    Lane::Each(b) => Lane::Each(self.column(*b, &result)?),
                    _ => return None,
                };
                let product = self.matrices(a, &column, &three(&result, sizes[0], sizes[1], 1))?;
                let operands = vec![product.into(), size_list(&sizes)];
                let product = self.tensor("view.default", operands, &result, &sizes);
                self.define_each(output, product)
            }
            ("dot.default", [a, b]) => {
                let (a, b) = (self.each(a)?, self.each(b)?);
                let like = self.ty(&a.into()).tensor()?.clone();
                let product = self.tensor("mul.Tensor", vec![a.into(), b.into()], &like, &like.sizes()?);
                let dims = Operand::List(vec![1.into()]);
                let operands = vec![product.into(), dims, false.into(), Operand::None];
                let sum = self.tensor("sum.dim_IntList", operands, &result, &sizes);
                self.define_each(output, sum)
            }
            _ => None,
        }
    }

    /// Returns the products of matrices in all iterations. At least one factor must differ between iterations.
    fn matrices(&mut self, a: &Lane, b: &Lane, result: &TensorType) -> Option<Value> {
        let sizes = result.sizes()?;
        if let (Lane::Each(a), Lane::Same(b)) = (a, b) {
            let rows = self.rows(*a)?;
            let whole = [sizes[0] * sizes[1], sizes[2]];
            let product = self.tensor("mm.default", vec![rows.into(), b.clone()], result, &whole);
            return Some(self.tensor(
                "view.default",
                vec![product.into(), size_list(&sizes)],
                result,
                &sizes,
            ));
        }
        let (a, b) = (self.each(a)?, self.each(b)?);
        Some(self.tensor("bmm.default", vec![a.into(), b.into()], result, &sizes))
    }

    /// Returns the rows of the matrices of all iterations as one matrix.
    fn rows(&mut self, a: Value) -> Option<Value> {
        let ty = self.ty(&a.into()).tensor()?.clone();
        let [iterations, rows, columns] = ty.sizes()?[..] else { return None };
        let whole = [iterations * rows, columns];
        Some(self.tensor("reshape.default", vec![a.into(), size_list(&whole)], &ty, &whole))
    }

    fn column(&mut self, vector: Value, like: &TensorType) -> Option<Value> {
        let sizes = [self.sizes(&vector.into())?, vec![1]].concat();
        Some(self.tensor("view.default", vec![vector.into(), size_list(&sizes)], like, &sizes))
    }

    /// Returns whether a bias is added to each row.
    fn is_row(&self, bias: &Operand) -> bool {
        self.sizes(bias).is_some_and(|sizes| matches!(sizes[..], [_] | [1, _] | []))
    }
}

fn three(like: &TensorType, first: u64, second: u64, third: u64) -> TensorType {
    let shape = [first, second, third].into_iter().map(Dim::Known).collect();
    TensorType { shape: Some(shape), ..like.clone() }
}
