//! The graph of symbolic tensors that the statements of a scope build, in order.
//!
//! ```python
//! inputs = keras.Input((8,))            # a node without parents
//! x = keras.layers.Dense(4)(inputs)     # its parent is `inputs`
//! model = keras.Model(inputs, x)        # x must have no other sources than `inputs`
//! ```
//!
//! Nothing is known about parameters, names that a compound statement binds, and results of unknown calls.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::keras_ranks;
use crate::FileContext;
use crate::names::Names;
use ag_syntax::expressions::{natural, sequence};

/// The maximum depth of expressions that are followed.
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug)]
enum Value<'a> {
    /// A node of the graph.
    Tensor(usize),
    /// A Keras layer that the code creates.
    Layer(usize),
    Several(Vec<Value<'a>>),
    /// A NumPy array.
    Array,
    /// A number, bool or string.
    Literal(&'a str),
    Unknown,
}

struct Node {
    parents: Vec<usize>,
    /// The source text of the call, if the node is a `keras.Input`.
    input: Option<String>,
    rank: Option<usize>,
    layer: Option<usize>,
}

struct Layer<'a> {
    class: String,
    call: &'a ast::ExprCall,
    /// Whether the layer may have been called.
    used: bool,
}

pub(super) struct Fault {
    pub(super) range: TextRange,
    pub(super) message: String,
    pub(super) help: &'static str,
    pub(super) is_accepted_by_keras2: bool,
}

pub(super) struct Graph<'c, 'a> {
    ctx: &'c FileContext<'a>,
    /// The names of the layers that the file defines.
    classes: &'c FxHashSet<&'a str>,
    names: FxHashMap<&'a str, Value<'a>>,
    nodes: Vec<Node>,
    layers: Vec<Layer<'a>>,
    faults: Vec<Fault>,
}

impl<'c, 'a> Graph<'c, 'a> {
    /// Returns the errors in the models that the code of a scope builds.
    pub(super) fn of_scope(
        ctx: &'c FileContext<'a>,
        classes: &'c FxHashSet<&'a str>,
        body: &'a [Stmt],
    ) -> Vec<Fault> {
        let (nodes, layers, faults) = (Vec::new(), Vec::new(), Vec::new());
        let mut graph = Self { ctx, classes, names: FxHashMap::default(), nodes, layers, faults };
        graph.body(body);
        graph.faults
    }

    fn body(&mut self, body: &'a [Stmt]) {
        for statement in body {
            match statement {
                Stmt::Assign(assign) => {
                    let value = self.value(&assign.value, 0);
                    assign.targets.iter().for_each(|target| self.bind(target, &value));
                }
                Stmt::Expr(node) => {
                    self.value(&node.value, 0);
                }
                Stmt::Return(node) => {
                    if let Some(value) = &node.value {
                        self.value(value, 0);
                    }
                    return;
                }
                Stmt::With(node) => {
                    let targets = node.items.iter().filter_map(|item| item.optional_vars.as_deref());
                    targets.for_each(|target| self.bind(target, &Value::Unknown));
                    self.body(&node.body);
                }
                Stmt::Raise(_) => return,
                other => {
                    let names = Names::of_statement(other);
                    for name in &names.read {
                        self.escapes(name.id.as_str());
                    }
                    for name in names.bound {
                        self.names.remove(name);
                    }
                }
            }
        }
    }

    fn bind(&mut self, target: &'a Expr, value: &Value<'a>) {
        match target {
            Expr::Name(name) => {
                self.names.insert(name.id.as_str(), value.clone());
            }
            _ => {
                for name in Names::of_expression(target).bound {
                    self.names.remove(name);
                }
            }
        }
    }

    /// Records that unknown code uses the value of a name.
    fn escapes(&mut self, name: &str) {
        if let Some(Value::Layer(layer)) = self.names.get(name) {
            self.layers[*layer].used = true;
        }
        // Elements may be added to a list.
        if matches!(self.names.get(name), Some(Value::Several(_))) {
            self.names.remove(name);
        }
    }

