//! Python that the TorchScript compiler does not support.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::script_paths::Compiled;
use super::{MAX_STEPS, is_under_script_test, scripts};
use ag_index::facts::Alternative;
use ag_syntax::expressions::sequence;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports unsupported Python in a TorchScript function: generators, `try`, lambdas, nested functions,
    /// `global`, sets, conditions in comprehensions, `else` of loops, jumps in loops over modules, assignment expressions, `match`, imports,
    /// format specifications in f-strings, `*args` and `**kwargs`, some builtins, and functions of NumPy and of
    /// modules such as `random` and `os`.
    ///
    /// ## Why is this bad?
    /// TorchScript compiles the source of the function and raises on unsupported syntax.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def evens(x: torch.Tensor):
    ///     return [i for i in range(x.size(0)) if i % 2 == 0]
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from typing import List
    ///
    /// import torch
    ///
    /// @torch.jit.script
    /// def evens(x: torch.Tensor):
    ///     found: List[int] = []
    ///     for i in range(x.size(0)):
    ///         if i % 2 == 0:
    ///             found.append(i)
    ///     return found
    /// ```
    ///
    /// ## What torch reports
    /// `UnsupportedNodeError: try blocks aren't supported`, `NotSupportedError: Comprehension ifs are not
    /// supported yet`
    pub(crate) static SCRIPT_UNSUPPORTED = {
        code: "AG534", name: "script-unsupported",
        summary: "TorchScript does not support this Python construct",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    if ctx.def().is_async {
        report(ctx, ctx.def().name.range(), "an `async` function");
    }
    let parameters = &ctx.def().parameters;
    let variadic = parameters.vararg.is_some() || parameters.kwarg.is_some();
    if variadic || parameters.kwonlyargs.iter().any(|parameter| parameter.default.is_some()) {
        let what = if variadic { "`*args` and `**kwargs`" } else { "a default of a keyword-only parameter" };
        report(ctx, ctx.def().name.range(), what);
    }
    for default in parameters.iter_non_variadic_params().filter_map(|parameter| parameter.default.as_deref())
    {
        if matches!(default, Expr::List(_) | Expr::Dict(_)) {
            report(ctx, default.range(), "a list or dictionary as a default");
        }
    }
    let compiled = Compiled::of(ctx);
    for (range, what) in unrolled_jumps(ctx).into_iter().filter(|(range, _)| compiled.contains(*range)) {
        report(ctx, range, what);
    }
    for statement in ctx.statements() {
        let of_compiled = || of_compiled(ctx, statement).filter(|(range, _)| compiled.contains(*range));
        if let Some((range, what)) = of_statement(statement).or_else(of_compiled) {
            report(ctx, range, what);
        }
    }
    for range in lists_without_type(ctx).into_iter().filter(|range| compiled.contains(*range)) {
        report(ctx, range, "`.tolist()` without an annotation of its result");
    }
    for expression in ctx.expressions() {
        let of_call = || of_call(ctx, expression).filter(|_| compiled.contains(expression.range()));
        if let Some(what) = of_expression(expression).or_else(of_call) {
            report(ctx, expression.range(), what);
        }
    }
}

fn report(ctx: &FunctionContext, range: TextRange, what: &str) {
    ctx.report(&SCRIPT_UNSUPPORTED, range, format!("TorchScript does not support {what}")).emit();
}

/// Returns syntax that the parser of TorchScript rejects everywhere, even under `if not torch.jit.is_scripting():`.
fn of_statement(statement: &Stmt) -> Option<(TextRange, &'static str)> {
    let keyword = |length: u32| TextRange::at(statement.start(), length.into());
    Some(match statement {
        Stmt::Try(_) => (keyword(3), "`try`"),
        Stmt::FunctionDef(def) => (def.name.range(), "a nested function"),
        Stmt::ClassDef(class) => (class.name.range(), "a nested class"),
        Stmt::AnnAssign(node) if node.value.is_none() => (statement.range(), "a declaration without a value"),
        Stmt::Global(_) => (statement.range(), "`global`"),
        Stmt::Nonlocal(_) => (statement.range(), "`nonlocal`"),
        Stmt::Match(_) => (keyword(5), "`match`"),
        Stmt::Import(_) | Stmt::ImportFrom(_) => (statement.range(), "an import in a function"),
        Stmt::For(node) if node.is_async => (keyword(5), "`async for`"),
        Stmt::With(node) if node.is_async => (keyword(5), "`async with`"),
        Stmt::For(node) if !node.orelse.is_empty() => (keyword(3), "the `else` of a loop"),
        Stmt::While(node) if !node.orelse.is_empty() => (keyword(5), "the `else` of a loop"),
        _ => return None,
    })
}

