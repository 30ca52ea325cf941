//! Prints compound statements. Their heads are copied, and their blocks are printed statement by statement.

use ruff_python_ast::{self as ast, Expr, OperatorPrecedence, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use ruff_python_ast::visitor::source_order::SourceOrderVisitor;

use super::super::tree::is_synthesized;
use super::Printer;
use ag_syntax::functions::keyword_between;

impl Printer<'_, '_> {
    pub(super) fn function(&mut self, node: &ast::StmtFunctionDef) {
        self.decorators(&node.decorator_list);
        self.start_line();
        if is_synthesized(node) {
            self.push(if node.is_async { "async def " } else { "def " });
            self.identifier(&node.name.id);
            self.push("(");
            self.parameters(&node.parameters);
            self.push(")");
            self.header_end(TextRange::default());
        } else {
            let decorators = node.decorator_list.iter().rfind(|decorator| !is_synthesized(*decorator));
            let start = decorators
                .and_then(|last| keyword_between(self.source.text, last.end(), node.name.start()))
                .unwrap_or(node.start());
            let last = node.returns.as_deref().map_or(node.parameters.end(), Ranged::end);
            self.header(start, last, |printer| printer.visit_parameters(&node.parameters));
        }
        self.inner_block(&node.body);
    }

    pub(super) fn class(&mut self, node: &ast::StmtClassDef) {
        self.decorators(&node.decorator_list);
        self.start_line();
        let name = node.name.range();
        let parameters = node.type_params.as_deref().map_or(name.end(), Ranged::end);
        let last = node.arguments.as_deref().map_or(parameters, Ranged::end);
        self.push("class ");
        self.header(name.start(), last, |printer| {
            node.arguments.iter().for_each(|arguments| printer.visit_arguments(arguments));
        });
        // Python mangles the names in a class body.
        let mangling = self.mangling.take();
        self.inner_block(&node.body);
        self.mangling = mangling;
    }

    fn decorators(&mut self, decorators: &[ast::Decorator]) {
        for decorator in decorators {
            self.start_line();
            self.push("@");
            self.brackets += 1;
            self.expression(&decorator.expression, OperatorPrecedence::None);
            self.brackets -= 1;
            if !is_synthesized(decorator) {
                self.trailing(decorator.end());
            }
            self.push("\n");
        }
    }

    pub(super) fn if_statement(&mut self, node: &ast::StmtIf, keyword: &str) {
        self.start_line();
        self.tested(keyword, &node.test, !is_synthesized(node));
        self.inner_block(&node.body);
        let Some(clause) = node.elif_else_clauses.first() else { return };
        // An `else` that contains only an `if` is printed as `elif`. Otherwise long chains would exceed Python's limit
        // on indentation.
        if let [Stmt::If(inner)] = clause.body.as_slice()
            && node.elif_else_clauses.len() == 1
        {
            return self.if_statement(inner, "elif");
        }
        for clause in &node.elif_else_clauses {
            self.start_line();
            match &clause.test {
                Some(test) => self.tested("elif", test, true),
                None => self.push("else:\n"),
            }
            self.inner_block(&clause.body);
        }
    }

    pub(super) fn while_statement(&mut self, node: &ast::StmtWhile) {
        self.start_line();
        self.tested("while", &node.test, true);
        self.inner_block(&node.body);
        self.keyword_block("else", &node.orelse);
    }

    pub(super) fn for_statement(&mut self, node: &ast::StmtFor) {
        self.start_line();
        if node.is_async {
            self.push("async ");
        }
        self.push("for ");
        self.expression(&node.target, OperatorPrecedence::None);
        self.push(" in ");
        self.top_expression(&node.iter);
        self.header_end(TextRange::default());
        self.inner_block(&node.body);
        self.keyword_block("else", &node.orelse);
    }

    /// Prints `if test:` with its trailing comment.
    fn tested(&mut self, keyword: &str, test: &Expr, is_original: bool) {
        self.push(keyword);
        self.push(" ");
        self.top_expression(test);
        self.push(":");
        if is_original && !test.range().is_empty() {
            self.trailing(test.end() + TextSize::from(1));
        }
        self.push("\n");
    }

    fn keyword_block(&mut self, keyword: &str, block: &[Stmt]) {
        if !block.is_empty() {
            self.start_line();
            self.push(keyword);
            self.push(":\n");
            self.inner_block(block);
        }
    }

    pub(super) fn with_statement(&mut self, node: &ast::StmtWith) {
        self.start_line();
        if node.is_async {
            self.push("async ");
        }
        self.push("with ");
        for (position, item) in node.items.iter().enumerate() {
            if position > 0 {
                self.push(", ");
            }
            self.expression(&item.context_expr, OperatorPrecedence::Starred);
            if let Some(variables) = &item.optional_vars {
                self.push(" as ");
                // Without brackets, `as a, b` would be two items.
                let target_in_brackets = matches!(**variables, Expr::Tuple(_));
                self.brackets += u32::from(target_in_brackets);
                self.expression(variables, OperatorPrecedence::None);
                self.brackets -= u32::from(target_in_brackets);
            }
        }
        self.header_end(TextRange::default());
        self.inner_block(&node.body);
    }

    pub(super) fn try_statement(&mut self, node: &ast::StmtTry) {
        self.start_line();
        self.push("try:\n");
        self.inner_block(&node.body);
        for ast::ExceptHandler::ExceptHandler(handler) in &node.handlers {
            self.start_line();
            self.push(if node.is_star { "except*" } else { "except" });
            if let Some(class) = &handler.type_ {
                self.push(" ");
                self.brackets += u32::from(class.is_tuple_expr());
                self.top_expression(class);
                self.brackets -= u32::from(class.is_tuple_expr());
            }
            if let Some(name) = &handler.name {
                self.push(" as ");
                self.identifier(&name.id);
            }
            self.push(":\n");
            self.inner_block(&handler.body);
        }
        self.keyword_block("else", &node.orelse);
        self.keyword_block("finally", &node.finalbody);
    }

    pub(super) fn match_statement(&mut self, node: &ast::StmtMatch) {
        self.start_line();
        self.push("match ");
        self.top_expression(&node.subject);
        self.push(":\n");
        self.indent += super::INDENT;
        for case in &node.cases {
            self.start_line();
            let last = case.guard.as_deref().map_or(case.pattern.end(), Ranged::end);
            self.header(case.start(), last, |printer| {
                case.guard.iter().for_each(|guard| printer.visit_expr(guard));
            });
            self.inner_block(&case.body);
        }
        self.indent -= super::INDENT;
    }
}
