//! The expressions of one function in pre-order: the common numbering of the real text and the ghost view.
//!
//! Numbered: everything evaluated when the function runs, lambda bodies and comprehensions
//! included. Not numbered: annotations, and what belongs to nested functions and classes, save
//! the decorators, defaults and bases that are evaluated in this function.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{self as ast, AnyNodeRef, Expr, NodeIndex, Stmt};

/// The number of an expression within its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// All expressions of `def` in pre-order. Equal functions give equal sequences, whatever
/// annotations their parameters have.
pub fn of_function(def: &ast::StmtFunctionDef) -> Vec<&Expr> {
    let mut collector = Collector { expressions: Vec::new() };
    for parameter in def.parameters.iter() {
        if let Some(default) = parameter.default() {
            collector.visit_expr(default);
        }
    }
    collector.visit_body(&def.body);
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

struct Collector<'a> {
    expressions: Vec<&'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Collector<'a> {
    fn enter_node(&mut self, _node: AnyNodeRef<'a>) -> TraversalSignal {
        TraversalSignal::Traverse
    }

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
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
            }
            Stmt::AnnAssign(assign) => {
                self.visit_expr(&assign.target);
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
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