/// Modules of Python whose context managers TorchScript does not know.
const LIBRARIES: [&str; 6] = ["contextlib.", "decimal.", "tempfile.", "threading.", "unittest.", "warnings."];

/// Returns syntax that the compiler rejects. In code that is not compiled, it is accepted.
fn of_compiled(ctx: &FunctionContext, statement: &Stmt) -> Option<(TextRange, &'static str)> {
    match statement {
        Stmt::Delete(node) if node.targets.iter().any(Expr::is_attribute_expr) => {
            Some((statement.range(), "`del` of an attribute"))
        }
        Stmt::AugAssign(node) => match node.op {
            ast::Operator::FloorDiv => Some((statement.range(), "`//=`")),
            ast::Operator::MatMult => Some((statement.range(), "`@=`")),
            _ => None,
        },
        // `for layer in self.layers[1:]`
        Stmt::For(node) => {
            let slice = node.iter.as_subscript_expr().filter(|item| item.slice.is_slice_expr())?;
            let is_list = is_module_of(ctx, &slice.value, &["ModuleList", "Sequential"]);
            is_list
                .then(|| (node.iter.range(), "a loop over a slice of an `nn.ModuleList` or `nn.Sequential`"))
        }
        // `count: float = x.item()`
        Stmt::AnnAssign(node) => is_method_of_tensor(ctx, node.value.as_deref()?, "item")
            .then(|| (statement.range(), "an annotation of the result of `.item()`, which is a `number`")),
        // `with contextlib.nullcontext():`
        Stmt::With(node) => {
            let of_library = |item: &&ast::WithItem| {
                let context = item.context_expr.as_call_expr().and_then(|call| ctx.resolve(&call.func));
                context.is_some_and(|name| LIBRARIES.iter().any(|library| name.starts_with(library)))
            };
            let item = node.items.iter().find(of_library)?;
            Some((item.context_expr.range(), "this context manager"))
        }
        // `first, *rest = words`, where `words` is a list of unknown length
        Stmt::Assign(node) => {
            let [target] = node.targets.as_slice() else { return None };
            let has_star = sequence(target).is_some_and(|it| it.iter().any(Expr::is_starred_expr));
            (has_star && (is_list(ctx, &node.value) || is_size(ctx, &node.value, MAX_STEPS)))
                .then(|| (statement.range(), "`*` of a list in an assignment"))
        }
        _ => None,
    }
    .filter(|(range, _)| !is_under_script_test(ctx, *range))
}

fn of_expression(expression: &Expr) -> Option<&'static str> {
    let comprehension = |generators: &[ast::Comprehension]| match generators {
        [only] => (!only.ifs.is_empty()).then_some("the condition of a comprehension"),
        _ => Some("a comprehension with several `for`"),
    };
    match expression {
        Expr::Lambda(_) => Some("a lambda"),
        Expr::BytesLiteral(_) => Some("a bytes literal"),
        Expr::Dict(dict) if dict.items.iter().any(|item| item.key.is_none()) => Some("`**` in a dictionary"),
        Expr::Call(call) if call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) => {
            Some("`**` in a call")
        }
        Expr::Name(name) if name.id.starts_with("__jit") => Some("a name that starts with `__jit`"),
        Expr::Named(_) => Some("`:=`"),
        Expr::Set(_) | Expr::SetComp(_) => Some("a set"),
        Expr::Yield(_) | Expr::YieldFrom(_) => Some("`yield`"),
        Expr::Await(_) => Some("`await`"),
        Expr::ListComp(node) => comprehension(&node.generators),
        Expr::DictComp(node) => comprehension(&node.generators),
        Expr::FString(string) => string
            .value
            .f_strings()
            .flat_map(|part| part.elements.iter())
            .filter_map(|element| element.as_interpolation())
            .any(|part| part.format_spec.is_some() || !part.conversion.is_none())
            .then_some("a format specification in an f-string"),
        _ => None,
    }
}

