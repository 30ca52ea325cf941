//! Determines whether each trace of a `tf.function`, or each call of a layer, evaluates the calls that lead from it to
//! another function.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::every_trace::Evaluated;
use crate::FunctionContext;
use crate::callers;
use ag_db::Db;
use ag_index::dialect::RootKind;
use ag_index::index::{FunctionId, file_index};
use ag_syntax::expressions;

/// Returns how certainly each trace of a `tf.function` evaluates the calls that lead from it to this function; `None`
/// if a trace may skip one of them. `Repeatedly` means that one of these calls is in a loop, which may have no
/// iterations: `for layer in self.layers: x = layer(x)`.
pub(super) fn in_every_trace(ctx: &FunctionContext) -> Option<Evaluated> {
    in_every_call(ctx, &|root, _| root == RootKind::Function)
}

/// Returns how certainly each call of a Keras layer evaluates the calls that lead from its method `call` to this
/// function, in the same form. Keras calls `build` once.
pub(super) fn in_every_call_of_layer(ctx: &FunctionContext) -> Option<Evaluated> {
    if ctx.root().is_some() || ctx.def().name.as_str() == "build" {
        return None;
    }
    in_every_call(ctx, &|root, name| root == RootKind::KerasMethod && name == "call")
}

/// `is_root`: whether a root of this kind and name is traced as a whole.
fn in_every_call(ctx: &FunctionContext, is_root: &dyn Fn(RootKind, &str) -> bool) -> Option<Evaluated> {
    if is_wrapped(ctx.db, FunctionId::new(ctx.db, ctx.document, ctx.path.clone())) {
        return None;
    }
    let mut evaluated = Evaluated::Always;
    for call in callers::of(ctx) {
        let def = call.ast.def();
        let is_call = expressions::at(def, call.range).is_some_and(Expr::is_call_expr);
        if !is_call {
            return None;
        }
        evaluated = evaluated.max(evaluates(&def.body, call.range)?);
        match call.stage.map(|stage| stage.root) {
            Some(Some(root)) => return is_root(root, &def.name).then_some(evaluated),
            Some(None) if !is_wrapped(ctx.db, call.function) => {}
            _ => return None,
        }
    }
    None
}

/// Returns whether the function has a decorator that may skip calls of it: `@once`, `@functools.cache`.
#[salsa::tracked(returns(copy))]
fn is_wrapped<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> bool {
    let index = file_index(db, function.document(db));
    let signature =
        index.definitions.find(function.path(db)).and_then(|(function, _)| index.signatures.get(function));
    signature.is_none_or(|signature| {
        let calls_each_time =
            |name: &Name| matches!(name.as_str(), "staticmethod" | "classmethod" | "do_not_convert");
        !signature.decorators.iter().all(calls_each_time)
    })
}

/// Returns how certainly a body evaluates the expression at `range`; `None` if the body may skip the expression. The
/// expression must be in a simple statement that is in no compound statement other than `with` and `for`, and no
/// statement before it may leave the function.
fn evaluates(body: &[Stmt], range: TextRange) -> Option<Evaluated> {
    for statement in body {
        let within = statement.range().contains_range(range);
        match statement {
            Stmt::With(node) if within => return evaluates(&node.body, range),
            Stmt::For(node) if node.iter.range().contains_range(range) => {
                return (!is_conditional(statement, range)).then_some(Evaluated::Always);
            }
            Stmt::For(node) if node.body.iter().any(|inner| inner.range().contains_range(range)) => {
                return evaluates(&node.body, range).and(Some(Evaluated::Repeatedly));
            }
            Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) | Stmt::Return(_)
                if within =>
            {
                return (!is_conditional(statement, range)).then_some(Evaluated::Always);
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) if !within => {}
            Stmt::With(_) | Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) => {}
            Stmt::For(_) | Stmt::Import(_) | Stmt::ImportFrom(_) if !within => {}
            _ => return None,
        }
    }
    None
}

/// Returns whether `range` is in an expression that may not be evaluated.
fn is_conditional(statement: &Stmt, range: TextRange) -> bool {
    struct Around {
        range: TextRange,
        found: bool,
    }
    impl SourceOrderVisitor<'_> for Around {
        fn visit_expr(&mut self, expression: &Expr) {
            if expression.range().contains_range(self.range) {
                self.found |= matches!(
                    expression,
                    Expr::If(_)
                        | Expr::BoolOp(_)
                        | Expr::Lambda(_)
                        | Expr::ListComp(_)
                        | Expr::SetComp(_)
                        | Expr::DictComp(_)
                        | Expr::Generator(_)
                );
                source_order::walk_expr(self, expression);
            }
        }
    }
    let mut around = Around { range, found: false };
    around.visit_stmt(statement);
    around.found
}
