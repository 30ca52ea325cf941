//! The dtypes of values in a staged loop, where loop-carried Python numbers have become Tensors.
//!
//! ```python
//! total = 0                    # int32 before the loop
//! for v in values:             # float32
//!     total = total + v        # int32 + float32: no such operation
//! ```

use ruff_python_ast::{self as ast, Expr, Number, Operator};
use ruff_text_size::{Ranged, TextRange};

use super::carried::StagedLoop;
use ag_flow::{Def, DefKind};
use ag_index::facts::{Alternative, Binding, DType, Fact};
use ag_syntax::expressions;
use ag_syntax::qname::QName;

/// The maximum depth of nested computations. Deeper values are unknown.
const MAX_DEPTH: u32 = 8;

/// A value in the graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Tensor {
        dtype: DType,
        /// The carried name from which it was computed, if the value of this name was a Python number before the loop.
        number: Option<QName>,
    },
    /// A Python number, with the dtype to which it is converted if the other operand is not a Tensor.
    Number(DType),
    Unknown,
}

impl Value {
    pub(super) fn dtype(&self) -> Option<DType> {
        match self {
            Self::Tensor { dtype, .. } | Self::Number(dtype) => Some(*dtype),
            Self::Unknown => None,
        }
    }
}

/// An operation whose operands have different dtypes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clash {
    pub(super) operation: TextRange,
    /// The carried name among the operands. `has` is its dtype, and `needs` is the dtype that the operation requires.
    pub(super) number: QName,
    pub(super) has: DType,
    pub(super) needs: DType,
}

/// The value of a carried name before the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) dtype: DType,
    pub(super) is_number: bool,
}

/// Returns the value of a name before the loop; `None` unless all its definitions have the same known dtype.
pub(super) fn entry(staged: &StagedLoop, name: &QName) -> Option<Entry> {
    let before = staged.before(name);
    // A variable that an enclosing staged loop carries has the dtype that it had before that loop.
    let outer: Vec<TextRange> = staged
        .ctx
        .enclosing(staged.construct.range)
        .filter(|construct| construct.kind.is_loop() && construct.binding == Binding::Staged)
        .map(|construct| construct.range)
        .collect();
    let entering = |definition: &&&Def| {
        matches!(definition.kind, DefKind::Parameter(_))
            || !outer.iter().any(|range| range.contains_range(definition.range))
    };
    let any_entering = before.iter().any(|definition| entering(&definition));
    let mut entries = before
        .iter()
        .filter(|definition| !any_entering || entering(definition))
        .map(|definition| of_fact(staged.ctx.fact_of(definition)))
        .map(|value| match value {
            Value::Tensor { dtype, .. } => Some(Entry { dtype, is_number: false }),
            Value::Number(dtype) => Some(Entry { dtype, is_number: true }),
            Value::Unknown => None,
        });
    let first = entries.next()??;
    entries.all(|entry| entry.is_some_and(|entry| entry.dtype == first.dtype)).then_some(first)
}

/// Returns a value that is computed in Python: a Tensor, or a number that can be converted to one.
fn of_fact(fact: &Fact) -> Value {
    if fact.is_tensor()
        && let Some(dtype) = fact.dtype()
    {
        return Value::Tensor { dtype, number: None };
    }
    let all = |is: fn(&Alternative) -> bool| {
        !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is)
    };
    if all(|alternative| matches!(alternative, Alternative::Int(_))) {
        Value::Number(DType::Int32)
    } else if all(|alternative| matches!(alternative, Alternative::Float)) {
        Value::Number(DType::Float32)
    } else if all(|alternative| matches!(alternative, Alternative::Bool(_))) {
        Value::Number(DType::Bool)
    } else {
        Value::Unknown
    }
}

/// Computes values in one loop. It keeps the first clash.
pub(super) struct Evaluation<'s, 'c, 'a> {
    staged: &'s StagedLoop<'c, 'a>,
    depth: u32,
    pub(super) clash: Option<Clash>,
}

impl<'s, 'c, 'a> Evaluation<'s, 'c, 'a> {
    pub(super) fn new(staged: &'s StagedLoop<'c, 'a>) -> Self {
        Self { staged, depth: 0, clash: None }
    }

    /// Returns the value that a definition of the body binds.
    pub(super) fn bound(&mut self, definition: &Def) -> Value {
        let ctx = self.staged.ctx;
        match (definition.kind, ctx.value_of(definition)) {
            (DefKind::Assign | DefKind::Walrus, Some(value)) => self.of(value),
            (DefKind::AugAssign, Some(value)) => {
                let target = expressions::at(ctx.def(), definition.range);
                let operation = ctx.flow.cfg.statement_around(definition.range);
                let operation = operation.and_then(|stmt| ctx.flow.cfg.statement(stmt));
                match (target, operation.and_then(|stmt| self.operator(stmt.range))) {
                    (Some(target), Some((operator, range))) => self.operation(target, operator, value, range),
                    _ => Value::Unknown,
                }
            }
            _ => of_fact(ctx.fact_of(definition)),
        }
    }

