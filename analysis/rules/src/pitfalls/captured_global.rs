//! A staged function reads a global number, flag or string that the program reassigns.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use crate::names::Names;
use ag_syntax::expressions;

declare_rule! {
    /// ## What it does
    /// Finds globals bound to a number, flag or string that a function of the file reassigns (`global name`)
    /// and that a `tf.function` of the file reads.
    ///
    /// ## Why is this bad?
    /// The value at the time of tracing becomes a constant of the graph. Assigning the global later has no
    /// effect, because it does not trigger retracing.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    /// rate = 0.1
    ///
    ///
    /// def cool():
    ///     global rate
    ///     rate = rate * 0.5
    ///
    ///
    /// @tf.function
    /// def step(x):
    ///     return x - rate * x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    /// rate = tf.Variable(0.1)
    ///
    ///
    /// def cool():
    ///     rate.assign(rate * 0.5)
    ///
    ///
    /// @tf.function
    /// def step(x):
    ///     return x - rate * x
    /// ```
    pub(crate) static CAPTURED_GLOBAL = {
        code: "AG405", name: "captured-global",
        summary: "a `tf.function` reads a Python global that the program reassigns",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: File(declared::is_likely, check),
    }
}

fn check(ctx: &FileContext) {
    if !ctx.imports.uses("tensorflow") {
        return;
    }
    let literals = literals(ctx.parsed.suite());
    if literals.is_empty() {
        return;
    }
    let mut changes =
        Changes { literals: &literals, declared: FxHashSet::default(), found: FxHashMap::default() };
    changes.visit_body(ctx.parsed.suite());
    if changes.found.is_empty() {
        return;
    }
    let mut seen = FxHashSet::default();
    for function in declared::functions(ctx) {
        let name = function.def.name.as_str();
        for def in ctx.program().with_helpers(function.def) {
            if seen.insert(def.range()) {
                reads(ctx, def, name, &changes.found);
            }
        }
    }
}

/// Returns the names that the module binds to literals only.
fn literals(body: &[Stmt]) -> FxHashSet<&str> {
    let mut literals = FxHashSet::default();
    let mut others = FxHashSet::default();
    for statement in body {
        let (targets, value) = match statement {
            Stmt::Assign(assign) => (assign.targets.as_slice(), Some(assign.value.as_ref())),
            Stmt::AnnAssign(assign) => {
                (std::slice::from_ref(assign.target.as_ref()), assign.value.as_deref())
            }
            _ => continue,
        };
        for name in targets.iter().filter_map(Expr::as_name_expr) {
            let is_literal = value.is_some_and(expressions::is_scalar_literal);
            if is_literal {
                literals.insert(name.id.as_str())
            } else {
                others.insert(name.id.as_str())
            };
        }
    }
    literals.retain(|name| !others.contains(name));
    literals
}

/// The assignments to globals inside functions.
struct Changes<'l, 'a> {
    literals: &'l FxHashSet<&'a str>,
    /// The names that the enclosing function declares `global`.
    declared: FxHashSet<&'a str>,
    found: FxHashMap<&'a str, TextRange>,
}

impl<'a> SourceOrderVisitor<'a> for Changes<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                let outer = std::mem::take(&mut self.declared);
                self.visit_body(&def.body);
                self.declared = outer;
            }
            Stmt::Global(global) => {
                let names = global.names.iter().map(|name| name.as_str());
                self.declared.extend(names.filter(|name| self.literals.contains(name)));
            }
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.changed(target)),
            Stmt::AugAssign(assign) => self.changed(&assign.target),
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, _expression: &'a Expr) {}
}

impl<'a> Changes<'_, 'a> {
    fn changed(&mut self, target: &'a Expr) {
        if let Some(name) = target.as_name_expr()
            && self.declared.contains(name.id.as_str())
        {
            self.found.entry(name.id.as_str()).or_insert(target.range());
        }
    }
}

/// Reports the first read of each reassigned global, in a function that `staged` is or calls.
fn reads(ctx: &FileContext, def: &ast::StmtFunctionDef, staged: &str, changed: &FxHashMap<&str, TextRange>) {
    let mut names = Names::of_body(&def.body);
    let parameters = def.parameters.iter().map(|parameter| parameter.name().as_str());
    names.bound.extend(parameters);
    let mut seen = FxHashSet::default();
    for name in names.read {
        let Some(change) = changed.get(name.id.as_str()) else { continue };
        if names.bound.contains(name.id.as_str()) || !seen.insert(&name.id) {
            continue;
        }
        ctx.report(
            &CAPTURED_GLOBAL,
            name.range(),
            format!(
                "`{}` becomes a constant of the graph: later assignments do not change the result of `{}`",
                name.id, staged
            ),
        )
        .label(ctx.span(*change), "assigned here")
        .help("make it a `tf.Variable`, or pass it as an argument")
        .emit();
    }
}
