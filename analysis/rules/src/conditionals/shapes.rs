//! Shapes that literals in a function determine. There is no shape inference.

use ruff_python_ast::{self as ast, CmpOp, Expr};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use ag_syntax::expressions::{natural, sequence};
use ag_syntax::qname::QName;

/// The maximum length of a chain of definitions that is followed.
const MAX_DEPTH: u32 = 8;

/// Returns whether a value is certainly a Tensor with more than one element.
pub(super) fn has_many(ctx: &FunctionContext, expression: &Expr) -> bool {
    Shapes { ctx }.many(expression, MAX_DEPTH)
}

struct Shapes<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
}

impl Shapes<'_, '_> {
    fn many(&self, expression: &Expr, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match expression {
            // Broadcasting never reduces the number of elements.
            Expr::BinOp(operation) => {
                operation.op != ast::Operator::MatMult
                    && (self.many(&operation.left, depth) || self.many(&operation.right, depth))
            }
            Expr::UnaryOp(operation) => self.many(&operation.operand, depth),
            Expr::Compare(compare) => match compare.ops.as_ref() {
                [CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn] => false,
                [_] => {
                    self.many(&compare.left, depth)
                        || compare.comparators.iter().any(|operand| self.many(operand, depth))
                }
                _ => false,
            },
            Expr::Named(named) => self.many(&named.value, depth),
            Expr::Name(_) => self.many_of_name(expression, depth),
            Expr::Call(call) => self.many_of_call(call, depth),
            _ => false,
        }
    }

    /// Returns whether every value that a name may be bound to has more than one element.
    fn many_of_name(&self, name: &Expr, depth: u32) -> bool {
        let Some(qname) = QName::from_expr(name) else { return false };
        let definitions = self.ctx.flow.definitions_of(name.range(), &qname);
        !definitions.is_empty()
            && definitions.iter().all(|definition| {
                let value = self.ctx.value_of(definition);
                definition.kind == ag_flow::DefKind::Assign
                    && self.ctx.fact_of(definition).is_tensor()
                    && value.is_some_and(|value| self.many(value, depth))
            })
    }

    fn many_of_call(&self, call: &ast::ExprCall, depth: u32) -> bool {
        let Some(function) = self.ctx.resolve(&call.func) else { return false };
        let Some(function) = function.strip_prefix("tensorflow.") else { return false };
        let argument = |position: usize, keyword: &str| call.arguments.find_argument_value(keyword, position);
        match function {
            "constant" | "convert_to_tensor" => {
                argument(2, "shape").is_none()
                    && argument(0, "value").is_some_and(|value| elements(value) > 1)
            }
            "zeros" | "ones" | "fill" | "random.normal" | "random.uniform" => {
                argument(0, if function == "fill" { "dims" } else { "shape" })
                    .is_some_and(|shape| size(shape) > 1)
            }
            "range" => {
                let [limit] = &*call.arguments.args else { return false };
                call.arguments.keywords.is_empty() && natural(limit).is_some_and(|limit| limit > 1)
            }
            "linspace" => argument(2, "num").and_then(natural).is_some_and(|count| count > 1),
            // These functions are elementwise.
            "abs" | "square" | "sqrt" | "exp" | "sign" | "identity" | "cast" | "negative" | "zeros_like"
            | "ones_like" | "stop_gradient" | "logical_not" | "nn.relu" | "nn.sigmoid" | "math.log" => {
                call.arguments.args.first().is_some_and(|argument| self.many(argument, depth))
            }
            "logical_and" | "logical_or" | "maximum" | "minimum" | "add" | "subtract" | "multiply"
            | "equal" | "greater" | "less" => {
                call.arguments.args.iter().take(2).any(|argument| self.many(argument, depth))
            }
            _ => false,
        }
    }
}

/// Returns the minimum number of elements of a nested list.
fn elements(value: &Expr) -> usize {
    let count = |element: &Expr| if element.is_starred_expr() { 0 } else { elements(element) };
    sequence(value).map_or(1, |items| items.iter().map(count).sum())
}

/// Returns the number of elements of a shape; 0 if one of the dimensions is not a literal.
fn size(shape: &Expr) -> u64 {
    let dimensions = sequence(shape).unwrap_or(std::slice::from_ref(shape)).iter();
    dimensions.map(natural).try_fold(1u64, |product, dimension| product.checked_mul(dimension?)).unwrap_or(0)
}
