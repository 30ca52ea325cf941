//! What a flow is built of: a function as it is written, or on its way through the passes of a compiler.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::TextRange;

/// The syntax of one function, and what its syntax does not say. Statements are identified by their
/// number in pre-order ([`StmtId`](super::StmtId)), so that they need no positions.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub parameters: &'a ast::Parameters,
    pub body: &'a [Stmt],
    /// Statements that are never reached. They are numbered after those of the body; what they bind
    /// and declare belongs to the scope.
    pub unreached: &'a [Stmt],
    /// The variables that are read before each iteration of a `for`.
    pub loop_conditions: &'a dyn Fn(&ast::StmtFor) -> Vec<Name>,
    /// Whether attributes and items (`a.b`, `d['k']`) are names of their own. Otherwise only
    /// variables are followed.
    pub follows_paths: bool,
    /// Whether a `raise` in a `with` may be followed by what follows the `with`, whose context manager
    /// swallowed the exception.
    pub with_may_suppress: bool,
    /// Of the whole function.
    pub range: TextRange,
}

impl<'a> Input<'a> {
    /// A function as it is written.
    pub fn function(def: &'a ast::StmtFunctionDef) -> Self {
        let input = Self::variables(&def.parameters, &def.body);
        Self { follows_paths: true, with_may_suppress: false, range: def.range, ..input }
    }

    /// A function of which only the variables are of interest.
    pub fn variables(parameters: &'a ast::Parameters, body: &'a [Stmt]) -> Self {
        Self {
            parameters,
            body,
            unreached: &[],
            loop_conditions: &|_| Vec::new(),
            follows_paths: false,
            with_may_suppress: true,
            range: TextRange::default(),
        }
    }
}
