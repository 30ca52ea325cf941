//! Recognizes code that is guarded by a test for eager execution, code outside the graph, and code that expects an
//! exception.

use ruff_python_ast::{ExceptHandler, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::callers::{self, Call};
use ag_db::Db;
use ag_flow::{BlockKind, StatementKind};
use ag_index::index::{FunctionId, function_ast};
use ag_staging::queries;

/// Names in tests that distinguish eager execution from a graph.
const EAGER_TESTS: [&str; 9] = [
    "executing_eagerly",
    "inside_function",
    "in_tf_function",
    "EagerTensor",
    "hasattr",
    "is_symbolic",
    "is_keras_tensor",
    "is_tensor",
    "ndarray",
];

/// Returns whether `range` is under a test of eager execution or of the backend library, in a `with tf.init_scope()`,
/// or in the body of a `try`. Also returns true if the whole function is called from such code.
pub(super) fn is_guarded(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.enclosing(range).any(|construct| mentions(ctx.text(construct.test_range)))
        || is_under(&ctx.def().body, range, &|_| false, &|test| tests_for_value(ctx.text(test)))
        || is_outside_graph(ctx, range)
        || is_called_eagerly(ctx)
}

/// Returns whether `range` is under a test that calls `executing_eagerly`.
pub(super) fn tests_eager_execution(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.enclosing(range).any(|construct| ctx.text(construct.test_range).contains("executing_eagerly"))
}

/// Returns whether a test excludes symbolic Tensors. After `if not hasattr(x, "numpy"): return placeholder`, all
/// Tensors are eager.
fn tests_for_value(test: &str) -> bool {
    test.contains("hasattr") && test.contains("numpy") || test.contains("executing_eagerly")
}

fn mentions(test: &str) -> bool {
    EAGER_TESTS.iter().any(|word| test.contains(word)) || tests_backend(test)
}

/// Returns whether a test is like `keras.backend.backend() == "torch"`. The Tensors in its body belong to another
/// library.
fn tests_backend(test: &str) -> bool {
    test.contains("backend") && ["torch", "jax", "numpy"].iter().any(|library| test.contains(library))
}

/// Returns whether a function between the root and this one tests for eager execution before its call: `eager(x)` after
/// `if in_graph(): return staged(x)`.
pub(super) fn is_called_eagerly(ctx: &FunctionContext) -> bool {
    is_called_under(ctx, &|call, test| {
        mentions(&call.ast.text[test.range()]) || callee_tests(ctx.db, call.function, test.range())
    })
}

/// Returns whether a call that leads from the root to this function is under an `if` whose test satisfies `tests`, or
/// after such an `if` that returns.
pub(super) fn is_called_under(ctx: &FunctionContext, tests: &dyn Fn(&Call, &Expr) -> bool) -> bool {
    if ctx.root().is_some() {
        return false;
    }
    for call in callers::of(ctx) {
        let tests = |test: &Expr| tests(&call, test);
        if is_under(&call.ast.def().body, call.range, &tests, &tests) {
            return true;
        }
        if call.is_in_root() {
            return false;
        }
    }
    false
}

/// Returns whether a test calls a function of the project that tests for eager execution: `if self.uses_graph():`.
fn callee_tests<'db>(db: &'db dyn Db, function: FunctionId<'db>, test: TextRange) -> bool {
    let calls = &queries::types(db, function).calls;
    let targets =
        calls.iter().filter(|call| test.contains_range(call.location.range)).flat_map(|call| &call.targets);
    targets
        .filter_map(|target| {
            function_ast(db, FunctionId::new(db, target.document, target.path.clone())).as_ref()
        })
        .any(|called| mentions(&called.text))
}

/// Returns whether `range` is guarded by an `if`: it is under one whose test satisfies `over`, or after one whose test
/// satisfies `before` and whose body returns.
pub(super) fn is_under(
    body: &[Stmt],
    range: TextRange,
    over: &dyn Fn(&Expr) -> bool,
    before: &dyn Fn(&Expr) -> bool,
) -> bool {
    for statement in body {
        let Stmt::If(conditional) = statement else {
            if statement.range().contains_range(range) {
                return bodies(statement).into_iter().any(|body| is_under(body, range, over, before));
            }
            continue;
        };
        let elifs = &conditional.elif_else_clauses;
        let clauses = std::iter::once((Some(&*conditional.test), &conditional.body))
            .chain(elifs.iter().map(|clause| (clause.test.as_ref(), &clause.body)));
        let mut tested = false;
        for (test, body) in clauses {
            if test.is_some_and(|test| test.range().contains_range(range)) {
                return tested;
            }
            tested |= test.is_some_and(over);
            if body.iter().any(|statement| statement.range().contains_range(range)) {
                return tested || is_under(body, range, over, before);
            }
        }
        let returns = matches!(conditional.body.last(), Some(Stmt::Return(_) | Stmt::Raise(_)));
        if returns && conditional.range().end() <= range.start() && before(&conditional.test) {
            return true;
        }
    }
    false
}

