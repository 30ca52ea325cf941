//! The expressions of one function in pre-order: their ids are the same in the user's text and in annotated source.
//!
//! Numbered: everything evaluated when the function runs; lambda bodies, comprehensions and class
//! bodies included. Not numbered: annotations, and nested functions, save their decorators and
//! defaults, which are evaluated in this function.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, NodeIndex, Stmt};
use ruff_text_size::{Ranged, TextRange};

/// The number of an expression within its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// All expressions of `def` in pre-order. Equal functions give equal sequences, whatever
/// annotations their parameters have.
pub fn of_function(def: &ast::StmtFunctionDef) -> Vec<&Expr> {
    of_body(&def.body)
}

/// All expressions of a module that belong to no function, in pre-order.
pub fn of_body(body: &[Stmt]) -> Vec<&Expr> {
    let mut collector = Collector { expressions: Vec::new() };
    collector.visit_body(body);
    collector.expressions
}

/// Writes the numbers of [`of_function`] into the nodes, so that [`id`] is a load.
pub fn number(def: &ast::StmtFunctionDef) -> u32 {
    let expressions = of_function(def);
    for (index, expression) in expressions.iter().enumerate() {
        ast::HasNodeIndex::node_index(*expression).set(NodeIndex::from(index as u32));
    }
    expressions.len() as u32
}

/// The number of an expression of a function that was [`number`]ed.
pub fn id(expression: &Expr) -> Option<ExprId> {
    ast::HasNodeIndex::node_index(expression).load().as_u32().map(ExprId)
}

/// The outermost expression of `def` that spans exactly `range`.
pub fn at(def: &ast::StmtFunctionDef, range: TextRange) -> Option<&Expr> {
    let mut finder = Finder { range, found: None };
    finder.visit_body(&def.body);
    finder.found
}

struct Finder<'a> {
    range: TextRange,
    found: Option<&'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.found.is_none() && statement.range().contains_range(self.range) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if self.found.is_some() || !expression.range().contains_range(self.range) {
            return;
        }
        if expression.range() == self.range {
            self.found = Some(expression);
        } else {
            source_order::walk_expr(self, expression);
        }
    }
}

struct Collector<'a> {
    expressions: Vec<&'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                for decorator in &def.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                for parameter in def.parameters.iter() {
                    if let Some(default) = parameter.default() {
                        self.visit_expr(default);
                    }
                }
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.expressions.push(expression);
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
