//! The argument of `tf.autograph.to_graph` is not a Python function.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use ag_index::index::FileIndex;

declare_rule! {
    /// ## What it does
    /// Finds `tf.autograph.to_graph(f)` and `to_code(f)` where `f` is a `tf.function` of the same file.
    ///
    /// ## Why is this bad?
    /// A `tf.function` is an object that wraps the Python function. AutoGraph needs the function's source,
    /// which the wrapper does not provide, and raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x):
    ///     return x * 2.0
    ///
    ///
    /// print(tf.autograph.to_code(doubled))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def doubled(x):
    ///     return x * 2.0
    ///
    ///
    /// print(tf.autograph.to_code(doubled.python_function))
    /// ```
    ///
    /// ## Fix safety
    /// Safe: the call raises without the fix.
    ///
    /// ## What TensorFlow reports
    /// > Cannot apply autograph to a function that doesn't expose a __code__ object. If this is a @tf.function, try
    /// > passing f.python_function instead.
    pub(crate) static CONVERTED_TWICE = {
        code: "AG016", name: "converted-twice",
        summary: "a `tf.function` instead of a Python function is passed to AutoGraph",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: Always,
        check: File(may_convert_twice, check),
    }
}

fn may_convert_twice(index: &FileIndex) -> bool {
    declared::is_likely(index) && ["to_graph", "to_code"].iter().any(|name| index.calls.contains_key(*name))
}

fn check(ctx: &FileContext) {
    if !ctx.imports.uses("tensorflow") {
        return;
    }
    let mut names = BoundNames::default();
    names.visit_body(ctx.parsed.suite());
    names.functions.retain(|name| !names.others.contains(name));
    let functions = declared::functions(ctx).into_iter().filter(|function| function.class.is_none());
    let decorated = functions.map(|function| function.def.name.as_str()).collect();
    Conversions { ctx, names: &names, decorated }.visit_body(ctx.parsed.suite());
}

/// The names of functions, and the names that the file binds in any other way.
#[derive(Default)]
struct BoundNames<'a> {
    functions: FxHashSet<&'a str>,
    others: FxHashSet<&'a str>,
}

impl<'a> StatementVisitor<'a> for BoundNames<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                if !self.functions.insert(def.name.as_str()) {
                    self.others.insert(def.name.as_str());
                }
                self.others.extend(def.parameters.iter().map(|parameter| parameter.name().as_str()));
            }
            Stmt::Assign(assign) => {
                self.others.extend(
                    assign.targets.iter().filter_map(Expr::as_name_expr).map(|name| name.id.as_str()),
                );
            }
            Stmt::For(node) => self.others.extend(node.target.as_name_expr().map(|name| name.id.as_str())),
            _ => {}
        }
        statement_visitor::walk_stmt(self, statement);
    }
}

struct Conversions<'c, 'a> {
    ctx: &'c FileContext<'a>,
    names: &'c BoundNames<'a>,
    decorated: FxHashSet<&'a str>,
}

impl SourceOrderVisitor<'_> for Conversions<'_, '_> {
    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Call(call) = expression {
            self.call(call);
        }
        source_order::walk_expr(self, expression);
    }
}

impl Conversions<'_, '_> {
    fn call(&self, call: &ast::ExprCall) {
        let converts = self.ctx.resolve(&call.func).is_some_and(|name| {
            matches!(name.as_str(), "tensorflow.autograph.to_graph" | "tensorflow.autograph.to_code")
        });
        let Some(Expr::Name(function)) = call.arguments.args.first().filter(|_| converts) else { return };
        let name = function.id.as_str();
        if !self.decorated.contains(name) || !self.names.functions.contains(name) {
            return;
        }
        self.ctx
            .report(
                &CONVERTED_TWICE,
                function.range(),
                format!("`{name}` is a `tf.function`, which AutoGraph cannot convert"),
            )
            .fix(
                ag_db::diagnostic::Applicability::Safe,
                format!("Pass `{name}.python_function`"),
                vec![ag_db::diagnostic::Edit::insert(function.end(), ".python_function")],
            )
            .emit();
    }
}
