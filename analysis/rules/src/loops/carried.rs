//! Staged loops and their loop-carried variables.
//!
//! ```python
//! total = 0                      # before the loop
//! for i in tf.range(n):          # carries `total`, which becomes a Tensor
//!     square = i * i             # local to an iteration
//!     total = total + square     # after an iteration
//! return total
//! ```

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::names::bound_names;
use ag_flow::{BlockVariable, BlockVariables, Def, DefKind, Role, StmtId};
use ag_index::facts::Binding;
use ag_staging::construct::{Construct, ConstructKind, ConstructNode};
use ag_syntax::qname::QName;

/// A loop that AutoGraph certainly stages.
pub(super) struct StagedLoop<'c, 'a> {
    pub(super) ctx: &'c FunctionContext<'a>,
    pub(super) construct: &'a Construct,
    pub(super) node: ConstructNode<'a>,
    pub(super) stmt: StmtId,
    pub(super) variables: BlockVariables,
}

/// Returns the staged loops of a converted function, outer ones first.
pub(super) fn staged_loops<'c, 'a>(ctx: &'c FunctionContext<'a>) -> impl Iterator<Item = StagedLoop<'c, 'a>> {
    ctx.staged_loops().filter(|_| ctx.converts()).filter_map(|(construct, node)| {
        let stmt = ctx.flow.cfg.statement_at(construct.range.start())?;
        let variables = ctx.flow.block_variables(stmt)?;
        Some(StagedLoop { ctx, construct, node, stmt, variables })
    })
}

impl<'a> StagedLoop<'_, 'a> {
    /// Returns the range of the loop without its body: `for i in tf.range(n)`.
    pub(super) fn head(&self) -> TextRange {
        self.construct.head()
    }

    pub(super) fn body(&self) -> &'a [Stmt] {
        self.node.branches().map_or(&[], |(body, _)| body)
    }

    /// Returns the loop-carried variables that are simple names.
    pub(super) fn carried(&self) -> impl Iterator<Item = &BlockVariable> {
        self.variables.state().filter(|variable| variable.name.is_simple())
    }

    pub(super) fn carries(&self, name: &QName) -> bool {
        self.variables.get(name).is_some_and(|variable| variable.role != Role::Local)
    }

    pub(super) fn before(&self, name: &QName) -> Vec<&'a Def> {
        self.ctx.flow.definitions_before(self.stmt, name)
    }

    /// Returns the definitions that bind a name after an iteration: those in the body that reach the end of the body.
    pub(super) fn after(&self, name: &QName) -> Vec<&'a Def> {
        let mut definitions = self.ctx.flow.definitions_after_body(self.stmt, name);
        definitions.retain(|definition| self.contains(definition));
        definitions
    }

    /// Returns whether a definition is in the loop.
    pub(super) fn contains(&self, definition: &Def) -> bool {
        !matches!(definition.kind, DefKind::Parameter(_) | DefKind::Outer | DefKind::Undefined)
            && self.construct.range.contains_range(definition.range)
    }

    /// Returns whether an `if` or a loop is in the body.
    pub(super) fn encloses(&self, construct: &Construct) -> bool {
        let is_statement = construct.kind == ConstructKind::If || construct.kind.is_loop();
        is_statement
            && construct.range != self.construct.range
            && self.construct.range.contains_range(construct.range)
    }

    /// Returns whether every trace of the body includes `range`, because only staged statements enclose it.
    pub(super) fn certainly_traces(&self, range: TextRange) -> bool {
        self.between(range).all(|construct| construct.binding == Binding::Staged)
    }

    /// Returns whether code after the loop, at `range`, is reached whenever the loop is: every `if` or loop around it
    /// also encloses the loop.
    pub(super) fn is_always_reached_after(&self, range: TextRange) -> bool {
        let around = self.construct.range;
        self.ctx.enclosing(range).all(|construct| construct.range.contains_range(around))
    }

    /// Returns whether `range` is in the body, but in no `if` or loop within the body.
    pub(super) fn directly_contains(&self, range: TextRange) -> bool {
        self.between(range).next().is_none()
    }

    /// Returns the constructs around `range` that are inside the body, innermost first.
    fn between(&self, range: TextRange) -> impl Iterator<Item = &'a Construct> {
        let start = self.construct.range.start();
        self.ctx.enclosing(range).take_while(move |construct| construct.range.start() != start)
    }

    /// Returns where the body reads a name. Nested functions are not included.
    pub(super) fn reads(&self, name: &QName) -> Vec<TextRange> {
        let mut reads = Reads { name: name.root(), ranges: Vec::new() };
        reads.visit_body(self.body());
        reads.ranges
    }

    /// Returns the iterable of a `for`, such as `tf.range(n)`.
    pub(super) fn iterable(&self) -> Option<&'a Expr> {
        (self.construct.kind == ConstructKind::For).then(|| self.node.test()).flatten()
    }
}

/// Returns the augmented assignment at `range` in a body.
pub(super) fn augmented(body: &[Stmt], range: TextRange) -> Option<&ast::StmtAugAssign> {
    struct Finder<'a> {
        range: TextRange,
        found: Option<&'a ast::StmtAugAssign>,
    }
    impl<'a> SourceOrderVisitor<'a> for Finder<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::AugAssign(assign) if assign.range() == self.range => self.found = Some(assign),
                _ if statement.range().contains_range(self.range) => source_order::walk_stmt(self, statement),
                _ => {}
            }
        }

        fn visit_expr(&mut self, _expression: &'a Expr) {}
    }
    let mut finder = Finder { range, found: None };
    finder.visit_body(body);
    finder.found
}

struct Reads<'n> {
    name: &'n str,
    ranges: Vec<TextRange>,
}

impl<'a> SourceOrderVisitor<'a> for Reads<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::AugAssign(assign) => {
                source_order::walk_stmt(self, statement);
                if assign.target.as_name_expr().is_some_and(|name| name.id == self.name) {
                    self.ranges.push(assign.target.range());
                }
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(ast::ExprName { id, ctx: ExprContext::Load, range, .. }) if id == self.name => {
                self.ranges.push(*range);
            }
            Expr::Lambda(_) => {}
            // A comprehension has its own scope.
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. })
                if generators.iter().any(|generator| bound_names(&generator.target).contains(&self.name)) => {
            }
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
