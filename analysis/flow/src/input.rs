//! The input of the dataflow analyses: a function as written, or as rewritten by conversion passes.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::TextRange;

/// The syntax of one function, and options. Statements are identified by their pre-order index
/// ([`StmtId`](super::StmtId)), so synthesized nodes need no positions in the source.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub parameters: &'a ast::Parameters,
    pub body: &'a [Stmt],
    /// Unreachable statements, which come after those of the body in the order of ids. The names that they bind and
    /// declare still belong to the scope of the function.
    pub unreached: &'a [Stmt],
    /// Returns the variables that are read before each iteration of a `for`, besides those that the `for` itself reads.
    pub loop_conditions: &'a dyn Fn(&ast::StmtFor) -> Vec<Name>,
    /// Whether attributes and items (`a.b`, `d['k']`) are tracked as names. If not, only variables are.
    pub tracks_paths: bool,
    /// Whether a context manager may suppress an exception, so that control continues after the `with`:
    ///
    /// ```python
    /// with suppress(E):
    ///     raise E
    /// f()              # reachable
    /// ```
    pub with_may_suppress: bool,
    /// The range of the whole function.
    pub range: TextRange,
}

impl<'a> Input<'a> {
    /// Returns the input for a function as written. Attributes and items are tracked.
    pub fn function(def: &'a ast::StmtFunctionDef) -> Self {
        let input = Self::variables(&def.parameters, &def.body);
        Self { tracks_paths: true, with_may_suppress: false, range: def.range, ..input }
    }

    /// Returns the input for a function of which only the variables are tracked.
    pub fn variables(parameters: &'a ast::Parameters, body: &'a [Stmt]) -> Self {
        Self {
            parameters,
            body,
            unreached: &[],
            loop_conditions: &|_| Vec::new(),
            tracks_paths: false,
            with_may_suppress: true,
            range: TextRange::default(),
        }
    }
}
