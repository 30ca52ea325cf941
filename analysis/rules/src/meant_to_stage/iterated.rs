//! Determines whether the iterable of a Python loop is certainly one Tensor, or possibly a list of Tensors.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use crate::FunctionContext;
use ag_flow::DefKind;
use ag_index::assumptions::Source;
use ag_index::facts::TensorKind;
use ag_syntax::qname::QName;

/// The maximum number of expressions that are examined. If there are more, the result is uncertain.
const MAX_STEPS: u32 = 64;

/// Returns whether the value is certainly one dense Tensor or one Variable.
pub(super) fn is_tensor(ctx: &FunctionContext, expression: &Expr) -> bool {
    // The evaluation of the program follows attributes and the results of functions.
    let is_traced = || ctx.is_traced_value(expression);
    if expression.is_attribute_expr() && is_traced() {
        return true;
    }
    let kind = ctx.python_fact(expression).tensor_kind();
    let is_tensor = matches!(kind, Some(TensorKind::Tensor | TensorKind::Variable))
        || expression.is_name_expr() && is_traced();
    is_tensor && is_single_tensor(ctx, expression, &mut 0)
}

/// Returns whether a value is certainly a single Tensor. The result of a model, a layer or a gradient may also be a
/// list of Tensors.
fn is_single_tensor(ctx: &FunctionContext, expression: &Expr, steps: &mut u32) -> bool {
    *steps += 1;
    if *steps > MAX_STEPS {
        return false;
    }
    match expression {
        Expr::Name(_) => {
            let Some(name) = QName::from_expr(expression) else { return false };
            let definitions = ctx.flow.definitions_of(expression.range(), &name);
            !definitions.is_empty()
                && definitions.iter().all(|definition| match (definition.kind, ctx.value_of(definition)) {
                    (DefKind::Parameter(position), _) => {
                        ctx.stage.parameters.get(position.into()).is_some_and(|parameter| {
                            matches!(parameter.source, Source::Annotation | Source::CallSites)
                        })
                    }
                    (DefKind::AugAssign, _) => true,
                    (DefKind::Assign, Some(value)) => is_single_tensor(ctx, value, steps),
                    _ => false,
                })
        }
        Expr::BinOp(operation) => {
            is_single_tensor(ctx, &operation.left, steps) || is_single_tensor(ctx, &operation.right, steps)
        }
        Expr::UnaryOp(operation) => is_single_tensor(ctx, &operation.operand, steps),
        Expr::Compare(_) => true,
        Expr::Subscript(item) => is_single_tensor(ctx, &item.value, steps),
        Expr::Call(call) => {
            let function = ctx.resolve(&call.func);
            let parts: Vec<&str> = function.iter().flat_map(|name| name.split('.')).collect();
            matches!(
                parts.as_slice(),
                ["tensorflow", _] | ["tensorflow", "math" | "random" | "linalg" | "strings", _]
            )
        }
        _ => false,
    }
}
