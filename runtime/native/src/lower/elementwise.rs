//! Elementwise operators.

use ag_graph::ir::{MemoryFormat, Node, Operand};

use super::{Lowering, is_dtype, is_plain};
use crate::dtype::Element;
use crate::kernels::{Kernel, maps as kernels};
use crate::program::Step;
use crate::view::{View, broadcast};

/// `memory_format=torch.contiguous_format`: the result is contiguous even if the operand is not.
const CONTIGUOUS: Operand = Operand::MemoryFormat(MemoryFormat::Contiguous);

impl Lowering<'_> {
    /// Lowers elementwise operators.
    pub(super) fn elementwise_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        let (base, overload) = name.split_once('.')?;
        let operands = &node.operands[..];
        let (element, _) = self.result(node)?;
        match (base, operands) {
            ("add" | "sub" | "rsub", [a, b, Operand::Int(1)]) => {
                let (a, b) = (self.operand_as(a, element)?, self.operand_as(b, element)?);
                self.mapped(node, kernels::binary(base, element)?, &[&a, &b])
            }
            ("add" | "sub", [a, b, alpha]) => {
                let (a, b) = (self.operand_as(a, element)?, self.operand_as(b, element)?);
                let alpha = self.number_as(alpha, element)?;
                self.mapped(node, kernels::scaled(element, base == "sub")?, &[&a, &b, &alpha])
            }
            ("div", [a, b, Operand::Str(mode)]) if &**mode == "floor" => {
                self.integer_division("floor_divide", node, a, b)
            }
            ("floor_divide" | "remainder", [a, b]) => self.integer_division(base, node, a, b),
            ("pow", [a, exponent]) if overload == "Tensor_Scalar" => self.power(node, a, exponent),
            (
                "mul" | "div" | "maximum" | "minimum" | "pow" | "atan2" | "bitwise_and" | "bitwise_or"
                | "bitwise_xor" | "tanh_backward" | "sigmoid_backward",
                [a, b],
            ) => {
                let kernel = kernels::binary(base, element)?;
                let (a, b) = (self.operand_as(a, element)?, self.operand_as(b, element)?);
                let out = self.map(kernel, element, &[&a, &b])?;
                if base == "mul" {
                    self.note_multiplication(&out);
                }
                self.define_result(node, out)
            }
            (
                "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "logical_and" | "logical_or" | "logical_xor",
                [a, b],
            ) => {
                let a = self.tensor(a)?;
                // Torch converts tensors of different dtypes before it compares them; such comparisons are not lowered.
                let is_tensor = b.value().is_some_and(|b| self.function.ty(b).tensor().is_some());
                let b = if is_tensor { self.tensor(b)? } else { self.number_as(b, a.element)? };
                (a.element == b.element).then_some(())?;
                self.mapped(node, kernels::test(base, a.element)?, &[&a, &b])
            }
            ("logical_not", [a]) => {
                let a = self.tensor(a)?;
                self.mapped(node, kernels::logical_not(a.element), &[&a])
            }
            ("where", [condition, a, b]) => {
                let condition = self.tensor(condition)?;
                (condition.element == Element::Bool).then_some(())?;
                let (a, b) = (self.operand_as(a, element)?, self.operand_as(b, element)?);
                self.mapped(node, kernels::select(element), &[&condition, &a, &b])
            }
            ("masked_fill", [a, mask, value]) => {
                let (a, mask) = (self.tensor(a)?, self.tensor(mask)?);
                (mask.element == Element::Bool).then_some(())?;
                let value = self.operand_as(value, element)?;
                self.mapped(node, kernels::select(element), &[&mask, &value, &a])
            }
            ("clamp" | "clamp_min" | "clamp_max", [a, bounds @ ..]) => {
                let names = if base == "clamp_max" { &["minimum"][..] } else { &["maximum", "minimum"] };
                let mut a = self.operand_as(a, element)?;
                for (name, bound) in names.iter().zip(bounds) {
                    if *bound == Operand::None {
                        continue;
                    }
                    let bound = self.operand_as(bound, element)?;
                    a = self.map(kernels::binary(name, element)?, element, &[&a, &bound])?;
                }
                self.mapped(node, kernels::copy(element), &[&a])
            }
            // `a + value * b * c` and `a + value * b / c`, in this order.
            ("addcmul" | "addcdiv", [a, b, c, value]) => {
                let (a, mut b, c) = (
                    self.operand_as(a, element)?,
                    self.operand_as(b, element)?,
                    self.operand_as(c, element)?,
                );
                if !is_one(value) {
                    let value = self.number_as(value, element)?;
                    b = self.map(kernels::binary("mul", element)?, element, &[&b, &value])?;
                }
                let operation = if base == "addcmul" { "mul" } else { "div" };
                let product = self.map(kernels::binary(operation, element)?, element, &[&b, &c])?;
                if base == "addcmul" {
                    self.note_multiplication(&product);
                }
                self.mapped(node, kernels::binary("add", element)?, &[&a, &product])
            }
            ("lerp", [start, end, Operand::Float(weight)]) if overload == "Scalar" => {
                let (start, end) = (self.operand_as(start, element)?, self.operand_as(end, element)?);
                let difference = self.map(kernels::binary("sub", element)?, element, &[&end, &start])?;
                // Like torch, starts at the end that is nearer to the result, so that the result is exact at both ends.
                let (base, weight) = if weight.abs() < 0.5 { (start, *weight) } else { (end, *weight - 1.0) };
                let weight = self.number_as(&Operand::Float(weight), element)?;
                let part = self.map(kernels::binary("mul", element)?, element, &[&difference, &weight])?;
                self.note_multiplication(&part);
                self.mapped(node, kernels::binary("add", element)?, &[&base, &part])
            }
            ("threshold_backward", [gradient, input, threshold]) => {
                let (gradient, input) = (self.tensor(gradient)?, self.tensor(input)?);
                (gradient.element == element && input.element == element).then_some(())?;
                let threshold = self.number_as(threshold, element)?;
                self.mapped(node, kernels::threshold_backward(element)?, &[&gradient, &input, &threshold])
            }
            ("softplus", [input, beta, threshold]) => {
                is_one(beta).then_some(())?;
                let input = self.operand_as(input, element)?;
                let threshold = self.number_as(threshold, element)?;
                self.mapped(node, kernels::softplus(element)?, &[&input, &threshold])
            }
            ("softplus_backward", [gradient, input, beta, threshold]) => {
                is_one(beta).then_some(())?;
                let (gradient, input) =
                    (self.operand_as(gradient, element)?, self.operand_as(input, element)?);
                let threshold = self.number_as(threshold, element)?;
                let operands = [&gradient, &input, &threshold];
                self.mapped(node, kernels::softplus_backward(element)?, &operands)
            }
            ("clone" | "_to_copy", [a, rest @ ..]) if rest.contains(&CONTIGUOUS) => {
                (is_plain(rest) && (base == "clone" || is_dtype(rest.first(), element))).then_some(())?;
                let a = self.operand_as(a, element)?;
                let out = self.allocate(element, &a.sizes)?;
                self.copy(&out, &a)?;
                self.define_result(node, out)
            }
            ("_to_copy", [a, rest @ ..]) if is_plain(rest) && is_dtype(rest.first(), element) => {
                let a = self.tensor(a)?;
                if a.element == element {
                    return self.mapped(node, kernels::copy(element), &[&a]);
                }
                let converted = self.converted(a, element)?;
                self.define_result(node, converted)
            }
            ("clone", [a, rest @ ..]) if is_plain(rest) => {
                let a = self.tensor(a)?;
                self.mapped(node, kernels::copy(element), &[&a])
            }
            (_, [a]) => {
                let a = self.operand_as(a, element)?;
                (!kernels::is_slow(name, element) || a.count() <= self.options.limits.function_calls)
                    .then_some(())?;
                self.mapped(node, kernels::unary(name, element)?, &[&a])
            }
            _ => None,
        }
    }

    /// Applies a kernel to operands, which are broadcast.
    pub(super) fn map(&mut self, kernel: Kernel, element: Element, operands: &[&View]) -> Option<View> {
        let mut sizes = Vec::new();
        for operand in operands {
            sizes = broadcast(&sizes, &operand.sizes)?;
        }
        let mut out = self.allocate(element, &sizes)?;
        out.has_torch_layout = operands.iter().all(|operand| operand.has_torch_layout);
        if operands.iter().any(|operand| !operand.is_contiguous()) {
            // In torch, the result has the order of dimensions of the first operand, unless operands are broadcast.
            let mut full = operands.iter().filter(|operand| operand.rank() > 0);
            let strides =
                full.next().filter(|first| first.sizes == sizes).and_then(|first| first.dense_strides());
            match strides {
                Some(strides) if full.all(|other| other.sizes == sizes) => out.strides = strides,
                _ => out.has_torch_layout = false,
            }
        }
        self.emit(kernel, &out, operands)?;
        Some(out)
    }

    pub(super) fn mapped(&mut self, node: &Node, kernel: Kernel, operands: &[&View]) -> Option<()> {
        let (element, _) = self.result(node)?;
        let out = self.map(kernel, element, operands)?;
        self.define_result(node, out)
    }

    /// Lowers an integer division. A zero in the divisor stops the run, and libtorch raises the error.
    fn integer_division(&mut self, name: &str, node: &Node, a: &Operand, b: &Operand) -> Option<()> {
        let (element, _) = self.result(node)?;
        let (a, b) = (self.operand_as(a, element)?, self.operand_as(b, element)?);
        (element != Element::I32).then_some(())?;
        if element == Element::I64 {
            b.is_contiguous().then_some(())?;
            self.step(Step::CheckDivisors { a: b.place, count: b.count() as u32, stride: 1 });
        }
        self.mapped(node, kernels::binary(name, element)?, &[&a, &b])
    }

    /// Lowers a power, with the special cases of torch.
    fn power(&mut self, node: &Node, a: &Operand, exponent: &Operand) -> Option<()> {
        let (element, _) = self.result(node)?;
        let a = self.operand_as(a, element)?;
        let times = |lowering: &mut Self, a: &View, b: &View| {
            lowering.map(kernels::binary("mul", element)?, element, &[a, b])
        };
        let exponent = match exponent {
            Operand::Int(exponent) => *exponent as f64,
            Operand::Float(exponent) => *exponent,
            _ => return None,
        };
        // The special cases of torch, so that results are equal.
        let out = if exponent == 2.0 {
            times(self, &a, &a)?
        } else if exponent == 3.0 {
            let squared = times(self, &a, &a)?;
            times(self, &squared, &a)?
        } else if exponent == 0.5 {
            self.map(kernels::unary("sqrt.default", element)?, element, &[&a])?
        } else {
            let exponent = self.number_as(&Operand::Float(exponent), element)?;
            self.map(kernels::binary("pow", element)?, element, &[&a, &exponent])?
        };
        self.define_result(node, out)
    }
}

fn is_one(operand: &Operand) -> bool {
    match operand {
        Operand::Int(value) => *value == 1,
        Operand::Float(value) => *value == 1.0,
        _ => false,
    }
}
