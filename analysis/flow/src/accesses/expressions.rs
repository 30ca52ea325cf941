//! Accesses of expressions in evaluation order.

use ruff_python_ast::visitor::source_order;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::{DefKind, Item, Walker, Write};

impl<'a> Walker<'a> {
    pub(super) fn expression(&mut self, expression: &'a Expr, certain: bool) {
        match expression {
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => {
                match (self.name(expression), expression) {
                    (Some(name), _) => self.load(name),
                    (None, Expr::Attribute(node)) => self.stack.push(Item::Expression(&node.value, certain)),
                    (None, Expr::Subscript(node)) => {
                        self.stack.push(Item::Expression(&node.slice, certain));
                        self.stack.push(Item::Expression(&node.value, certain));
                    }
                    (None, _) => {}
                }
            }
            Expr::Named(node) => {
                self.stack.push(Item::Walrus(node, certain));
                self.stack.push(Item::Expression(&node.value, certain));
            }
            Expr::BoolOp(node) => {
                self.begin_optional();
                for (index, value) in node.values.iter().enumerate().rev() {
                    self.stack.push(Item::Expression(value, certain && index == 0));
                }
            }
            Expr::Compare(node) => {
                self.begin_optional();
                for (index, value) in node.comparators.iter().enumerate().rev() {
                    self.stack.push(Item::Expression(value, certain && index == 0));
                }
                self.stack.push(Item::Expression(&node.left, certain));
            }
            Expr::If(node) => {
                // The body and the `else` are separate optional parts, so a walrus in one does not bind for the other.
                self.begin_optional();
                self.stack.push(Item::Expression(&node.body, false));
                self.begin_optional();
                self.stack.push(Item::Expression(&node.orelse, false));
                self.stack.push(Item::Expression(&node.test, certain));
            }
            Expr::Lambda(node) => self.lambda(node),
            Expr::ListComp(node) => self.comprehension(&[&node.elt], &node.generators, certain),
            Expr::SetComp(node) => self.comprehension(&[&node.elt], &node.generators, certain),
            Expr::Generator(node) => self.comprehension(&[&node.elt], &node.generators, certain),
            Expr::DictComp(node) => match &node.key {
                Some(key) => self.comprehension(&[key, &node.value], &node.generators, certain),
                None => self.comprehension(&[&node.value], &node.generators, certain),
            },
            _ => self.children(certain, |children| source_order::walk_expr(children, expression)),
        }
    }

    pub(super) fn interpolation(&mut self, element: &'a ast::InterpolatedStringElement, certain: bool) {
        if let Some(node) = element.as_interpolation() {
            if let Some(spec) = &node.format_spec {
                self.stack
                    .extend(spec.elements.iter().rev().map(|element| Item::Interpolation(element, certain)));
            }
            self.stack.push(Item::Expression(&node.expression, certain));
        }
    }

    pub(super) fn walrus(&mut self, named: &'a ast::ExprNamed, certain: bool) {
        let Some(name) = self.name(&named.target) else { return };
        self.bound.push((name.root_name().clone(), certain));
        let value = Some(named.value.range());
        let range = named.target.range();
        self.found.writes.push(Write { name, kind: DefKind::Walrus, range, value, certain });
    }

    /// Begins an optional part by pushing the mark of its end. The stack is last in, first out: the items that are
    /// pushed after the mark belong to the part, and are processed before the mark.
    fn begin_optional(&mut self) {
        self.stack.push(Item::EndOptional(self.bound.len()));
    }

    /// Removes the names that an optional part has bound, except those that are bound on every path. The first `outer`
    /// names were bound before it.
    pub(super) fn end_optional(&mut self, outer: usize) {
        let mut index = 0;
        self.bound.retain(|(_, certain)| {
            index += 1;
            *certain || index <= outer
        });
    }
}
