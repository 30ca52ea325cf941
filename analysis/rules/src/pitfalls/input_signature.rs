//! `input_signature` of `tf.function`: its form, and calls that do not fit it.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use super::tensor_specs;
use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use crate::program::Bound;

declare_rule! {
    /// ## What it does
    /// Finds an `input_signature` that is not a list or tuple of `tf.TensorSpec`, or has more entries than the function
    /// has parameters. Also finds calls with more arguments than entries, or with Tensors of another dtype or shape.
    ///
    /// ## Why is this bad?
    /// TensorFlow raises when the function is defined or called.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(input_signature=tf.TensorSpec([None], tf.float32))
    /// def doubled(x):
    ///     return x * 2.0
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    /// def doubled(x):
    ///     return x * 2.0
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// TypeError: input_signature must be either a tuple or a list, got <class 'TensorSpec'>.
    /// TypeError: input_signature must be a possibly nested sequence of TensorSpec objects
    /// TypeError: Binding inputs to tf.function failed due to `too many positional arguments`.
    /// ```
    pub(crate) static INPUT_SIGNATURE = {
        code: "AG415", name: "input-signature",
        summary: "an `input_signature` that TensorFlow rejects",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: File(declared::is_likely, check),
    }
}

fn check(ctx: &FileContext) {
    if !ctx.text.contains("input_signature") {
        return;
    }
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    for function in declared::functions(ctx).into_iter().filter(|function| function.has_signature) {
        let signature = function.def.decorator_list.iter().find_map(|decorator| {
            decorator.expression.as_call_expr()?.arguments.find_keyword("input_signature")
        });
        let Some(signature) = signature else { continue };
        match &signature.value {
            Expr::Call(call) if is_spec(ctx, call) => {
                ctx.report(
                    &INPUT_SIGNATURE,
                    call,
                    "`input_signature` is a list or tuple, not one `tf.TensorSpec`",
                )
                .help("write `input_signature=[…]`")
                .emit();
            }
            Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                if let Some(dtype) = elts.iter().find(|element| is_dtype(ctx, element)) {
                    let message = format!("`{}` is a dtype, not a `tf.TensorSpec`", ctx.text(dtype));
                    ctx.report(&INPUT_SIGNATURE, dtype, message)
                        .help("write `tf.TensorSpec(shape, dtype)`")
                        .emit();
                } else {
                    arguments(ctx, function.def, function.class.is_some(), elts);
                }
                if function.class.is_none() && !elts.iter().any(Expr::is_starred_expr) {
                    counts.insert(function.def.name.as_str(), elts.len());
                }
            }
            _ => {}
        }
    }
    if counts.is_empty() {
        return;
    }
    let mut bindings = Bindings { counts: FxHashMap::default() };
    bindings.visit_body(ctx.parsed.suite());
    counts.retain(|name, _| bindings.counts.get(name) == Some(&1));
    Calls { ctx, counts }.visit_body(ctx.parsed.suite());
}

/// Checks the Tensors that the calls of a function pass. A method is recognized by its name, if the file defines no
/// other function of this name.
fn arguments<'a>(ctx: &FileContext<'a>, def: &'a ast::StmtFunctionDef, is_method: bool, entries: &[Expr]) {
    let program = ctx.program();
    let is_unique = program.functions.iter().filter(|(other, _)| other.name.id == def.name.id).count() == 1;
    let positional = def.parameters.posonlyargs.iter().chain(&def.parameters.args);
    let names: Vec<&str> =
        positional.skip(usize::from(is_method)).map(|it| it.parameter.name.as_str()).collect();
    for site in &program.calls {
        let called = match &*site.node.func {
            Expr::Attribute(attribute) => {
                let of_module = ctx.resolve(&site.node.func).is_some();
                is_method && is_unique && !of_module && attribute.attr.id == def.name.id
            }
            function => matches!(
                program.value(site.scope, function),
                (Bound::Function(called), _) if called.range() == def.range()
            ),
        };
        if !called || site.node.arguments.args.iter().any(Expr::is_starred_expr) {
            continue;
        }
        for (position, (entry, name)) in entries.iter().zip(&names).enumerate() {
            let Some(argument) = site.node.arguments.find_argument_value(name, position) else { continue };
            let Some(entry) = tensor_specs::of_entry(ctx, entry) else { continue };
            let passed = tensor_specs::of_argument(ctx, site.scope, argument);
            if let Some((passed, declared)) = tensor_specs::difference(&passed, &entry) {
                let message = format!(
                    "the `input_signature` of `{}` declares `{name}` with {declared}, but this call passes {passed}",
                    def.name
                );
                ctx.report(&INPUT_SIGNATURE, site.node, message)
                    .help("convert the argument, or change the signature")
                    .emit();
                break;
            }
        }
    }
}

fn is_spec(ctx: &FileContext, call: &ast::ExprCall) -> bool {
    ctx.resolve(&call.func).is_some_and(|name| name == "tensorflow.TensorSpec")
}

fn is_dtype(ctx: &FileContext, expression: &Expr) -> bool {
    const DTYPES: [&str; 9] =
        ["bool", "float16", "float32", "float64", "int8", "int32", "int64", "string", "uint8"];
    let name = ctx.resolve(expression);
    name.is_some_and(|name| name.strip_prefix("tensorflow.").is_some_and(|dtype| DTYPES.contains(&dtype)))
}

/// The number of times that the file binds each name.
struct Bindings<'a> {
    counts: FxHashMap<&'a str, usize>,
}

impl<'a> SourceOrderVisitor<'a> for Bindings<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::FunctionDef(def) = statement {
            *self.counts.entry(def.name.as_str()).or_default() += 1;
            for parameter in def.parameters.iter() {
                *self.counts.entry(parameter.name().as_str()).or_default() += 1;
            }
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression
            && !name.ctx.is_load()
        {
            *self.counts.entry(name.id.as_str()).or_default() += 1;
        }
        source_order::walk_expr(self, expression);
    }
}

struct Calls<'c, 'a> {
    ctx: &'c FileContext<'a>,
    counts: FxHashMap<&'a str, usize>,
}

impl SourceOrderVisitor<'_> for Calls<'_, '_> {
    fn visit_stmt(&mut self, statement: &Stmt) {
        // The code in a `try` expects an exception.
        if !statement.is_try_stmt() {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Call(call) = expression
            && let Expr::Name(name) = call.func.as_ref()
            && let Some(count) = self.counts.get(name.id.as_str())
            && call.arguments.args.len() > *count
            && !call.arguments.args.iter().any(Expr::is_starred_expr)
        {
            let message = format!(
                "the `input_signature` of `{}` has {count} entries, but this call passes more",
                name.id
            );
            self.ctx
                .report(&INPUT_SIGNATURE, call.range(), message)
                .help("add the argument to the signature")
                .emit();
        }
        source_order::walk_expr(self, expression);
    }
}