    fn unknown(&mut self, expression: &'a Expr) -> Value<'a> {
        for name in Names::of_expression(expression).read {
            self.escapes(name.id.as_str());
        }
        Value::Unknown
    }

    fn value(&mut self, expression: &'a Expr, depth: usize) -> Value<'a> {
        if depth > MAX_DEPTH {
            return Value::Unknown;
        }
        match expression {
            Expr::Name(name) => self.names.get(name.id.as_str()).cloned().unwrap_or(Value::Unknown),
            Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::StringLiteral(_) => {
                Value::Literal(&self.ctx.text[expression.range()])
            }
            Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                if elts.iter().any(Expr::is_starred_expr) {
                    return self.unknown(expression);
                }
                Value::Several(elts.iter().map(|element| self.value(element, depth + 1)).collect())
            }
            Expr::Dict(dict) if dict.items.iter().all(|item| item.key.is_some()) => {
                Value::Several(dict.items.iter().map(|item| self.value(&item.value, depth + 1)).collect())
            }
            Expr::BinOp(node) => {
                let operands = [self.value(&node.left, depth + 1), self.value(&node.right, depth + 1)];
                self.combined(&operands)
            }
            Expr::UnaryOp(node) if node.op != ast::UnaryOp::Not => {
                let operand = [self.value(&node.operand, depth + 1)];
                self.combined(&operand)
            }
            Expr::Subscript(node) => match (self.value(&node.value, depth + 1), node.slice.as_ref()) {
                (Value::Several(items), index) => natural(index)
                    .and_then(|position| items.get(usize::try_from(position).ok()?).cloned())
                    .unwrap_or(Value::Unknown),
                (Value::Tensor(node), _) => self.node(vec![node], None, None),
                _ => Value::Unknown,
            },
            Expr::Attribute(node) => {
                if let (Value::Layer(layer), "output" | "input") =
                    (self.value(&node.value, depth + 1), node.attr.as_str())
                    && !self.layers[layer].used
                {
                    let text = self.ctx.text(&*node.value);
                    let message =
                        format!("`{text}` has no `{}` before it has been called with a tensor", node.attr);
                    self.fault(expression.range(), message, "call the layer with a symbolic tensor first");
                }
                Value::Unknown
            }
            Expr::Call(call) => self.call(expression, call, depth),
            _ => self.unknown(expression),
        }
    }

    fn call(&mut self, expression: &'a Expr, call: &'a ast::ExprCall, depth: usize) -> Value<'a> {
        if let Some(name) = self.ctx.resolve(&call.func) {
            match name.as_str() {
                "keras.Input" | "keras.layers.Input" => return self.input(call),
                "keras.Model" | "keras.models.Model" => return self.model(call, depth),
                name if keras_ranks::is_layer(name) => {
                    let class = name.rsplit('.').next().unwrap_or_default().to_owned();
                    self.layers.push(Layer { class, call, used: false });
                    return Value::Layer(self.layers.len() - 1);
                }
                name if is_array(name) => return Value::Array,
                _ => return self.unknown(expression),
            }
        }
        match call.func.as_ref() {
            // `dense.count_params()`
            Expr::Attribute(method) => {
                if let (Some(Value::Layer(layer)), "count_params" | "set_weights") = (
                    method.value.as_name_expr().and_then(|name| self.names.get(name.id.as_str())),
                    method.attr.as_str(),
                ) && !self.layers[*layer].used
                    && !call.arguments.args.first().is_some_and(|weights| self.is_empty(weights))
                    && keras_ranks::has_weights(&self.layers[*layer].class)
                {
                    let text = self.ctx.text(&*method.value);
                    let message = format!("`{text}` has no weights before it has been built");
                    self.fault(expression.range(), message, "call the layer, or its `build`, first");
                }
                self.unknown(expression)
            }
            Expr::Name(name) if self.classes.contains(name.id.as_str()) => {
                self.unknown(expression);
                self.layers.push(Layer { class: String::new(), call, used: false });
                Value::Layer(self.layers.len() - 1)
            }
            callee @ (Expr::Name(_) | Expr::Call(_)) => match self.value(callee, depth + 1) {
                Value::Layer(layer) => self.apply(layer, call, depth),
                _ => self.unknown(expression),
            },
            _ => self.unknown(expression),
        }
    }

    /// Returns whether a list of weights is empty: `[]`, or `other.get_weights()` of a layer without weights. A layer
    /// that has not been built accepts it.
    fn is_empty(&self, weights: &Expr) -> bool {
        match weights {
            Expr::List(list) => list.elts.is_empty(),
            Expr::Call(call) => call.func.as_attribute_expr().is_some_and(|method| {
                let layer = method.value.as_name_expr().and_then(|name| self.names.get(name.id.as_str()));
                method.attr.as_str() == "get_weights"
                    && matches!(layer, Some(Value::Layer(layer)) if !self.layers[*layer].used)
            }),
            _ => false,
        }
    }

