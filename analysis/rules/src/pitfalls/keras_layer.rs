//! Definitions of Keras layers, models and metrics that Keras rejects when they are used.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use super::keras_ranks;
use crate::FileContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::Severity;
use ag_syntax::{expressions, statements};

declare_rule! {
    /// ## What it does
    /// Finds classes derived from `keras.layers.Layer`, `keras.Model` or `keras.metrics.Metric` that Keras rejects when
    /// they are used:
    ///
    /// - `__init__` does not call `super().__init__()`
    /// - a model assigns `self.layers`, or has a `forward` and no `call`
    ///
    /// Code that Keras 3 rejects and Keras 2 accepts is a warning, or info in files that use `tf.keras`, where the
    /// version of Keras is unknown:
    ///
    /// - `call` creates a layer and keeps it in `self`, or adds a weight
    /// - calls of `add_weight`, `add_metric` and `super().__init__` with arguments of Keras 2
    /// - several parameters of `build` that are not named after the parameters of `call`
    /// - a number or bool as a positional argument of a layer
    ///
    /// If `call` creates a layer and does not store it, the layer has new weights in each trace. This is a warning,
    /// too.
    ///
    /// ## Why is this bad?
    /// Keras raises at the first call. That call often happens while `fit` traces the model, so the error is reported
    /// far away from the class.
    ///
    /// ## Example
    /// ```python
    /// import keras
    ///
    ///
    /// class Scale(keras.layers.Layer):
    ///     def call(self, x):
    ///         self.dense = keras.layers.Dense(4)
    ///         return self.dense(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import keras
    ///
    ///
    /// class Scale(keras.layers.Layer):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.dense = keras.layers.Dense(4)
    ///
    ///     def call(self, x):
    ///         return self.dense(x)
    /// ```
    ///
    /// ## What Keras reports
    /// ```text
    /// ValueError: You cannot add new elements of state (variables or sub-layers) to a layer that is already built.
    /// RuntimeError: In layer 'Scale', you forgot to call `super().__init__()` as the first statement.
    /// ```
    pub(crate) static KERAS_LAYER = {
        code: "AG417", name: "keras-layer",
        summary: "a Keras layer, model or metric that raises when it is used",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Keras], fix: None,
        check: File(|index| index.derives_from_keras, check),
    }
}

fn check(ctx: &FileContext) {
    if keras_ranks::is_keras2(ctx) {
        return;
    }
    for class in &ctx.program().classes {
        if let Some(base) = Base::of(ctx, class) {
            Class { ctx, base, class }.check();
        }
    }
}

/// The class from which a class is derived.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Layer,
    /// A layer of the Keras library.
    Library,
    Model,
    Metric,
}

impl Base {
    fn of(ctx: &FileContext, class: &ast::StmtClassDef) -> Option<Self> {
        let [base] = class.bases() else { return None };
        match ctx.resolve(base)?.as_str() {
            "keras.Layer" | "keras.layers.Layer" => Some(Self::Layer),
            "keras.Model" | "keras.models.Model" => Some(Self::Model),
            "keras.Metric" | "keras.metrics.Metric" => Some(Self::Metric),
            name => keras_ranks::is_layer(name).then_some(Self::Library),
        }
    }
}

struct Class<'c, 'a> {
    ctx: &'c FileContext<'a>,
    base: Base,
    class: &'a ast::StmtClassDef,
}

