//! The statements of one function in pre-order. A nested function or class is a single statement.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Stmt};

pub fn of_function(def: &ast::StmtFunctionDef) -> Vec<&Stmt> {
    let mut collector = Collector { statements: Vec::new() };
    collector.visit_body(&def.body);
    collector.statements
}

struct Collector<'a> {
    statements: Vec<&'a Stmt>,
}

impl<'a> StatementVisitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.statements.push(statement);
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            statement_visitor::walk_stmt(self, statement);
        }
    }
}
