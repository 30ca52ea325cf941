//! Python side effects of a staged function happen while it is traced, not when it runs.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::generators::{draws_from_generator, seeds_global_generator};
use crate::guards::{self, is_guarded};
use crate::tracing::announces_tracing;
use ag_db::diagnostic::{Applicability, Edit};
use ag_index::facts::Binding;
use ag_syntax::expressions;

declare_rule! {
    /// ## What it does
    /// Finds in staged functions:
    ///
    /// - `print` and `logging` calls with a Tensor argument
    /// - clocks (`time.time()`) and the random numbers of Python and NumPy
    ///
    /// ## Why is this bad?
    /// Python runs a staged function once for each kind of argument, to trace it. Afterwards only the graph runs.
    /// `print` shows a Tensor without a value, once; the random number and the time are constants of the graph, the
    /// same in each call.
    ///
    /// A `print` of values that are known while tracing, such as a string or `x.shape`, is not reported: it is a good
    /// way to see when a function is traced. Neither is one whose text says so: `print("Tracing with", x)`.
    ///
    /// ## Example
    /// ```python
    /// import random
    ///
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def noisy(x: tf.Tensor):
    ///     print(x)
    ///     return x + random.random()
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def noisy(x: tf.Tensor):
    ///     tf.print(x)
    ///     return x + tf.random.uniform([])
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: `tf.print` prints in every call, and to standard error.
    pub(crate) static RUNS_WHILE_TRACING = {
        code: "AG401", name: "runs-while-tracing",
        summary: "a Python side effect of a staged function happens only while it is traced",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    // Code that creates objects or builds layers is meant to run while tracing.
    if ctx.creates_objects() {
        return;
    }
    for expression in expressions::of_function(ctx.def()) {
        if let Expr::Call(call) = expression {
            check_print(ctx, call);
            check_random_and_clock(ctx, call);
        }
    }
}

/// Reports calls that print a Tensor: `print(x)`, `logging.info("%s", x)`.
fn check_print(ctx: &FunctionContext, call: &ast::ExprCall) {
    let callee = ctx.resolve(&call.func);
    let is_print = callee.is_none()
        && call
            .func
            .as_name_expr()
            .is_some_and(|name| name.id == "print" && !ctx.flow.scope().is_local("print"));
    let is_log = callee.as_ref().is_some_and(|name| is_logging(name));
    // AutoGraph converts `print` if one of these features is enabled.
    let features = &ctx.stage.options.features;
    let is_converted = is_print && features.iter().any(|name| name == "ALL" || name == "BUILTIN_FUNCTIONS");
    let is_meant = announces_tracing(&call.arguments) || precedes_raise(&ctx.def().body, call.range());
    if !(is_print || is_log) || is_converted || is_meant {
        return;
    }
    let Some((tensor, is_direct)) =
        call.arguments.args.iter().find_map(|argument| shown_tensor(ctx, argument))
    else {
        return;
    };
    let (name, text) = (ctx.text(call.func.as_ref()), ctx.text(tensor));
    let message = format!("`{name}` runs while the graph is traced and prints `{text}` without its value");
    let report = ctx.report(&RUNS_WHILE_TRACING, call.range(), message).why(ctx.why(tensor));
    let tf = ctx
        .imports
        .local_name_of("tensorflow")
        .filter(|_| is_print && is_direct && call.arguments.keywords.is_empty());
    match tf {
        Some(tf) => {
            let edit = Edit::replace(call.func.range(), format!("{tf}.print"));
            report.fix(Applicability::Unsafe, format!("Use `{tf}.print`"), vec![edit]).emit();
        }
        None => report.help("use `tf.print`, which prints values each time the graph runs").emit(),
    }
}

/// Returns whether a call describes the error that the same block raises next:
///
/// ```python
/// if x.shape.rank != 3:
///     print("unexpected input:", x)
///     raise ValueError("the rank must be 3")
/// ```
fn precedes_raise(body: &[Stmt], range: TextRange) -> bool {
    let around = body.iter().find(|statement| statement.range().contains_range(range));
    match around {
        None | Some(Stmt::FunctionDef(_) | Stmt::ClassDef(_)) => false,
        Some(Stmt::Expr(_)) => matches!(body.last(), Some(Stmt::Raise(_))),
        Some(Stmt::If(conditional)) => {
            let elifs = conditional.elif_else_clauses.iter().map(|clause| &clause.body);
            std::iter::once(&conditional.body).chain(elifs).any(|body| precedes_raise(body, range))
        }
        Some(statement) => guards::bodies(statement).into_iter().any(|body| precedes_raise(body, range)),
    }
}

fn is_logging(name: &str) -> bool {
    const LEVELS: [&str; 7] = ["debug", "info", "warning", "error", "critical", "log", "exception"];
    ["logging.", "absl.logging."]
        .iter()
        .any(|module| name.strip_prefix(module).is_some_and(|function| LEVELS.contains(&function)))
}

/// Returns the Tensor that an argument prints: the argument itself, or one in an f-string.
fn shown_tensor<'a>(ctx: &FunctionContext, argument: &'a Expr) -> Option<(&'a Expr, bool)> {
    struct Interpolations<'a>(Vec<&'a Expr>);
    impl<'a> SourceOrderVisitor<'a> for Interpolations<'a> {
        fn visit_interpolated_string_element(&mut self, element: &'a ast::InterpolatedStringElement) {
            if let ast::InterpolatedStringElement::Interpolation(interpolation) = element {
                self.0.push(&interpolation.expression);
            }
        }
    }
    // A structure of Tensors has no values while tracing, either.
    let is_tensor = |expression: &Expr| ctx.fact(expression).binding() == Binding::Staged;
    if is_tensor(argument) {
        return Some((argument, true));
    }
    let mut found = Interpolations(Vec::new());
    if argument.is_f_string_expr() {
        source_order::walk_expr(&mut found, argument);
    }
    found.0.into_iter().find(|expression| is_tensor(expression)).map(|expression| (expression, false))
}