/// Returns whether `range` is in the body of an `except` clause.
pub(super) fn is_in_handler(body: &[Stmt], range: TextRange) -> bool {
    let Some(statement) = body.iter().find(|statement| statement.range().contains_range(range)) else {
        return false;
    };
    let within = |body: &[Stmt]| is_in_handler(body, range);
    match statement {
        Stmt::If(conditional) => {
            within(&conditional.body)
                || conditional.elif_else_clauses.iter().any(|clause| within(&clause.body))
        }
        Stmt::Try(attempt) => {
            let handles = |ExceptHandler::ExceptHandler(handler): &ExceptHandler| {
                handler.body.iter().any(|statement| statement.range().contains_range(range))
            };
            attempt.handlers.iter().any(handles) || bodies(statement).into_iter().any(within)
        }
        _ => bodies(statement).into_iter().any(within),
    }
}

/// Returns whether `range` is in an operand that is evaluated only after a test: `x.size and int(x.min()) < 0`,
/// `int(x) if known else 0`.
pub(super) fn is_operand(expression: &Expr, range: TextRange) -> bool {
    let contains = |operand: &Expr| operand.range().contains_range(range);
    match expression {
        Expr::BoolOp(operation) => operation.values.iter().skip(1).any(contains),
        Expr::If(conditional) => contains(&conditional.body) || contains(&conditional.orelse),
        _ => false,
    }
}

/// Returns whether `range` is after an `if` that tests an attribute of `self` and returns, in the same block or in one
/// around it. The code after such an `if` does not run in each call:
///
/// ```python
/// def count(self):
///     if not self.training:
///         return
///     self.calls += 1
/// ```
///
/// An `if` that raises does not count: it rejects invalid states.
pub(super) fn is_after_return(body: &[Stmt], range: TextRange) -> bool {
    for statement in body {
        if statement.range().contains_range(range) {
            return match statement {
                Stmt::If(conditional) => {
                    let elifs = conditional.elif_else_clauses.iter().map(|clause| &clause.body);
                    std::iter::once(&conditional.body).chain(elifs).any(|body| is_after_return(body, range))
                }
                _ => bodies(statement).into_iter().any(|body| is_after_return(body, range)),
            };
        }
        if let Stmt::If(conditional) = statement
            && conditional.range().end() <= range.start()
            && matches!(conditional.body.last(), Some(Stmt::Return(_)))
            && reads_state(&conditional.test)
        {
            return true;
        }
    }
    false
}

/// Returns whether an expression reads an attribute of `self`.
fn reads_state(expression: &Expr) -> bool {
    match expression {
        Expr::Attribute(attribute) => {
            attribute.value.as_name_expr().is_some_and(|name| name.id.as_str() == "self")
                || reads_state(&attribute.value)
        }
        Expr::UnaryOp(operation) => reads_state(&operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().any(reads_state),
        Expr::Compare(compare) => reads_state(&compare.left) || compare.comparators.iter().any(reads_state),
        _ => false,
    }
}

pub(super) fn bodies(statement: &Stmt) -> Vec<&[Stmt]> {
    match statement {
        Stmt::For(inner) => vec![&inner.body, &inner.orelse],
        Stmt::While(inner) => vec![&inner.body, &inner.orelse],
        Stmt::With(inner) => vec![&inner.body],
        Stmt::Try(inner) => vec![&inner.body, &inner.orelse, &inner.finalbody],
        _ => Vec::new(),
    }
}

fn is_outside_graph(ctx: &FunctionContext, range: TextRange) -> bool {
    let cfg = &ctx.flow.cfg;
    let Some(mut inner) = cfg.statement_around(range) else { return false };
    while let Some(outer) = cfg.statement(inner).and_then(|statement| statement.parent) {
        let in_body = cfg.block(outer, BlockKind::Body).is_some_and(|body| body.contains(inner));
        let is_outside_graph = match cfg.statement(outer).map(|statement| (statement.kind, statement.range)) {
            Some((StatementKind::Try, _)) => true,
            Some((StatementKind::With, range)) => {
                ctx.text(range).lines().next().is_some_and(|head| head.contains("init_scope"))
            }
            _ => false,
        };
        if is_outside_graph && in_body {
            return true;
        }
        inner = outer;
    }
    false
}
