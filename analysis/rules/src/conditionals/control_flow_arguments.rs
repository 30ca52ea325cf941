//! Arguments of `tf.cond`, `tf.case`, `tf.switch_case` and `tf.while_loop` that TensorFlow rejects.

use std::collections::BTreeMap;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::values::Value;
use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use crate::loops::shapes;
use crate::names::Names;
use ag_db::diagnostic::Severity;
use ag_index::callbacks::argument;
use ag_index::facts::DType;
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_syntax::functions::FunctionAst;
use ag_syntax::qname::QName;
use ag_syntax::{expressions, statements};

declare_rule! {
    /// ## What it does
    /// Finds calls of `tf.cond`, `tf.case`, `tf.switch_case` and `tf.while_loop` in traced functions with
    ///
    /// - a Python bool or number as the predicate or index instead of a Tensor, or a Tensor of the wrong dtype
    /// - a Tensor where a function is expected, because the function was called instead of passed
    /// - branches whose results have different dtypes or structures
    /// - a loop body whose result has a different dtype or a larger shape than the loop variable, or another number of
    ///   values
    /// - missing branches of `tf.switch_case`
    ///
    /// ## Why is this bad?
    /// TensorFlow raises while the function is traced.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def clipped(x: tf.Tensor):
    ///     return tf.cond(x > 1.0, tf.ones_like(x), x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def clipped(x: tf.Tensor):
    ///     return tf.cond(x > 1.0, lambda: tf.ones_like(x), lambda: x)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// TypeError: 'true_fn' must be callable.
    /// TypeError: pred must not be a Python bool
    /// ```
    pub(crate) static CONTROL_FLOW_ARGUMENTS = {
        code: "AG115", name: "control-flow-arguments",
        summary: "an argument of `tf.cond`, `tf.case`, `tf.switch_case` or `tf.while_loop` is rejected",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for call in ctx.expressions().into_iter().filter_map(Expr::as_call_expr) {
        let Some(name) = ctx.resolve(&call.func) else { continue };
        let fault = match name.as_str() {
            "tensorflow.cond" => cond(ctx, call),
            "tensorflow.switch_case" => switch_case(ctx, call),
            "tensorflow.case" => case(ctx, call),
            "tensorflow.while_loop" => while_loop(ctx, call),
            _ => None,
        };
        let growth =
            if name == "tensorflow.while_loop" && fault.is_none() { growth(ctx, call) } else { None };
        let severity = growth.as_ref().map_or(Severity::Error, |(_, severity)| *severity);
        if let Some(message) = fault.or(growth.map(|(message, _)| message))
            && !is_guarded(ctx, call.range())
        {
            ctx.report(&CONTROL_FLOW_ARGUMENTS, call.range(), message)
                .severity(severity)
                .help("pass a Tensor as the predicate or index, and functions such as `lambda: x` as the branches")
                .emit();
        }
    }
}

fn is_tensor(ctx: &FunctionContext, expression: &Expr) -> bool {
    ctx.fact(expression).is_tensor() && !expression.is_lambda_expr()
}

/// Returns a message if a Tensor is passed where a function is expected.
fn not_callable(ctx: &FunctionContext, function: Option<&Expr>, name: &str) -> Option<String> {
    let function = function.filter(|function| is_tensor(ctx, function))?;
    Some(format!("`{}` is a Tensor, but `{name}` must be a function", ctx.text(function)))
}

fn cond(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<String> {
    if let Some(Expr::BooleanLiteral(literal)) = argument(call, 0, "pred") {
        return Some(format!("`tf.cond` takes a Tensor, not `{}`", ctx.text(literal)));
    }
    let branches = [argument(call, 1, "true_fn"), argument(call, 2, "false_fn")];
    let fault =
        not_callable(ctx, branches[0], "true_fn").or_else(|| not_callable(ctx, branches[1], "false_fn"));
    if fault.is_some() {
        return fault;
    }
    if let [Some(main), Some(orelse)] = branches
        && let (Some(first), Some(second)) = (results_of(ctx, main), results_of(ctx, orelse))
        && first != second
    {
        return Some(format!("the results of `true_fn` and `false_fn` differ: {first} and {second} values"));
    }
    let difference = difference(&value_of(ctx, branches[0]?)?, &value_of(ctx, branches[1]?)?)?;
    Some(format!("the results of `true_fn` and `false_fn` differ: {difference}"))
}

/// Returns the value that a lambda or local function returns. A local function is one that the checked function
/// defines.
fn value_of(ctx: &FunctionContext, function: &Expr) -> Option<Value> {
    let Expr::Lambda(lambda) = function else {
        return Some(Value::of_syntax(only_return(local_def(ctx, function)?)?));
    };
    let call = lambda.body.as_call_expr();
    Some(match call.and_then(|call| ctx.callee(call)) {
        Some(callee) => {
            let returned = only_return(callee.def())?;
            match call.and_then(|call| ctx.callee_context(call)) {
                Some((inner, _)) => Value::of_expression(&inner, only_return(inner.def())?),
                None => Value::of_syntax(returned),
            }
        }
        None => Value::of_expression(ctx, &lambda.body),
    })
}

/// Returns the function of the checked function, or of the module, that an expression names, if it is defined exactly
/// once.
fn local_def<'a>(ctx: &FunctionContext<'a>, function: &Expr) -> Option<&'a ast::StmtFunctionDef> {
    let name = function.as_name_expr()?;
    let mut defs = statements::of_function(ctx.def()).into_iter().filter_map(Stmt::as_function_def_stmt);
    match defs.find(|def| def.name.id == name.id) {
        Some(def) => defs.all(|other| other.name.id != name.id).then_some(def),
        None if ctx.flow.scope().is_local(&name.id) => None,
        None => {
            let definitions = &file_index(ctx.db, ctx.document).definitions.functions;
            let mut defs = definitions.iter().filter(|def| def.path.qualname == name.id);
            let def = defs.next().filter(|_| defs.next().is_none())?;
            let function = FunctionId::new(ctx.db, ctx.document, def.path.clone());
            function_ast(ctx.db, function).as_ref().map(FunctionAst::def)
        }
    }
}

