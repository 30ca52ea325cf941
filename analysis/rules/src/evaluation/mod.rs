//! Evaluates code with abstract values: objects, containers, functions, and arrays whose values are not known.
//!
//! For PyTorch, it runs the program of a file, with the files of the project that it imports, as far as the program
//! determines the sizes of Tensors:
//!
//! ```python
//! model = torch.compile(Net(Config(width=8)))
//! model(torch.randn(2, 6))                        # evaluates Net.forward with a Tensor of the shape (2, 6)
//! ```
//!
//! It reports operations on Tensors of wrong sizes, Python decisions on Tensors, and calls and attributes for which
//! `torch.compile` compiles again (`torch/evaluated.rs`). Whatever it does not understand is [`Value::Unknown`], and a
//! condition that is not known makes everything unknown that its branches bind or change. So a shape that the evaluation
//! computes is the shape that torch computes, if the program runs to this place.
//!
//! It also runs the functions that the program does not call, with arguments of which only the types are known, both
//! branches of unknown conditions, and the first iterations of unknown loops. For JAX and TensorFlow, it finds the
//! expressions that are traced arrays, for the rules about functions (`observed.rs`). For PyTorch, it reports the
//! decisions on Tensors and the calls that cannot be traced (`explored.rs`).

mod arrays;
mod branches;
mod builtins;
mod calls;
mod captures;
mod checkpoints;
mod classes;
mod containers;
mod control_flow;
mod copies;
mod creations;
mod dtypes;
mod effects;
mod explored;
mod exports;
mod expressions;
mod faults;
mod functional;
mod hooks;
mod iteration;
mod iterators;
mod kinds;
mod leaks;
mod leaves;
mod library;
mod loaders;
mod managers;
mod modules;
mod names;
mod nnx;
mod observed;
mod operators;
mod packages;
mod patterns;
mod program_calls;
mod recorded;
mod scopes;
mod scripts;
mod sizes;
mod statements;
mod submodules;
mod subscripts;
mod symbolic;
mod tensor_methods;
mod traced;
mod tracers;
mod transformations;
mod trees;
mod values;

use std::collections::VecDeque;
use std::rc::Rc;

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::TextRange;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::FileContext;
use crate::sources::{Contexts, Sources};
use ag_db::{Db, Document, with_text};
use ag_index::index::tree_of;
use ag_staging::queries;
use captures::{Capture, FunctionKey};
use effects::Functions;
use exports::Declared;
pub(crate) use faults::{Changing, Fault, Faults, Leaf, Reach, Traced};
use hooks::Hook;
pub(crate) use leaks::STORING;
use leaks::{CacheKey, Leak, Store};
use modules::Module;
pub(crate) use modules::programs;
pub(crate) use observed::{changing_arguments, faults_in, leaves_in, traced_in};

pub(crate) use kinds::{Found, Kind, Mode};
use recorded::Change;
use traced::{Calls, Reads};
use transformations::Level;
use values::{Function, Object, Recorded, Scope, Value, Variables};

/// The maximum number of expressions that are evaluated for a file.
const MOST_STEPS: usize = 40_000;
/// The maximum depth of calls.
const DEEPEST: usize = 24;
/// The maximum number of iterations of a loop.
const MOST_ITERATIONS: usize = 64;

/// The evaluation ends: torch raises an exception, or there is too much to evaluate.
pub(super) struct Stop;

pub(super) type Evaluated<T> = Result<T, Stop>;

