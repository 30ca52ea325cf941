//! Arithmetic on numbers, and numbers from tensors.

use ag_graph::ir::arithmetic::{self, Kind, widen};
use ag_graph::ir::{Node, Op, Operand, Scalar};

use super::{Item, Lowering};
use crate::program::{Number, Step};

impl Lowering<'_> {
    /// Lowers an operation on numbers.
    pub(super) fn scalar(&mut self, node: &Node) -> Option<()> {
        let [output] = node.outputs[..] else { return None };
        let result = Kind::of(self.function.ty(output))?;
        let number = match (&node.op, &node.operands[..]) {
            (Op::Item, [a]) => {
                self.operators += 1;
                let a = self.tensor(a)?;
                (a.count() == 1 && a.element.kind() == result).then_some(())?;
                let out = self.new_register();
                self.step(Step::Item { out, element: a.element, a: a.place });
                Number::Register(out)
            }
            (Op::Size, [a, Operand::Int(dim)]) => {
                let a = self.tensor(a)?;
                let size = a.sizes[ag_graph::ir::types::dimension(*dim, a.rank())?];
                Number::Const(size as u64)
            }
            (Op::Scalar(Scalar::Select), [condition, a, b]) => {
                let (condition, _) = self.number(condition)?;
                let (a, b) = (self.widened(a, result)?, self.widened(b, result)?);
                let out = self.new_register();
                self.step(Step::Select { out, condition, a, b });
                Number::Register(out)
            }
            (Op::Scalar(scalar), [a]) => {
                let kind = self.number(a)?.1;
                let (f, wanted, given) = arithmetic::unary(*scalar, kind)?;
                let a = self.widened(a, wanted)?;
                self.applied((*scalar, wanted), f, [a, Number::Const(0)], given, result)?
            }
            (Op::Scalar(scalar), [a, b]) => {
                let (first, second) = (self.number(a)?.1, self.number(b)?.1);
                let (f, wanted, given) = arithmetic::binary(*scalar, first, second, result)?;
                let (a, b) = (self.widened(a, wanted)?, self.widened(b, wanted)?);
                self.applied((*scalar, wanted), f, [a, b], given, result)?
            }
            _ => return None,
        };
        self.define(output, Item::Number(number, result));
        Some(())
    }

    fn applied(
        &mut self,
        operation: (Scalar, Kind),
        f: arithmetic::Function,
        [a, b]: [Number; 2],
        given: Kind,
        result: Kind,
    ) -> Option<Number> {
        let out = self.new_register();
        self.step(Step::Scalar { operation, f, out, a, b });
        self.convert(Number::Register(out), given, result)
    }

    /// Returns a number, converted to a wider kind.
    pub(super) fn widened(&mut self, operand: &Operand, wanted: Kind) -> Option<Number> {
        let (number, kind) = self.number(operand)?;
        self.convert(number, kind, wanted)
    }

    fn convert(&mut self, number: Number, kind: Kind, wanted: Kind) -> Option<Number> {
        match number {
            Number::Const(bits) => widen(bits, kind, wanted).map(Number::Const),
            // The bits of `True` are those of 1.
            number if kind == wanted || (kind, wanted) == (Kind::Bool, Kind::Int) => Some(number),
            number if wanted == Kind::Float => {
                let out = self.new_register();
                let operation = (Scalar::ToFloat, Kind::Int);
                let (f, b) = (arithmetic::int_to_float, Number::Const(0));
                self.step(Step::Scalar { operation, f, out, a: number, b });
                Some(Number::Register(out))
            }
            _ => None,
        }
    }
}
