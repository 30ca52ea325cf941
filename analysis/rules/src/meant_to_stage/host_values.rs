//! AG307: a symbolic Tensor passed to a library that needs its value.

use ruff_python_ast::{
    Expr, ExprAttribute, ExprBinOp, ExprCall, ExprFString, ExprList, ExprName, ExprSubscript, ExprTuple,
    Operator, Stmt,
};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::formatting;
use crate::guards::is_guarded;
use crate::host_arrays::{self, Stored};
use crate::host_library;
use crate::tracing;
use crate::tracing::Origin;
use ag_flow::DefKind;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::{Alternative, Binding, Fact, TensorKind};
use ag_syntax::expressions;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports in staged code:
    ///
    /// - Tensors, and lists into which the function puts Tensors, passed to functions of NumPy or `math`, and Tensors
    ///   stored in an item of a NumPy array that the function creates
    /// - the methods `.numpy()`, `.item()` and `.tolist()`, and methods that only arrays, strings or Tensors of torch
    ///   have: `.astype(…)`, `.reshape(…)`, `.decode()`
    /// - Tensors in an f-string with a format specification, after `%`, and as arguments of `round` and `hash`
    /// - in code that AutoGraph does not convert: Tensors as arguments of `float`, `int`, `len` and `range`, and as
    ///   indices of Python lists
    ///
    /// ## Why is this bad?
    /// While the graph is built, a Tensor is symbolic and has no value yet. NumPy and `math` compute
    /// immediately and need the value.
    ///
    /// ## Example
    /// ```python
    /// import numpy as np
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def wave(x):
    ///     return np.sin(x)
    ///
    ///
    /// wave(tf.constant(1.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def wave(x):
    ///     return tf.sin(x)
    ///
    ///
    /// wave(tf.constant(1.0))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// NotImplementedError: Cannot convert a symbolic tf.Tensor (x:0) to a numpy array.
    /// TypeError: must be real number, not SymbolicTensor
    /// AttributeError: 'SymbolicTensor' object has no attribute 'numpy'
    /// TypeError: float() argument must be a string or a real number, not 'SymbolicTensor'
    /// ```
    pub(crate) static HOST_VALUES = {
        code: "AG307", name: "host-value",
        summary: "a library needs the value of a Tensor while the graph is built",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph], fix: None,
        check: Function(check),
    }
}

/// The functions of NumPy that accept a symbolic Tensor: they use only its shape or rank.
const ACCEPT_TENSORS: [&str; 8] = [
    "numpy.array_equal",
    "numpy.array_equiv",
    "numpy.flip",
    "numpy.isscalar",
    "numpy.iterable",
    "numpy.ndim",
    "numpy.shape",
    "numpy.str_",
];

const FORMAT_HELP: &str = "use `tf.strings.format` or `tf.print`";

fn check(ctx: &FunctionContext) {
    let numpy_methods = numpy_methods_are_enabled(ctx);
    for (statement, Stored { array, value }) in host_arrays::stored(ctx) {
        if ctx.fact(value).is_tensor() && !is_guarded(ctx, statement.range()) && !has_type_test(ctx, value) {
            let message = format!(
                "`{}` is a NumPy array, which cannot hold `{}`, a symbolic Tensor without a value while the graph is built",
                ctx.text(array),
                ctx.text(value)
            );
            ctx.report(&HOST_VALUES, statement, message)
                .why(ctx.why(value))
                .help("put the Tensors into a list or a `tf.TensorArray`, and use `tf.stack`")
                .emit();
        }
    }
    let faults = ctx.faults();
    for expression in ctx.expressions() {
        match expression {
            Expr::BinOp(operation) if faults.format(operation.range()).is_some() && !formats_staged(ctx) => {
                let message = "the format needs the value of a symbolic Tensor, which it does not have while the graph is built";
                ctx.report(&HOST_VALUES, operation, message).help(FORMAT_HELP).emit();
            }
            Expr::Call(call) if !is_guarded(ctx, call.range()) => {
                library(ctx, call);
                value_method(ctx, call);
                builtin(ctx, call);
                method_formatted(ctx, call);
            }
            Expr::Attribute(attribute) if !numpy_methods => array_attribute(ctx, attribute),
            Expr::Subscript(item) if host_arrays::is_array(ctx, &item.value) => array_index(ctx, item),
            // `dynamic-key` reports this in converted code.
            Expr::Subscript(item) if !ctx.converts() => list_index(ctx, item),
            Expr::FString(text) => formatted(ctx, text),
            Expr::BinOp(operation) if operation.op == Operator::Mod => percent_formatted(ctx, operation),
            _ => {}
        }
    }
}

