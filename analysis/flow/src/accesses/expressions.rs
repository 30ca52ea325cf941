//! Expressions: what is evaluated, and in which order.

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
                self.forget_later();
                for (index, value) in node.values.iter().enumerate().rev() {
                    self.stack.push(Item::Expression(value, certain && index == 0));
                }
            }
            Expr::Compare(node) => {
                self.forget_later();
                for (index, value) in node.comparators.iter().enumerate().rev() {
                    self.stack.push(Item::Expression(value, certain && index == 0));
                }
                self.stack.push(Item::Expression(&node.left, certain));
            }
            Expr::If(node) => {
                // A name bound in the body is not bound in the `else`, which is thus read first.
                self.forget_later();
                self.stack.push(Item::Expression(&node.body, false));
                self.forget_later();
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

    /// Of what is pushed from now on, only what is surely bound counts once it has been evaluated.
    fn forget_later(&mut self) {
        self.stack.push(Item::Forget(self.bound.len()));
    }

    pub(super) fn forget(&mut self, kept: usize) {
        let mut index = 0;
        self.bound.retain(|(_, certain)| {
            index += 1;
            *certain || index <= kept
        });
    }
}
