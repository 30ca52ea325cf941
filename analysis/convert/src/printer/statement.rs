//! Prints blocks and simple statements.

use ruff_python_ast::visitor::source_order;
use ruff_python_ast::{self as ast, OperatorPrecedence, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::tree::is_synthesized;
use super::{INDENT, Printer, trivia};

impl Printer<'_, '_> {
    /// Prints the block of a compound statement, indented by one level.
    pub(super) fn inner_block(&mut self, statements: &[Stmt]) {
        self.indent += INDENT;
        if statements.is_empty() {
            self.start_line();
            self.push("pass\n");
        }
        self.block(statements);
        self.indent -= INDENT;
    }

    pub(super) fn block(&mut self, statements: &[Stmt]) {
        self.at_block_start = true;
        for statement in statements {
            self.leading(statement.start());
            self.at_block_start = false;
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        let shift = self.shift;
        let start = self.position();
        if !is_synthesized(statement) {
            let column = trivia::column(self.source.text, statement.start());
            self.shift = (self.prefix.len() + self.indent) as isize - column as isize;
        }
        match statement {
            Stmt::FunctionDef(node) => self.function(node),
            Stmt::ClassDef(node) => self.class(node),
            Stmt::If(node) => self.if_statement(node, "if"),
            Stmt::While(node) => self.while_statement(node),
            Stmt::For(node) => self.for_statement(node),
            Stmt::With(node) => self.with_statement(node),
            Stmt::Try(node) => self.try_statement(node),
            Stmt::Match(node) => self.match_statement(node),
            _ => {
                self.start_line();
                if is_synthesized(statement) {
                    self.synthesized_statement(statement);
                } else {
                    self.splice(statement.range(), |printer| source_order::walk_stmt(printer, statement));
                }
                if !statement.range().is_empty() {
                    self.trailing(statement.end());
                }
                self.push("\n");
            }
        }
        if is_synthesized(statement) && !statement.range().is_empty() {
            self.note(start, statement.range());
        }
        self.shift = shift;
    }

    fn synthesized_statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(node) => {
                for target in &node.targets {
                    self.expression(target, OperatorPrecedence::None);
                    self.push(" = ");
                }
                self.top_expression(&node.value);
            }
            Stmt::Expr(node) => self.top_expression(&node.value),
            Stmt::Return(node) => {
                self.push("return");
                if let Some(value) = &node.value {
                    self.push(" ");
                    self.top_expression(value);
                }
            }
            Stmt::Nonlocal(node) => self.declaration("nonlocal ", &node.names),
            Stmt::Global(node) => self.declaration("global ", &node.names),
            Stmt::AugAssign(node) => {
                self.expression(&node.target, OperatorPrecedence::None);
                self.push(" ");
                self.push(node.op.as_str());
                self.push("= ");
                self.top_expression(&node.value);
            }
            Stmt::Delete(node) => {
                self.push("del ");
                self.brackets += 1;
                self.list(&node.targets);
                self.brackets -= 1;
            }
            Stmt::Raise(node) => {
                self.push("raise");
                if let Some(exception) = &node.exc {
                    self.push(" ");
                    self.top_expression(exception);
                }
                if let Some(cause) = &node.cause {
                    self.push(" from ");
                    self.top_expression(cause);
                }
            }
            Stmt::Pass(_) => self.push("pass"),
            Stmt::Break(_) => self.push("break"),
            Stmt::Continue(_) => self.push("continue"),
            _ => self.splice(statement.range(), |_| {}),
        }
    }

    fn declaration(&mut self, keyword: &str, names: &[ast::Identifier]) {
        self.push(keyword);
        for (position, name) in names.iter().enumerate() {
            if position > 0 {
                self.push(", ");
            }
            self.identifier(&name.id);
        }
    }

    /// Prints the colon of a generated head, and the comment after `origin`.
    pub(super) fn header_end(&mut self, origin: TextRange) {
        self.push(":");
        if !origin.is_empty() {
            self.trailing(origin.end());
        }
        self.push("\n");
    }
}
