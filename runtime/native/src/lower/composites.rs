//! Operators that are computed with the kernels of other operators: layer normalization, `logsumexp`, `gelu`.

use ag_graph::ir::types::dimension;
use ag_graph::ir::{Node, Operand};

use super::{Item, Lowering, ints, known};
use crate::dtype::Element;
use crate::kernels::is_wide;
use crate::kernels::maps as kernels;
use crate::kernels::reduce::Reduction;

impl Lowering<'_> {
    /// Lowers operators that consist of other operators.
    pub(super) fn composite_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        match (name, &node.operands[..]) {
            ("native_layer_norm.default", [a, sizes, weight, bias, epsilon]) => {
                self.layer_norm(node, a, sizes, [weight, bias], epsilon)
            }
            ("logsumexp.default", [a, dims, _]) => self.log_sum(node, a, dims),
            ("gelu.default", [a, Operand::Str(approximation)]) => {
                let a = self.float_operand(a)?;
                self.mapped(node, kernels::gelu(&**approximation == "tanh"), &[&a])
            }
            ("gelu_backward.default", [gradient, a, Operand::Str(approximation)]) => {
                (&**approximation == "none").then_some(())?;
                let (gradient, a) = (self.float_operand(gradient)?, self.float_operand(a)?);
                self.mapped(node, kernels::gelu_backward(), &[&gradient, &a])
            }
            _ => None,
        }
    }

    /// Returns an operand of a function of `f32` whose kernel is faster than libtorch's.
    fn float_operand(&mut self, a: &Operand) -> Option<crate::view::View> {
        let a = self.tensor(a)?;
        let is_fast = is_wide() || a.count() <= self.options.limits.function_calls;
        (a.element == Element::F32 && is_fast).then_some(a)
    }

    /// Lowers a layer normalization, whose results are the tensor, the means and the reciprocal standard deviations.
    fn layer_norm(
        &mut self,
        node: &Node,
        a: &Operand,
        sizes: &Operand,
        parameters: [&Operand; 2],
        epsilon: &Operand,
    ) -> Option<()> {
        let [out, means, scales] = node.outputs[..] else { return None };
        let (element, statistics) = known(self.function.ty(means).tensor()?)?;
        let a = self.tensor(a)?;
        (a.element == element && element.is_floating() && a.is_contiguous()).then_some(())?;
        let outer = a.rank().checked_sub(ints(sizes)?.len())?;
        let dims: Vec<usize> = (outer..a.rank()).collect();
        let mean = self.reduced(Reduction::Mean, element, &statistics, &a, &dims, 0.0)?;
        let mut result = self.map(kernels::binary("sub", element)?, element, &[&a, &mean])?;
        let squares = self.map(kernels::binary("mul", element)?, element, &[&result, &result])?;
        let variance = self.reduced(Reduction::Mean, element, &statistics, &squares, &dims, 0.0)?;
        let epsilon = self.number_as(epsilon, element)?;
        let variance = self.map(kernels::binary("add", element)?, element, &[&variance, &epsilon])?;
        let scale = self.map(kernels::unary("rsqrt.default", element)?, element, &[&variance])?;
        result = self.map(kernels::binary("mul", element)?, element, &[&result, &scale])?;
        for (operator, parameter) in ["mul", "add"].into_iter().zip(parameters) {
            if *parameter != Operand::None {
                let parameter = self.tensor(parameter)?;
                (parameter.element == element).then_some(())?;
                result = self.map(kernels::binary(operator, element)?, element, &[&result, &parameter])?;
            }
        }
        let expected = known(self.function.ty(out).tensor()?)?;
        (expected == (result.element, result.sizes.clone())).then_some(())?;
        for (value, view) in [(out, result), (means, mean), (scales, scale)] {
            self.define(value, Item::Tensor(view));
        }
        Some(())
    }

    /// Lowers the logarithm of a sum of exponentials. The largest exponent is subtracted first, unless it is infinite.
    fn log_sum(&mut self, node: &Node, a: &Operand, dims: &Operand) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        let a = self.tensor(a)?;
        (a.element == element && element.is_floating()).then_some(())?;
        let dims = match dims {
            Operand::Int(dim) => vec![*dim],
            dims => ints(dims)?,
        };
        let dims = dims.into_iter().map(|dim| dimension(dim, a.rank())).collect::<Option<Vec<_>>>()?;
        let mut kept = a.sizes.clone();
        dims.iter().for_each(|dim| kept[*dim] = 1);
        let limit = self.options.limits.function_calls;
        let is_fast = !kernels::is_slow("exp.default", element) || a.count() <= limit;
        (!dims.is_empty() && is_fast && sizes.iter().product::<usize>() <= limit).then_some(())?;
        let largest = self.reduced(Reduction::Max, element, &kept, &a, &dims, 0.0)?;
        let size = self.map(kernels::unary("abs.default", element)?, element, &[&largest])?;
        let infinity = self.number_as(&Operand::Float(f64::INFINITY), element)?;
        let is_infinite = self.map(kernels::test("eq", element)?, Element::Bool, &[&size, &infinity])?;
        let zero = self.number_as(&Operand::Float(0.0), element)?;
        let largest = self.map(kernels::select(element), element, &[&is_infinite, &zero, &largest])?;
        let powers = self.map(kernels::binary("sub", element)?, element, &[&a, &largest])?;
        let powers = self.map(kernels::unary("exp.default", element)?, element, &[&powers])?;
        let sum = self.reduced(Reduction::Sum, element, &kept, &powers, &dims, 0.0)?;
        let logarithm = self.map(kernels::unary("log.default", element)?, element, &[&sum])?;
        let out = self.map(kernels::binary("add", element)?, element, &[&logarithm, &largest])?;
        let mut out = out.reshape(&sizes)?;
        out.has_torch_layout &= a.has_torch_layout;
        self.define_result(node, out)
    }
}