    fn input(&mut self, call: &'a ast::ExprCall) -> Value<'a> {
        if call.arguments.find_keyword("tensor").is_some() {
            return Value::Unknown;
        }
        let length = |shape: &Expr| {
            let elements = sequence(shape)?;
            (!elements.iter().any(Expr::is_starred_expr)).then_some(elements.len())
        };
        let rank = match call.arguments.find_keyword("batch_shape") {
            Some(keyword) => length(&keyword.value),
            None => call.arguments.find_argument_value("shape", 0).and_then(length).map(|length| length + 1),
        };
        self.nodes.push(Node {
            parents: Vec::new(),
            input: Some(self.ctx.text(call).to_owned()),
            rank,
            layer: None,
        });
        Value::Tensor(self.nodes.len() - 1)
    }

    fn node(&mut self, parents: Vec<usize>, rank: Option<usize>, layer: Option<usize>) -> Value<'a> {
        self.nodes.push(Node { parents, input: None, rank, layer });
        Value::Tensor(self.nodes.len() - 1)
    }

    /// Returns the result of an operator.
    fn combined(&mut self, operands: &[Value<'a>]) -> Value<'a> {
        let tensors: Vec<usize> = operands.iter().flat_map(tensors).collect();
        // `[x] + others` is a list.
        let has_list = operands.iter().any(|operand| matches!(operand, Value::Several(_)));
        if tensors.is_empty() || has_list {
            return Value::Unknown;
        }
        let is_scaled = operands.iter().any(|operand| matches!(operand, Value::Literal(_)));
        let rank = tensors.first().filter(|_| is_scaled).and_then(|node| self.nodes[*node].rank);
        self.node(tensors, rank, None)
    }

    /// Returns the result of the call of a layer.
    fn apply(&mut self, layer: usize, call: &'a ast::ExprCall, depth: usize) -> Value<'a> {
        self.layers[layer].used = true;
        let class = self.layers[layer].class.clone();
        let arguments = &call.arguments;
        let positional: Vec<Value> =
            arguments.args.iter().map(|argument| self.value(argument, depth + 1)).collect();
        let named: Vec<Value> =
            arguments.keywords.iter().map(|keyword| self.value(&keyword.value, depth + 1)).collect();
        if !keras_ranks::takes_python_values(&class)
            && let Some(text) = positional.iter().find_map(literal)
        {
            let message =
                format!("Keras 3 takes only tensors as positional arguments of a layer, not `{text}`");
            self.fault(call.range(), message, "pass it by keyword, as in `training=True`");
            if let Some(fault) = self.faults.last_mut() {
                fault.is_accepted_by_keras2 = true;
            }
            return Value::Unknown;
        }
        // A layer that the user defines may have several results.
        if class.is_empty() {
            return Value::Unknown;
        }
        let parents: Vec<usize> = positional.iter().chain(&named).flat_map(tensors).collect();
        let first = positional.first();
        match first {
            Some(Value::Tensor(node)) => {
                let rank = self.nodes[*node].rank;
                if let (Some(rank), Some(expected)) = (rank, keras_ranks::expected(&class))
                    && rank != expected
                {
                    let message = format!(
                        "`{class}` takes a tensor of rank {expected}, batch included, but `{}` has rank {rank}",
                        self.ctx.text(&arguments.args[0])
                    );
                    self.fault(call.range(), message, "reshape the tensor, or use the layer for its rank");
                    return Value::Unknown;
                }
            }
            Some(Value::Several(items))
                if items.len() > 1
                    && items.iter().all(|item| matches!(item, Value::Tensor(_)))
                    && (keras_ranks::expected(&class).is_some() || class == "Dense") =>
            {
                let message = format!("`{class}` takes one tensor, not {}", items.len());
                self.fault(call.range(), message, "merge them first, with `keras.layers.Concatenate`");
                return Value::Unknown;
            }
            Some(Value::Several(_)) => {}
            _ => return Value::Unknown,
        }
        let made = self.layers[layer].call;
        if parents.is_empty() || [made, call].iter().any(|it| keras_ranks::returns_several(self.ctx, it)) {
            return Value::Unknown;
        }
        let rank = match first {
            Some(Value::Tensor(node)) => {
                keras_ranks::result(&class, self.nodes[*node].rank, self.ctx.text(made))
            }
            _ => None,
        };
        self.node(parents, rank, Some(layer))
    }

    /// Checks the call `keras.Model(inputs, outputs)`.
    fn model(&mut self, call: &'a ast::ExprCall, depth: usize) -> Value<'a> {
        let arguments = &call.arguments;
        let values: Option<Vec<Value>> = [("inputs", 0), ("outputs", 1)]
            .iter()
            .map(|(name, position)| {
                arguments.find_argument_value(name, *position).map(|value| self.value(value, depth + 1))
            })
            .collect();
        let Some([inputs, outputs]) = values.as_deref() else { return Value::Unknown };
        for (name, value) in [("inputs", inputs), ("outputs", outputs)] {
            if matches!(value, Value::Several(items) if items.is_empty()) {
                let message = format!("the `{name}` of a functional model are empty");
                self.fault(call.range(), message, "pass the symbolic tensors");
                return Value::Unknown;
            }
            if let Some(other) = other_than_tensor(value) {
                let what = match other {
                    Value::Layer(layer) => {
                        format!("a layer, `{}`, that is not called", self.ctx.text(self.layers[*layer].call))
                    }
                    Value::Array => "an array".to_owned(),
                    Value::Literal(text) => format!("`{text}`"),
                    _ => continue,
                };
                let message =
                    format!("the `{name}` of a functional model are symbolic tensors, but this is {what}");
                self.fault(call.range(), message, "pass the results of `keras.Input` and of called layers");
                return Value::Unknown;
            }
        }
        let mut known = FxHashSet::default();
        if is_known(inputs) {
            known.extend(tensors(inputs));
            self.connected(call, &known, outputs);
        }
        Value::Unknown
    }

    /// Checks that the outputs depend on the inputs only, and that the layers between them have different names.
    fn connected(&mut self, call: &'a ast::ExprCall, inputs: &FxHashSet<usize>, outputs: &Value<'a>) {
        let mut pending: Vec<usize> = tensors(outputs).collect();
        let mut seen = FxHashSet::default();
        let mut names: FxHashMap<&str, usize> = FxHashMap::default();
        while let Some(node) = pending.pop() {
            if !seen.insert(node) || inputs.contains(&node) {
                continue;
            }
            let node = &self.nodes[node];
            if let Some(input) = &node.input {
                let message = format!("the outputs depend on `{input}`, which is not an input of the model");
                return self.fault(call.range(), message, "add it to `inputs`");
            }
            if let Some(layer) = node.layer
                && let Some(keyword) = self.layers[layer].call.arguments.find_keyword("name")
                && let Expr::StringLiteral(name) = &keyword.value
                && *names.entry(name.value.to_str()).or_insert(layer) != layer
            {
                let message = format!("two layers of the model have the name {:?}", name.value.to_str());
                return self.fault(call.range(), message, "give the layers different names");
            }
            pending.extend(&node.parents);
        }
    }

    fn fault(&mut self, range: TextRange, message: String, help: &'static str) {
        self.faults.push(Fault { range, message, help, is_accepted_by_keras2: false });
    }
}

fn tensors<'v>(value: &'v Value) -> Box<dyn Iterator<Item = usize> + 'v> {
    match value {
        Value::Tensor(node) => Box::new(std::iter::once(*node)),
        Value::Several(items) => Box::new(items.iter().flat_map(tensors)),
        _ => Box::new(std::iter::empty()),
    }
}

fn literal<'a>(value: &Value<'a>) -> Option<&'a str> {
    match value {
        Value::Literal(text) => Some(text),
        Value::Several(items) if items.iter().any(|item| tensors(item).next().is_some()) => {
            items.iter().find_map(literal)
        }
        _ => None,
    }
}

fn other_than_tensor<'v, 'a>(value: &'v Value<'a>) -> Option<&'v Value<'a>> {
    match value {
        Value::Several(items) => items.iter().find_map(other_than_tensor),
        Value::Layer(_) | Value::Array | Value::Literal(_) => Some(value),
        Value::Tensor(_) | Value::Unknown => None,
    }
}

fn is_known(value: &Value) -> bool {
    match value {
        Value::Several(items) => items.iter().all(is_known),
        value => matches!(value, Value::Tensor(_)),
    }
}

/// Returns whether a function of NumPy creates an array.
fn is_array(name: &str) -> bool {
    name.starts_with("numpy.random.")
        || name.strip_prefix("numpy.").is_some_and(|function| {
            matches!(function, "zeros" | "ones" | "empty" | "full" | "array" | "arange" | "linspace")
        })
}
