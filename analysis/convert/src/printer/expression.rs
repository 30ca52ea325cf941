//! Prints expressions. Original expressions are copied, except for the synthesized nodes in them, for which text is
//! generated.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{
    self as ast, BoolOp, Expr, InterpolatedStringElement, OperatorPrecedence, StringFlags, UnaryOp,
};
use ruff_text_size::{Ranged, TextRange};

use super::super::tree::is_synthesized;
use super::Printer;

impl Printer<'_, '_> {
    /// Prints an expression that is not inside brackets. It gets brackets if it contains line breaks.
    pub(super) fn top_expression(&mut self, expression: &Expr) {
        self.expression(expression, OperatorPrecedence::None);
    }

    /// Prints an expression whose parent has the precedence `parent`.
    pub(super) fn expression(&mut self, expression: &Expr, parent: OperatorPrecedence) {
        if is_synthesized(expression) {
            let precedence = OperatorPrecedence::from_expr(expression);
            let bracketed = precedence <= parent && parent != OperatorPrecedence::None;
            self.bracketed(bracketed, |printer| printer.synthesized(expression));
        } else if let Expr::Starred(node) = expression {
            self.starred(node);
        } else {
            let bracketed = self.needs_brackets(expression, parent);
            self.bracketed(bracketed, |printer| {
                printer.splice(expression.range(), |printer| source_order::walk_expr(printer, expression));
            });
        }
    }

    fn bracketed(&mut self, bracketed: bool, print: impl FnOnce(&mut Self)) {
        if bracketed {
            self.push("(");
            self.brackets += 1;
        }
        print(self);
        if bracketed {
            self.brackets -= 1;
            self.push(")");
        }
    }

    fn needs_brackets(&self, expression: &Expr, parent: OperatorPrecedence) -> bool {
        match expression {
            Expr::Generator(node) => return !node.parenthesized,
            Expr::Tuple(node) if node.parenthesized => return false,
            Expr::Tuple(node) => {
                return self.brackets > 0
                    || parent != OperatorPrecedence::None
                    || self.has_line_break(node.range);
            }
            Expr::Named(_) | Expr::Yield(_) | Expr::YieldFrom(_) => return true,
            _ => {}
        }
        let precedence = OperatorPrecedence::from_expr(expression);
        (precedence <= parent && parent != OperatorPrecedence::None)
            || (self.brackets == 0 && self.has_line_break(expression.range()))
    }

    /// `f(*x > 0)` is valid, but an element of a display is not: `f(*x > 0)` becomes `(*(x > 0),)`.
    fn starred(&mut self, node: &ast::ExprStarred) {
        self.push("*");
        self.expression(&node.value, below(OperatorPrecedence::BitOr));
    }

    fn has_line_break(&self, range: TextRange) -> bool {
        memchr::memchr(b'\n', self.source.text[range].as_bytes()).is_some()
    }

    /// Copies a range of the source except for the synthesized nodes that `walk` visits in it.
    pub(super) fn splice(&mut self, range: TextRange, walk: impl FnOnce(&mut Self)) {
        let cursor = std::mem::replace(&mut self.cursor, range.start());
        walk(self);
        self.copy_to(range.end());
        self.cursor = cursor;
    }