impl<'a> Class<'_, 'a> {
    fn methods(&self) -> impl Iterator<Item = &'a ast::StmtFunctionDef> {
        self.class.body.iter().filter_map(Stmt::as_function_def_stmt)
    }

    fn method(&self, name: &str) -> Option<&'a ast::StmtFunctionDef> {
        self.methods().find(|def| def.name.as_str() == name)
    }

    fn check(&self) {
        self.constructor();
        if self.base == Base::Metric {
            return;
        }
        if self.base == Base::Model {
            self.model();
        }
        self.build();
        let layers = self.layers();
        for def in self.methods() {
            Calls { class: self, layers: &layers }.visit_body(&def.body);
        }
        if let Some(call) = self.method("call").filter(|call| call.decorator_list.is_empty()) {
            self.creations(call);
            if self.base != Base::Model {
                self.results(call);
            }
        }
    }

    /// Reports `super().__init__(units=4)` in a class derived from `Layer` itself.
    fn options(&self, init: &'a ast::StmtFunctionDef) {
        const LAYER_ARGUMENTS: [&str; 9] = [
            "activity_regularizer",
            "trainable",
            "dtype",
            "autocast",
            "name",
            "input_dim",
            "input_shape",
            "batch_size",
            "batch_input_shape",
        ];
        const KERAS2_ARGUMENTS: [&str; 3] = ["dynamic", "weights", "implementation"];
        for call in expressions::of_function(init).into_iter().filter_map(Expr::as_call_expr) {
            let Expr::Attribute(method) = call.func.as_ref() else { continue };
            let is_super = method
                .value
                .as_call_expr()
                .is_some_and(|call| call.func.as_name_expr().is_some_and(|name| name.id.as_str() == "super"));
            if !is_super || method.attr.as_str() != "__init__" {
                continue;
            }
            let names = call.arguments.keywords.iter().filter_map(|keyword| keyword.arg.as_ref());
            if let Some(name) = names.into_iter().find(|name| !LAYER_ARGUMENTS.contains(&name.as_str())) {
                let in_keras2 = KERAS2_ARGUMENTS.contains(&name.as_str());
                self.report(name, format!("`Layer.__init__` of Keras 3 has no argument `{name}`"))
                    .help("keep the value in an attribute")
                    .severity(if in_keras2 { self.of_keras3() } else { Severity::Error })
                    .emit();
            }
        }
    }

    /// Returns whether another class of the file has this class and others as bases. `super()` in this class may then
    /// refer to one of the others:
    ///
    /// ```python
    /// class Readout(Scaled, keras.layers.Dense):    # `super().__init__(units=4)` of `Scaled` calls that of `Dense`
    /// ```
    fn is_mixed_in(&self) -> bool {
        let is_this = |base: &Expr| base.as_name_expr().is_some_and(|name| name.id == self.class.name.id);
        let mut classes = self.ctx.program().classes.iter();
        classes.any(|class| class.bases().len() > 1 && class.bases().iter().any(is_this))
    }

    /// Reports `__init__` without `super().__init__()`.
    fn constructor(&self) {
        let Some(init) = self.method("__init__") else { return };
        if self.base == Base::Layer && !self.is_mixed_in() {
            self.options(init);
        }
        let is_abstract = matches!(init.body.last(), Some(Stmt::Raise(_)));
        // `Layer.__init__(self)` is a call, too. `self.__dict__.update(…)` copies what the constructor of another layer
        // has set.
        let expressions = expressions::of_function(init);
        let calls = expressions.iter().any(|expression| match expression {
            Expr::Name(name) => name.id.as_str() == "super",
            Expr::Attribute(attribute) => matches!(attribute.attr.as_str(), "__init__" | "__dict__"),
            _ => false,
        });
        // Keras notices the missing call in its own `__call__`. A class with `def __call__(self, x)` replaces this
        // method.
        let replaces_call = self.base == Base::Layer && self.method("__call__").is_some();
        if calls || is_abstract || replaces_call {
            return;
        }
        let uses = match self.base {
            // A metric needs its constructor only for `add_weight`, which checks that the constructor ran.
            Base::Metric => expressions
                .iter()
                .any(|it| matches!(attribute_of_self(it), Some("add_weight" | "add_variable"))),
            _ => true,
        };
        if uses {
            let message = format!("`{}.__init__` does not call `super().__init__()`", self.class.name);
            self.report(&init.name, message).help("call `super().__init__()` first").emit();
        }
    }

    fn model(&self) {
        let defines = |name: &str| self.method(name).is_some();
        for def in self.methods().filter(|_| !defines("layers")) {
            for statement in statements::of_function(def) {
                let Stmt::Assign(assign) = statement else { continue };
                let assigned =
                    assign.targets.iter().find(|target| attribute_of_self(target) == Some("layers"));
                if let Some(target) = assigned {
                    self.report(target, "Keras reserves the attribute `layers` of a model".to_owned())
                        .help("use another name")
                        .emit();
                }
            }
        }
        let is_called =
            ["call", "__call__", "train_step", "test_step", "predict_step"].iter().any(|name| defines(name));
        let builds_graph =
            self.method("__init__").is_some_and(|init| self.ctx.text(init).contains("outputs"));
        if let Some(forward) = self.method("forward").filter(|_| !is_called && !builds_graph) {
            let message = format!("`{}` has no `call` method, which Keras requires", self.class.name);
            self.report(&forward.name, message).help("rename it `call`").severity(Severity::Warning).emit();
        }
    }

    /// Reports parameters of `build` that are not named after those of `call`. They should be named as in
    /// `build(self, left_shape, right_shape)` and `call(self, left, right)`.
    fn build(&self) {
        let (Some(build), Some(call)) = (self.method("build"), self.method("call")) else { return };
        let shapes = build.parameters.args.get(1..).unwrap_or_default();
        let is_plain = |def: &ast::StmtFunctionDef| {
            def.parameters.vararg.is_none() && def.parameters.kwarg.is_none() && def.decorator_list.is_empty()
        };
        if shapes.len() < 2
            || shapes.iter().any(|shape| shape.default.is_some())
            || !is_plain(build)
            || !is_plain(call)
            || self.is_built_explicitly(shapes.len())
        {
            return;
        }
        let arguments: Vec<&str> =
            call.parameters.iter().map(|parameter| parameter.name().as_str()).collect();
        for shape in shapes {
            let name = shape.parameter.name.as_str();
            if name.strip_suffix("_shape").is_none_or(|argument| !arguments.contains(&argument)) {
                let message = format!("Keras cannot match `{name}` of `build` with a parameter of `call`");
                self.report(&shape.parameter, message)
                    .help("name it after a parameter of `call`, followed by `_shape`")
                    .severity(self.of_keras3())
                    .emit();
                return;
            }
        }
    }

    /// Returns whether the file itself calls `build` with this number of shapes. The layer is then built before Keras
    /// calls it, so Keras does not match the parameters of `build` with those of `call`:
    ///
    /// ```python
    /// def build(self, x_shape, context_shape):
    ///     self.block.build(x_shape, context_shape)
    /// ```
    fn is_built_explicitly(&self, shapes: usize) -> bool {
        self.ctx.program().calls.iter().any(|site| {
            let Expr::Attribute(method) = &*site.node.func else { return false };
            let is_super = method
                .value
                .as_call_expr()
                .is_some_and(|call| call.func.as_name_expr().is_some_and(|name| name.id.as_str() == "super"));
            method.attr.as_str() == "build" && !is_super && site.node.arguments.len() == shapes
        })
    }

    /// Returns the attributes that the methods of the class bind exactly once, each with the layer of Keras that it is
    /// bound to.
    fn layers(&self) -> FxHashMap<&'a str, &'a Expr> {
        let mut layers = FxHashMap::default();
        let mut others = Vec::new();
        for def in self.methods() {
            for statement in statements::of_function(def) {
                let Stmt::Assign(assign) = statement else { continue };
                for name in assign.targets.iter().filter_map(attribute_of_self) {
                    let class = assign.value.as_call_expr().and_then(|call| self.ctx.resolve(&call.func));
                    let is_layer = class.is_some_and(|class| {
                        keras_ranks::is_layer(&class)
                            && !keras_ranks::takes_python_values(class.rsplit('.').next().unwrap_or_default())
                    });
                    if !is_layer || layers.insert(name, &*assign.value).is_some() {
                        others.push(name);
                    }
                }
            }
        }
        layers.retain(|name, _| !others.contains(name));
        layers
    }

    /// Reports layers and weights that each call creates, in `call` and in the methods that `call` certainly calls.
    fn creations(&self, call: &'a ast::StmtFunctionDef) {
        let mut called = vec![call];
        let mut at = 0;
        while let Some(method) = called.get(at).copied() {
            at += 1;
            self.creations_in(&method.body, &mut FxHashMap::default(), &mut called);
        }
    }

    /// Reports the layers and weights that these statements of `call` create. `local` has the layers in local
    /// variables. Adds the methods that the statements call to `called`. Returns whether each call also evaluates the
    /// code after these statements.
    fn creations_in(
        &self,
        body: &'a [Stmt],
        local: &mut FxHashMap<&'a str, &'a Expr>,
        called: &mut Vec<&'a ast::StmtFunctionDef>,
    ) -> bool {
        for statement in body {
            let value = match statement {
                Stmt::Assign(assign) => {
                    if let [target] = assign.targets.as_slice()
                        && let Some(made) = self.new_layer(&assign.value)
                    {
                        if attribute_of_self(target).is_some() {
                            let message =
                                "`call` adds a layer to `self` after the layer was built, which raises";
                            self.report(target, message.to_owned())
                                .help("create it in `__init__` or `build`")
                                .severity(self.of_keras3())
                                .emit();
                        } else if let Some(name) = target.as_name_expr() {
                            local.insert(name.id.as_str(), made);
                        }
                    }
                    Some(&*assign.value)
                }
                Stmt::Return(node) => node.value.as_deref(),
                Stmt::Expr(node) => Some(&*node.value),
                // A loop over the parts of a layer usually has at least one iteration.
                Stmt::With(ast::StmtWith { body, .. }) | Stmt::For(ast::StmtFor { body, .. }) => {
                    if !self.creations_in(body, local, called) {
                        return false;
                    }
                    None
                }
                Stmt::AugAssign(_) | Stmt::AnnAssign(_) => None,
                _ => return false,
            };
            let mut made = Made { class: self, local: &*local, found: Vec::new(), called: Vec::new() };
            value.into_iter().for_each(|value| made.visit_expr(value));
            for method in made.called {
                if !called.iter().any(|known| known.range() == method.range()) {
                    called.push(method);
                }
            }
            for (range, is_weight) in made.found {
                if is_weight {
                    let message = "`call` adds a weight after the layer was built, which raises".to_owned();
                    self.report(range, message).help("add it in `build`").severity(self.of_keras3()).emit();
                } else {
                    let message = format!(
                        "`{}` has new weights whenever `call` runs or is traced",
                        self.ctx.text(range)
                    );
                    self.report(range, message)
                        .help("create the layer in `__init__`")
                        .severity(Severity::Warning)
                        .emit();
                }
            }
            if matches!(statement, Stmt::Return(_)) {
                return false;
            }
        }
        true
    }

    /// Reports an output that is not a tensor: `return {"x": x, "name": "text"}`.
    fn results(&self, call: &'a ast::StmtFunctionDef) {
        let Some(Stmt::Return(node)) = call.body.last() else { return };
        let parts: Vec<&Expr> = match node.value.as_deref() {
            Some(Expr::Tuple(tuple)) => tuple.elts.iter().collect(),
            Some(Expr::List(list)) => list.elts.iter().collect(),
            Some(Expr::Dict(dict)) => dict.items.iter().map(|item| &item.value).collect(),
            _ => return,
        };
        if let Some(text) = parts.into_iter().find(|part| part.is_string_literal_expr()) {
            self.report(text, "`call` returns a string, which raises in a functional model".to_owned())
                .help("return tensors only")
                .severity(Severity::Warning)
                .emit();
        }
    }

    /// Returns the call that creates a new layer with weights.
    fn new_layer(&self, value: &'a Expr) -> Option<&'a Expr> {
        let class = self.ctx.resolve(&value.as_call_expr()?.func)?;
        keras_ranks::has_weights(class.strip_prefix("keras.layers.")?).then_some(value)
    }

    /// Returns the severity of code that Keras 3 rejects and Keras 2 accepts.
    fn of_keras3(&self) -> Severity {
        keras_ranks::severity_of_keras3(self.ctx)
    }

    fn report(&self, node: impl Ranged, message: String) -> crate::context::Report<'_> {
        self.ctx.report(&KERAS_LAYER, node, message)
    }
}

