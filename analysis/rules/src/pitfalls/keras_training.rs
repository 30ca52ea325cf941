//! Keras models that are trained before they are compiled, or without a loss.

use ruff_python_ast::{Expr, Stmt};
use rustc_hash::FxHashMap;

use crate::FileContext;
use crate::declare::declare_rule;
use crate::names::Names;
use ag_syntax::expressions;

declare_rule! {
    /// ## What it does
    /// Finds calls of `fit`, `evaluate` and `train_on_batch` on a model that the same code creates, if that code does
    /// not compile the model or compiles it without a loss.
    ///
    /// ## Why is this bad?
    /// `compile` sets the loss and the optimizer. Without them Keras raises.
    ///
    /// ## Example
    /// ```python
    /// import keras
    /// import numpy as np
    ///
    /// model = keras.Sequential([keras.layers.Dense(1)])
    /// model.fit(np.ones((4, 8)), np.ones((4, 1)))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import keras
    /// import numpy as np
    ///
    /// model = keras.Sequential([keras.layers.Dense(1)])
    /// model.compile(optimizer="adam", loss="mse")
    /// model.fit(np.ones((4, 8)), np.ones((4, 1)))
    /// ```
    ///
    /// ## What Keras reports
    /// ```text
    /// ValueError: You must call `compile()` before calling `fit()`.
    /// ValueError: No loss to compute. Provide a `loss` argument in `compile()`.
    /// ```
    pub(crate) static KERAS_TRAINING = {
        code: "AG418", name: "keras-training",
        summary: "a Keras model is trained without being compiled",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Keras], fix: None,
        check: File(
            |index| index.calls.contains_key("Sequential") && ["fit", "evaluate", "train_on_batch", "get_layer"].iter().any(|name| index.calls.contains_key(*name)),
            check
        ),
    }
}

fn check(ctx: &FileContext) {
    if !(ctx.imports.uses("keras") || ctx.imports.uses("tensorflow")) {
        return;
    }
    for body in ctx.bodies() {
        Scope { ctx, models: FxHashMap::default() }.body(body);
    }
}

/// The known state of a model after the calls so far.
#[derive(Clone, Copy)]
struct Model {
    is_compiled: bool,
    has_loss: bool,
    /// Whether a layer of the model may add a loss.
    may_add_loss: bool,
}

/// The models of a scope, by name. A model is removed once the code uses it in a way that is not followed.
struct Scope<'c, 'a> {
    ctx: &'c FileContext<'a>,
    models: FxHashMap<&'a str, Model>,
}

impl<'a> Scope<'_, 'a> {
    fn body(&mut self, body: &'a [Stmt]) {
        for statement in body {
            match statement {
                Stmt::Assign(assign) => {
                    let method = self.method(&assign.value);
                    if method.is_none() {
                        self.forget(&assign.value);
                    }
                    if let [Expr::Name(name)] = assign.targets.as_slice() {
                        self.models.remove(name.id.as_str());
                        self.models
                            .extend(self.created(&assign.value).map(|model| (name.id.as_str(), model)));
                    } else {
                        assign.targets.iter().for_each(|target| self.forget(target));
                    }
                }
                Stmt::Expr(node) => {
                    if self.method(&node.value).is_none() {
                        self.forget(&node.value);
                    }
                }
                Stmt::Return(node) => {
                    let value = node.value.as_deref();
                    value.map(|value| self.method(value));
                    return;
                }
                Stmt::With(node) => self.body(&node.body),
                other => {
                    let names = Names::of_statement(other);
                    self.forget_names(&names);
                }
            }
        }
    }

    fn forget(&mut self, expression: &'a Expr) {
        let names = Names::of_expression(expression);
        self.forget_names(&names);
    }

    fn forget_names(&mut self, names: &Names<'a>) {
        let is_used = |name: &str| names.read.iter().any(|read| read.id.as_str() == name);
        self.models.retain(|name, _| !names.bound.contains(name) && !is_used(name));
    }

    fn created(&self, value: &'a Expr) -> Option<Model> {
        let call = value.as_call_expr()?;
        let name = self.ctx.resolve(&call.func)?;
        let is_sequential = matches!(name.as_str(), "keras.Sequential" | "keras.models.Sequential");
        let layers = call.arguments.find_argument_value("layers", 0).map_or(&[][..], expressions::elements);
        let may_add_loss = layers.iter().any(|layer| self.may_add_loss(layer));
        is_sequential.then_some(Model { is_compiled: false, has_loss: false, may_add_loss })
    }

    /// Returns whether a layer may add a loss, because it is not a layer of Keras or has a regularizer.
    fn may_add_loss(&self, layer: &'a Expr) -> bool {
        let Some(call) = layer.as_call_expr() else { return true };
        let is_library = self.ctx.resolve(&call.func).is_some_and(|name| name.starts_with("keras."));
        !is_library || self.ctx.text(call).contains("regular")
    }

    /// Handles a call of a method of a model: `model.fit(…)`. Returns `None` early if the expression is not such a
    /// call.
    fn method(&mut self, expression: &'a Expr) -> Option<()> {
        let call = expression.as_call_expr()?;
        let method = call.func.as_attribute_expr()?;
        let name = method.value.as_name_expr()?.id.as_str();
        let mut model = *self.models.get(name)?;
        call.arguments.args.iter().for_each(|argument| self.forget(argument));
        call.arguments.keywords.iter().for_each(|keyword| self.forget(&keyword.value));
        let arguments = &call.arguments;
        let named = |name: &str| {
            arguments.find_keyword(name).is_some_and(|keyword| !keyword.value.is_none_literal_expr())
        };
        let is_open = arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
        match method.attr.as_str() {
            "compile" => {
                let loss = arguments.find_argument_value("loss", 1);
                let has_loss = loss.is_some_and(|loss| !loss.is_none_literal_expr()) || is_open;
                model = Model { is_compiled: true, has_loss, ..model };
            }
            "add" => {
                model.may_add_loss |= arguments.args.first().is_none_or(|layer| self.may_add_loss(layer));
            }
            "build" | "summary" | "predict" => {}
            called @ ("fit" | "evaluate" | "train_on_batch" | "test_on_batch") => {
                let compile = "call `compile` with an optimizer and a loss first";
                let (message, help) = if !model.is_compiled {
                    (format!("`{name}` is not compiled: `{called}` raises"), compile)
                } else if !model.has_loss
                    && !model.may_add_loss
                    && called != "evaluate"
                    && called != "test_on_batch"
                {
                    (format!("`{name}` is compiled without a loss: `{called}` raises"), compile)
                } else if called == "train_on_batch" && named("sample_weight") && named("class_weight") {
                    (format!("`{called}` takes either `sample_weight` or `class_weight`"), "pass one of them")
                } else {
                    self.models.insert(name, model);
                    return Some(());
                };
                self.ctx.report(&KERAS_TRAINING, expression, message).help(help).emit();
                self.models.remove(name);
                return Some(());
            }
            "get_layer" => {
                let given = arguments.len();
                if !is_open && (given == 0 || given == 2) {
                    let message = "`get_layer` takes either a name or an index".to_owned();
                    self.ctx.report(&KERAS_TRAINING, expression, message).help("pass one of them").emit();
                }
            }
            _ => {
                self.models.remove(name);
                return Some(());
            }
        }
        self.models.insert(name, model);
        Some(())
    }
}
