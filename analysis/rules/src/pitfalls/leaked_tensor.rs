//! A Tensor of one graph is stored where a later trace reads it.

use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::callers;
use crate::declare::declare_rule;
use crate::hashing;
use crate::outliving;
use crate::pitfalls::{eager_reads, object_state};
use ag_flow::Cfg;
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_index::facts::{Alternative, Fact, TensorKind};
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_staging::queries;
use ag_syntax::qname::QName;
use ag_syntax::{expressions, statements};

declare_rule! {
    /// ## What it does
    /// Finds Tensors that a staged function stores beyond the end of the call:
    ///
    /// - an attribute of `self` from which the function also reads the value stored by an earlier call:
    ///   `self.level = 0.9 * self.level + 0.1 * x`, also in `call` of a Keras layer and in methods that traced code calls
    /// - an item of a dictionary or list in an attribute of `self` from which the function also reads
    /// - an attribute of `self` that eager code of the file converts to a number or an array: `float(monitor.worst)`
    /// - a `global` or `nonlocal` name
    /// - an item appended to a list from outside the function, also in `train_step` of a Keras model
    /// - what the program uses after the trace, as far as its evaluation shows it: in containers of other objects, in
    ///   attributes of classes, in caches of functions
    ///
    /// ## Why is this bad?
    /// While a function is traced its Tensors are symbolic and belong to one graph. The stored object is such a
    /// symbolic Tensor, not a value. Using it in a later trace or in eager code raises, far from the code that stored
    /// it. After tracing, calls of the function no longer store anything.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Momentum:
    ///     def __init__(self):
    ///         self.last = None
    ///
    ///     @tf.function
    ///     def step(self, x: tf.Tensor):
    ///         if self.last is not None:
    ///             x = x + 0.9 * self.last
    ///         self.last = x
    ///         return x
    /// ```
    ///
    /// ## Use instead
    /// Keep state that outlives a call in a Variable.
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Momentum:
    ///     def __init__(self):
    ///         self.last = tf.Variable(0.0)
    ///
    ///     @tf.function
    ///     def step(self, x: tf.Tensor):
    ///         x = x + 0.9 * self.last
    ///         self.last.assign(x)
    ///         return x
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > <tf.Tensor 'x:0' shape=(1,) dtype=float32> is out of scope and cannot be used here. Use return values, explicit
    /// > Python locals or TensorFlow collections to access it.
    pub(crate) static LEAKED_TENSOR = {
        code: "AG404", name: "leaked-tensor",
        summary: "a Tensor is stored beyond the lifetime of its graph",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: None,
        check: Function(check),
    }
}

const HELP: &str = "store state in a `tf.Variable`, or return the Tensor";

fn check(ctx: &FunctionContext) {
    check_places(ctx);
    for leak in outliving::arrays(ctx, LEAKED_TENSOR.code) {
        let (place, user) = (leak.place, leak.user);
        let message =
            format!("{place} stores a symbolic Tensor of this graph: `{user}` uses it outside of the graph");
        ctx.report(&LEAKED_TENSOR, leak.at, message).why(ctx.why(leak.value)).help(HELP).emit();
    }
}

/// Finds Tensors by the types of the places where they are stored.
fn check_places(ctx: &FunctionContext) {
    // A Tensor that is stored and read in the same graph does not leak. Every root and the training step of a Keras
    // model have a graph of their own. The other methods of Keras run as part of such a graph.
    let is_part = matches!(
        ctx.root(),
        None | Some(RootKind::KerasMethod | RootKind::KerasFunction | RootKind::Configured)
    );
    let helps = helps_on_same_object(ctx);
    let is_part = is_part && !is_step(ctx) && !helps;
    let runs_often = ctx.root().is_none_or(|root| root == RootKind::KerasMethod);
    if is_part && (!runs_often || ctx.creates_objects()) {
        return;
    }
    let receiver = ctx.stage.parameters.iter().find(|parameter| parameter.source == Source::Receiver);
    let stores = Stores { ctx, helps, is_part, receiver: receiver.map(|parameter| parameter.name.as_str()) };
    for statement in statements::of_function(ctx.def()) {
        match statement {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| stores.assigned(target, &assign.value))
            }
            Stmt::AugAssign(assign) => stores.assigned(&assign.target, &assign.value),
            Stmt::Expr(ast::StmtExpr { value, .. }) if !is_part || ctx.root().is_none() => {
                if let Expr::Call(call) = value.as_ref() {
                    stores.appended(call);
                }
            }
            _ => {}
        }
    }
}