/// Returns `name` for `self.name`.
fn attribute_of_self(expression: &Expr) -> Option<&str> {
    let attribute = expression.as_attribute_expr()?;
    (attribute.value.as_name_expr()?.id.as_str() == "self").then_some(attribute.attr.as_str())
}

/// Finds calls of new layers and of `self.add_weight` that an expression certainly evaluates.
struct Made<'c, 'a> {
    class: &'c Class<'c, 'a>,
    local: &'c FxHashMap<&'a str, &'a Expr>,
    found: Vec<(&'a Expr, bool)>,
    /// The methods of the class that the expression calls.
    called: Vec<&'a ast::StmtFunctionDef>,
}

impl<'a> SourceOrderVisitor<'a> for Made<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_)
            | Expr::If(_)
            | Expr::BoolOp(_)
            | Expr::ListComp(_)
            | Expr::DictComp(_)
            | Expr::SetComp(_)
            | Expr::Generator(_) => return,
            Expr::Call(call) => match call.func.as_ref() {
                made @ Expr::Call(_) if self.class.new_layer(made).is_some() => {
                    self.found.push((made, false))
                }
                Expr::Name(name) => {
                    self.found.extend(self.local.get(name.id.as_str()).map(|made| (*made, false)));
                }
                callee
                    if attribute_of_self(callee) == Some("add_weight")
                        && self.class.method("add_weight").is_none() =>
                {
                    self.found.push((expression, true));
                }
                callee => {
                    let method =
                        attribute_of_self(callee).filter(|name| !matches!(*name, "build" | "__init__"));
                    let method = method.and_then(|name| self.class.method(name));
                    self.called.extend(method.filter(|def| def.decorator_list.is_empty()));
                }
            },
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}