/// Reports symbolic Tensors as arguments of library functions: `np.sin(x)`, `math.sqrt(x)`, `os.path.basename(x)`.
fn library(ctx: &FunctionContext, call: &ExprCall) {
    let Some(function) = ctx.resolve(&call.func) else { return };
    let is_needed = |value: &Expr| is_certain(ctx, value);
    if let Some(argument) = host_library::needed(call, &function, ctx.converts(), &is_needed)
        && !may_be_eager(ctx)
    {
        let text = ctx.text(argument);
        let message = format!(
            "`{function}` needs the value of `{text}`, a symbolic Tensor without a value while the graph is built"
        );
        let help = "use an operation of TensorFlow, or `tf.py_function`";
        ctx.report(&HOST_VALUES, call, message).why(ctx.why(argument)).help(help).emit();
        return;
    }
    let library = match function.split('.').collect::<Vec<_>>().as_slice() {
        ["numpy", "linalg", _] | ["numpy", _] if !ACCEPT_TENSORS.contains(&function.as_str()) => "NumPy",
        // `np.add.at(counts, labels, 1)`
        ["numpy", _, "accumulate" | "at" | "outer" | "reduce" | "reduceat"] => "NumPy",
        ["math", _] => "`math`",
        ["os", "path", _] => "`os.path`",
        ["pathlib", _] => "`pathlib`",
        ["re", _] => "`re`",
        ["json", "loads"] => "`json`",
        _ => return,
    };
    let holds_tensor = |argument: &&Expr| match argument {
        Expr::List(ExprList { elts, .. }) | Expr::Tuple(ExprTuple { elts, .. }) => {
            elts.iter().any(|element| ctx.fact(element).is_tensor())
        }
        Expr::Name(name) if is_list_of_tensors(ctx, name) => true,
        argument => {
            let needs_text = !matches!(library, "NumPy" | "`math`");
            ctx.fact(argument).is_tensor()
                || is_element(ctx, argument)
                || needs_text && is_parameter_of_callback(ctx, argument)
        }
    };
    let Some(argument) = call.arguments.args.iter().find(holds_tensor) else { return };
    let needs_text = !matches!(library, "NumPy" | "`math`");
    if has_type_test(ctx, argument) || needs_text && is_optional(ctx, argument) {
        return;
    }
    let name = function.rsplit('.').next().unwrap_or_default();
    ctx.report(
        &HOST_VALUES,
        call,
        format!(
            "{library} needs the value of `{}`, a symbolic Tensor without a value while the graph is built",
            ctx.text(argument)
        ),
    )
    .why(ctx.why(argument))
    .help(match library {
        "NumPy" | "`math`" => format!("use the TensorFlow equivalent of `{name}`"),
        _ => "use `tf.strings`, or wrap the code in `tf.py_function`".to_owned(),
    })
    .emit();
}

