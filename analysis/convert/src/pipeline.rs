//! Runs the passes on a function, in the order of [`Pass::ALL`].

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::lowering::LoweringContext;
use super::options::{OperatorSet, Pass};
use super::{
    asserts, breaks, calls, conditional_expressions, continues, control_flow, directives, functions, jumps,
    keep, lists, logical_expressions, returns, slices, snek, variables,
};

/// Converts a function and the functions nested in it.
pub(super) fn convert(ctx: &LoweringContext<'_>, def: &mut ast::StmtFunctionDef) {
    let mut body = std::mem::take(&mut def.body);
    jumps::nest_elifs(&mut body);
    if ctx.is_async {
        keep::mark_awaiting(ctx.notes, &mut body, false);
    }
    let is_snek = ctx.options.operator_set == OperatorSet::Snek;
    for pass in Pass::ALL {
        match pass {
            Pass::Returns if is_snek => snek::returns(ctx, &mut body),
            Pass::Functions if is_snek => snek::functions(ctx, &def.parameters, &mut body),
            Pass::Asserts | Pass::Lists | Pass::Slices | Pass::Calls if is_snek => {}
            Pass::Directives => directives::run(ctx, &mut body),
            Pass::Breaks => breaks::run(ctx, &mut body),
            Pass::Continues => continues::run(ctx, &mut body),
            Pass::Returns => returns::run(ctx, &mut body),
            Pass::Asserts => asserts::run(ctx, &mut body),
            Pass::Lists => lists::run(ctx, &def.parameters, &mut body),
            Pass::Slices => slices::run(ctx, &def.parameters, &mut body),
            Pass::Calls => calls::run(ctx, &mut body),
            Pass::ControlFlow => control_flow::run(ctx, &def.parameters, &mut body),
            Pass::ConditionalExpressions => conditional_expressions::run(ctx, &mut body),
            Pass::LogicalExpressions => logical_expressions::run(ctx, &mut body),
            Pass::Variables => variables::run(ctx, &mut body),
            Pass::Functions => functions::run(ctx, &mut body),
        }
        if ctx.options.until == Some(pass) {
            if pass != Pass::Functions {
                functions::nested(ctx, &mut body);
            }
            break;
        }
    }
    def.body = body;
}

/// Converts the body of a lambda.
pub(super) fn convert_expression(ctx: &LoweringContext<'_>, expression: Expr) -> Expr {
    let origin = expression.range();
    if ctx.options.operator_set == OperatorSet::Snek {
        return expression;
    }
    let mut body: ast::Suite = [super::build::expression(expression, origin)].into_iter().collect();
    for pass in Pass::ALL.into_iter().filter(|pass| ctx.options.runs(*pass)) {
        match pass {
            Pass::Lists => lists::run(ctx, &ast::Parameters::default(), &mut body),
            Pass::Slices => slices::run(ctx, &ast::Parameters::default(), &mut body),
            Pass::Calls => calls::run(ctx, &mut body),
            Pass::ConditionalExpressions => conditional_expressions::run(ctx, &mut body),
            Pass::LogicalExpressions => logical_expressions::run(ctx, &mut body),
            Pass::Functions => functions::lambdas(ctx, &mut body),
            _ => {}
        }
    }
    match body.pop() {
        Some(Stmt::Expr(node)) => *node.value,
        _ => super::build::none(origin),
    }
}
