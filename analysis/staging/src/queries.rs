//! The per-function queries. Each depends only on the function's slice, its stage and its facts.

use std::sync::Arc;

use crate::construct::Construct;
use crate::host_numbers::HostNumbers;
use crate::results::{stages_of, types_of};
use crate::{decisions, traced_leaves, transfer, why};
use ag_db::Db;
use ag_db::Document;
use ag_flow::Flow;
use ag_index::answers::{Facts, ScopeTypes};
use ag_index::assumptions::Stage;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::Binding;
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_syntax::expressions;
use ag_syntax::imports::Imports;

/// Returns how a function is staged; `None` if it is not staged.
#[salsa::tracked(returns(ref))]
pub fn stage<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<Stage> {
    stages_of(db, function.document(db)).get(function.path(db)).cloned()
}

/// Returns the types of a function from the last run; empty if that run did not infer them. The query compares by
/// value, so edits elsewhere in the file do not change it.
#[salsa::tracked(returns(ref))]
pub fn types<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Arc<ScopeTypes> {
    let Some(types) = types_of(db, function.document(db)).get(function.path(db)) else {
        return Arc::default();
    };
    let stage = stage(db, function).as_ref();
    let seen = stage.and_then(|stage| types.in_dialect(stage.dialect));
    seen.map_or_else(|| Arc::clone(types), Arc::new)
}

/// Returns control flow, activity, reaching definitions and liveness of a function.
#[salsa::tracked(returns(ref))]
pub fn flow<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<Flow> {
    let ast = function_ast(db, function).as_ref()?;
    Some(Flow::build(ast.def()))
}

/// Returns the facts about every expression, after the transfer functions of staged statements were applied.
#[salsa::tracked(returns(ref))]
pub fn facts<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Facts {
    let (Some(ast), Some(flow), Some(stage)) =
        (function_ast(db, function), flow(db, function), stage(db, function))
    else {
        return Facts::default();
    };
    if !stage.typed {
        return Facts::default();
    }
    let facts = &types(db, function).facts;
    if stage.converts {
        return transfer::apply(ast.def(), flow, facts);
    }
    traced_leaves::apply(db, function, facts).unwrap_or_else(|| facts.clone())
}

/// Returns the imports of a file. The query compares by value.
#[salsa::tracked(returns(ref))]
pub fn imports(db: &dyn Db, document: Document) -> Imports {
    file_index(db, document).imports.clone()
}

/// Returns the decisions of a function with their binding times and reasons.
#[salsa::tracked(returns(ref))]
pub fn constructs<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Arc<[Construct]> {
    let (Some(ast), Some(stage), Some(flow)) =
        (function_ast(db, function), stage(db, function), flow(db, function))
    else {
        return Arc::from([]);
    };
    let facts = facts(db, function);
    let nodes = decisions::nodes(ast.def());
    let lookup = |expression: &ruff_python_ast::Expr| facts.get(expressions::id(expression)?);
    let mut constructs = decisions::constructs(&nodes, &lookup);
    let reasons = why::Reasons {
        document: function.document(db),
        path: function.path(db),
        ast,
        flow,
        stage,
        lookup: &lookup,
    };
    let numbers = HostNumbers { def: ast.def(), flow, fact: &lookup, outside: &|_| false };
    for (construct, (node, _)) in constructs.iter_mut().zip(&nodes) {
        // A tracer of `jax.grad` alone has a value.
        if stage.mode == RootKind::JaxGrad && construct.binding == Binding::Staged {
            construct.binding = Binding::Python;
        }
        construct.reads_tensor = stage.dialect == Dialect::Torch
            && construct.binding == Binding::Python
            && node.test().is_some_and(|test| numbers.find(test).is_some());
        construct.why = reasons.of_construct(*node, construct.binding);
    }
    Arc::from(constructs)
}