/// Returns whether the function is the training step of a Keras model, which Keras stages as a whole.
fn is_step(ctx: &FunctionContext) -> bool {
    ctx.root() == Some(RootKind::KerasMethod) && is_step_name(&ctx.def().name)
}

fn is_step_name(name: &str) -> bool {
    matches!(name, "train_step" | "test_step" | "predict_step")
}

/// Returns whether a method is called through `self` by a method that is traced as a whole, directly or through other
/// methods:
///
/// ```python
/// def train_step(self, data):
///     loss = …
///     self.remember(loss)
/// ```
fn helps_on_same_object(ctx: &FunctionContext) -> bool {
    if ctx.root().is_some() {
        return false;
    }
    let mut method = ctx.def().name.as_str();
    for call in callers::of(ctx) {
        let Some(stage) = call.stage else { return false };
        let own = stage.parameters.first().filter(|first| first.source == Source::Receiver);
        let called = expressions::at(call.ast.def(), call.range).and_then(Expr::as_call_expr);
        let function = called.and_then(|called| called.func.as_attribute_expr());
        let is_own = own.zip(function).is_some_and(|(own, function)| {
            function.attr.as_str() == method
                && function.value.as_name_expr().is_some_and(|name| name.id == own.name)
        });
        if !is_own {
            return false;
        }
        method = call.ast.def().name.as_str();
        if let Some(root) = stage.root {
            return root == RootKind::Function || root == RootKind::KerasMethod && is_step_name(method);
        }
    }
    false
}

/// Returns whether a value is certainly a Tensor. An item whose index is a Tensor is itself a Tensor, because Python
/// containers do not have Tensors of a graph as indices.
fn is_tensor(ctx: &FunctionContext, value: &Expr) -> bool {
    let is_tensor = |value: &Expr| ctx.fact(value).tensor_kind() == Some(TensorKind::Tensor);
    is_tensor(value)
        || value.as_subscript_expr().is_some_and(|item| {
            is_tensor(&item.slice)
                && !matches!(
                    ctx.fact(&item.value).alternatives.as_slice(),
                    [Alternative::Container { .. }, ..]
                )
        })
}

fn is_list(fact: &Fact) -> bool {
    matches!(
        fact.alternatives.as_slice(),
        [Alternative::Container { class, .. }] if matches!(class.as_str(), "list" | "set")
    )
}

struct Stores<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    /// Whether the traced method of the same object calls the function: [`helps_on_same_object`].
    helps: bool,
    /// Whether the function runs as part of another function's graph. If so, only variables of the module outlive the
    /// graph.
    is_part: bool,
    receiver: Option<&'a str>,
}

impl Stores<'_, '_> {
    fn assigned(&self, target: &Expr, value: &Expr) {
        let ctx = self.ctx;
        if ctx.fact(value).tensor_kind() != Some(TensorKind::Tensor) {
            return;
        }
        let place = match target {
            Expr::Subscript(item)
                if hashing::is_dict(ctx.fact(&item.value)) || is_list(ctx.fact(&item.value)) =>
            {
                &*item.value
            }
            target => target,
        };
        let Some(name) = QName::from_expr(place) else { return };
        let is_stored = match target {
            Expr::Name(_) if self.helps => false,
            Expr::Name(_) if self.is_part => {
                ctx.flow.scope().globals.contains(name.root()) && self.is_left_in_module(&name)
            }
            Expr::Name(_) => ctx.flow.scope().is_declared_outer(name.root()),
            // `STATISTICS["mean"] = mean`
            Expr::Subscript(_) if name.is_simple() => {
                ctx.is_module_variable(name.root()) && (!self.is_part || self.is_left_in_module(&name))
            }
            Expr::Attribute(_) | Expr::Subscript(_) => {
                let is_part = self.is_part || self.helps;
                self.is_own(&name)
                    && (self.reads_earlier(&name) && (!is_part || self.outlives_trace(place))
                        || self.is_read_in_eager_code(place))
            }
            _ => false,
        };
        if is_stored {
            let user = match self.reads_earlier(&name) || target.is_name_expr() {
                true => "a later trace",
                false => "eager code",
            };
            ctx.report(
                &LEAKED_TENSOR,
                target.range(),
                format!("`{name}` stores a symbolic Tensor of this graph, which {user} cannot use"),
            )
            .why(ctx.why(value))
            .help(HELP)
            .emit();
        }
    }