/// Returns the value of the only `return` of a function.
fn only_return(def: &ast::StmtFunctionDef) -> Option<&Expr> {
    let is_decorated = !def.decorator_list.is_empty();
    let mut returns = statements::of_function(def).into_iter().filter_map(Stmt::as_return_stmt);
    let only = returns.next()?.value.as_deref()?;
    (returns.next().is_none() && !is_decorated).then_some(only)
}

/// Returns the number of values that a local function returns.
fn results_of(ctx: &FunctionContext, function: &Expr) -> Option<usize> {
    match only_return(local_def(ctx, function)?)? {
        Expr::Tuple(tuple) if !tuple.iter().any(Expr::is_starred_expr) => Some(tuple.len()),
        // Tuples support `+` and `*` only.
        Expr::BinOp(operation) if !matches!(operation.op, ast::Operator::Add | ast::Operator::Mult) => {
            Some(1)
        }
        Expr::UnaryOp(_) | Expr::Compare(_) => Some(1),
        _ => None,
    }
}

/// Returns a message about a difference between two values that must have the same dtype and structure; `None` if they
/// do not certainly differ.
fn difference(main: &Value, orelse: &Value) -> Option<String> {
    match (main, orelse) {
        (Value::Leaf(Some(a)), Value::Leaf(Some(b))) => {
            (a != b).then(|| format!("`{}` and `{}`", a.as_str(), b.as_str()))
        }
        (Value::Sequence { class: a, items: first }, Value::Sequence { class: b, items: second }) => {
            if a != b || first.len() != second.len() {
                return Some(format!("a {a} of {} and a {b} of {}", first.len(), second.len()));
            }
            first.iter().zip(second).find_map(|(a, b)| difference(a, b))
        }
        (Value::Sequence { class, items }, Value::Leaf(_))
        | (Value::Leaf(_), Value::Sequence { class, items })
            if items.len() > 1 =>
        {
            Some(format!("a {class} of {} and a Tensor", items.len()))
        }
        (Value::Mapping(first), Value::Mapping(second)) => {
            let only = |a: &BTreeMap<String, Value>, b: &BTreeMap<String, Value>| {
                a.keys().find(|key| !b.contains_key(*key)).cloned()
            };
            match (only(first, second), only(second, first)) {
                (Some(key), _) | (_, Some(key)) => Some(format!("only one of them has the key {key}")),
                (None, None) => first.iter().find_map(|(key, value)| difference(value, second.get(key)?)),
            }
        }
        _ => None,
    }
}

