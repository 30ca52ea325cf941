//! Pass 11: `and`, `or`, `not` and chained comparisons become operators on thunks.
//!
//! ```python
//! a and b         =>  ag__.and_(lambda: a, lambda: b)
//! a < b < c       =>  ag__.and_(lambda: a < b, lambda: b < c)
//! a < f() < c     =>  (lambda left_, right_: ag__.and_(lambda: left_ < right_, lambda: right_ < c))(a, f())
//! ```
//!
//! Each operand of a chain is evaluated at most once, and not at all after the first comparison that is false.

use ruff_python_ast::{self as ast, BoolOp, CmpOp, Expr, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::expressions::{self, Rewrite, Walk, can_move_into_lambda};
use super::lowering::LoweringContext;

/// Longer chains are split in halves, because parentheses nest at most a hundred levels deep.
const MAX_NESTED: usize = 16;

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    expressions::rewrite(body, &Logical { ctx });
}

struct Logical<'a> {
    ctx: &'a LoweringContext<'a>,
}

impl Rewrite for Logical<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        let origin = expression.range();
        match expression {
            Expr::BoolOp(node) if node.values.iter().all(can_move_into_lambda) => {
                let operator = match node.op {
                    BoolOp::And => "and_",
                    BoolOp::Or => "or_",
                };
                let values = std::mem::take(&mut node.values);
                *expression = chain(operator, values, origin);
            }
            Expr::UnaryOp(node) if node.op == UnaryOp::Not => {
                let operand = std::mem::replace(&mut *node.operand, build::none(origin));
                *expression = build::operator("not_", vec![operand], origin);
            }
            Expr::Compare(node) if !super::tree::is_synthesized(node) => self.compare(expression),
            _ => {}
        }
    }
}

fn chain(operator: &str, mut values: Vec<Expr>, origin: TextRange) -> Expr {
    if values.len() == 1
        && let Some(value) = values.pop()
    {
        return value;
    }
    let rest = values.split_off(if values.len() > MAX_NESTED { values.len() / 2 } else { 1 });
    let operand = |values| build::thunk(chain(operator, values, origin));
    build::operator(operator, vec![operand(values), operand(rest)], origin)
}

impl Logical<'_> {
    fn compare(&self, expression: &mut Expr) {
        let Expr::Compare(node) = expression else { return };
        if node.ops.len() == 1 {
            return self.equality(expression);
        }
        if !node.comparators.iter().all(can_move_into_lambda) || !can_move_into_lambda(&node.left) {
            return;
        }
        let origin = node.range;
        let left = std::mem::replace(&mut *node.left, build::none(origin));
        let ops = std::mem::take(&mut node.ops).into_vec();
        let comparators = std::mem::take(&mut node.comparators).into_vec();
        *expression = self.chained(left, &ops, comparators, origin);
    }

    fn chained(&self, left: Expr, ops: &[CmpOp], mut operands: Vec<Expr>, origin: TextRange) -> Expr {
        let Some((&op, later)) = ops.split_first() else { return left };
        if later.is_empty() {
            let Some(right) = operands.pop() else { return left };
            return self.pair(left, op, right, origin);
        }
        let rest = operands.split_off(1);
        let Some(middle) = operands.pop() else { return left };
        let link = |left: Expr, middle: Expr| {
            let first = self.pair(left, op, middle.clone(), origin);
            let others = self.chained(middle, later, rest, origin);
            build::operator("and_", vec![build::thunk(first), build::thunk(others)], origin)
        };
        // Names and constants can be duplicated.
        if is_plain(&middle) {
            return link(left, middle);
        }
        let (a, b) = (self.ctx.names.fresh("left_"), self.ctx.names.fresh("right_"));
        let at = |name: &str, operand: &Expr| build::name(name, operand.range());
        let body = link(at(&a, &left), at(&b, &middle));
        build::call(build::lambda(&[&a, &b], body), vec![left, middle], origin)
    }

    fn pair(&self, left: Expr, op: CmpOp, right: Expr, origin: TextRange) -> Expr {
        match op {
            CmpOp::Eq if self.ctx.options.features.equality => {
                build::operator("eq", vec![left, right], origin)
            }
            CmpOp::NotEq if self.ctx.options.features.equality => {
                build::operator("not_eq", vec![left, right], origin)
            }
            op => build::compare(left, op, right, origin),
        }
    }

    fn equality(&self, expression: &mut Expr) {
        let Expr::Compare(node) = expression else { return };
        let origin = node.range;
        if !self.ctx.options.features.equality || !matches!(node.ops[..], [CmpOp::Eq | CmpOp::NotEq]) {
            return;
        }
        let left = std::mem::replace(&mut *node.left, build::none(origin));
        let op = node.ops[0];
        if let Some(right) = std::mem::take(&mut node.comparators).into_vec().pop() {
            *expression = self.pair(left, op, right, origin);
        }
    }
}

fn is_plain(operand: &Expr) -> bool {
    match operand {
        Expr::Name(_) => true,
        // `ag__.ld(x)`
        Expr::Call(call) => {
            super::tree::is_synthesized(call) && matches!(&*call.arguments.args, [Expr::Name(_)])
        }
        operand => {
            operand.is_literal_expr() && !matches!(operand, Expr::StringLiteral(_) | Expr::BytesLiteral(_))
        }
    }
}