pub(super) struct Evaluation<'c, 'a> {
    /// The module whose code is being evaluated.
    ctx: &'c FileContext<'a>,
    module: Scope<'a>,
    modules: Vec<Module<'c, 'a>>,
    contexts: &'c Contexts<'a>,
    /// The modules that define the classes, as positions in `modules`.
    owners: FxHashMap<*const ast::StmtClassDef, usize>,
    steps: usize,
    depth: usize,
    nested: usize,
    /// The compiled or exported calls that are being evaluated.
    traced: Vec<Mode>,
    dimensions: usize,
    /// The dimensions that the program declares with `Dim("batch", max=8)`.
    declared: Vec<Declared>,
    /// The values that the generators have yielded which are being evaluated.
    yielded: Vec<Vec<Value<'a>>>,
    /// Whether the dtypes of modules are not known: `model.half()`, `torch.autocast("cuda")`.
    converts: bool,
    /// The classes that decorators of the file return unchanged.
    kept: FxHashSet<*const ast::StmtClassDef>,
    /// The hooks of modules, in the order in which they are registered.
    hooks: Vec<Hook<'a>>,
    /// The assignment statement that is being evaluated, after its value has been.
    assignment: Option<TextRange>,
    /// The names of all buffers.
    buffers: FxHashSet<String>,
    calls: Calls<'a>,
    reads: Reads<'a>,
    /// The attributes that code assigns which is not evaluated.
    forgotten: FxHashSet<&'a str>,
    called: FxHashSet<(Document, TextRange)>,
    functions: Functions<'a>,
    found: Vec<Found>,
    framework: Framework,
    /// Whether code of PyTorch is evaluated that no program with known values reaches.
    is_exploring: bool,
    /// The classes of which objects are being made that annotations declare.
    constructed: Vec<&'a ast::StmtClassDef>,
    /// The values that the functions have returned which are being evaluated, in branches of unknown conditions.
    returns: Vec<Vec<Value<'a>>>,
    /// Whether an unknown condition may have ended the iteration of the loop that is being evaluated.
    jumped: bool,
    /// The nested functions that code has defined.
    defined: Vec<Rc<Function<'a>>>,
    /// The expressions that are traced arrays.
    observed: FxHashMap<(Document, TextRange), Reach>,
    /// Whether staged code certainly reaches the function that is being evaluated.
    is_reached: bool,
    /// The number of unknown conditions on the way to the code that is being evaluated.
    conditions: usize,
    /// What calls of traced functions pass: the file and range of the call, and the position of the argument.
    changing: FxHashMap<(Document, TextRange, usize, Changing), FxHashSet<String>>,
    /// The calls that have created variables in the current trace of a `tf.function`.
    created: Vec<((Document, TextRange), Reach)>,
    /// The functions, and the objects whose methods they are, that have created variables.
    have_created: FxHashSet<FunctionKey<'a>>,
    /// The calls that create variables in a trace that is not the first one.
    recreated: FxHashMap<(Document, TextRange), Reach>,
    /// The compiled function that is being evaluated.
    function: Option<FunctionKey<'a>>,
    /// Whether `jax.jit` traces all arguments of this function.
    traces_arguments: bool,
    /// The objects whose methods are compiled, by their addresses.
    receivers: FxHashMap<*const Object<'a>, Rc<Object<'a>>>,
    /// The constants with which compiled functions have been called.
    signatures: FxHashSet<(FunctionKey<'a>, Vec<Option<String>>)>,
    /// The attributes that traced code has read.
    captures: Vec<Capture<'a>>,
    /// The attributes of classes that the program assigns: `Cell.last = y`.
    class_attributes: FxHashMap<(*const ast::StmtClassDef, String), Value<'a>>,
    /// The operations that format arrays as numbers.
    formats: FxHashMap<(Document, TextRange), Reach>,
    /// The calls of `next` that advance a Python iterator while tracing.
    iterators: FxHashMap<(Document, TextRange), Reach>,
    /// The places where the current trace has stored arrays.
    stores: Vec<Store<'a>>,
    /// The arrays that have outlived their traces.
    leaks: Vec<Leak>,
    /// The results of functions with `@functools.cache`.
    cached: FxHashMap<CacheKey, Value<'a>>,
    /// The transformed functions of JAX that are being evaluated.
    levels: Vec<Level>,
    /// The calls that are being evaluated.
    callers: Vec<(Document, TextRange)>,
    /// The expressions that JAX rejects, or evaluates only while tracing.
    places: FxHashMap<(Document, TextRange), (Reach, Fault)>,
    /// The leaves of arguments that JAX cannot trace, by the calls that pass them.
    leaves: FxHashMap<(Document, TextRange), Leaf>,
    /// What a module reads that torch is recording.
    recorded: Option<Recorded<'a>>,
    /// The number of the scripted program that is being evaluated.
    running: Option<usize>,
    /// The number of programs that torch has made of modules.
    programs: usize,
    /// The assignments to attributes after programs have been made.
    changes: Vec<Change<'a>>,
    /// The functions that `torch.fx` records as a whole.
    wrapped: FxHashSet<String>,
    /// What the program has saved in files, by their paths.
    files: FxHashMap<String, Value<'a>>,
    /// The transforms of `torch.func` that are being evaluated, each with whether it maps its function.
    functional: Vec<bool>,
    /// The attributes that differ between the modules whose parameters the program has stacked, each with the class.
    stacked: Vec<(*const ast::StmtClassDef, String)>,
    /// The attributes to which mapped functions have assigned Tensors.
    escaped: Vec<functional::Escaped<'a>>,
    /// Whether the value of the assignment that is being evaluated uses a local Tensor, in a transformed function.
    is_computed: bool,
    /// The expressions of each evaluated function that are Tensors by their types.
    types: FxHashMap<(Document, TextRange), FxHashSet<TextRange>>,
}

/// What an evaluation looks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Framework {
    /// The sizes of the Tensors in programs of PyTorch.
    Torch,
    /// The traced arrays in code of JAX and TensorFlow.
    Arrays,
}