    /// Reports a Tensor that is added to a list from outside: `self.history.append(x)`, `losses.append(loss)`.
    fn appended(&self, call: &ast::ExprCall) {
        let ctx = self.ctx;
        let Expr::Attribute(method) = call.func.as_ref() else { return };
        if !matches!(method.attr.as_str(), "append" | "add" | "insert")
            || ctx.staged_loop(call.range()).is_some()
        {
            return;
        }
        let is_list = is_list(ctx.fact(&method.value));
        let tensor = call.arguments.args.last();
        let tensor = tensor.filter(|value| is_tensor(ctx, value));
        let (Some(tensor), Some(name)) = (tensor.filter(|_| is_list), QName::from_expr(&method.value)) else {
            return;
        };
        let is_stored = if self.helps {
            self.is_own(&name) && !self.sets(&name) && !self.is_used_by_staged_methods(&name)
        } else if self.is_part {
            name.is_simple() && ctx.is_module_variable(name.root()) && self.is_left_in_module(&name)
        } else if name.is_simple() {
            !ctx.flow.scope().is_local(name.root())
        } else {
            let keeps = (ctx.root() == Some(RootKind::Function) || is_step(ctx)) && !self.sets(&name);
            self.is_own(&name) && (keeps || self.is_read_otherwise(&name))
        };
        if is_stored || self.is_own(&name) && self.is_read_in_eager_code(&method.value) {
            ctx.report(
                &LEAKED_TENSOR,
                call.range(),
                format!(
                    "`{name}` stores a symbolic Tensor of this graph, which cannot be used outside of it"
                ),
            )
            .why(ctx.why(tensor))
            .help(HELP)
            .emit();
        }
    }

    /// Returns whether another method of the class uses the attribute, and is staged or empties the list.
    fn is_used_by_staged_methods(&self, name: &QName) -> bool {
        let ctx = self.ctx;
        let index = file_index(ctx.db, ctx.document);
        let Some(class) = ctx.class() else { return true };
        let attribute = name.to_string();
        let attribute = attribute.rsplit('.').next().unwrap_or_default();
        class.methods.iter().any(|method| {
            let path = &index.definitions.functions[*method].path;
            if *path == ctx.path || path.name() == "__init__" {
                return false;
            }
            let function = FunctionId::new(ctx.db, ctx.document, path.clone());
            let Some(ast) = function_ast(ctx.db, function).as_ref() else { return true };
            let uses = expressions::of_function(ast.def()).into_iter().any(|expression| {
                expression.as_attribute_expr().is_some_and(|own| own.attr.as_str() == attribute)
            });
            uses && (queries::stage(ctx.db, function).is_some() || ast.text.contains(".clear("))
        })
    }

    /// Returns whether all other functions of the file either do not use this variable of the module, or neither are
    /// staged nor empty containers. A function that is staged or empties containers may use the Tensor in the same
    /// graph only.
    fn is_left_in_module(&self, name: &QName) -> bool {
        let ctx = self.ctx;
        let index = file_index(ctx.db, ctx.document);
        // Another `tf.function` has another graph.
        let roots: Vec<_> = callers::from_root(ctx).iter().map(|call| call.function).collect();
        index.definitions.functions.iter().filter(|function| function.path != ctx.path).all(|function| {
            let function = FunctionId::new(ctx.db, ctx.document, function.path.clone());
            let Some(ast) = function_ast(ctx.db, function).as_ref() else { return false };
            let uses = expressions::of_function(ast.def()).into_iter().any(|expression| {
                expression.as_name_expr().is_some_and(|own| own.id.as_str() == name.root())
            });
            let empties = || [".clear(", ".pop(", "del "].iter().any(|text| ast.text.contains(text));
            let is_same_graph = || match queries::stage(ctx.db, function) {
                Some(stage) => stage.root != Some(RootKind::Function) || roots.contains(&function),
                None => false,
            };
            !uses || !is_same_graph() && !empties()
        })
    }