/// Reports a Tensor as the index of a NumPy array: `table[labels]`.
fn array_index(ctx: &FunctionContext, item: &ExprSubscript) {
    let parts = match &*item.slice {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let is_tensor = |part: &&Expr| ctx.fact(part).is_tensor() && !ctx.fact(part).unknown;
    let Some(index) = parts.iter().find(is_tensor).filter(|_| !is_guarded(ctx, item.range())) else { return };
    let message = format!(
        "a NumPy array is indexed by `{}`, a symbolic Tensor without a value while the graph is built",
        ctx.text(index)
    );
    ctx.report(&HOST_VALUES, item, message)
        .why(ctx.why(index))
        .help("use `tf.gather` on `tf.constant(values)`")
        .emit();
}

/// Returns whether a name is a local list into which this function puts Tensors: `values.append(x)`,
/// `values[i] = float(x)`.
fn is_list_of_tensors(ctx: &FunctionContext, list: &ExprName) -> bool {
    let name = QName::from(&list.id);
    // In converted code `float(x)` is a Tensor.
    let is_tensor = |value: &Expr| {
        let converted = value.as_call_expr().filter(|call| {
            ctx.converts()
                && matches!(ctx.builtin(&call.func), Some("float" | "int"))
                && call.arguments.len() == 1
        });
        match converted.and_then(|call| call.arguments.args.first()) {
            Some(Expr::Subscript(item)) => ctx.binding(&item.value) == Binding::Staged,
            Some(converted) => ctx.binding(converted) == Binding::Staged,
            None => is_certain(ctx, value),
        }
    };
    let is_list = |value: &Expr| match value {
        Expr::List(_) => true,
        // `[0] * 6`
        Expr::BinOp(operation) => operation.op == Operator::Mult && operation.left.is_list_expr(),
        _ => false,
    };
    let definitions = ctx.flow.definitions_of(list.range(), &name);
    let starts_as_list = definitions
        .iter()
        .any(|definition| definition.value.and_then(|range| ctx.expression_at(range)).is_some_and(is_list));
    let is_same = |expression: &Expr| expression.as_name_expr().is_some_and(|other| other.id == list.id);
    starts_as_list
        && definitions.len() == 1
        && ctx.statements().into_iter().any(|statement| {
            statement.start() < list.start()
                && match statement {
                    Stmt::Assign(assign) => match assign.targets.as_slice() {
                        [Expr::Subscript(item)] => is_same(&item.value) && is_tensor(&assign.value),
                        _ => false,
                    },
                    Stmt::Expr(node) => node.value.as_call_expr().is_some_and(|call| {
                        call.func
                            .as_attribute_expr()
                            .is_some_and(|method| method.attr.as_str() == "append" && is_same(&method.value))
                            && call.arguments.args.first().is_some_and(is_tensor)
                    }),
                    _ => false,
                }
        })
}

/// Returns whether an argument is a parameter of a function that a Dataset calls: a Tensor, or a structure of Tensors.
/// NumPy converts both.
fn is_element(ctx: &FunctionContext, argument: &Expr) -> bool {
    is_parameter_of_callback(ctx, argument)
        && ctx.fact(argument).binding() == Binding::Staged
        && tracing::origin(ctx, argument) == Origin::Assumed
}

/// Returns whether an argument is a required parameter of a function that a Dataset calls. A Dataset never passes a
/// Python string for it, even if other callers do.
fn is_parameter_of_callback(ctx: &FunctionContext, argument: &Expr) -> bool {
    let Some(name) = argument.as_name_expr().filter(|_| ctx.root() == Some(RootKind::DatasetCallback)) else {
        return false;
    };
    let mut parameters = ctx.def().parameters.iter_non_variadic_params();
    let is_required = parameters.any(|it| it.default.is_none() && it.parameter.name.id == name.id);
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    is_required && definitions.iter().all(|definition| matches!(definition.kind, DefKind::Parameter(_)))
}

/// Returns whether an argument is a parameter with a default, such as `separator=os.path.sep`. Callers may omit it, or
/// pass a Tensor.
fn is_optional(ctx: &FunctionContext, argument: &Expr) -> bool {
    let Some(name) = argument.as_name_expr() else { return false };
    let mut parameters = ctx.def().parameters.iter_non_variadic_params();
    parameters.any(|it| it.default.is_some() && it.parameter.name.id == name.id)
}

/// Returns whether the function tests the type of the variable (`isinstance(x, tf.Tensor)`), so it handles several
/// types.
fn has_type_test(ctx: &FunctionContext, value: &Expr) -> bool {
    let Some(name) = value.as_name_expr() else { return false };
    ctx.expressions().into_iter().filter_map(Expr::as_call_expr).any(|call| {
        ctx.builtin(&call.func) == Some("isinstance")
            && call
                .arguments
                .args
                .first()
                .and_then(Expr::as_name_expr)
                .is_some_and(|tested| tested.id == name.id)
    })
}

/// Returns whether a value is a Tensor, or a parameter that is assumed to be one. The assumption is valid only for uses
/// that only arrays support.
fn is_array(ctx: &FunctionContext, value: &Expr) -> bool {
    let fact = ctx.fact(value);
    let is_one = matches!(fact.kind_of_object(), Some(TensorKind::Tensor | TensorKind::Variable));
    is_one && (!fact.unknown || value.is_name_expr() && tracing::origin(ctx, value) == Origin::Assumed)
}

/// Reports methods that return the value of a Tensor: `x.numpy()`.
fn value_method(ctx: &FunctionContext, call: &ExprCall) {
    let Some(method) = call.func.as_attribute_expr() else { return };
    let is_host =
        matches!(method.attr.as_str(), "numpy" | "item" | "tolist") && call.arguments.args.is_empty();
    if !is_host || !is_array(ctx, &method.value) {
        return;
    }
    let base = ctx.text(&*method.value);
    ctx.report(
        &HOST_VALUES,
        call,
        format!(
            "`.{}()` needs the value of `{base}`, a symbolic Tensor without a value while the graph is built",
            method.attr
        ),
    )
    .why(ctx.why(&method.value))
    .help("use TensorFlow operations on the Tensor, or wrap the code in `tf.py_function`")
    .emit();
}

/// Attributes of arrays, strings and torch's Tensors that TensorFlow's Tensors do not have, each with its replacement.
const ARRAY_ATTRIBUTES: [(&str, &str); 23] = [
    ("astype", "`tf.cast`"),
    ("reshape", "`tf.reshape`"),
    ("flatten", "`tf.reshape(x, [-1])`"),
    ("ravel", "`tf.reshape(x, [-1])`"),
    ("transpose", "`tf.transpose`"),
    ("T", "`tf.transpose`"),
    ("squeeze", "`tf.squeeze`"),
    ("mean", "`tf.reduce_mean`"),
    ("std", "`tf.math.reduce_std`"),
    ("sum", "`tf.reduce_sum`"),
    ("max", "`tf.reduce_max`"),
    ("min", "`tf.reduce_min`"),
    ("argmax", "`tf.argmax`"),
    ("argmin", "`tf.argmin`"),
    ("clip", "`tf.clip_by_value`"),
    ("cumsum", "`tf.cumsum`"),
    ("nonzero", "`tf.where`"),
    ("swapaxes", "`tf.transpose`"),
    ("copy", "`tf.identity`"),
    ("tobytes", "`tf.io.serialize_tensor`"),
    ("permute", "`tf.transpose`"),
    ("unsqueeze", "`tf.expand_dims`"),
    ("detach", "`tf.stop_gradient`"),
];

/// Methods of strings that neither Tensors nor tuples and dictionaries have.
const STRING_METHODS: [&str; 19] = [
    "decode",
    "encode",
    "endswith",
    "find",
    "isdigit",
    "lower",
    "lstrip",
    "partition",
    "replace",
    "rfind",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "upper",
];

/// Reports attributes that a Tensor does not have: `x.astype(np.float32)`, `text.decode()`.
fn array_attribute(ctx: &FunctionContext, attribute: &ExprAttribute) {
    let name = attribute.attr.as_str();
    let instead = match ARRAY_ATTRIBUTES.iter().find(|(known, _)| *known == name) {
        Some((_, instead)) => instead,
        None if STRING_METHODS.contains(&name) => "`tf.strings` or `tf.py_function`",
        None => return,
    };
    // Tensors of other Keras backends have some of these attributes.
    let is_tensorflow = ctx.dialect() == Dialect::Tensorflow || ctx.imports.uses("tensorflow");
    // An object that is only assumed to be a Tensor may have a method with this name. The elements of a Dataset can
    // only be Tensors, tuples and dictionaries.
    let is_array = match ctx.fact(&attribute.value).unknown {
        true if STRING_METHODS.contains(&name) => {
            is_array(ctx, &attribute.value) && is_parameter_of_callback(ctx, &attribute.value)
        }
        true => matches!(name, "astype") && is_array(ctx, &attribute.value),
        false => is_array(ctx, &attribute.value) && tracing::origin(ctx, &attribute.value) != Origin::Outside,
    };
    if !is_tensorflow || !is_array || !attribute.ctx.is_load() || is_guarded(ctx, attribute.range()) {
        return;
    }
    let base = ctx.text(&*attribute.value);
    ctx.report(
        &HOST_VALUES,
        attribute,
        format!("`{base}` is a symbolic Tensor, which has no attribute `{name}`"),
    )
    .why(ctx.why(&attribute.value))
    .help(format!("use {instead}"))
    .emit();
}

/// Returns whether Tensors have the methods of arrays, because the program calls
/// `tf.experimental.numpy.experimental_enable_numpy_behavior()`.
fn numpy_methods_are_enabled(ctx: &FunctionContext) -> bool {
    ctx.imports.dotted_names().any(|name| name.starts_with("tensorflow.experimental.numpy"))
}

/// Reports `float(x)` in code that is not converted, and `round(x)` and `hash(x)` in any code.
fn builtin(ctx: &FunctionContext, call: &ExprCall) {
    let Some(name) = ctx.builtin(&call.func) else { return };
    let python = !ctx.converts() && !may_be_eager(ctx);
    let instead = match name {
        "float" | "int" | "complex" if python => "`tf.cast`",
        "len" if python => "`tf.shape(x)[0]`",
        "range" if python => "`tf.while_loop`, or decorate the code with `@tf.function`",
        "round" => "`tf.round`",
        "hash" => "`x.ref()`",
        "bin" | "chr" | "hex" | "oct" => "`tf.py_function`",
        _ => return,
    };
    // Keras calls its methods with Tensors.
    let is_passed = |argument: &Expr| {
        ctx.root() == Some(RootKind::KerasMethod) && name != "len" && is_staged_parameter(ctx, argument)
    };
    let is_certain = |argument: &&Expr| {
        (is_certain(ctx, argument) || is_passed(argument))
            && (name != "len" || tracing::origin(ctx, argument) == Origin::Computed)
    };
    let Some(argument) = call.arguments.args.iter().find(is_certain) else { return };
    let message = format!(
        "`{name}` needs the value of `{}`, a symbolic Tensor while the graph is built",
        ctx.text(argument)
    );
    ctx.report(&HOST_VALUES, call, message).why(ctx.why(argument)).help(format!("use {instead}")).emit();
}

/// Returns whether an expression is a parameter that receives a Tensor, and that the function does not assign.
fn is_staged_parameter(ctx: &FunctionContext, expression: &Expr) -> bool {
    let Expr::Name(name) = expression else { return false };
    let definitions = ctx.flow.definitions_of(name.range, &QName::from(&name.id));
    let is_parameter = |it: &ag_flow::Def| matches!(it.kind, DefKind::Parameter(_));
    definitions.iter().all(|definition| is_parameter(definition))
        && ctx.parameter(&name.id).is_some_and(|it| it.binding == Binding::Staged)
}

/// Returns whether the function may run with eager Tensors. Outside of a `tf.function`, functions such as
/// `tf.while_loop` call the functions that are passed to them with eager Tensors.
fn may_be_eager(ctx: &FunctionContext) -> bool {
    ctx.stage.mode == RootKind::ControlFlowBody
}

fn is_certain(ctx: &FunctionContext, value: &Expr) -> bool {
    matches!(ctx.fact(value).tensor_kind(), Some(TensorKind::Tensor | TensorKind::Variable))
}

/// Reports `names[i]` with a Python list and a Tensor.
fn list_index(ctx: &FunctionContext, item: &ExprSubscript) {
    let is_list = matches!(
        ctx.python_fact(&item.value),
        Fact { alternatives, unknown: false, .. }
            if matches!(alternatives.as_slice(), [Alternative::Container { class, .. }] if matches!(class.as_str(), "list" | "tuple"))
    );
    if !is_list
        || may_be_eager(ctx)
        || !item.ctx.is_load()
        || !is_certain(ctx, &item.slice)
        || is_guarded(ctx, item.range())
    {
        return;
    }
    let (list, index) = (ctx.text(&*item.value), ctx.text(&*item.slice));
    ctx.report(
        &HOST_VALUES,
        item,
        format!("`{list}` is a Python list, and its index `{index}` is a symbolic Tensor"),
    )
    .why(ctx.why(&item.slice))
    .help("use `tf.gather` or `tf.switch_case`")
    .emit();
}

/// Returns whether numbers are formatted when the graph runs. Only the runtime `autograph` formats them then.
fn formats_staged(ctx: &FunctionContext) -> bool {
    ctx.dialect() == Dialect::Autograph
}

/// Reports `"%.2f" % x`.
fn percent_formatted(ctx: &FunctionContext, operation: &ExprBinOp) {
    let values = expressions::elements(&operation.right);
    let mut numbers = formatting::percent_numbers(&operation.left, values);
    let Some(value) = numbers.find(|value| is_certain(ctx, value)) else { return };
    if !formats_staged(ctx) && !may_be_eager(ctx) && !is_guarded(ctx, operation.range()) {
        format_needs_value(ctx, operation.range(), value);
    }
}

/// Reports `"{:.2f}".format(x)` and `log.warning("%.2f", x)`.
fn method_formatted(ctx: &FunctionContext, call: &ExprCall) {
    let mut numbers = formatting::field_numbers(call).chain(formatting::logged_numbers(call));
    if let Some(value) = numbers.find(|value| is_certain(ctx, value))
        && !formats_staged(ctx)
        && !may_be_eager(ctx)
    {
        format_needs_value(ctx, call.range(), value);
    }
}

fn format_needs_value(ctx: &FunctionContext, range: TextRange, value: &Expr) {
    let message = format!("a format needs the value of `{}`, a symbolic Tensor", ctx.text(value));
    ctx.report(&HOST_VALUES, range, message).why(ctx.why(value)).help(FORMAT_HELP).emit();
}

/// Reports `f"{x:.2f}"`: a Tensor has no value to format.
fn formatted(ctx: &FunctionContext, text: &ExprFString) {
    for element in text.value.elements() {
        let Some(interpolation) = element.as_interpolation() else { continue };
        let formats = interpolation.format_spec.as_ref().is_some_and(|spec| !spec.elements.is_empty());
        if formats
            && interpolation.conversion.is_none()
            && is_certain(ctx, &interpolation.expression)
            && !formats_staged(ctx)
            && !may_be_eager(ctx)
            && !is_guarded(ctx, text.range())
        {
            format_needs_value(ctx, text.range(), &interpolation.expression);
        }
    }
}
