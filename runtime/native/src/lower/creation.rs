//! Operators that create tensors from numbers.

use ag_graph::ir::{Node, Operand};

use super::{Lowering, is_plain, keeps_layout};
use crate::kernels::maps as kernels;

impl Lowering<'_> {
    /// Lowers operators that create a tensor.
    pub(super) fn creation_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        let (zero, one) = (Operand::Int(0), Operand::Int(1));
        let (like, value, rest) = match (name, &node.operands[..]) {
            ("zeros.default", [_, rest @ ..]) => (None, &zero, rest),
            ("ones.default", [_, rest @ ..]) => (None, &one, rest),
            ("full.default", [_, value, rest @ ..]) => (None, value, rest),
            ("scalar_tensor.default", [value, rest @ ..]) => (None, value, rest),
            ("zeros_like.default", [a, rest @ ..]) => (Some(a), &zero, rest),
            ("ones_like.default", [a, rest @ ..]) => (Some(a), &one, rest),
            ("full_like.default", [a, value, rest @ ..]) => (Some(a), value, rest),
            ("new_zeros.default", [_, _, rest @ ..]) => (None, &zero, rest),
            ("new_ones.default", [_, _, rest @ ..]) => (None, &one, rest),
            ("new_full.default", [_, _, value, rest @ ..]) => (None, value, rest),
            ("fill.Scalar" | "fill.Tensor", [a, value]) => (Some(a), value, &[][..]),
            _ => return None,
        };
        is_plain(rest).then_some(())?;
        let (element, sizes) = self.result(node)?;
        let mut out = self.allocate(element, &sizes)?;
        if let Some(like) = like {
            out.has_torch_layout = keeps_layout(&self.tensor(like)?, &sizes);
        }
        // Torch converts any number to any dtype here.
        let value = match value {
            Operand::Int(value) => self.constant(element, *value as f64, value.cast_unsigned()),
            Operand::Bool(value) => self.constant(element, f64::from(*value), u64::from(*value)),
            value => self.operand_as(value, element)?,
        };
        self.emit(kernels::copy(element), &out, &[&value])?;
        self.define_result(node, out)
    }
}