/// The function that is being evaluated.
#[derive(Clone)]
pub(super) struct Frame<'a> {
    scope: Scope<'a>,
    receiver: Option<(Rc<Object<'a>>, &'a ast::StmtClassDef)>,
}

/// Returns what torch rejects in the compiled or exported code that the program of a file reaches, in this file and in
/// the files that it imports.
#[salsa::tracked(returns(ref))]
pub(crate) fn found(db: &dyn Db, document: Document) -> Vec<Found> {
    with_text(db, document, |text| {
        let Some(parsed) = tree_of(db, document, text) else { return Vec::new() };
        let (imports, sources) = (queries::imports(db, document), Sources::default());
        let ctx = FileContext::new(db, document, text, &parsed, imports, &sources);
        let contexts = if modules::follows_imports(&ctx) { Contexts::of(&ctx) } else { Contexts::none(&ctx) };
        evaluate(&ctx, &contexts)
    })
}

impl<'c, 'a> Evaluation<'c, 'a> {
    fn new(ctx: &'c FileContext<'a>, contexts: &'c Contexts<'a>, framework: Framework) -> Self {
        let module = Rc::new(Variables::default());
        Self {
            ctx,
            modules: vec![Module { ctx, scope: module.clone() }],
            module,
            contexts,
            owners: FxHashMap::default(),
            steps: 0,
            depth: 0,
            nested: 0,
            traced: Vec::new(),
            dimensions: 0,
            declared: Vec::new(),
            yielded: Vec::new(),
            converts: false,
            kept: FxHashSet::default(),
            hooks: Vec::new(),
            assignment: None,
            buffers: FxHashSet::default(),
            calls: Calls::default(),
            reads: Reads::default(),
            forgotten: FxHashSet::default(),
            called: FxHashSet::default(),
            functions: Functions::default(),
            found: Vec::new(),
            framework,
            is_exploring: false,
            constructed: Vec::new(),
            returns: Vec::new(),
            jumped: false,
            defined: Vec::new(),
            observed: FxHashMap::default(),
            is_reached: true,
            conditions: 0,
            changing: FxHashMap::default(),
            created: Vec::new(),
            have_created: FxHashSet::default(),
            recreated: FxHashMap::default(),
            function: None,
            traces_arguments: false,
            receivers: FxHashMap::default(),
            signatures: FxHashSet::default(),
            captures: Vec::new(),
            class_attributes: FxHashMap::default(),
            formats: FxHashMap::default(),
            iterators: FxHashMap::default(),
            stores: Vec::new(),
            leaks: Vec::new(),
            cached: FxHashMap::default(),
            levels: Vec::new(),
            callers: Vec::new(),
            places: FxHashMap::default(),
            leaves: FxHashMap::default(),
            recorded: None,
            running: None,
            programs: 0,
            changes: Vec::new(),
            wrapped: FxHashSet::default(),
            files: FxHashMap::default(),
            functional: Vec::new(),
            stacked: Vec::new(),
            escaped: Vec::new(),
            is_computed: false,
            types: FxHashMap::default(),
        }
    }
}

fn evaluate<'a>(ctx: &FileContext<'a>, contexts: &Contexts<'a>) -> Vec<Found> {
    let mut evaluation = Evaluation::new(ctx, contexts, Framework::Torch);
    let frame = Frame { scope: evaluation.module.clone(), receiver: None };
    let suite = ctx.parsed.suite();
    if evaluation.load_imports().is_ok() && evaluation.block(suite, &frame).is_ok() {
        // Functions without parameters, which other code calls, for example a test runner.
        let mut entries: VecDeque<_> = suite.iter().filter_map(Stmt::as_function_def_stmt).collect();
        while let Some(def) = entries.pop_front() {
            let is_entry = def.parameters.is_empty() && def.decorator_list.is_empty() && !def.is_async;
            if is_entry && !evaluation.called.contains(&(ctx.document, def.range)) {
                let scope = frame.scope.clone();
                (evaluation.ctx, evaluation.module) = (ctx, scope.clone());
                let function = Rc::new(Function { def, scope, receiver: None, class: None });
                evaluation.depth = 0;
                evaluation.traced.clear();
                evaluation.yielded.clear();
                evaluation.functional.clear();
                evaluation.nested = 0;
                let _: Evaluated<Value> = evaluation.run(&function, Vec::new(), Vec::new());
            }
        }
    }
    evaluation.finish();
    let compiles = evaluation.modules.iter().any(|module| {
        explored::compiles(module.ctx.text) || functional::transforms_derivatives(module.ctx.text)
    });
    let mut found = evaluation.found;
    if compiles {
        explored::extend(&mut found, ctx, contexts);
    }
    found
}