    fn synthesized(&mut self, expression: &Expr) {
        let start = self.position();
        match expression {
            Expr::Name(node) => self.identifier(&node.id),
            Expr::Attribute(node) => {
                self.expression(&node.value, OperatorPrecedence::Await);
                self.push(".");
                self.identifier(&node.attr.id);
            }
            Expr::Call(node) => self.call(node),
            Expr::Lambda(node) => {
                self.push("lambda");
                if let Some(parameters) =
                    node.parameters.as_deref().filter(|parameters| !parameters.is_empty())
                {
                    self.push(" ");
                    self.parameters(parameters);
                }
                self.push(": ");
                self.expression(&node.body, OperatorPrecedence::Starred);
            }
            Expr::Tuple(node) => self.tuple(node),
            Expr::Dict(node) => self.dict(node),
            Expr::StringLiteral(node) => self.string(node),
            Expr::NumberLiteral(node) => self.push(&match &node.value {
                ast::Number::Int(number) => number.to_string(),
                ast::Number::Float(number) => format!("{number:?}"),
                ast::Number::Complex { imag, .. } => format!("{imag:?}j"),
            }),
            Expr::EllipsisLiteral(_) => self.push("..."),
            Expr::BinOp(node) => {
                let precedence = OperatorPrecedence::from(node.op);
                // An operand of equal precedence needs brackets on one side: left for `**`, otherwise right.
                let (left, right) = match precedence.is_right_associative() {
                    true => (precedence, below(precedence)),
                    false => (below(precedence), precedence),
                };
                self.expression(&node.left, left);
                self.push(" ");
                self.push(node.op.as_str());
                self.push(" ");
                self.expression(&node.right, right);
            }
            Expr::UnaryOp(node) if node.op != UnaryOp::Not => {
                self.push(node.op.as_str());
                self.expression(&node.operand, OperatorPrecedence::MulDivRemain);
            }
            Expr::If(node) => {
                self.expression(&node.body, OperatorPrecedence::IfElse);
                self.push(" if ");
                self.expression(&node.test, OperatorPrecedence::IfElse);
                self.push(" else ");
                self.expression(&node.orelse, OperatorPrecedence::Lambda);
            }
            Expr::Subscript(node) => {
                self.expression(&node.value, OperatorPrecedence::Await);
                self.push("[");
                self.brackets += 1;
                self.expression(&node.slice, OperatorPrecedence::Assign);
                self.brackets -= 1;
                self.push("]");
            }
            Expr::Slice(node) => {
                let mut part = |part: &Option<Box<Expr>>, separator: &str| {
                    self.push(separator);
                    part.iter().for_each(|part| self.expression(part, OperatorPrecedence::Starred));
                };
                part(&node.lower, "");
                part(&node.upper, ":");
                if node.step.is_some() {
                    part(&node.step, ":");
                }
            }
            Expr::Starred(node) => self.starred(node),
            Expr::Await(node) => {
                self.push("await ");
                self.expression(&node.value, OperatorPrecedence::Await);
            }
            Expr::Named(node) => {
                self.push("(");
                self.brackets += 1;
                self.expression(&node.target, OperatorPrecedence::None);
                self.push(" := ");
                self.expression(&node.value, OperatorPrecedence::Starred);
                self.brackets -= 1;
                self.push(")");
            }
            Expr::Set(node) => {
                self.push("{");
                self.brackets += 1;
                self.list(&node.elts);
                self.brackets -= 1;
                self.push("}");
            }
            Expr::List(node) => {
                self.push("[");
                self.brackets += 1;
                self.list(&node.elts);
                self.brackets -= 1;
                self.push("]");
            }
            Expr::BooleanLiteral(node) => self.push(if node.value { "True" } else { "False" }),
            Expr::NoneLiteral(_) => self.push("None"),
            Expr::UnaryOp(node) if node.op == UnaryOp::Not => {
                self.push("not ");
                // `not` is right-associative: `not not x` needs no brackets.
                self.expression(&node.operand, OperatorPrecedence::And);
            }
            Expr::BoolOp(node) => {
                let precedence = OperatorPrecedence::from(node.op);
                let operator = match node.op {
                    BoolOp::And => " and ",
                    BoolOp::Or => " or ",
                };
                for (position, value) in node.values.iter().enumerate() {
                    if position > 0 {
                        self.push(operator);
                    }
                    self.expression(value, precedence);
                }
            }
            Expr::Compare(node) => {
                let parent = OperatorPrecedence::ComparisonsMembershipIdentity;
                self.expression(&node.left, parent);
                for (op, right) in node.ops.iter().zip(&node.comparators) {
                    self.push(" ");
                    self.push(op.as_str());
                    self.push(" ");
                    self.expression(right, parent);
                }
            }
            // Neither passes nor templates create other kinds.
            _ => self.splice(expression.range(), |_| {}),
        }
        self.note(start, expression.range());
    }

    /// Prints the names and defaults of parameters, without annotations.
    pub(super) fn parameters(&mut self, parameters: &ast::Parameters) {
        let mut separator = "";
        for parameter in &parameters.posonlyargs {
            self.parameter(&mut separator, parameter);
        }
        if !parameters.posonlyargs.is_empty() {
            self.push(", /");
        }
        for parameter in &parameters.args {
            self.parameter(&mut separator, parameter);
        }
        if let Some(rest) = &parameters.vararg {
            self.push(std::mem::replace(&mut separator, ", "));
            self.push("*");
            self.identifier(&rest.name.id);
        } else if !parameters.kwonlyargs.is_empty() {
            self.push(std::mem::replace(&mut separator, ", "));
            self.push("*");
        }
        for parameter in &parameters.kwonlyargs {
            self.parameter(&mut separator, parameter);
        }
        if let Some(rest) = &parameters.kwarg {
            self.push(separator);
            self.push("**");
            self.identifier(&rest.name.id);
        }
    }