/// Reports random numbers and clocks of Python and NumPy: `random.random()`, `np.random.normal()`, `time.time()`.
fn check_random_and_clock(ctx: &FunctionContext, call: &ast::ExprCall) {
    let callee = ctx.resolve(&call.func);
    let draws = match &callee {
        Some(callee) => is_random(callee) && !seeds_global_generator(ctx, call),
        None => draws_from_generator(ctx, call),
    };
    let help = if draws {
        "use `tf.random`, which draws each time the graph runs"
    } else if callee.is_some_and(|callee| is_clock(&callee)) {
        "use `tf.timestamp()`, which reads the clock each time the graph runs"
    } else {
        return;
    };
    if is_guarded(ctx, call.range()) || draws && is_text(ctx, call) {
        return;
    }
    let name = ctx.text(call.func.as_ref());
    let message = format!("`{name}` runs once, while the graph is traced, not each time the graph runs");
    ctx.report(&RUNS_WHILE_TRACING, call.range(), message).help(help).emit();
}

/// Returns whether the code uses a number only as text, to make a name unique: `"PyFunc" + str(random.randint(0, 9))`.
fn is_text(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    expressions::of_function(ctx.def()).into_iter().any(|expression| match expression {
        Expr::FString(string) => string.range().contains_range(call.range()),
        Expr::Call(outer) => {
            ctx.builtin(&outer.func) == Some("str")
                && outer.arguments.args.first().is_some_and(|it| it.range() == call.range())
        }
        _ => false,
    })
}

pub(crate) fn is_random(name: &str) -> bool {
    const NOT_DRAWING: [&str; 8] =
        ["seed", "Random", "SystemRandom", "getstate", "setstate", "default_rng", "RandomState", "Generator"];
    ["random.", "numpy.random."].iter().any(|module| {
        name.strip_prefix(module)
            .is_some_and(|function| !function.contains('.') && !NOT_DRAWING.contains(&function))
    })
}

fn is_clock(name: &str) -> bool {
    matches!(
        name,
        "time.time"
            | "time.time_ns"
            | "time.monotonic"
            | "time.perf_counter"
            | "time.process_time"
            | "datetime.datetime.now"
            | "datetime.datetime.utcnow"
            | "datetime.datetime.today"
            | "datetime.date.today"
    )
}
