//! Evaluates the program of a file as far as it determines the sizes of Tensors: it creates the modules, and calls them
//! with the inputs of the program.
//!
//! ```python
//! model = torch.compile(Net(Config(width=8)))
//! model(torch.randn(2, 6))                        # evaluates Net.forward with a Tensor of the shape (2, 6)
//! ```
//!
//! Whatever the evaluation does not understand is [`Value::Unknown`]. A condition that is not known makes everything
//! unknown that its branches bind or change. So a shape that the evaluation computes is the shape that torch computes,
//! if the program runs to this place.

mod calls;
mod effects;
mod expressions;
mod library;
mod sizes;
mod statements;
mod tensor_methods;
mod values;

use std::collections::VecDeque;
use std::rc::Rc;

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::TextRange;
use rustc_hash::FxHashSet;

use super::super::FileContext;
use values::{Function, Object, Scope, Value, Variables};

/// The maximum number of expressions that are evaluated for a file.
const MOST_STEPS: usize = 40_000;
/// The maximum depth of calls.
const DEEPEST: usize = 24;
/// The maximum number of iterations of a loop.
const MOST_ITERATIONS: usize = 64;

/// The evaluation ends: torch raises an exception, or there is too much to evaluate.
pub(super) struct Stop;

pub(super) type Evaluated<T> = Result<T, Stop>;

/// An operation of traced code that torch rejects.
pub(super) struct Mismatch {
    pub range: TextRange,
    pub message: String,
}

pub(super) struct Evaluation<'c, 'a> {
    ctx: &'c FileContext<'a>,
    module: Scope<'a>,
    steps: usize,
    depth: usize,
    nested: usize,
    /// The number of compiled or exported calls that are being evaluated.
    traced: usize,
    dimensions: usize,
    /// The attributes that code assigns which is not evaluated.
    forgotten: FxHashSet<&'a str>,
    called: FxHashSet<TextRange>,
    found: Vec<Mismatch>,
}

/// The function that is being evaluated.
#[derive(Clone)]
struct Frame<'a> {
    scope: Scope<'a>,
    receiver: Option<(Rc<Object<'a>>, &'a ast::StmtClassDef)>,
}

/// Returns the operations on Tensors of wrong sizes that the program of a file reaches in compiled or exported code.
pub(super) fn mismatches(ctx: &FileContext) -> Vec<Mismatch> {
    let module = Rc::new(Variables::default());
    let frame = Frame { scope: module.clone(), receiver: None };
    let mut evaluation = Evaluation {
        ctx,
        module,
        steps: 0,
        depth: 0,
        nested: 0,
        traced: 0,
        dimensions: 0,
        forgotten: FxHashSet::default(),
        called: FxHashSet::default(),
        found: Vec::new(),
    };
    let suite = ctx.parsed.suite();
    if evaluation.block(suite, &frame).is_ok() {
        // Functions without parameters, which other code calls, for example a test runner.
        let mut entries: VecDeque<_> = suite.iter().filter_map(Stmt::as_function_def_stmt).collect();
        while let Some(def) = entries.pop_front() {
            let is_entry = def.parameters.is_empty() && def.decorator_list.is_empty() && !def.is_async;
            if is_entry && !evaluation.called.contains(&def.range) {
                let scope = evaluation.module.clone();
                let function = Rc::new(Function { def, scope, receiver: None });
                evaluation.depth = 0;
                evaluation.traced = 0;
                evaluation.nested = 0;
                let _: Evaluated<Value> = evaluation.run(&function, Vec::new(), Vec::new());
            }
        }
    }
    evaluation.found
}