fn of_call(ctx: &FunctionContext, expression: &Expr) -> Option<&'static str> {
    match expression {
        Expr::Compare(compare)
            if compare.left.as_call_expr().is_some_and(|call| ctx.builtin(&call.func) == Some("type")) =>
        {
            Some("a comparison of `type()`")
        }
        Expr::Compare(compare)
            if compare.ops.iter().any(|op| matches!(op, ast::CmpOp::In | ast::CmpOp::NotIn))
                && compare.comparators.iter().any(|values| is_container(ctx, values, "set")) =>
        {
            Some("`in` of a set")
        }
        Expr::List(list) if list.ctx.is_load() => spread(ctx, &list.elts),
        Expr::Tuple(tuple) if tuple.ctx.is_load() => spread(ctx, &tuple.elts),
        Expr::Call(call) => match ctx.builtin(&call.func) {
            Some("open") => Some("`open`"),
            Some("map") => Some("`map`"),
            Some("filter") => Some("`filter`"),
            Some("iter") => Some("`iter`"),
            Some("super") => Some("`super()`"),
            Some("id") => Some("`id()`"),
            Some("callable") => Some("`callable`"),
            Some("input") => Some("`input`"),
            Some("repr") => Some("`repr`"),
            Some("set" | "frozenset") if !call.arguments.is_empty() => Some("a set"),
            Some("reversed") => Some("`reversed`"),
            Some("max" | "min") if call.arguments.find_keyword("default").is_some() => {
                Some("`default` of `max` and `min`")
            }
            Some("tuple")
                if call.arguments.args.first().is_some_and(|value| is_size(ctx, value, MAX_STEPS)) =>
            {
                Some("`tuple` of a list")
            }
            Some("round") if call.arguments.len() > 1 => Some("the number of digits of `round`"),
            Some("print") if !call.arguments.keywords.is_empty() => Some("keyword arguments of `print`"),
            Some("getattr")
                if call.arguments.args.get(1).is_some_and(|name| !name.is_string_literal_expr()) =>
            {
                Some("`getattr` with a computed name")
            }
            Some("any" | "all") if call.arguments.args.first().is_some_and(|it| yields_tensors(ctx, it)) => {
                Some("`any` and `all` of a list of Tensors")
            }
            Some("sum") if call.arguments.args.first().is_some_and(|values| holds_tensors(ctx, values)) => {
                Some("`sum` of a list of Tensors")
            }
            Some(name @ ("eval" | "exec")) => Some(if name == "eval" { "`eval`" } else { "`exec`" }),
            Some("sorted") if call.arguments.find_keyword("key").is_some() => Some("`sorted` with a key"),
            _ if spreads_list(ctx, &call.arguments.args) => Some("`*` of a list in a call"),
            _ => {
                // Many functions that only possibly reach the compiler use these modules, so they are not reported in
                // such functions.
                let library = ctx.resolve(&call.func).filter(|_| !ctx.stage.uncertain);
                if let Some(what) = library.and_then(|name| of_library(&name)) {
                    return Some(what).filter(|_| !is_under_script_test(ctx, expression.range()));
                }
                if is_recursive(ctx, &call.func) {
                    return Some("a recursive call");
                }
                let method = call.func.as_attribute_expr()?;
                let what = match method.attr.as_str() {
                    // No class of TorchScript has these.
                    "_asdict" | "_replace" => return Some("this method of named tuples"),
                    "numpy" => "`.numpy()`, which its Tensors do not have",
                    // `x.norm(dim=-1)`: the operators with `dim` require `p`, too.
                    "norm" if lacks_order(&call.arguments) => "`.norm` with `dim` and without `p`",
                    _ => return None,
                };
                is_tensor(ctx, &method.value).then_some(what)
            }
        },
        _ => None,
    }
    .filter(|_| !is_under_script_test(ctx, expression.range()))
}

/// Returns whether an expression calls a method of a Tensor.
fn is_method_of_tensor(ctx: &FunctionContext, value: &Expr, name: &str) -> bool {
    let method = value.as_call_expr().and_then(|call| call.func.as_attribute_expr());
    method.is_some_and(|method| method.attr.as_str() == name && is_tensor(ctx, &method.value))
}

