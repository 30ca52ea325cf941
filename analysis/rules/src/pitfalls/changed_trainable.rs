//! `trainable` of Keras layers that changes after `fit` has compiled the training step.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::FileContext;
use crate::declare::declare_rule;
use crate::guards;
use crate::names::Names;
use ag_syntax::expressions::root;

declare_rule! {
    /// ## What it does
    /// Finds assignments to `trainable` of a model, or of layers with which the same code creates it, between two calls
    /// of `fit` or `train_on_batch`, without a call of `compile`.
    ///
    /// ## Why is this bad?
    /// The first `fit` traces the training step, which updates the variables that are trainable at this time. The second
    /// one uses the same step. A frozen layer is still trained, and an unfrozen one is not.
    ///
    /// ## Example
    /// ```python
    /// import keras
    /// import numpy as np
    ///
    /// base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8)])
    /// model = keras.Sequential([base, keras.layers.Dense(1)])
    /// model.compile("sgd", loss="mse")
    /// model.fit(np.ones((8, 4)), np.ones((8, 1)))
    /// base.trainable = False
    /// model.fit(np.ones((8, 4)), np.ones((8, 1)))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import keras
    /// import numpy as np
    ///
    /// base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8)])
    /// model = keras.Sequential([base, keras.layers.Dense(1)])
    /// model.compile("sgd", loss="mse")
    /// model.fit(np.ones((8, 4)), np.ones((8, 1)))
    /// base.trainable = False
    /// model.compile("sgd", loss="mse")
    /// model.fit(np.ones((8, 4)), np.ones((8, 1)))
    /// ```
    pub(crate) static CHANGED_TRAINABLE = {
        code: "AG422", name: "changed-trainable",
        summary: "`trainable` changes after `fit` has traced the training step",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Keras], fix: None,
        check: File(
            |index| ["fit", "train_on_batch"].iter().any(|name| index.calls.contains_key(*name)),
            check
        ),
    }
}

fn check(ctx: &FileContext) {
    let uses = |package: &str| ctx.imports.uses(package);
    let is_keras = uses("keras") || uses("tensorflow");
    if !is_keras || uses("torch") || uses("jax") || !ctx.text.contains(".trainable") {
        return;
    }
    for body in ctx.bodies() {
        let mut found = Vec::new();
        let mut models = Models::default();
        models.body(body, &mut found);
        for (change, model) in found {
            ctx.report(
                &CHANGED_TRAINABLE,
                change,
                format!("`{model}` trains with the step that was traced before `trainable` changed"),
            )
            .help(format!("call `{model}.compile` after changing `trainable`"))
            .emit();
        }
    }
}

/// What a sequence of statements has done with its models, by their names.
#[derive(Default)]
struct Models<'a> {
    /// The names that occur in the expression with which each name is created.
    parts: FxHashMap<&'a str, FxHashSet<&'a str>>,
    /// The models that have a training step, and the assignments to `trainable` after it was traced.
    trained: FxHashMap<&'a str, Vec<TextRange>>,
}

impl<'a> Models<'a> {
    fn body(&mut self, body: &'a [Stmt], found: &mut Vec<(TextRange, &'a str)>) {
        for statement in body {
            match statement {
                Stmt::Assign(assign) => match assign.targets.as_slice() {
                    [Expr::Name(name)] => {
                        self.expression(&assign.value, found);
                        let read = Names::of_expression(&assign.value).read;
                        self.trained.remove(name.id.as_str());
                        self.parts
                            .insert(name.id.as_str(), read.iter().map(|part| part.id.as_str()).collect());
                    }
                    [Expr::Attribute(target)] if is_change(assign) => {
                        self.changed(&target.value, assign.range());
                    }
                    _ => self.other(statement),
                },
                Stmt::Expr(node) => self.expression(&node.value, found),
                // `for layer in base.layers: layer.trainable = False`
                Stmt::For(node) if let Some(change) = changes_each(node) => self.changed(&node.iter, change),
                Stmt::With(node) => self.body(&node.body, found),
                _ => self.other(statement),
            }
        }
    }

    /// Follows a call of a method of a model.
    fn expression(&mut self, value: &'a Expr, found: &mut Vec<(TextRange, &'a str)>) {
        if let Expr::Call(call) = value
            && let Expr::Attribute(method) = &*call.func
            && let Expr::Name(model) = &*method.value
        {
            let model = model.id.as_str();
            match method.attr.as_str() {
                "fit" | "train_on_batch" => {
                    let changes = std::mem::take(self.trained.entry(model).or_default());
                    found.extend(changes.into_iter().map(|change| (change, model)));
                    return;
                }
                "evaluate" | "predict" | "summary" | "get_weights" | "count_params" => return,
                _ => {}
            }
        }
        self.forget(&Names::of_expression(value));
    }

    /// Forgets the models that a statement uses which is not followed. It may compile them.
    fn other(&mut self, statement: &'a Stmt) {
        self.forget(&Names::of_statement(statement));
    }

    fn forget(&mut self, names: &Names<'a>) {
        let is_used = |name: &str| names.read.iter().any(|read| read.id.as_str() == name);
        self.trained.retain(|name, _| !names.bound.contains(name) && !is_used(name));
    }

    /// Records an assignment to `trainable` of an object or of its layers.
    fn changed(&mut self, object: &'a Expr, change: TextRange) {
        let Some(root) = root(object) else { return };
        let (parts, trained) = (&self.parts, &mut self.trained);
        for (model, changes) in trained {
            if consists_of(parts, model, root) {
                changes.push(change);
            }
        }
    }
}

/// Returns whether the code creates a model from an object, directly or through other objects.
fn consists_of(parts: &FxHashMap<&str, FxHashSet<&str>>, model: &str, object: &str) -> bool {
    let mut queue = vec![model];
    let mut seen = FxHashSet::default();
    while let Some(name) = queue.pop() {
        if name == object {
            return true;
        }
        if seen.insert(name) {
            queue.extend(parts.get(name).into_iter().flatten());
        }
    }
    false
}

/// Returns whether a statement is `object.trainable = value`.
fn is_change(assign: &ast::StmtAssign) -> bool {
    let [Expr::Attribute(target)] = assign.targets.as_slice() else { return false };
    target.attr.as_str() == "trainable"
}

/// Returns the assignment to `trainable` of the target of a loop, if the loop does nothing else.
fn changes_each(node: &ast::StmtFor) -> Option<TextRange> {
    let target = node.target.as_name_expr()?;
    let mut change = None;
    let mut queue: Vec<&Stmt> = node.body.iter().collect();
    while let Some(statement) = queue.pop() {
        match statement {
            Stmt::Assign(assign) if is_change(assign) => {
                let [Expr::Attribute(changed)] = assign.targets.as_slice() else { return None };
                if changed.value.as_name_expr().is_none_or(|name| name.id != target.id) {
                    return None;
                }
                change = Some(assign.range());
            }
            Stmt::If(_) => queue.extend(guards::bodies(statement).into_iter().flatten()),
            _ => return None,
        }
    }
    change
}
