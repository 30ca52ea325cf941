//! Lists and dictionaries that a `tf.function` receives as arguments and changes.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::DefKind;
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Finds `append`, `update`, `pop`, item assignments and other changes of a list or dictionary that is an argument
    /// of a `tf.function`.
    ///
    /// ## Why is this bad?
    /// The change would happen once, while the function is traced. TensorFlow compares the arguments before and after,
    /// and raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def step(x: tf.Tensor, history: list):
    ///     history.append(x)
    ///     return x * 2.0
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def step(x: tf.Tensor, history: list):
    ///     history = history + [x]
    ///     return x * 2.0, history
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > ValueError: step(x, history) should not modify its Python input arguments. Modifying a copy is allowed. The
    /// > following parameter(s) were modified: history
    pub(crate) static CHANGED_ARGUMENT = {
        code: "AG414", name: "changed-argument",
        summary: "a `tf.function` changes a list or dictionary that is an argument",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if ctx.root() != Some(RootKind::Function) {
        return;
    }
    let mut changes = Changes { ctx, found: Vec::new() };
    changes.visit_body(&ctx.def().body);
    for (name, range) in changes.found {
        // A change in a branch that Python decides may not happen.
        let is_certain = ctx.enclosing(range).next().is_none();
        let message = format!("`{}` is an argument: the `tf.function` may not change it", name.id);
        let mut report = ctx.report(&CHANGED_ARGUMENT, range, message).help("change a copy, and return it");
        if !is_certain {
            report = report.severity(ag_db::diagnostic::Severity::Warning);
        }
        report.emit();
    }
}

struct Changes<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    found: Vec<(&'a ast::ExprName, TextRange)>,
}

impl<'a> Changes<'_, 'a> {
    /// Reports a change of an object, if the object is an argument and a list or dictionary.
    fn object(&mut self, object: &'a Expr, range: TextRange, of_dictionaries: bool) {
        let Expr::Name(name) = object else { return };
        let ctx = self.ctx;
        let definitions = ctx.flow.definitions_of(object.range(), &QName::from(&name.id));
        let is_parameter = matches!(definitions.as_slice(), [definition] if matches!(definition.kind, DefKind::Parameter(_)));
        let parameters = &ctx.def().parameters;
        let is_variadic = [&parameters.vararg, &parameters.kwarg]
            .into_iter()
            .flatten()
            .any(|parameter| parameter.name.id == name.id);
        if !is_parameter || is_variadic {
            return;
        }
        let fact = ctx.python_fact(object);
        let is_container = !fact.unknown
            && !fact.alternatives.is_empty()
            && fact.alternatives.iter().all(|alternative| {
                matches!(alternative, Alternative::Container { class, .. } if matches!(class.as_str(), "list" | "dict"))
            });
        // The type of the parameter is unknown. But only lists have this method, or only dictionaries have a string as
        // a key.
        let is_assumed = of_dictionaries
            && ctx
                .parameter(&name.id)
                .is_none_or(|parameter| !matches!(parameter.source, Source::Annotation));
        if is_container || is_assumed {
            self.found.push((name, range));
        }
    }

    fn target(&mut self, target: &'a Expr) {
        if let Expr::Subscript(item) = target {
            self.object(&item.value, target.range(), item.slice.is_string_literal_expr());
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Changes<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.target(target)),
            Stmt::AugAssign(assign) => self.target(&assign.target),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.target(target)),
            Stmt::Expr(node) => {
                if let Expr::Call(call) = node.value.as_ref()
                    && let Expr::Attribute(method) = call.func.as_ref()
                {
                    let name = method.attr.as_str();
                    if matches!(
                        name,
                        "append" | "extend" | "insert" | "update" | "pop" | "clear" | "setdefault" | "remove"
                    ) {
                        self.object(&method.value, node.range(), matches!(name, "append" | "extend"));
                    }
                }
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if !expression.is_lambda_expr() {
            source_order::walk_expr(self, expression);
        }
    }
}
