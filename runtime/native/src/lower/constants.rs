//! Operators whose result, or part of it, is known when a program is lowered: `torch.eye(4)`, `torch.arange(5)`, and the
//! masks of `x.tril()` and `x.triu()`.

use ag_graph::ir::{Node, Operand};

use super::{Lowering, is_plain};
use crate::dtype::Element;
use crate::kernels::maps as kernels;
use crate::program::CONSTANTS;
use crate::view::{Place, View, contiguous};

/// The maximum number of elements of such a tensor: its elements are in the program.
const MAX_ELEMENTS: usize = 1 << 16;

/// Integers up to this one are exact in `f32`.
const MAX_EXACT: i64 = 1 << 24;

impl Lowering<'_> {
    pub(super) fn constant_operator(&mut self, name: &str, node: &Node) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        let value = match (name, &node.operands[..]) {
            ("eye.default", [_, rest @ ..]) | ("eye.m", [_, _, rest @ ..]) if is_plain(rest) => {
                let columns = *sizes.get(1)?;
                self.constants(element, &sizes, |index| i64::from(index / columns == index % columns))?
            }
            ("arange.default", [_, rest @ ..]) if is_plain(rest) => {
                // `arange(end)` counts from zero. `end` may be a float.
                self.constants(element, &sizes, |index| index as i64)?
            }
            ("arange.start", [start, _, rest @ ..]) if is_plain(rest) => {
                let start = integer(start)?;
                self.constants(element, &sizes, |index| start + index as i64)?
            }
            ("arange.start_step", [start, _, step, rest @ ..]) if is_plain(rest) => {
                let (start, step) = (integer(start)?, integer(step)?);
                self.constants(element, &sizes, |index| start + index as i64 * step)?
            }
            ("tril.default" | "triu.default", [a, Operand::Int(diagonal)]) => {
                let a = self.tensor(a)?;
                let [.., rows, columns] = sizes[..] else { return None };
                let mask = self.constants(Element::Bool, &[rows, columns], |index| {
                    let distance = (index % columns) as i64 - (index / columns) as i64;
                    let is_kept =
                        if name == "tril.default" { distance <= *diagonal } else { distance >= *diagonal };
                    i64::from(is_kept)
                })?;
                let zero = self.constant(element, 0.0, 0);
                return self.mapped(node, kernels::select(element), &[&mask, &a, &zero]);
            }
            _ => return None,
        };
        let out = self.allocate(element, &sizes)?;
        self.copy(&out, &value)?;
        self.define_result(node, out)
    }

    /// Returns a tensor of integers, given by their index. `None` if one is not exact in `f32`.
    fn constants(&mut self, element: Element, sizes: &[usize], at: impl Fn(usize) -> i64) -> Option<View> {
        let count: usize = sizes.iter().product();
        (count <= MAX_ELEMENTS).then_some(())?;
        let mut bytes = Vec::with_capacity(count * element.size());
        for index in 0..count {
            let value = at(index);
            (value.abs() <= MAX_EXACT).then_some(())?;
            match element {
                Element::F32 => bytes.extend((value as f32).to_le_bytes()),
                Element::F64 => bytes.extend((value as f64).to_le_bytes()),
                Element::I32 => bytes.extend((value as i32).to_le_bytes()),
                Element::I64 => bytes.extend(value.to_le_bytes()),
                Element::Bool => bytes.push(u8::from(value != 0)),
            }
        }
        bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
        let offset = u32::try_from(self.program.constants.len() * size_of::<u64>()).ok()?;
        // The table of constants is little-endian, like the processors with kernels.
        let words = bytes.chunks_exact(size_of::<u64>()).filter_map(|word| word.try_into().ok());
        self.program.constants.extend(words.map(u64::from_le_bytes));
        Some(View {
            place: Place { base: CONSTANTS, offset },
            element,
            sizes: sizes.to_vec(),
            strides: contiguous(sizes),
            buffer: None,
            has_torch_layout: true,
        })
    }
}

/// Returns a number that is an integer.
fn integer(operand: &Operand) -> Option<i64> {
    match operand {
        Operand::Int(value) => Some(*value).filter(|value| value.abs() <= MAX_EXACT),
        Operand::Float(value) if value.fract() == 0.0 && value.abs() <= MAX_EXACT as f64 => {
            Some(*value as i64)
        }
        _ => None,
    }
}