    /// Returns the operator of the augmented assignment at `range`.
    fn operator(&self, range: TextRange) -> Option<(Operator, TextRange)> {
        let assign = super::carried::augmented(self.staged.body(), range)?;
        Some((assign.op, assign.range()))
    }

    pub(super) fn of(&mut self, expression: &'a Expr) -> Value {
        if self.depth >= MAX_DEPTH {
            return Value::Unknown;
        }
        self.depth += 1;
        let value = match expression {
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(int) if int.as_i32().is_some() => Value::Number(DType::Int32),
                Number::Float(_) => Value::Number(DType::Float32),
                _ => Value::Unknown,
            },
            Expr::BooleanLiteral(_) => Value::Number(DType::Bool),
            Expr::Name(_) => self.name(expression),
            Expr::BinOp(ast::ExprBinOp { left, op, right, range, .. }) => {
                self.operation(left, *op, right, *range)
            }
            Expr::UnaryOp(ast::ExprUnaryOp {
                op: ast::UnaryOp::USub | ast::UnaryOp::UAdd, operand, ..
            }) => self.of(operand),
            Expr::If(conditional) => {
                let (body, orelse) = (self.of(&conditional.body), self.of(&conditional.orelse));
                if body == orelse { body } else { Value::Unknown }
            }
            Expr::Named(named) => self.of(&named.value),
            _ => of_fact(self.staged.ctx.python_fact(expression)),
        };
        self.depth -= 1;
        value
    }

    pub(super) fn operation(
        &mut self,
        left: &'a Expr,
        operator: Operator,
        right: &'a Expr,
        range: TextRange,
    ) -> Value {
        let (left, right) = (self.of(left), self.of(right));
        self.arithmetic(left, operator, right, range)
    }

    fn name(&mut self, expression: &'a Expr) -> Value {
        let staged = self.staged;
        let Some(name) = QName::from_expr(expression) else { return Value::Unknown };
        let definitions = staged.ctx.flow.definitions_of(expression.range(), &name);
        let within = definitions.iter().filter(|definition| staged.contains(definition)).count();
        if within < definitions.len() && staged.carries(&name) {
            return match entry(staged, &name) {
                Some(Entry { dtype, is_number }) => {
                    Value::Tensor { dtype, number: is_number.then_some(name) }
                }
                None => Value::Unknown,
            };
        }
        match definitions.as_slice() {
            [definition] if within == 1 => self.bound(definition),
            _ => of_fact(staged.ctx.python_fact(expression)),
        }
    }

    fn arithmetic(&mut self, left: Value, operator: Operator, right: Value, range: TextRange) -> Value {
        let numeric = |dtype: DType| dtype.is_integer() || dtype.is_float();
        let (Some(a), Some(b)) = (left.dtype(), right.dtype()) else { return Value::Unknown };
        if !expressions::is_arithmetic(operator) || !numeric(a) || !numeric(b) {
            return Value::Unknown;
        }
        let result = |dtype: DType| match operator {
            Operator::Div if dtype.is_float() => dtype,
            Operator::Div if matches!(dtype, DType::Int32 | DType::Int64 | DType::UInt32 | DType::UInt64) => {
                DType::Float64
            }
            Operator::Div => DType::Float32,
            _ => dtype,
        };
        match (left, right) {
            (Value::Number(_), Value::Number(_)) if operator == Operator::Div => {
                Value::Number(DType::Float32)
            }
            (Value::Number(_), Value::Number(_)) if a.is_float() || b.is_float() => {
                Value::Number(DType::Float32)
            }
            (Value::Number(_), Value::Number(_)) => Value::Number(DType::Int32),
            (Value::Tensor { dtype, number }, Value::Number(other))
            | (Value::Number(other), Value::Tensor { dtype, number }) => {
                if dtype.is_integer() && other.is_float() {
                    self.note(number, dtype, other, range);
                    return Value::Unknown;
                }
                Value::Tensor { dtype: result(dtype), number }
            }
            (Value::Tensor { number: first, .. }, Value::Tensor { number: second, .. }) => {
                if a != b {
                    let (number, has, needs) = if first.is_some() { (first, a, b) } else { (second, b, a) };
                    self.note(number, has, needs, range);
                    return Value::Unknown;
                }
                Value::Tensor { dtype: result(a), number: first.or(second) }
            }
            _ => Value::Unknown,
        }
    }

    fn note(&mut self, number: Option<QName>, has: DType, needs: DType, operation: TextRange) {
        if let Some(number) = number {
            self.clash.get_or_insert(Clash { operation, number, has, needs });
        }
    }
}
