//! Attributes of PyTorch modules that are buffers with a value. The base class declares its attributes as a Tensor or
//! any other value, so annotated source declares these as Tensors:
//!
//! ```python
//! self.register_buffer("count", torch.zeros(()))        # a Tensor
//! self.register_buffer("mask", None)                    # may be None
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::FxHashSet;

use super::FileIndex;
use crate::ids::ClassIndex;
use ag_syntax::statements;

const REGISTER: &str = "register_buffer";

/// The maximum length of a chain of assignments and methods that is followed back.
const MAX_STEPS: usize = 4;

/// Returns the buffers that certainly are Tensors, each with its class, in source order.
pub(super) fn of(index: &FileIndex, body: &[Stmt]) -> Vec<(ClassIndex, Name)> {
    if !index.calls.contains_key(REGISTER) {
        return Vec::new();
    }
    let mut walk =
        Walk { index, class: None, function: None, found: Vec::new(), other: FxHashSet::default() };
    walk.visit_body(body);
    let Walk { mut found, other, .. } = walk;
    found.retain(|(_, name)| !other.contains(name));
    let mut seen = FxHashSet::default();
    found.retain(|buffer| seen.insert(buffer.clone()));
    found
}

struct Walk<'a> {
    index: &'a FileIndex,
    class: Option<ClassIndex>,
    function: Option<&'a ast::StmtFunctionDef>,
    found: Vec<(ClassIndex, Name)>,
    /// The names of attributes that may have other values, or that a class declares.
    other: FxHashSet<Name>,
}

impl<'a> Walk<'a> {
    /// Returns whether a value is certainly a Tensor: the result of a function of torch, of a method of such a result, or
    /// of an operator.
    fn is_tensor(&self, value: &Expr, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        match value {
            Expr::BinOp(_) | Expr::UnaryOp(_) => true,
            Expr::Subscript(item) => self.is_tensor(&item.value, steps),
            Expr::Call(call) => match self.index.imports.resolve(&call.func) {
                Some(name) => name.starts_with("torch."),
                None => {
                    let method = call.func.as_attribute_expr();
                    method.is_some_and(|method| self.is_tensor(&method.value, steps))
                }
            },
            Expr::Name(name) => self.function.is_some_and(|function| {
                let is_name = |target: &Expr| target.as_name_expr().is_some_and(|it| it.id == name.id);
                let statements = statements::of_function(function);
                let mut assigned = statements.into_iter().filter_map(|statement| {
                    let assign = statement.as_assign_stmt()?;
                    assign.targets.iter().any(is_name).then_some(&*assign.value)
                });
                let is_parameter = function.parameters.iter().any(|it| it.name().id == name.id);
                !is_parameter
                    && assigned.next().is_some_and(|value| self.is_tensor(value, steps))
                    && assigned.all(|value| self.is_tensor(value, steps))
            }),
            _ => false,
        }
    }

    fn register(&mut self, call: &ast::ExprCall) {
        let Some(Expr::StringLiteral(name)) = call.arguments.find_argument_value("name", 0) else { return };
        let name = Name::new(name.value.to_str());
        let value = call.arguments.find_argument_value("tensor", 1);
        match self.class.filter(|_| value.is_some_and(|value| self.is_tensor(value, MAX_STEPS))) {
            Some(class) => self.found.push((class, name)),
            None => {
                self.other.insert(name);
            }
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Walk<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let (class, function) = (self.class, self.function);
        match statement {
            Stmt::ClassDef(node) => {
                let classes = &self.index.definitions.classes;
                let entry = classes.iter_enumerated().find(|(_, entry)| entry.name_range == node.name.range);
                (self.class, self.function) = (entry.map(|(class, _)| class), None);
            }
            Stmt::FunctionDef(node) => self.function = self.function.or(Some(node)),
            Stmt::Assign(assign) if assign.value.is_none_literal_expr() => {
                let attributes = assign.targets.iter().filter_map(Expr::as_attribute_expr);
                self.other.extend(attributes.map(|attribute| attribute.attr.id.clone()));
            }
            Stmt::AnnAssign(assign) => match &*assign.target {
                Expr::Name(name) if self.function.is_none() => {
                    self.other.insert(name.id.clone());
                }
                Expr::Attribute(attribute) => {
                    self.other.insert(attribute.attr.id.clone());
                }
                _ => {}
            },
            _ => {}
        }
        source_order::walk_stmt(self, statement);
        (self.class, self.function) = (class, function);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Expr::Attribute(method) = &*call.func
            && method.attr.as_str() == REGISTER
        {
            self.register(call);
        }
        source_order::walk_expr(self, expression);
    }
}
