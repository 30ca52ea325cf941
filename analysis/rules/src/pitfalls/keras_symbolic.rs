//! Python code that needs the value of a symbolic tensor while a functional Keras model is built.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt, UnaryOp};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::keras_ranks;
use super::keras_tensors::{KerasTensors, raises};
use crate::FileContext;
use crate::declare::declare_rule;
use crate::program::ScopeId;
use ag_db::diagnostic::Severity;

declare_rule! {
    /// ## What it does
    /// Finds code that builds a functional Keras model from `keras.Input(…)` and uses a tensor of the model as if it
    /// had a value:
    ///
    /// - a condition on the tensor, a loop over it, an assignment to its items
    /// - `float`, `int`, `len`, `max` and other builtins, functions of NumPy, `.numpy()`, `.astype(…)`
    /// - functions of TensorFlow, which Keras 2 converts to layers and Keras 3 rejects (a warning)
    /// - `==` or `!=`, which compares the objects, not their values (a warning)
    ///
    /// ## Why is this bad?
    /// A tensor of a functional model is a placeholder with a shape and a dtype. It has no value, neither while the
    /// model is built nor later.
    ///
    /// ## Example
    /// ```python
    /// import keras
    ///
    /// inputs = keras.Input((8,))
    /// x = keras.layers.Dense(4)(inputs)
    /// if x > 0:
    ///     x = x * 2.0
    /// model = keras.Model(inputs, x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import keras
    ///
    /// inputs = keras.Input((8,))
    /// x = keras.layers.Dense(4)(inputs)
    /// x = keras.ops.where(x > 0, x * 2.0, x)
    /// model = keras.Model(inputs, x)
    /// ```
    ///
    /// ## What Keras reports
    /// ```text
    /// TypeError: A symbolic KerasTensor cannot be used as a boolean.
    /// NotImplementedError: Iterating over a symbolic KerasTensor is not supported.
    /// ValueError: A KerasTensor cannot be used as input to a TensorFlow function.
    /// ```
    pub(crate) static KERAS_SYMBOLIC = {
        code: "AG412", name: "keras-symbolic",
        summary: "Python needs the value of a symbolic tensor of a functional Keras model",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Keras], fix: None,
        check: File(|index| index.makes_keras_inputs, check),
    }
}

fn check(ctx: &FileContext) {
    let uses_keras = ctx.imports.uses("keras") || ctx.imports.uses("tensorflow");
    if !uses_keras {
        return;
    }
    let mut helpers = Vec::new();
    let program = ctx.program();
    scope(ctx, ctx.parsed.suite(), program.module(), &[], &mut helpers);
    for (def, _) in &program.functions {
        let parameters: Vec<&str> =
            def.parameters.iter().map(|parameter| parameter.name().as_str()).collect();
        if let Some(own) = program.scope_of(def.range()) {
            scope(ctx, &def.body, own, &parameters, &mut helpers);
        }
    }
    let mut seen = FxHashSet::default();
    while let Some(Helper { def, arguments }) = helpers.pop() {
        if def.decorator_list.is_empty() && seen.insert((def.range(), arguments.clone())) {
            helper(ctx, def, &arguments, &mut helpers);
        }
    }
}

/// A function of the file that some code calls with symbolic tensors.
struct Helper<'a> {
    def: &'a ast::StmtFunctionDef,
    arguments: Vec<Argument<'a>>,
}

/// Checks a function that is called with symbolic tensors, up to the first statement that is not plain. If that is an
/// `if`, its test is checked too. Plain statements are assignments, expressions, `return`, and `for` loops that contain
/// only plain statements.
fn helper<'a>(
    ctx: &FileContext<'a>,
    def: &'a ast::StmtFunctionDef,
    arguments: &[Argument<'a>],
    helpers: &mut Vec<Helper<'a>>,
) {
    let Some(own) = ctx.program().scope_of(def.range()) else { return };
    let parameters: Vec<&str> = def.parameters.iter().map(|parameter| parameter.name().as_str()).collect();
    let symbolic: Vec<&str> = arguments
        .iter()
        .filter_map(|argument| match argument {
            Argument::Position(position) => {
                let parameter = def.parameters.posonlyargs.iter().chain(&def.parameters.args).nth(*position);
                parameter.map(|parameter| parameter.name().as_str())
            }
            Argument::Name(name) => parameters.iter().find(|parameter| *parameter == name).copied(),
        })
        .collect();
    let others: Vec<&str> = parameters.iter().filter(|name| !symbolic.contains(name)).copied().collect();
    let plain = def.body.iter().take_while(|statement| is_plain(statement));
    let next = def.body.iter().find(|statement| !is_plain(statement));
    let tensors = KerasTensors::of_scope(ctx, &def.body, &others, &symbolic);
    let mut uses = Uses { ctx, scope: own, tensors, helpers: Vec::new() };
    plain.for_each(|statement| uses.visit_stmt(statement));
    if let Some(Stmt::If(node)) = next {
        uses.test(&node.test);
        uses.visit_expr(&node.test);
    }
    helpers.append(&mut uses.helpers);
}

