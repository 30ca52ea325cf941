//! Matrix products.

use ag_graph::ir::{Node, Operand};

use super::Lowering;
use crate::dtype::Element;
use crate::kernels::maps as kernels;
use crate::kernels::product::{self, Product, Vectors};
use crate::program::Step;
use crate::view::View;

/// The maximum number of multiplications of a product. For larger products, libtorch's kernels are faster in spite of
/// the cost of the call.
const MAX_MULTIPLICATIONS: usize = 262_144;
/// The maximum for products whose results have few rows or few columns.
const MAX_WITH_FEW_ROWS: usize = 65_536;
const FEW_ROWS: usize = 8;

impl Lowering<'_> {
    /// Lowers products of matrices and vectors.
    pub(super) fn product_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        if self.remainders.contains_key(node.outputs.first()?) {
            return self.remainder(node);
        }
        let (element, sizes) = self.result(node)?;
        let one = |operand: &Operand| matches!(operand, Operand::Int(1));
        match (name, &node.operands[..]) {
            ("mm.default", [a, b]) => {
                let (a, b) = (self.tensor(a)?, self.tensor(b)?);
                let out = self.allocate(element, &sizes)?;
                self.product(&out, &a, &b, false)?;
                self.note_product(&out);
                self.define_result(node, out)
            }
            ("addmm.default", [added, a, b, beta, alpha]) if one(beta) && one(alpha) => {
                let (added, a, b) = (self.tensor(added)?, self.tensor(a)?, self.tensor(b)?);
                (added.element == element).then_some(())?;
                let out = self.allocate(element, &sizes)?;
                self.emit(kernels::copy(element), &out, &[&added])?;
                self.product(&out, &a, &b, true)?;
                self.define_result(node, out)
            }
            ("mv.default", [a, b]) => {
                let (a, b) = (self.tensor(a)?, self.tensor(b)?);
                let b = column(&b)?;
                let out = self.allocate(element, &sizes)?;
                self.product(&column(&out)?, &a, &b, false)?;
                self.define_result(node, out)
            }
            ("dot.default", [a, b]) => {
                let (a, b) = (self.tensor(a)?, self.tensor(b)?);
                let (&[size], &[stride]) = (&a.sizes[..], &a.strides[..]) else { return None };
                let a = a.with(vec![1, size], vec![size * stride, stride], 0);
                let b = column(&b)?;
                let out = self.allocate(element, &sizes)?;
                self.product(&out.with(vec![1, 1], vec![1, 1], 0), &a, &b, false)?;
                self.define_result(node, out)
            }
            ("bmm.default", [a, b]) => {
                let (a, b) = (self.tensor(a)?, self.tensor(b)?);
                let out = self.allocate(element, &sizes)?;
                (a.rank() == 3 && b.rank() == 3 && sizes.len() == 3).then_some(())?;
                (a.sizes[0] == sizes[0] && b.sizes[0] == sizes[0]).then_some(())?;
                let most = self.options.limits.multiplications;
                (out.count() * a.sizes[2] <= most).then_some(())?;
                let first = |view: &View| view.with(view.sizes[1..].to_vec(), view.strides[1..].to_vec(), 0);
                self.product(&first(&out), &first(&a), &first(&b), false)?;
                let Some(Step::Product { kernel, product, out: to, a: left, b: right }) =
                    self.program.steps.last().copied()
                else {
                    return None;
                };
                let strides = [&out, &a, &b].map(|view| (view.strides[0] * element.size()) as u32);
                let step = Step::Products {
                    kernel,
                    product,
                    out: to,
                    a: left,
                    b: right,
                    count: sizes[0] as u32,
                    strides,
                };
                *self.program.steps.last_mut()? = step;
                self.define_result(node, out)
            }
            _ => None,
        }
    }

    pub(super) fn product(&mut self, out: &View, a: &View, b: &View, adds: bool) -> Option<()> {
        (a.element == out.element && b.element == out.element).then_some(())?;
        let (&[rows, inner], &[also_inner, columns]) = (&a.sizes[..], &b.sizes[..]) else { return None };
        (inner == also_inner && out.sizes == [rows, columns]).then_some(())?;
        let product = Product {
            rows,
            inner,
            columns,
            a: [a.strides[0], a.strides[1]],
            b: [b.strides[0], b.strides[1]],
            adds,
        };
        self.is_native_product(out.element, &product).then_some(())?;
        let kernel = product::kernel(out.element, &product)?;
        self.program.products.push(product);
        let product = (self.program.products.len() - 1) as u32;
        self.step(Step::Product { kernel, product, out: out.place, a: a.place, b: b.place });
        Some(())
    }

    /// Returns whether a kernel here is at least as fast as libtorch's.
    pub(super) fn is_native_product(&self, element: Element, product: &Product) -> bool {
        if !self.options.limits.has_libtorch() {
            return true;
        }
        let Product { rows, inner, columns, .. } = *product;
        let most = match product::vectors(element, product) {
            Some(Vectors::Narrow | Vectors::Avx512 | Vectors::Avx2) => self.options.limits.multiplications,
            _ if rows.min(columns) < FEW_ROWS => MAX_WITH_FEW_ROWS,
            _ => MAX_MULTIPLICATIONS,
        };
        rows * inner * columns <= most
    }
}

/// Returns a vector as a matrix with one column.
fn column(vector: &View) -> Option<View> {
    let (&[size], &[stride]) = (&vector.sizes[..], &vector.strides[..]) else { return None };
    Some(vector.with(vec![size, 1], vec![stride, 1], 0))
}
