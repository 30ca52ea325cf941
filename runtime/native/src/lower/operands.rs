//! Operands: values of the segment, inputs of the segment, and constants.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Operand, Value};

use super::{Item, Lowering, known};
use crate::dtype::Element;
use crate::kernels::maps as kernels;
use crate::program::{CONSTANTS, Number, Register, Step};
use crate::segment::Input;
use crate::view::{Place, View, contiguous, extent};

impl Lowering<'_> {
    /// Returns the tensor of an operand: a value of the segment, or an input.
    pub(super) fn tensor(&mut self, operand: &Operand) -> Option<View> {
        let value = operand.value()?;
        if let Some((item, _)) = self.items.get(&value) {
            return match item {
                Item::Tensor(view) => Some(view.clone()),
                _ => None,
            };
        }
        let (element, sizes) = known(self.function.ty(value).tensor()?)?;
        let strides = self.layouts.get(&value).cloned().unwrap_or_else(|| contiguous(&sizes));
        // Offsets in a program have 32 bits.
        u32::try_from(extent(&sizes, &strides)?.checked_mul(element.size())?).ok()?;
        let base = self.new_base();
        let view = View {
            place: Place { base, offset: 0 },
            element,
            strides: strides.clone(),
            sizes: sizes.clone(),
            buffer: None,
            has_torch_layout: true,
        };
        self.input(value, Input::Tensor(element, sizes, strides), Ok(base), Item::Tensor(view.clone()));
        Some(view)
    }

    /// Returns the number of an operand, with its kind.
    pub(super) fn number(&mut self, operand: &Operand) -> Option<(Number, Kind)> {
        Some(match operand {
            Operand::Int(value) => (Number::Const(value.cast_unsigned()), Kind::Int),
            Operand::Float(value) => (Number::Const(value.to_bits()), Kind::Float),
            Operand::Bool(value) => (Number::Const(u64::from(*value)), Kind::Bool),
            Operand::Value(value) => {
                if let Some((item, _)) = self.items.get(value) {
                    return match item {
                        Item::Number(number, kind) => Some((*number, *kind)),
                        _ => None,
                    };
                }
                let kind = Kind::of(self.function.ty(*value))?;
                let register = self.new_register();
                let number = Number::Register(register);
                self.input(*value, Input::Number(kind), Err(register), Item::Number(number, kind));
                (number, kind)
            }
            _ => return None,
        })
    }

    pub(super) fn input(&mut self, value: Value, input: Input, base: Result<u32, Register>, item: Item) {
        self.inputs.push((value, input));
        self.input_bases.push(base);
        self.define(value, item);
    }

    /// Returns a constant without dimensions.
    pub(super) fn constant(&mut self, element: Element, number: f64, bits: u64) -> View {
        let bits = match element {
            Element::F32 => u64::from((number as f32).to_bits()),
            Element::F64 => number.to_bits(),
            Element::I32 => bits & u64::from(u32::MAX),
            Element::I64 => bits,
            Element::Bool => u64::from(number != 0.0),
        };
        let offset = (self.program.constants.len() * 8) as u32;
        self.program.constants.push(bits);
        View {
            place: Place { base: CONSTANTS, offset },
            element,
            sizes: Vec::new(),
            strides: Vec::new(),
            buffer: None,
            has_torch_layout: true,
        }
    }

    /// Returns a number as a tensor without dimensions.
    pub(super) fn number_as(&mut self, operand: &Operand, element: Element) -> Option<View> {
        let (number, kind) = self.number(operand)?;
        if kind == Kind::Float && !element.is_floating() || kind != Kind::Bool && element == Element::Bool {
            return None;
        }
        match number {
            Number::Const(bits) => {
                // Libtorch wraps other numbers.
                (element != Element::I32 || i32::try_from(bits.cast_signed()).is_ok()).then_some(())?;
                let value =
                    if kind == Kind::Float { f64::from_bits(bits) } else { bits.cast_signed() as f64 };
                // The table of constants is little-endian, like the processors with kernels.
                Some(self.constant(element, value, bits))
            }
            number => {
                let out = self.allocate(element, &[])?;
                let is_float = kind == Kind::Float;
                self.step(Step::Fill { out: out.place, element, number, is_float });
                Some(out)
            }
        }
    }

    /// Returns an operand as a tensor of a dtype: a converted tensor, or a number.
    pub(super) fn operand_as(&mut self, operand: &Operand, element: Element) -> Option<View> {
        match operand {
            Operand::Value(value) if self.function.ty(*value).tensor().is_some() => {
                let view = self.tensor(operand)?;
                self.converted(view, element)
            }
            operand => self.number_as(operand, element),
        }
    }

    pub(super) fn converted(&mut self, view: View, element: Element) -> Option<View> {
        if view.element == element {
            return Some(view);
        }
        let kernel = kernels::convert(view.element, element)?;
        self.map(kernel, element, &[&view])
    }
}