fn switch_case(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<String> {
    let index = argument(call, 0, "branch_index")?;
    if expressions::is_scalar_literal(index) {
        return Some(format!("`tf.switch_case` takes a Tensor, not `{}`", ctx.text(index)));
    }
    if let Some(dtype) = ctx.fact(index).dtype().filter(|_| is_tensor(ctx, index))
        && !dtype.is_integer()
    {
        return Some(format!("the index of `tf.switch_case` must be an integer, not `{}`", dtype.as_str()));
    }
    match argument(call, 1, "branch_fns")? {
        Expr::Lambda(_) => Some("`branch_fns` must be a list or dict of functions".to_owned()),
        Expr::List(list) if list.elts.is_empty() => Some("`branch_fns` is empty".to_owned()),
        Expr::List(list) => list.elts.iter().find_map(|branch| not_callable(ctx, Some(branch), "a branch")),
        Expr::Dict(dict) => {
            let keys: Option<Vec<&Expr>> = dict.items.iter().map(|item| item.key.as_ref()).collect();
            let keys = keys?;
            if let Some(key) = keys.iter().find(|key| key.is_string_literal_expr()) {
                return Some(format!("the keys of `branch_fns` must be integers, not {}", ctx.text(*key)));
            }
            let mut numbers: Vec<u64> =
                keys.iter().map(|key| expressions::natural(key)).collect::<Option<_>>()?;
            numbers.sort_unstable();
            let is_contiguous = numbers.iter().zip(0..).all(|(number, position)| position == *number);
            (!is_contiguous).then(|| "the keys of `branch_fns` must be 0, 1, 2, … without a gap".to_owned())
        }
        _ => None,
    }
}

fn case(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<String> {
    let Expr::List(pairs) = argument(call, 0, "pred_fn_pairs")? else { return None };
    pairs.elts.iter().find_map(|pair| match pair {
        Expr::Lambda(_) => Some("`tf.case` takes pairs of a condition and a function".to_owned()),
        Expr::Tuple(tuple) => {
            let [test, function] = tuple.elts.as_slice() else { return None };
            let dtype = ctx.fact(test).dtype().filter(|_| is_tensor(ctx, test));
            match dtype.filter(|dtype| *dtype != DType::Bool) {
                Some(dtype) => {
                    Some(format!("a condition of `tf.case` must be a bool, not `{}`", dtype.as_str()))
                }
                None => not_callable(ctx, Some(function), "a branch"),
            }
        }
        _ => None,
    })
}

fn while_loop(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<String> {
    let (test, body) = (argument(call, 0, "cond"), argument(call, 1, "body"));
    let fault = not_callable(ctx, test, "cond").or_else(|| not_callable(ctx, body, "body"));
    if fault.is_some() {
        return fault;
    }
    let body = body?;
    let results = match body {
        Expr::Lambda(lambda) => &*lambda.body,
        _ => only_return(local_def(ctx, body)?)?,
    };
    let variables = written_out(ctx, argument(call, 2, "loop_vars")?);
    let is_one = matches!(results, Expr::BinOp(_) | Expr::UnaryOp(_) | Expr::Compare(_));
    let before = expressions::sequence(variables).filter(|all| !all.iter().any(Expr::is_starred_expr));
    if let Some(before) = before.map(<[Expr]>::len).filter(|before| *before > 1 && is_one) {
        return Some(format!("the loop has {before} variables, but `body` returns 1 value"));
    }
    let (Expr::Tuple(_) | Expr::List(_), Expr::Tuple(_) | Expr::List(_)) = (variables, results) else {
        return None;
    };
    let (variables, results) = (expressions::elements(variables), expressions::elements(results));
    if variables.len() != results.len() {
        let is_starred = variables.iter().chain(results).any(Expr::is_starred_expr);
        let (before, after) = (variables.len(), results.len());
        return (!is_starred)
            .then(|| format!("the loop has {before} variables, but `body` returns {after} values"));
    }
    if !body.is_lambda_expr() {
        return None;
    }
    variables.iter().zip(results).find_map(|(variable, result)| {
        let value = |expression| match Value::of_expression(ctx, expression) {
            Value::Leaf(dtype) => dtype,
            _ => None,
        };
        // In an operation with a Tensor, a number takes the dtype of the Tensor.
        let (Some(before), Some(after)) = (value(variable), value(result)) else { return None };
        (before != after && is_tensor(ctx, variable) && result.is_call_expr()).then(|| {
            format!(
                "`{}` enters the loop as `{}`, but is `{}` after an iteration",
                ctx.text(variable),
                before.as_str(),
                after.as_str()
            )
        })
    })
}

/// Returns a message about a variable of `tf.while_loop` that is larger after an iteration, unless the call passes
/// `shape_invariants`. The severity is a warning if this analysis does not know the shape before the loop, because
/// TensorFlow accepts the loop if it does not know the shape either.
fn growth(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<(String, Severity)> {
    let (body, variables) = (argument(call, 1, "body")?, argument(call, 2, "loop_vars")?);
    if argument(call, 3, "shape_invariants").is_some_and(|invariants| !invariants.is_none_literal_expr()) {
        return None;
    }
    let results = match body {
        Expr::Lambda(lambda) => &*lambda.body,
        _ => only_return(local_def(ctx, body)?)?,
    };
    let (variables, results) =
        (expressions::sequence(written_out(ctx, variables))?, expressions::sequence(results)?);
    variables.iter().zip(results).enumerate().find_map(|(position, (variable, result))| {
        let name = parameter(ctx, body, position)?;
        shapes::growth(ctx, &QName::from(name), result_of(ctx, body, result)?)?;
        match shapes::of(ctx, written_out(ctx, variable), None) {
            Some(shape) => {
                let shape = shapes::display(&shape);
                let message =
                    format!("`{name}` enters the loop with shape {shape}, but is larger after an iteration");
                Some((message, Severity::Error))
            }
            None => {
                let message =
                    format!("`{name}` has a larger shape after an iteration of this loop than before it");
                (!ctx.stage.options.input_signature).then_some((message, Severity::Warning))
            }
        }
    })
}

/// Returns the name of a positional parameter of a lambda or local function.
fn parameter<'a>(ctx: &FunctionContext<'a>, function: &'a Expr, position: usize) -> Option<&'a Name> {
    let parameters = match function {
        Expr::Lambda(lambda) => lambda.parameters.as_deref()?,
        _ => &local_def(ctx, function)?.parameters,
    };
    let mut positional = parameters.posonlyargs.iter().chain(&parameters.args);
    positional.nth(position).map(|parameter| &parameter.parameter.name.id)
}

/// Returns the expression `returned` in the `return` of a function. If this is a name to which the body assigns exactly
/// once, outside all compound statements, returns the assigned value instead.
fn result_of<'a>(ctx: &FunctionContext<'a>, function: &'a Expr, returned: &'a Expr) -> Option<&'a Expr> {
    let Expr::Name(name) = returned else { return Some(returned) };
    let def = local_def(ctx, function)?;
    let binds = |statement: &&Stmt| Names::of_statement(statement).bound.contains(name.id.as_str());
    let mut bindings = def.body.iter().filter(binds);
    match (bindings.next()?, bindings.next()) {
        (Stmt::Assign(assign), None) => match assign.targets.as_slice() {
            [Expr::Name(_)] => Some(&*assign.value),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the value that a local name is bound to, if it is bound once; otherwise the expression itself.
fn written_out<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> &'a Expr {
    let Expr::Name(name) = expression else { return expression };
    match ctx.flow.definitions_of(name.range(), &QName::from(&name.id)).as_slice() {
        [only] => ctx.value_of(only).unwrap_or(expression),
        _ => expression,
    }
}
