//! A test of the dynamic shape that does not guard its branch against static shape errors.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::branches::condition;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::Db;
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_index::dialect::RootKind;
use ag_index::index::{FunctionId, file_index};
use ag_staging::construct::{Construct, ConstructNode};
use ag_staging::queries;
use ag_syntax::expressions::natural;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Finds staged `if` statements that test `tf.shape(x)`, `tf.size(x)` or `tf.rank(x)` and whose branches
    /// contain an item `x[4]` or a matrix product of `x` that is valid for some shapes only.
    ///
    /// ## Why is this bad?
    /// Both branches are traced. If the shape of `x` is known while tracing, TensorFlow checks the item and the
    /// product against it, even in a branch that would not be taken. `x.shape` is a Python value: a test of it
    /// is decided before the branches are traced. If the shape is *not* known while tracing, the code is correct,
    /// so the severity is info. It is a warning for an argument of a `tf.function` that eager code of the same file
    /// calls: without `input_signature`, the shape is that of the Tensor that is passed.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def fifth(x: tf.Tensor):
    ///     if tf.shape(x)[0] > 4:
    ///         return x[4]
    ///     return x[0]
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def fifth(x: tf.Tensor):
    ///     if x.shape[0] > 4:
    ///         return x[4]
    ///     return x[0]
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > slice index 4 of dimension 0 out of bounds.
    pub(crate) static STATIC_SHAPE_GUARD = {
        code: "AG112", name: "static-shape-guard",
        summary: "a test of `tf.shape(x)` does not guard its branch while tracing",
        severity: Info, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, node) in ctx.staged() {
        let (ConstructNode::If(..), Some(test), Some((body, orelse))) = (node, node.test(), node.branches())
        else {
            continue;
        };
        let mut guarded = Guarded { ctx, names: Vec::new() };
        guarded.visit_expr(test);
        if guarded.names.is_empty() {
            continue;
        }
        let mut uses = Uses { ctx, names: guarded.names, found: Vec::new() };
        uses.visit_body(body);
        uses.visit_body(orelse.unwrap_or_default());
        for (range, name) in uses.found {
            report(ctx, construct, range, name);
        }
    }
}

fn report(ctx: &FunctionContext, construct: &Construct, range: TextRange, name: &str) {
    let condition = condition(ctx, construct);
    let (severity, message) = if has_static_shape(ctx, range, name) {
        (
            Severity::Warning,
            format!(
                "the shape of `{name}` is known while tracing, so this is checked even when {condition} does not hold"
            ),
        )
    } else {
        (
            Severity::Info,
            format!(
                "if the shape of `{name}` is known while tracing, this is checked even when {condition} does not hold"
            ),
        )
    };
    ctx.report(&STATIC_SHAPE_GUARD, range, message)
        .severity(severity)
        .why(construct.why.clone())
        .help(format!("if the shape is static, test `{name}.shape`, which is evaluated while tracing"))
        .emit();
}

/// Returns whether a name is an argument of a `tf.function` that eager code calls. The shape of such an argument is
/// known while tracing.
fn has_static_shape(ctx: &FunctionContext, use_: TextRange, name: &str) -> bool {
    let definitions = ctx.flow.definitions_of(use_, &QName::from(&Name::new(name)));
    ctx.root() == Some(RootKind::Function)
        && !ctx.stage.options.input_signature
        && definitions.iter().all(|definition| matches!(definition.kind, DefKind::Parameter(_)))
        && is_called_by_eager_code(ctx.db, FunctionId::new(ctx.db, ctx.document, ctx.path.clone()))
}

/// Returns whether code of the same file that is not staged calls the function.
#[salsa::tracked(returns(copy))]
fn is_called_by_eager_code<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> bool {
    let document = function.document(db);
    let index = file_index(db, document);
    let Some((callee, _)) = index.definitions.find(function.path(db)) else { return false };
    let callers = index.calls.get(index.short_name(callee)).into_iter().flatten();
    callers.copied().any(|code| match index.function(code) {
        Some(caller) => queries::stage(db, FunctionId::new(db, document, caller.path.clone())).is_none(),
        None => true,
    })
}

/// The names whose dynamic shape a test uses.
struct Guarded<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    names: Vec<&'a str>,
}

impl<'a> SourceOrderVisitor<'a> for Guarded<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Some(function) = self.ctx.resolve(&call.func)
            && matches!(function.as_str(), "tensorflow.shape" | "tensorflow.size" | "tensorflow.rank")
        {
            let name = call.arguments.args.first().and_then(Expr::as_name_expr);
            self.names.extend(name.map(|name| name.id.as_str()));
        }
        source_order::walk_expr(self, expression);
    }
}

/// The items and matrix products of these names.
struct Uses<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    names: Vec<&'a str>,
    found: Vec<(TextRange, &'a str)>,
}

impl<'a> Uses<'_, 'a> {
    fn guarded(&self, expression: &'a Expr) -> Option<&'a str> {
        let name = expression.as_name_expr()?.id.as_str();
        self.names.contains(&name).then_some(name)
    }
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let name = match expression {
            // `x[0]` is valid for every non-empty dimension.
            Expr::Subscript(subscript) if is_nonzero_index(&subscript.slice) => {
                self.guarded(&subscript.value)
            }
            Expr::BinOp(ast::ExprBinOp { left, op: ast::Operator::MatMult, right, .. }) => {
                self.guarded(left).filter(|_| self.guarded(right).is_some())
            }
            Expr::Call(call) => match (self.ctx.resolve(&call.func).as_deref(), &*call.arguments.args) {
                (Some("tensorflow.matmul" | "tensorflow.linalg.matmul"), [left, right, ..]) => {
                    self.guarded(left).filter(|_| self.guarded(right).is_some())
                }
                _ => None,
            },
            _ => None,
        };
        self.found.extend(name.map(|name| (expression.range(), name)));
        source_order::walk_expr(self, expression);
    }
}

/// Returns whether an index is a literal greater than zero.
fn is_nonzero_index(index: &Expr) -> bool {
    match index {
        Expr::Tuple(tuple) => tuple.elts.iter().any(is_nonzero_index),
        other => natural(other).is_some_and(|index| index > 0),
    }
}