/// Checks calls of the methods that a layer inherits, and calls of its sublayers.
struct Calls<'c, 'a> {
    class: &'c Class<'c, 'a>,
    layers: &'c FxHashMap<&'a str, &'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Calls<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Some(name) = attribute_of_self(&call.func)
            && self.class.method(name).is_none()
        {
            let first = call.arguments.args.first();
            let report = |node: &Expr, message: String| self.class.report(node, message);
            match (name, first) {
                ("add_weight", Some(first @ Expr::StringLiteral(_))) => {
                    report(
                        expression,
                        format!(
                            "the first argument of `add_weight` is the shape in Keras 3, not {}",
                            self.class.ctx.text(first)
                        ),
                    )
                    .help("pass `name=` by keyword")
                    .severity(self.class.of_keras3())
                    .emit();
                }
                ("add_metric", Some(_)) => {
                    report(expression, "Keras 3 has no `add_metric`: it raises".to_owned())
                        .help("create the metric in `__init__` and update it in `call`")
                        .severity(self.class.of_keras3())
                        .emit();
                }
                ("add_loss", Some(Expr::StringLiteral(_))) => {
                    report(expression, "`add_loss` takes a tensor".to_owned())
                        .help("compute the loss")
                        .emit();
                }
                _ if self.layers.contains_key(name) => {
                    let number = call.arguments.args.iter().skip(1).find(|argument| {
                        matches!(
                            argument,
                            Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::StringLiteral(_)
                        )
                    });
                    if let Some(number) = number {
                        let text = self.class.ctx.text(number);
                        let message = format!(
                            "Keras 3 takes only tensors as positional arguments of a layer, not `{text}`"
                        );
                        report(expression, message)
                            .help("pass it by keyword, as in `training=True`")
                            .severity(self.class.of_keras3())
                            .emit();
                    }
                }
                _ => {}
            }
        }
        source_order::walk_expr(self, expression);
    }
}
