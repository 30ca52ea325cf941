//! The form of the AutoGraph paper's listings: functions from state to state.
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
use super::{Emitter, Parts, go_on, or_pass, orelse};

/// The simple names of a state.
fn names(state: &[Variable]) -> Vec<&Name> {
    state.iter().filter(|variable| variable.place.is_none()).map(|variable| &variable.name).collect()
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
    or_pass(body)
}

fn result(names: &[&Name], call: Expr, origin: TextRange) -> Stmt {
    match values(names, origin) {
        Some(target) => build::assign_to(target, call, origin),
        None => build::expression(call, origin),
    }
}

pub(super) fn if_stmt(
    emitter: &Emitter<'_, '_>,
    parts: &Parts<'_>,
    mut node: ast::StmtIf,
    out: &mut ast::Suite,
) {
    let outputs = names(&parts.facts.state[..parts.facts.outputs]);
    let otherwise = orelse(&mut node);
    let mut branch = |root: &'static str, block: ast::Suite| {
        let name = emitter.ctx.names.fresh(root);
        let body = with_result(block, &outputs, parts.origin);
        out.push(build::function(&name, &[], body, parts.origin));
        build::name(&name, parts.origin)
    };
    let body = branch("if_body", std::mem::take(&mut node.body));
    let orelse = branch("else_body", otherwise);
    let call = build::operator("if_stmt", vec![*node.test, body, orelse], parts.head);
    out.push(result(&outputs, call, parts.head));
}

pub(super) fn while_stmt(
    emitter: &Emitter<'_, '_>,
    parts: &Parts<'_>,
    node: ast::StmtWhile,
    note: Note,
    out: &mut ast::Suite,
) {
    let state = names(&parts.facts.state);
    let parameters: Vec<&str> = state.iter().map(|name| name.as_str()).collect();
    let (test, body) = (emitter.ctx.names.fresh("loop_test"), emitter.ctx.names.fresh("loop_body"));
    let origin = node.test.range();
    let tested = [build::returned(*node.test, origin)].into_iter().collect();
    out.push(build::function(&test, &parameters, tested, parts.origin));
    let block = with_result(node.body, &state, parts.origin);
    out.push(build::function(&body, &parameters, block, parts.origin));
    let values = state.iter().map(|name| build::name(name, parts.origin)).collect();
    let arguments = vec![
        build::name(&test, parts.origin),
        build::name(&body, parts.origin),
        build::tuple(values, parts.origin),
    ];
    out.push(result(&state, call("while_stmt", arguments, note.loop_options, parts), parts.head));
}

pub(super) fn for_stmt(
    emitter: &Emitter<'_, '_>,
    parts: &Parts<'_>,
    node: ast::StmtFor,
    note: Note,
    out: &mut ast::Suite,
) {
    let target_name = match &*node.target {
        Expr::Name(name) => Some(name.id.clone()),
        _ => None,
    };
    let state: Vec<&Name> =
        names(&parts.facts.state).into_iter().filter(|name| Some(*name) != target_name.as_ref()).collect();
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
    let block = with_result(block, &state, parts.origin);
    out.push(build::function(&body_name, &parameters, block, parts.origin));
    let values = state.iter().map(|name| build::name(name, parts.origin)).collect();
    let arguments =
        vec![*node.iter, build::name(&body_name, parts.origin), build::tuple(values, parts.origin)];
    let mut keywords = note.loop_options;
    if let Some(test) = go_on(&note.stop_flags, parts.origin.start()) {
        let parameters: Vec<&str> = state.iter().map(|name| name.as_str()).collect();
        keywords.push(build::keyword("extra_test", build::lambda(&parameters, test)));
    }
    out.push(result(&state, call("for_stmt", arguments, keywords, parts), parts.head));
}

fn call(operator: &str, arguments: Vec<Expr>, keywords: Vec<ast::Keyword>, parts: &Parts<'_>) -> Expr {
    build::call_with(build::operator_name(operator, parts.head), arguments, keywords, parts.head)
}
