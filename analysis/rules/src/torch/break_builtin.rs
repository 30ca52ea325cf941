//! Calls of functions that torch.compile cannot trace: side effects, clocks, random numbers, parts of NumPy.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::generators::calls_numpy_generator;
use super::host_values::is_random_number;
use super::{break_severity, compiles, handles_tracing};
use ag_db::diagnostic::Severity;
use ag_index::facts::Alternative;
use ag_syntax::words::words;

declare_rule! {
    /// ## What it does
    /// Reports calls in a function compiled by `torch.compile` that the compiler cannot trace: `print`, `open`, `eval`,
    /// logging, warnings, debuggers, `copy`, the clocks of `time` and `datetime`, the functions of `random`,
    /// files and processes, functions of NumPy that torch does not implement, and `torch.compile(…)` without the
    /// function, as in a decorator.
    ///
    /// ## Why is this bad?
    /// The compiler inserts a graph break: the call runs in Python between two graphs. With `fullgraph=True` the
    /// compiler raises.
    ///
    /// A call in the arguments of a reported call is not reported again, because the same graph break covers both.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def double(x):
    ///     print("sum", x.sum())
    ///     return x * 2
    ///
    /// double(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def double(x):
    ///     return x * 2
    ///
    /// x = torch.ones(3)
    /// print("sum", x.sum())
    /// double(x)
    /// ```
    /// For random numbers use `torch.rand` or a similar function, which becomes part of the graph.
    ///
    /// ## What torch reports
    /// `Failed to trace builtin operator: Dynamo does not know how to trace builtin operator print`, or
    /// `Attempted to call function marked as skipped: Dynamo does not know how to trace the builtin
    /// time.time.`
    pub(crate) static TORCH_GRAPH_BREAK_BUILTIN = {
        code: "AG514", name: "torch-graph-break-builtin",
        summary: "a call that cannot be traced causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

/// The functions of the standard library at which the compiler breaks the graph, by module (verified with torch 2.11).
const SKIPPED: &[(&str, &[&str])] = &[
    ("base64", &["b64decode", "b64encode"]),
    ("bisect", &["bisect", "bisect_left", "bisect_right", "insort"]),
    ("contextlib", &["redirect_stderr", "redirect_stdout"]),
    ("copy", &["copy", "deepcopy"]),
    ("csv", &["reader", "writer"]),
    ("datetime.date", &["today"]),
    ("datetime.datetime", &["fromtimestamp", "now", "today", "utcnow"]),
    ("functools", &["cmp_to_key"]),
    ("gc", &["collect", "disable", "enable", "get_count"]),
    ("glob", &["glob"]),
    ("hashlib", &["md5", "new", "sha1", "sha256", "sha512"]),
    ("heapq", &["heapify", "heappop", "heappush", "heappushpop", "heapreplace", "nlargest", "nsmallest"]),
    ("importlib", &["import_module"]),
    ("inspect", &["currentframe", "getmembers", "getsource", "stack"]),
    ("io", &["BytesIO", "StringIO"]),
    ("json", &["dump", "dumps", "load", "loads"]),
    ("logging", &["critical", "debug", "error", "exception", "info", "warning"]),
    (
        "os",
        &[
            "cpu_count",
            "getcwd",
            "getpid",
            "getppid",
            "listdir",
            "makedirs",
            "mkdir",
            "popen",
            "remove",
            "stat",
            "system",
            "urandom",
        ],
    ),
    ("os.path", &["abspath", "exists", "getmtime", "getsize", "isdir", "isfile"]),
    ("pdb", &["set_trace"]),
    ("pickle", &["dump", "dumps", "load", "loads"]),
    ("pprint", &["pprint"]),
    ("queue", &["Queue"]),
    (
        "random",
        &[
            "betavariate",
            "choice",
            "choices",
            "expovariate",
            "gauss",
            "getrandbits",
            "getstate",
            "lognormvariate",
            "normalvariate",
            "random",
            "sample",
            "seed",
            "shuffle",
            "triangular",
        ],
    ),
    ("resource", &["getrusage"]),
    ("shutil", &["which"]),
    ("socket", &["gethostname"]),
    ("statistics", &["mean", "stdev"]),
    ("subprocess", &["check_output", "run"]),
    ("sys", &["_getframe", "getrefcount", "getsizeof"]),
    ("sys.stderr", &["flush", "write"]),
    ("sys.stdout", &["flush", "write"]),
    ("tempfile", &["NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile", "mkdtemp"]),
    ("threading", &["Event", "Lock", "RLock", "current_thread", "get_ident", "get_native_id"]),
    (
        "time",
        &[
            "asctime",
            "ctime",
            "gmtime",
            "localtime",
            "monotonic",
            "monotonic_ns",
            "perf_counter",
            "perf_counter_ns",
            "process_time",
            "process_time_ns",
            "sleep",
            "strftime",
            "thread_time",
            "time",
            "time_ns",
        ],
    ),
    (
        "torch",
        &[
            "Generator",
            "can_cast",
            "from_dlpack",
            "get_num_threads",
            "get_rng_state",
            "initial_seed",
            "is_inference_mode_enabled",
            "is_same_size",
            "is_storage",
            "load",
            "lobpcg",
            "manual_seed",
            "quantize_per_channel",
            "quantize_per_tensor",
            "result_type",
            "save",
            "set_flush_denormal",
            "set_num_threads",
            "set_rng_state",
            "sparse_bsr_tensor",
            "sparse_coo_tensor",
            "sparse_csc_tensor",
            "sparse_csr_tensor",
            "typename",
        ],
    ),
    ("torch.autograd", &["detect_anomaly", "set_detect_anomaly"]),
    ("torch.autograd.functional", &["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]),
    ("torch.autograd.graph", &["save_on_cpu", "saved_tensors_hooks"]),
    ("torch.compiler", &["reset"]),
    (
        "torch.cuda",
        &["device_count", "max_memory_allocated", "memory_allocated", "memory_reserved", "synchronize"],
    ),
    ("torch.distributed", &["barrier"]),
    ("torch.hub", &["load"]),
    ("torch.jit", &["script", "trace"]),
    ("torch.random", &["fork_rng", "get_rng_state", "manual_seed"]),
    ("torch.testing", &["assert_close"]),
    ("torch.utils.data", &["default_collate"]),
    ("torch.utils.dlpack", &["to_dlpack"]),
    ("torch.nn.utils.rnn", &["pack_padded_sequence", "pack_sequence", "pad_packed_sequence"]),
    ("traceback", &["format_exc", "format_stack", "print_exc", "print_stack"]),
    ("tracemalloc", &["start", "stop"]),
    ("uuid", &["uuid1", "uuid4"]),
    ("warnings", &["simplefilter", "warn"]),
    ("zlib", &["crc32"]),
];
/// The functions of NumPy that torch does not implement (verified with torch 2.11).
const UNSUPPORTED_NUMPY: &[(&str, &[&str])] = &[
    (
        "numpy",
        &[
            "apply_along_axis",
            "apply_over_axes",
            "argpartition",
            "array2string",
            "array_str",
            "asanyarray",
            "block",
            "compress",
            "delete",
            "digitize",
            "ediff1d",
            "extract",
            "frombuffer",
            "fromfile",
            "fromfunction",
            "fromiter",
            "fromstring",
            "genfromtxt",
            "histogram_bin_edges",
            "insert",
            "interp",
            "intersect1d",
            "isin",
            "ix_",
            "lexsort",
            "load",
            "loadtxt",
            "nanargmax",
            "nanargmin",
            "nancumprod",
            "nancumsum",
            "nanmax",
            "nanmean",
            "nanmedian",
            "nanmin",
            "nanpercentile",
            "nanprod",
            "nanquantile",
            "nanstd",
            "nansum",
            "nanvar",
            "packbits",
            "partition",
            "piecewise",
            "place",
            "polyfit",
            "polyval",
            "putmask",
            "ravel_multi_index",
            "roots",
            "save",
            "savetxt",
            "savez",
            "savez_compressed",
            "select",
            "set_printoptions",
            "setdiff1d",
            "seterr",
            "setxor1d",
            "trim_zeros",
            "union1d",
            "unpackbits",
            "unravel_index",
            "vectorize",
        ],
    ),
    (
        "numpy.random",
        &[
            "RandomState",
            "beta",
            "binomial",
            "default_rng",
            "dirichlet",
            "exponential",
            "gamma",
            "geometric",
            "get_state",
            "multinomial",
            "multivariate_normal",
            "permutation",
            "poisson",
            "set_state",
            "standard_normal",
        ],
    ),
];
/// Functions of `random` whose results the graph computes. Python code cannot read these results, so a decision on such
/// a number breaks the graph.
const RANDOM_NUMBERS: [&str; 3] = ["random.randint", "random.randrange", "random.uniform"];
/// Methods of NumPy's universal functions: `np.add.reduce`.
const UFUNC_METHODS: [&str; 5] = ["accumulate", "at", "outer", "reduce", "reduceat"];
const BUILTINS: [&str; 16] = [
    "__import__",
    "ascii",
    "breakpoint",
    "compile",
    "dir",
    "eval",
    "exec",
    "globals",
    "hex",
    "input",
    "locals",
    "memoryview",
    "oct",
    "open",
    "print",
    "bin",
];
const LEVELS: [&str; 7] = ["critical", "debug", "error", "exception", "info", "log", "warning"];

/// Returns whether the compiler cannot trace calls of a function of a library, whatever its arguments are.
pub(crate) fn is_skipped(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(module, function)| {
        SKIPPED
            .iter()
            .chain(UNSUPPORTED_NUMPY)
            .any(|(known, functions)| *known == module && functions.contains(&function))
    })
}

/// Returns whether the compiler cannot trace calls of a builtin function.
pub(crate) fn is_skipped_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// Returns whether a method writes to a logger.
pub(crate) fn is_level(method: &str) -> bool {
    LEVELS.contains(&method)
}

/// Returns the name of the called function, if the compiler cannot trace the call.
fn skipped<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Option<String> {
    if let Some(name) = ctx.resolve(&call.func) {
        let (module, function) = name.rsplit_once('.')?;
        let known = is_skipped(&name);
        let of_ufunc = module.starts_with("numpy.") && UFUNC_METHODS.contains(&function);
        let warns = name == "torch.use_deterministic_algorithms"
            && call.arguments.find_keyword("warn_only").is_some();
        let is_strided =
            matches!(name.as_str(), "torch.nested.nested_tensor" | "torch.nested.as_nested_tensor")
                && call.arguments.find_keyword("layout").is_none();
        let seeded = name == "random.Random" && !call.arguments.keywords.is_empty();
        // Within a compiled function, `torch.compile(function)` is `function`.
        let decorates = name == "torch.compile" && call.arguments.args.is_empty();
        let known = known
            || RANDOM_NUMBERS.contains(&name.as_str()) && decides(ctx, call)
            || is_random_number(ctx, call);
        return (known || of_ufunc || is_strided || warns || seeded || decorates).then(|| name.to_string());
    }
    if ctx.builtin(&call.func) == Some("vars") && call.arguments.is_empty() {
        return Some("vars".to_owned());
    }
    if let Some(name) = ctx.builtin(&call.func).filter(|name| is_skipped_builtin(name)) {
        return Some(name.to_owned());
    }
    let method = call.func.as_attribute_expr()?;
    let is_logger = is_level(&method.attr)
        && ctx.fact(&method.value).alternatives.iter().any(|alternative| {
            matches!(alternative, Alternative::Instance { module: Some(module), class } if module == "logging" && class == "Logger")
        });
    let is_skipped = is_logger || calls_numpy_generator(ctx, call);
    is_skipped.then(|| format!("{}.{}", ctx.text(&*method.value), method.attr))
}

/// Returns whether Python needs the result of a call: `if random.uniform(0, 1) < p:`, or `layers[k]` and `range(k)`
/// after `k = random.randint(0, 3)`.
fn decides(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let name = ctx.statements().into_iter().find_map(|statement| match statement {
        Stmt::Assign(assign) if assign.value.range().contains_range(call.range()) => match &*assign.targets {
            [Expr::Name(name)] => Some(&name.id),
            _ => None,
        },
        _ => None,
    });
    let uses = |part: &Expr| {
        part.range().contains_range(call.range())
            || name.is_some_and(|name| words(ctx.text(part)).iter().any(|word| *word == name.as_str()))
    };
    let tests = ctx.statements().into_iter().any(|statement| match statement {
        Stmt::If(node) => {
            uses(&node.test)
                || node.elif_else_clauses.iter().filter_map(|clause| clause.test.as_ref()).any(uses)
        }
        Stmt::While(node) => uses(&node.test),
        Stmt::Assert(node) => uses(&node.test),
        _ => false,
    });
    tests
        || ctx.expressions().into_iter().any(|expression| match expression {
            Expr::If(node) => uses(&node.test),
            Expr::BoolOp(node) => node.values.iter().any(uses),
            Expr::Call(range) if ctx.builtin(&range.func) == Some("range") => {
                range.arguments.args.iter().any(uses)
            }
            Expr::Subscript(item) => !item.slice.is_slice_expr() && uses(&item.slice),
            _ => false,
        })
}

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    // The backward pass runs these.
    let calls = ctx.expressions().into_iter().filter_map(Expr::as_call_expr);
    let registers = |call: &&ast::ExprCall| {
        call.func.as_attribute_expr().is_some_and(|method| method.attr.as_str() == "register_hook")
    };
    let hooks: Vec<TextRange> = calls
        .filter(registers)
        .flat_map(|call| call.arguments.args.iter().filter(|it| it.is_lambda_expr()).map(Ranged::range))
        .collect();
    // Expressions come in pre-order: a call comes after the calls that contain it.
    let mut reported: Option<TextRange> = None;
    for expression in ctx.expressions() {
        let Some(call) = expression.as_call_expr() else { continue };
        let Some(name) = skipped(ctx, call) else { continue };
        let range = expression.range();
        let is_hook = hooks.iter().any(|hook| hook.contains_range(range));
        if is_hook || handles_tracing(ctx, range) || reported.is_some_and(|outer| outer.contains_range(range))
        {
            continue;
        }
        reported = Some(range);
        // With `fullgraph=True`, the exception may be raised where the number is used.
        let highest = if is_random_number(ctx, call) { Severity::Warning } else { Severity::Error };
        ctx.report(
            &TORCH_GRAPH_BREAK_BUILTIN,
            expression,
            format!("`{name}` cannot be traced: the call causes a graph break"),
        )
        .severity(break_severity(ctx).min(highest))
        .help("call it outside the compiled function")
        .emit();
    }
}
