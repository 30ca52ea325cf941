//! The names and attributes that a function reads, as far as its syntax shows.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use crate::names::Names;

/// Returns whether a method reads `self.attribute` and does not set it.
pub(super) fn reads_only(def: &ast::StmtFunctionDef, attribute: &str) -> bool {
    let Some(receiver) = def.parameters.iter().next() else { return false };
    uses(def, receiver.name().as_str(), attribute)
}

/// Returns whether a function reads `object.attribute` of a global object and does not set it.
pub(super) fn reads_attribute(def: &ast::StmtFunctionDef, object: &str, attribute: &str) -> bool {
    !binds(def, object) && uses(def, object, attribute)
}

fn uses(def: &ast::StmtFunctionDef, object: &str, attribute: &str) -> bool {
    struct Uses<'a> {
        object: &'a str,
        attribute: &'a str,
        reads: bool,
        sets: bool,
    }
    impl SourceOrderVisitor<'_> for Uses<'_> {
        fn visit_expr(&mut self, expression: &Expr) {
            if let Expr::Attribute(found) = expression
                && found.attr.as_str() == self.attribute
                && found.value.as_name_expr().is_some_and(|name| name.id == self.object)
            {
                if found.ctx.is_load() {
                    self.reads = true
                } else {
                    self.sets = true
                };
            }
            // A method of the attribute changes an object that the graph may share.
            if let Expr::Call(call) = expression
                && let Expr::Attribute(method) = call.func.as_ref()
                && let Expr::Attribute(found) = method.value.as_ref()
                && found.attr.as_str() == self.attribute
            {
                self.sets = true;
            }
            source_order::walk_expr(self, expression);
        }
    }
    let mut uses = Uses { object, attribute, reads: false, sets: false };
    uses.visit_body(&def.body);
    uses.reads && !uses.sets
}

/// Returns whether a function reads a global name.
pub(super) fn reads_global(def: &ast::StmtFunctionDef, name: &str) -> bool {
    Names::of_body(&def.body).read.iter().any(|read| read.id == name) && !binds(def, name)
}

/// Returns whether a function has a parameter or variable of this name.
fn binds(def: &ast::StmtFunctionDef, name: &str) -> bool {
    Names::of_body(&def.body).bound.contains(name)
        || def.parameters.iter().any(|parameter| parameter.name().as_str() == name)
}

/// Returns the place where a function first reads the target of an assignment.
pub(super) fn first_read(def: &ast::StmtFunctionDef, target: &Expr) -> Option<TextRange> {
    struct Reads<'t> {
        target: &'t Expr,
        found: Option<TextRange>,
    }
    impl SourceOrderVisitor<'_> for Reads<'_> {
        fn visit_expr(&mut self, expression: &Expr) {
            let is_read = match (expression, self.target) {
                (Expr::Attribute(read), Expr::Attribute(target)) => {
                    read.attr.as_str() == target.attr.as_str() && read.value.is_name_expr()
                }
                (Expr::Name(read), Expr::Name(target)) => read.id == target.id,
                _ => false,
            };
            if is_read && self.found.is_none() {
                self.found = Some(expression.range());
            }
            source_order::walk_expr(self, expression);
        }
    }
    let mut reads = Reads { target, found: None };
    reads.visit_body(&def.body);
    reads.found
}

/// Returns the names of the methods that a method calls on its receiver.
pub(super) fn called_methods(def: &ast::StmtFunctionDef) -> FxHashSet<&str> {
    struct Called<'a>(FxHashSet<&'a str>);
    impl<'a> SourceOrderVisitor<'a> for Called<'a> {
        fn visit_expr(&mut self, expression: &'a Expr) {
            if let Expr::Call(call) = expression
                && let Expr::Attribute(method) = call.func.as_ref()
                && method.value.is_name_expr()
            {
                self.0.insert(method.attr.as_str());
            }
            source_order::walk_expr(self, expression);
        }
    }
    let mut called = Called(FxHashSet::default());
    called.visit_body(&def.body);
    called.0
}