/// Returns the calls of `tolist` whose results have no declared type. `xs: List[int] = x.tolist()` has one, and so has
/// `return x.tolist()` in a function with an annotated result.
fn lists_without_type(ctx: &FunctionContext) -> Vec<TextRange> {
    let declared: Vec<TextRange> = ctx
        .statements()
        .into_iter()
        .filter_map(|statement| match statement {
            Stmt::AnnAssign(node) => node.value.as_ref().map(|value| value.range()),
            Stmt::Return(node) if ctx.def().returns.is_some() => {
                node.value.as_ref().map(|value| value.range())
            }
            _ => None,
        })
        .collect();
    let lists = ctx.expressions().into_iter().filter(|it| is_method_of_tensor(ctx, it, "tolist"));
    let ranges = lists.map(Ranged::range).filter(|range| !declared.contains(range));
    ranges.filter(|range| !is_under_script_test(ctx, *range)).collect()
}

/// Returns whether a call is of the method that contains it: `self.walk(child)` in `walk`.
fn is_recursive(ctx: &FunctionContext, callee: &Expr) -> bool {
    let own = &ctx.def().name.id;
    callee.as_attribute_expr().is_some_and(|method| method.attr.id == *own && ctx.is_receiver(&method.value))
}

/// Returns whether the arguments of `norm` give a dimension, but no order.
fn lacks_order(arguments: &ast::Arguments) -> bool {
    arguments.args.is_empty()
        && arguments.find_keyword("dim").is_some()
        && arguments.find_keyword("p").is_none()
}

/// Functions of the module `math` that TorchScript does not have.
const MATHEMATICAL: [&str; 15] = [
    "math.cbrt",
    "math.comb",
    "math.dist",
    "math.exp2",
    "math.fsum",
    "math.hypot",
    "math.isclose",
    "math.isqrt",
    "math.lcm",
    "math.log2",
    "math.nextafter",
    "math.perm",
    "math.prod",
    "math.trunc",
    "math.ulp",
];

/// Describes a call of a function that is written in C or uses Python that the compiler rejects: `np.exp(2.0)`.
fn of_library(name: &str) -> Option<&'static str> {
    match name {
        "torch.cuda.is_available" => return Some("`torch.cuda.is_available()`"),
        "torch.Tensor"
        | "torch.FloatTensor"
        | "torch.LongTensor"
        | "torch.IntTensor"
        | "torch.BoolTensor"
        | "torch.cuda.FloatTensor"
        | "torch.cuda.LongTensor" => {
            return Some("this constructor: use `torch.tensor`");
        }
        _ => {}
    }
    Some(match name.split_once('.')?.0 {
        "math" if MATHEMATICAL.contains(&name) => "this function of the module `math`",
        "numpy" => "functions of NumPy",
        "scipy" => "functions of SciPy",
        "copy" => "functions of the module `copy`",
        "functools" => "functions of the module `functools`",
        "itertools" => "functions of the module `itertools`",
        "json" => "functions of the module `json`",
        "operator" => "functions of the module `operator`",
        "os" => "functions of the module `os`",
        "random" => "functions of the module `random`",
        "re" => "functions of the module `re`",
        "time" => "functions of the module `time`",
        _ => return None,
    })
}

/// Describes the construct in `[*values, 3]`, where `values` is a list of unknown length.
fn spread(ctx: &FunctionContext, elements: &[Expr]) -> Option<&'static str> {
    let of_list =
        |element: &Expr| element.as_starred_expr().is_some_and(|starred| is_list(ctx, &starred.value));
    elements.iter().any(of_list).then_some("`*` of a list in a list or tuple")
}

fn is_list(ctx: &FunctionContext, value: &Expr) -> bool {
    is_container(ctx, value, "list")
}

fn is_container(ctx: &FunctionContext, value: &Expr, wanted: &str) -> bool {
    let fact = ctx.fact(value);
    !fact.unknown
        && matches!(
            fact.alternatives.as_slice(),
            [Alternative::Container { class, .. }] if class == wanted
        )
}

/// Returns whether a call spreads a list of unknown length: `x.view(*x.shape[:-1], 3)`, `torch.maximum(*x.chunk(2))`.
fn spreads_list(ctx: &FunctionContext, arguments: &[Expr]) -> bool {
    arguments.iter().filter_map(Expr::as_starred_expr).any(|starred| {
        is_size(ctx, &starred.value, MAX_STEPS)
            || PARTS.iter().any(|method| is_method_of_tensor(ctx, &starred.value, method))
            || starred.value.is_list_comp_expr()
    })
}

/// Methods of Tensors that return a list of Tensors.
const PARTS: [&str; 4] = ["chunk", "split", "tensor_split", "unbind"];

