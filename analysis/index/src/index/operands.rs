//! The operands of operators, which annotated source wraps.
//!
//! ```python
//! p - rate * self.force(q)                    # the user's text
//! p - ag_operand_(rate * self.force(q))       # annotated source
//! ```
//!
//! The type engine infers Unknown for an operator if the type of an operand is unknown. But the result is a Tensor if
//! the other operand is one. `ag_operand_` (`types/stubs/annotations/__builtins__.pyi`) returns its argument; if the
//! type of the argument is unknown, it returns an object that the operators of Tensors accept.

use ag_syntax::expressions::is_scalar_literal;
use ruff_python_ast::{self as ast, CmpOp, Expr, Operator};

/// Returns the operands of an expression that annotated source wraps.
pub(super) fn of(expression: &Expr) -> Vec<&Expr> {
    match expression {
        // `int | None` may be a type, so its operands are not wrapped.
        Expr::BinOp(ast::ExprBinOp { left, op: Operator::BitOr, right, .. }) => {
            pair(left, right).into_iter().filter(|side| is_computed(side)).collect()
        }
        Expr::BinOp(operation) => pair(&operation.left, &operation.right),
        Expr::Compare(compare) => match (&*compare.ops, &*compare.comparators) {
            ([CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE], [right]) => pair(&compare.left, right),
            // These operands are not wrapped: in `mode == "train"`, the type engine narrows the type of a name, and for
            // `1 == unknown` it infers `bool`.
            ([CmpOp::Eq | CmpOp::NotEq], [right])
                if is_method_or_operator(&compare.left) && may_be_tensor(right) =>
            {
                vec![&*compare.left]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn pair<'a>(left: &'a Expr, right: &'a Expr) -> Vec<&'a Expr> {
    if may_be_tensor(left) && may_be_tensor(right) { vec![left, right] } else { Vec::new() }
}

/// Returns whether an operand is not a literal, a display or a function.
pub(super) fn may_be_tensor(operand: &Expr) -> bool {
    match operand {
        Expr::Attribute(attribute) => attribute.attr.as_str() != "version_info",
        Expr::Name(_)
        | Expr::Subscript(_)
        | Expr::Call(_)
        | Expr::BinOp(_)
        | Expr::UnaryOp(_)
        | Expr::Compare(_)
        | Expr::If(_) => !is_scalar_literal(operand),
        _ => false,
    }
}

/// Returns whether an operand of `|` is certainly not a type.
fn is_computed(operand: &Expr) -> bool {
    match operand {
        Expr::Call(_) | Expr::Compare(_) | Expr::UnaryOp(_) => true,
        Expr::BinOp(operation) => operation.op != Operator::BitOr,
        _ => false,
    }
}

fn is_method_or_operator(operand: &Expr) -> bool {
    match operand {
        Expr::Call(call) => call.func.is_attribute_expr(),
        Expr::BinOp(_) => true,
        _ => false,
    }
}
