//! The form of the listings in the AutoGraph paper: functions that take and return the state.
//!
//! ```python
//! def loop_body(i, total):
//!     total = total + i
//!     return total
//! total = ag__.for_stmt(range(n), loop_body, (total,))
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::build;
use super::super::notes::Note;
use super::super::state::Variable;
use super::{Emitter, StatementInfo, non_empty, not_stopped, orelse};

/// Returns the variables of a state that are plain names.
fn names(state: &[Variable]) -> Vec<&Name> {
    state.iter().filter(|variable| variable.path.is_none()).map(|variable| &variable.name).collect()
}

fn values(names: &[&Name], origin: TextRange) -> Option<Expr> {
    let mut values: Vec<Expr> = names.iter().map(|name| build::name(name, origin)).collect();
    match values.len() {
        0 => None,
        1 => values.pop(),
        _ => {
            let mut tuple = build::tuple(values, origin);
            if let Expr::Tuple(tuple) = &mut tuple {
                tuple.parenthesized = false;
            }
            Some(tuple)
        }
    }
}

fn with_result(mut body: ast::Suite, state: &[&Name], origin: TextRange) -> ast::Suite {
    body.extend(values(state, origin).map(|values| build::returned(values, origin)));
    non_empty(body)
}

fn result(names: &[&Name], call: Expr, origin: TextRange) -> Stmt {
    match values(names, origin) {
        Some(target) => build::assign_to(target, call, origin),
        None => build::expression(call, origin),
    }
}

pub(super) fn if_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    mut node: ast::StmtIf,
    out: &mut ast::Suite,
) {
    let outputs = names(&info.facts.state[..info.facts.outputs]);
    let otherwise = orelse(&mut node);
    let mut branch = |root: &'static str, block: ast::Suite| {
        let name = emitter.ctx.names.fresh(root);
        let body = with_result(block, &outputs, info.origin);
        out.push(build::function(&name, &[], body, info.origin));
        build::name(&name, info.origin)
    };
    let body = branch("if_body", std::mem::take(&mut node.body));
    let orelse = branch("else_body", otherwise);
    let call = build::operator("if_stmt", vec![*node.test, body, orelse], info.head);
    out.push(result(&outputs, call, info.head));
}

pub(super) fn while_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    node: ast::StmtWhile,
    note: Note,
    out: &mut ast::Suite,
) {
    let state = names(&info.facts.state);
    let parameters: Vec<&str> = state.iter().map(|name| name.as_str()).collect();
    let (test, body) = (emitter.ctx.names.fresh("loop_test"), emitter.ctx.names.fresh("loop_body"));
    let origin = node.test.range();
    let tested = [build::returned(*node.test, origin)].into_iter().collect();
    out.push(build::function(&test, &parameters, tested, info.origin));
    let block = with_result(node.body, &state, info.origin);
    out.push(build::function(&body, &parameters, block, info.origin));
    let values = state.iter().map(|name| build::name(name, info.origin)).collect();
    let arguments = vec![
        build::name(&test, info.origin),
        build::name(&body, info.origin),
        build::tuple(values, info.origin),
    ];
    out.push(result(&state, call("while_stmt", arguments, note.loop_options, info), info.head));
}

pub(super) fn for_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    node: ast::StmtFor,
    note: Note,
    out: &mut ast::Suite,
) {
    let target_name = match &*node.target {
        Expr::Name(name) => Some(name.id.clone()),
        _ => None,
    };
    let state: Vec<&Name> =
        names(&info.facts.state).into_iter().filter(|name| Some(*name) != target_name.as_ref()).collect();
    let body_name = emitter.ctx.names.fresh("loop_body");
    let mut block = ast::Suite::new();
    let item = target_name.unwrap_or_else(|| emitter.ctx.names.fresh("itr"));
    if !node.target.is_name_expr() {
        let target = node.target.range();
        block.push(build::assign_to(*node.target, build::name(&item, target), target));
    }
    block.extend(node.body);
    let parameters: Vec<&str> =
        std::iter::once(item.as_str()).chain(state.iter().map(|name| name.as_str())).collect();
    let block = with_result(block, &state, info.origin);
    out.push(build::function(&body_name, &parameters, block, info.origin));
    let values = state.iter().map(|name| build::name(name, info.origin)).collect();
    let arguments = vec![*node.iter, build::name(&body_name, info.origin), build::tuple(values, info.origin)];
    let mut keywords = note.loop_options;
    if let Some(test) = not_stopped(&note.stop_flags, info.origin.start()) {
        let parameters: Vec<&str> = state.iter().map(|name| name.as_str()).collect();
        keywords.push(build::keyword("extra_test", build::lambda(&parameters, test)));
    }
    out.push(result(&state, call("for_stmt", arguments, keywords, info), info.head));
}

fn call(operator: &str, arguments: Vec<Expr>, keywords: Vec<ast::Keyword>, info: &StatementInfo<'_>) -> Expr {
    build::call_with(build::operator_name(operator, info.head), arguments, keywords, info.head)
}