/// Returns whether a value is a size, a part of it, or the sum of a size and a list or tuple, which are lists of unknown
/// length: `x.shape`, `x.size()[1:]`, `x.shape[:-1] + (heads, 8)`. Of a variable, all definitions must be.
fn is_size(ctx: &FunctionContext, value: &Expr, steps: usize) -> bool {
    let value = match value {
        Expr::Subscript(item) if item.slice.is_slice_expr() => &*item.value,
        value => value,
    };
    let size = match value {
        Expr::BinOp(sum) if sum.op == ast::Operator::Add && steps > 0 => {
            return is_size(ctx, &sum.left, steps - 1) || is_size(ctx, &sum.right, steps - 1);
        }
        Expr::Name(name) if steps > 0 => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            return !definitions.is_empty()
                && definitions
                    .iter()
                    .all(|it| ctx.value_of(it).is_some_and(|value| is_size(ctx, value, steps - 1)));
        }
        Expr::Call(call) if call.arguments.is_empty() => call.func.as_attribute_expr(),
        value => value.as_attribute_expr(),
    };
    size.is_some_and(|size| matches!(size.attr.as_str(), "shape" | "size") && is_tensor(ctx, &size.value))
}

/// Returns whether a comprehension or generator yields Tensors: `x > 0 for x in xs`.
fn yields_tensors(ctx: &FunctionContext, values: &Expr) -> bool {
    match values {
        Expr::ListComp(node) => is_tensor(ctx, &node.elt),
        Expr::Generator(node) => is_tensor(ctx, &node.elt),
        _ => false,
    }
}

/// Returns whether the elements of a list, tuple, comprehension or generator are Tensors.
fn holds_tensors(ctx: &FunctionContext, values: &Expr) -> bool {
    match values {
        Expr::List(list) => list.elts.iter().any(|element| is_tensor(ctx, element)),
        Expr::Tuple(tuple) => tuple.elts.iter().any(|element| is_tensor(ctx, element)),
        Expr::ListComp(node) => is_tensor(ctx, &node.elt),
        Expr::Generator(node) => is_tensor(ctx, &node.elt),
        Expr::Name(_) => matches!(
            ctx.fact(values).alternatives.as_slice(),
            [Alternative::Container { class, staged: true }] if class == "list"
        ),
        _ => false,
    }
}

/// Returns the `break` and `continue` statements of loops over modules. The compiler unrolls these loops.
fn unrolled_jumps(ctx: &FunctionContext) -> Vec<(TextRange, &'static str)> {
    let mut found = Vec::new();
    for statement in ctx.statements() {
        let Stmt::For(node) = statement else { continue };
        if is_module_container(ctx, &node.iter) {
            jumps(&node.body, &mut found);
        }
    }
    found
}

/// Returns whether a loop over `iter` visits the modules of a container: `self.layers`, `enumerate(self.layers)`.
fn is_module_container(ctx: &FunctionContext, iter: &Expr) -> bool {
    match iter {
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                matches!(method.attr.as_str(), "items" | "values" | "keys")
                    && is_module_container(ctx, &method.value)
            }
            callee => {
                matches!(ctx.builtin(callee), Some("enumerate" | "zip"))
                    && call.arguments.args.iter().any(|value| is_module_container(ctx, value))
            }
        },
        _ => is_module_of(ctx, iter, &["ModuleList", "ModuleDict", "Sequential"]),
    }
}

/// Returns whether a value is certainly an instance of one of these classes of `torch.nn`.
fn is_module_of(ctx: &FunctionContext, value: &Expr, classes: &[&str]) -> bool {
    let fact = ctx.fact(value);
    !fact.unknown
        && matches!(
            fact.alternatives.as_slice(),
            [Alternative::Instance { module: Some(module), class }]
                if module.starts_with("torch.nn") && classes.contains(&class.as_str())
        )
}

/// Adds the jumps that leave or continue the loop around `body`.
fn jumps(body: &[Stmt], found: &mut Vec<(TextRange, &'static str)>) {
    for statement in body {
        match statement {
            Stmt::Break(node) => found.push((node.range, "`break` in a loop over modules")),
            Stmt::Continue(node) => found.push((node.range, "`continue` in a loop over modules")),
            Stmt::If(node) => {
                jumps(&node.body, found);
                node.elif_else_clauses.iter().for_each(|clause| jumps(&clause.body, found));
            }
            Stmt::With(node) => jumps(&node.body, found),
            _ => {}
        }
    }
}