fn is_plain(statement: &Stmt) -> bool {
    match statement {
        Stmt::Assign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) | Stmt::Return(_) => true,
        Stmt::For(node) => node.orelse.is_empty() && node.body.iter().all(is_plain),
        _ => false,
    }
}

/// An argument of a call that is a symbolic tensor, by its position or keyword.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Argument<'a> {
    Position(usize),
    Name(&'a str),
}

/// Checks the code of a function, or of the module.
fn scope<'a>(
    ctx: &FileContext<'a>,
    body: &'a [Stmt],
    own: ScopeId,
    parameters: &[&'a str],
    helpers: &mut Vec<Helper<'a>>,
) {
    let tensors = KerasTensors::of_scope(ctx, body, parameters, &[]);
    if !tensors.is_empty() {
        let mut uses = Uses { ctx, scope: own, tensors, helpers: Vec::new() };
        uses.visit_body(body);
        helpers.append(&mut uses.helpers);
    }
}

struct Uses<'c, 'a> {
    ctx: &'c FileContext<'a>,
    scope: ScopeId,
    tensors: KerasTensors<'c, 'a>,
    /// The functions that the checked code calls with symbolic tensors.
    helpers: Vec<Helper<'a>>,
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            // Code in a `try` expects an exception.
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Try(_) => return,
            Stmt::If(node) => {
                self.test(&node.test);
                node.elif_else_clauses
                    .iter()
                    .filter_map(|clause| clause.test.as_ref())
                    .for_each(|test| self.test(test));
            }
            Stmt::While(node) => self.test(&node.test),
            Stmt::Assert(node) => self.test(&node.test),
            Stmt::For(node) => self.iterates(&node.iter),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    match target {
                        Expr::Tuple(_) | Expr::List(_) => self.iterates(&assign.value),
                        Expr::Subscript(item) if self.tensors.contains(&item.value) => {
                            self.report(target, &item.value, "does not support item assignment");
                        }
                        Expr::Attribute(attribute)
                            if matches!(attribute.attr.as_str(), "shape" | "dtype" | "sparse" | "ragged")
                                && self.tensors.contains(&attribute.value) =>
                        {
                            let what = format!("has an immutable attribute `{}`", attribute.attr);
                            self.report(target, &attribute.value, &what);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => return,
            Expr::If(node) => self.test(&node.test),
            Expr::BoolOp(node) => node.values.iter().rev().skip(1).for_each(|value| self.test(value)),
            Expr::UnaryOp(node) if node.op == UnaryOp::Not => self.test(&node.operand),
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                generators.iter().for_each(|generator| self.iterates(&generator.iter));
            }
            Expr::Call(call) => self.call(call),
            Expr::Attribute(attribute) if self.tensors.contains(&attribute.value) => {
                let name = attribute.attr.as_str();
                if matches!(
                    name,
                    "numpy" | "astype" | "item" | "tolist" | "eval" | "mean" | "sum" | "get_shape"
                ) {
                    self.report(attribute, &attribute.value, &format!("has no attribute `{name}`"));
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}

impl<'a> Uses<'_, 'a> {
    fn test(&self, test: &'a Expr) {
        if let Expr::Compare(compare) = test
            && let ([CmpOp::Eq | CmpOp::NotEq], [right]) = (&*compare.ops, &*compare.comparators)
        {
            let sides = [&*compare.left, right];
            let Some(tensor) = sides.into_iter().find(|side| self.tensors.contains(side)) else { return };
            if !sides.into_iter().any(Expr::is_none_literal_expr) {
                let message = format!(
                    "`{}` is a symbolic tensor of a functional model: this compares the object, not its value",
                    self.ctx.text(tensor)
                );
                self.ctx
                    .report(&KERAS_SYMBOLIC, test, message)
                    .severity(Severity::Warning)
                    .help("use `keras.ops.where` or a layer")
                    .emit();
            }
        } else if self.tensors.contains(test) {
            self.report(test, test, "has no truth value");
        }
    }

    fn iterates(&self, iterable: &'a Expr) {
        if self.tensors.contains(iterable) {
            self.report(iterable, iterable, "cannot be iterated over");
        }
    }

    fn call(&mut self, call: &'a ast::ExprCall) {
        self.note(call);
        let mut arguments = call.arguments.args.iter();
        let Some(tensor) = arguments.find(|argument| self.tensors.contains(argument)) else {
            return self.operation_of_list(call);
        };
        if let Some(name) = self.ctx.resolve(&call.func) {
            match name.split('.').collect::<Vec<_>>().as_slice() {
                ["numpy", function] if raises(function) => {
                    self.report(call, tensor, "has no value for NumPy");
                }
                ["math", _] => self.report(call, tensor, "has no value for `math`"),
                _ if is_operation(&name) => self.operation(call, tensor),
                _ => {}
            }
        } else if let Expr::Name(name) = call.func.as_ref() {
            let name = name.id.as_str();
            if NEED_VALUES.contains(&name) && self.tensors.is_builtin(name) {
                self.report(call, tensor, &format!("has no value for `{name}`"));
            }
        }
    }

    /// Records a call of a function or method of the file: `sample(mean, variance)`, `self.sample(mean, variance)`.
    fn note(&mut self, call: &'a ast::ExprCall) {
        let (def, skipped) = match call.func.as_ref() {
            Expr::Name(function) => {
                let mut defs = self.ctx.parsed.suite().iter().filter_map(Stmt::as_function_def_stmt);
                (defs.find(|def| def.name.id == function.id), 0)
            }
            Expr::Attribute(method) => (self.ctx.program().method(self.scope, method), 1),
            _ => return,
        };
        let Some(def) = def else { return };
        let arguments = &call.arguments;
        if arguments.args.iter().any(Expr::is_starred_expr) {
            return;
        }
        let positional = arguments.args.iter().enumerate();
        let positional = positional.filter(|(_, argument)| self.tensors.contains(argument));
        let named = arguments.keywords.iter().filter(|keyword| self.tensors.contains(&keyword.value));
        let named =
            named.filter_map(|keyword| keyword.arg.as_ref()).map(|name| Argument::Name(name.as_str()));
        let found: Vec<Argument> =
            positional.map(|(position, _)| Argument::Position(position + skipped)).chain(named).collect();
        if !found.is_empty() {
            self.helpers.push(Helper { def, arguments: found });
        }
    }

    /// Reports an operation on a list of symbolic tensors: `tf.concat([x, y], 1)`.
    fn operation_of_list(&self, call: &'a ast::ExprCall) {
        let elements = call.arguments.args.iter().flat_map(ag_syntax::expressions::elements);
        let tensor = elements.into_iter().find(|element| self.tensors.contains(element));
        if let Some(tensor) = tensor
            && self.ctx.resolve(&call.func).is_some_and(|name| is_operation(&name))
        {
            self.operation(call, tensor);
        }
    }

    fn operation(&self, call: &ast::ExprCall, tensor: &Expr) {
        if keras_ranks::is_keras2(self.ctx) {
            return;
        }
        let message = format!(
            "Keras 3 rejects functions of TensorFlow on `{}`, a symbolic tensor of a functional model",
            self.ctx.text(tensor)
        );
        self.ctx
            .report(&KERAS_SYMBOLIC, call, message)
            .severity(Severity::Warning)
            .help("use the function of `keras.ops`, or call it in a layer")
            .emit();
    }

    fn report(&self, node: impl Ranged, tensor: &Expr, what: &str) {
        let message =
            format!("`{}` is a symbolic tensor of a functional model, which {what}", self.ctx.text(tensor));
        self.ctx.report(&KERAS_SYMBOLIC, node, message).help("use `keras.ops`, or a layer").emit();
    }
}

/// Builtins that a symbolic tensor does not support.
const NEED_VALUES: [&str; 19] = [
    "float",
    "int",
    "complex",
    "len",
    "range",
    "bool",
    "list",
    "tuple",
    "sum",
    "any",
    "all",
    "sorted",
    "enumerate",
    "zip",
    "iter",
    "reversed",
    "set",
    "max",
    "min",
];

/// Returns whether a dotted name is an operation of TensorFlow on Tensors.
fn is_operation(name: &str) -> bool {
    const NOT_OPERATIONS: [&str; 8] = [
        "tensorflow.function",
        "tensorflow.is_tensor",
        "tensorflow.print",
        "tensorflow.py_function",
        "tensorflow.numpy_function",
        "tensorflow.TensorSpec",
        "tensorflow.Module",
        "tensorflow.get_static_value",
    ];
    const MODULES: [&str; 7] = ["math", "nn", "image", "linalg", "strings", "signal", "sparse"];
    match name.split('.').collect::<Vec<_>>().as_slice() {
        ["tensorflow", function] => {
            !NOT_OPERATIONS.contains(&name)
                && function.starts_with(|letter: char| letter.is_ascii_lowercase())
        }
        ["tensorflow", module, _] => MODULES.contains(module),
        _ => false,
    }
}