    fn parameter(&mut self, separator: &mut &str, parameter: &ast::ParameterWithDefault) {
        self.push(std::mem::replace(separator, ", "));
        self.identifier(&parameter.parameter.name.id);
        if let Some(default) = parameter.default() {
            self.push("=");
            self.expression(default, OperatorPrecedence::Starred);
        }
    }

    fn call(&mut self, node: &ast::ExprCall) {
        self.expression(&node.func, OperatorPrecedence::Await);
        self.push("(");
        self.brackets += 1;
        self.list(&node.arguments.args);
        let mut separator = if node.arguments.args.is_empty() { "" } else { ", " };
        for keyword in &node.arguments.keywords {
            self.push(separator);
            match &keyword.arg {
                Some(arg) => {
                    self.identifier(&arg.id);
                    self.push("=");
                }
                None => self.push("**"),
            }
            self.expression(&keyword.value, OperatorPrecedence::Starred);
            separator = ", ";
        }
        self.brackets -= 1;
        self.push(")");
    }

    pub(super) fn list(&mut self, elements: &[Expr]) {
        for (position, element) in elements.iter().enumerate() {
            if position > 0 {
                self.push(", ");
            }
            self.expression(element, OperatorPrecedence::Assign);
        }
    }

    fn tuple(&mut self, node: &ast::ExprTuple) {
        if node.parenthesized {
            self.push("(");
            self.brackets += 1;
        }
        self.list(&node.elts);
        if node.elts.len() == 1 {
            self.push(",");
        }
        if node.parenthesized {
            self.brackets -= 1;
            self.push(")");
        }
    }

    fn dict(&mut self, node: &ast::ExprDict) {
        self.push("{");
        self.brackets += 1;
        for (position, item) in node.items.iter().enumerate() {
            if position > 0 {
                self.push(", ");
            }
            match &item.key {
                Some(key) => {
                    self.expression(key, OperatorPrecedence::Assign);
                    self.push(": ");
                }
                None => self.push("**"),
            }
            self.expression(&item.value, OperatorPrecedence::Starred);
        }
        self.brackets -= 1;
        self.push("}");
    }

    fn string(&mut self, node: &ast::ExprStringLiteral) {
        let value = node.value.to_str();
        let quote = node.value.first_literal_flags().quote_style().as_char();
        self.out.push(quote);
        for character in value.chars() {
            match character {
                '\\' => self.push("\\\\"),
                '\n' => self.push("\\n"),
                '\r' => self.push("\\r"),
                '\t' => self.push("\\t"),
                character if character == quote => {
                    self.out.push('\\');
                    self.out.push(character);
                }
                character => self.out.push(character),
            }
        }
        self.out.push(quote);
    }
}

/// Returns the next lower precedence. An operand of `precedence` needs no brackets within it.
fn below(precedence: OperatorPrecedence) -> OperatorPrecedence {
    use OperatorPrecedence as P;
    match precedence {
        P::Exponent => P::PosNegBitNot,
        P::MulDivRemain => P::AddSub,
        P::AddSub => P::LeftRightShift,
        P::LeftRightShift => P::BitAnd,
        P::BitAnd => P::BitXor,
        P::BitXor => P::BitOr,
        _ => P::ComparisonsMembershipIdentity,
    }
}

/// Traverses copied source and prints the synthesized nodes in it.
impl<'t> SourceOrderVisitor<'t> for Printer<'_, '_> {
    fn visit_expr(&mut self, expression: &'t Expr) {
        if is_synthesized(expression) {
            self.copy_to(expression.start());
            self.brackets += 1;
            let needed = !matches!(
                OperatorPrecedence::from_expr(expression),
                OperatorPrecedence::Atomic | OperatorPrecedence::CallAttribute
            );
            self.bracketed(needed, |printer| {
                let cursor = printer.cursor;
                printer.synthesized(expression);
                printer.cursor = cursor;
            });
            self.brackets -= 1;
            self.cursor = expression.end();
        } else {
            source_order::walk_expr(self, expression);
        }
    }

    fn visit_interpolated_string_element(&mut self, element: &'t InterpolatedStringElement) {
        // The source text of `{x=}` is part of its value.
        if !matches!(element, InterpolatedStringElement::Interpolation(node) if node.debug_text.is_some()) {
            source_order::walk_interpolated_string_element(self, element);
        }
    }
}
