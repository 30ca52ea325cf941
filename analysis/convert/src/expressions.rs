//! Traversal of the expressions of a function.
//!
//! Only expressions that the function itself evaluates are visited. In nested functions these are decorators and
//! defaults, but not bodies. Class bodies, annotations and patterns are not visited. `{x=}` in f-strings is skipped,
//! because its source text is part of the value.

use std::cell::Cell;

use ruff_python_ast::str::Quote;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::{self as ast, Expr, InterpolatedStringElement, Stmt, StringFlags};
use ruff_text_size::TextRange;

use super::build;
use super::tree::is_synthesized;

/// A rewrite of expressions.
pub(super) trait Rewrite {
    /// Rewrites an expression. Must call `walk` to visit its children.
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>);
}

/// The traversal. It is passed to [`Rewrite::rewrite`], which uses it to visit children.
pub(super) struct Walk<'a> {
    pass: &'a dyn Rewrite,
    strings: Cell<EnclosingQuotes>,
}

/// The quotes of the f-strings that enclose an expression. Before Python 3.12, an expression in an
/// f-string cannot contain the same quotes or a backslash.
#[derive(Clone, Copy, Default)]
struct EnclosingQuotes {
    single: bool,
    double: bool,
}

impl Walk<'_> {
    pub(super) fn children(&self, expression: &mut Expr) {
        transformer::walk_expr(self, expression);
    }

    /// Visits the defaults of parameters.
    pub(super) fn parameters(&self, parameters: &mut ast::Parameters) {
        transformer::walk_parameters(self, parameters);
    }

    /// Returns a string literal that is valid at this position; `None` if there is none.
    pub(super) fn string(&self, value: &str, origin: TextRange) -> Option<Expr> {
        let quotes = self.strings.get();
        if !quotes.single && !quotes.double {
            return Some(build::string(value, origin));
        }
        let is_plain = !value.contains(['\'', '"', '\\', '{', '}', '\n']);
        match (quotes.single, quotes.double) {
            (true, false) if is_plain => Some(build::string_in(value, Quote::Double, origin)),
            (false, true) if is_plain => Some(build::string_in(value, Quote::Single, origin)),
            _ => None,
        }
    }
}

pub(super) fn rewrite(body: &mut ast::Suite, pass: &dyn Rewrite) {
    let walk = Walk { pass, strings: Cell::default() };
    walk.visit_body(body);
}

/// Rewrites the expressions of one statement, or one expression.
pub(super) fn rewrite_one(part: NodeMut<'_>, pass: &dyn Rewrite) {
    let walk = Walk { pass, strings: Cell::default() };
    match part {
        NodeMut::Statement(statement) => walk.visit_stmt(statement),
        NodeMut::Expression(expression) => walk.visit_expr(expression),
    }
}

pub(super) enum NodeMut<'a> {
    Statement(&'a mut Stmt),
    Expression(&'a mut Expr),
}

impl Transformer for Walk<'_> {
    fn visit_stmt(&self, statement: &mut Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                if is_synthesized(def) {
                    self.visit_body(&mut def.body);
                    return;
                }
                for decorator in &mut def.decorator_list {
                    self.visit_expr(&mut decorator.expression);
                }
                self.visit_parameters(&mut def.parameters);
            }
            Stmt::ClassDef(class) => {
                for decorator in &mut class.decorator_list {
                    self.visit_expr(&mut decorator.expression);
                }
                if let Some(arguments) = &mut class.arguments {
                    self.visit_arguments(arguments);
                }
            }
            Stmt::TypeAlias(_) => {}
            _ => transformer::walk_stmt(self, statement),
        }
    }

    fn visit_annotation(&self, _: &mut Expr) {}

    fn visit_pattern(&self, _: &mut ast::Pattern) {}

    fn visit_expr(&self, expression: &mut Expr) {
        self.pass.rewrite(expression, self);
    }

    fn visit_interpolated_string_element(&self, element: &mut InterpolatedStringElement) {
        if let InterpolatedStringElement::Interpolation(node) = element
            && node.debug_text.is_some()
        {
            return;
        }
        transformer::walk_interpolated_string_element(self, element);
    }

    fn visit_f_string(&self, string: &mut ast::FString) {
        let outer = self.strings.get();
        let mut inner = outer;
        match string.flags.quote_style() {
            Quote::Single => inner.single = true,
            Quote::Double => inner.double = true,
        }
        self.strings.set(inner);
        transformer::walk_f_string(self, string);
        self.strings.set(outer);
    }

    fn visit_t_string(&self, string: &mut ast::TString) {
        let outer = self.strings.get();
        self.strings.set(EnclosingQuotes { single: true, double: true });
        transformer::walk_t_string(self, string);
        self.strings.set(outer);
    }
}

/// Returns whether an expression can be moved into a `lambda`. It cannot if it awaits, yields or binds a name.
pub(super) fn can_move_into_lambda(expression: &Expr) -> bool {
    let mut search = Immovable { found: false };
    search.visit_expr(expression);
    !search.found
}

struct Immovable {
    found: bool,
}

impl<'a> SourceOrderVisitor<'a> for Immovable {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Named(_) => self.found = true,
            Expr::Lambda(_) => {}
            _ if self.found => {}
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.found |= comprehension.is_async;
        source_order::walk_comprehension(self, comprehension);
    }
}