    /// Returns whether a name is an attribute of `self`.
    fn is_own(&self, name: &QName) -> bool {
        !name.is_simple() && self.receiver == Some(name.root())
    }

    fn reads(&self, name: &QName) -> impl Iterator<Item = &Expr> {
        expressions::of_function(self.ctx.def()).into_iter().filter(move |expression| {
            matches!(expression, Expr::Attribute(attribute) if attribute.ctx == ExprContext::Load)
                && QName::from_expr(expression).as_ref() == Some(name)
        })
    }

    /// Returns whether the function itself sets or empties the list. It then uses the list only within one call.
    fn sets(&self, name: &QName) -> bool {
        expressions::of_function(self.ctx.def()).into_iter().any(|expression| match expression {
            Expr::Attribute(attribute) if attribute.attr.as_str() == "clear" => {
                QName::from_expr(&attribute.value).as_ref() == Some(name)
            }
            Expr::Attribute(attribute) => {
                !attribute.ctx.is_load() && QName::from_expr(expression).as_ref() == Some(name)
            }
            _ => false,
        })
    }

    /// Returns whether an attribute, as in `self.level`, keeps its value from one trace to the next.
    fn outlives_trace(&self, place: &Expr) -> bool {
        place
            .as_attribute_expr()
            .filter(|attribute| attribute.value.is_name_expr())
            .is_some_and(|attribute| object_state::outlives_trace(self.ctx, &attribute.attr))
    }

    /// Returns whether only a `tf.function` runs the code, and eager code of the file needs the value of an attribute
    /// such as `self.worst`:
    ///
    /// ```python
    /// def record(self, losses):
    ///     self.worst = tf.reduce_max(losses)
    ///
    /// def report(monitor):
    ///     return float(monitor.worst)
    /// ```
    fn is_read_in_eager_code(&self, place: &Expr) -> bool {
        let ctx = self.ctx;
        let is_function = |root| root == Some(RootKind::Function);
        let is_traced = is_function(ctx.root())
            || ctx.root().is_none()
                && callers::from_root(ctx)
                    .last()
                    .is_some_and(|call| is_function(call.stage.and_then(|stage| stage.root)));
        let attribute = place.as_attribute_expr().filter(|_| is_traced);
        attribute.is_some_and(|attribute| eager_reads::is_converted(ctx, &attribute.attr))
            && self.outlives_trace(place)
    }

    /// Returns whether the function reads a value that an earlier call stored.
    fn reads_earlier(&self, name: &QName) -> bool {
        let stores = self.ctx.expressions().into_iter().filter_map(|expression| match expression {
            Expr::Subscript(item) if !item.ctx.is_load() => Some(item.value.range()),
            _ => None,
        });
        let stores: Vec<_> = stores.collect();
        self.reads(name).any(|read| {
            !stores.contains(&read.range())
                && self
                    .ctx
                    .flow
                    .definitions_of(read.range(), name)
                    .iter()
                    .any(|definition| definition.node == Cfg::ENTRY)
        })
    }

    /// Returns whether the function uses the list for anything but appending and `len`.
    fn is_read_otherwise(&self, name: &QName) -> bool {
        let all = expressions::of_function(self.ctx.def());
        let harmless: Vec<_> = all
            .iter()
            .filter_map(|expression| match expression {
                Expr::Attribute(attribute) => Some(attribute.value.range()),
                Expr::Call(call) if call.func.as_name_expr().is_some_and(|name| name.id == "len") => {
                    call.arguments.args.first().map(Ranged::range)
                }
                _ => None,
            })
            .collect();
        self.reads(name).any(|read| !harmless.contains(&read.range()))
    }
}
