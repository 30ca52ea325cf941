//! Python numbers that are read from Tensors, and tests that depend on them.
//!
//! ```python
//! count = mask.sum().item()
//! if count > 3: …              # the test has the type `bool`, but depends on the values of `mask`
//! sizes = mask.sum(1).tolist()
//! if sizes[0] > 3: …
//! ```

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use crate::binding::Lookup;
use ag_flow::Flow;
use ag_index::facts::TensorKind;
use ag_syntax::expressions;
use ag_syntax::qname::QName;

/// Maximum length of a chain of assignments that is followed back.
const MAX_STEPS: usize = 4;

/// A function in which numbers are followed back to Tensors.
pub struct HostNumbers<'a, 'c> {
    pub def: &'a ast::StmtFunctionDef,
    pub flow: &'c Flow,
    pub fact: Lookup<'c>,
}

impl<'a> HostNumbers<'a, '_> {
    /// Returns the conversion from a Tensor on which the value of `expression` depends: `x.item()`, `int(x)`.
    pub fn find(&self, expression: &'a Expr) -> Option<&'a Expr> {
        self.within(expression, MAX_STEPS)
    }

    fn within(&self, expression: &'a Expr, steps: usize) -> Option<&'a Expr> {
        match expression {
            Expr::Compare(compare) => {
                if compare.ops.iter().any(|op| matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot)) {
                    return None;
                }
                std::iter::once(&*compare.left)
                    .chain(&compare.comparators)
                    .find_map(|side| self.within(side, steps))
            }
            Expr::BoolOp(operation) => operation.values.iter().find_map(|value| self.within(value, steps)),
            Expr::BinOp(operation) => {
                self.within(&operation.left, steps).or_else(|| self.within(&operation.right, steps))
            }
            Expr::UnaryOp(operation) => self.within(&operation.operand, steps),
            Expr::Call(call) => self.of_call(expression, call, steps),
            Expr::Subscript(item) => self.list(&item.value, steps),
            Expr::Name(name) if steps > 0 => {
                let definitions = self.flow.definitions_of(name.range(), &QName::from(&name.id));
                let [definition] = definitions.as_slice() else { return None };
                let value = expressions::at(self.def, definition.value?)?;
                match definition.kind {
                    ag_flow::DefKind::Assign | ag_flow::DefKind::Walrus => self.within(value, steps - 1),
                    // `for n in x.tolist()`. Neither `i` in `for i in range(n)` nor `a` in `a, b = …` is such a number.
                    ag_flow::DefKind::ForTarget => self.list(value, steps - 1),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the conversion of a Tensor to a list of numbers to which `expression` evaluates: `x.tolist()`, or a name
    /// for it.
    fn list(&self, expression: &'a Expr, steps: usize) -> Option<&'a Expr> {
        match expression {
            Expr::Call(call) => {
                let method = call.func.as_attribute_expr().filter(|it| it.attr.as_str() == "tolist")?;
                self.is_tensor(&method.value).then_some(expression)
            }
            Expr::Name(name) if steps > 0 => {
                let definitions = self.flow.definitions_of(name.range(), &QName::from(&name.id));
                let [definition] = definitions.as_slice() else { return None };
                let value = expressions::at(self.def, definition.value?)?;
                let assigns = definition.kind == ag_flow::DefKind::Assign;
                self.list(value, steps - 1).filter(|_| assigns)
            }
            _ => None,
        }
    }

    fn of_call(&self, expression: &'a Expr, call: &'a ast::ExprCall, steps: usize) -> Option<&'a Expr> {
        match &*call.func {
            Expr::Attribute(method) if method.attr.as_str() == "item" => {
                self.is_tensor(&method.value).then_some(expression)
            }
            Expr::Name(name) if matches!(name.id.as_str(), "int" | "float" | "bool") => {
                let [value] = &*call.arguments.args else { return None };
                if self.is_tensor(value) { Some(expression) } else { self.within(value, steps) }
            }
            Expr::Name(name) if matches!(name.id.as_str(), "max" | "min" | "abs" | "round") => {
                call.arguments.args.iter().find_map(|value| self.within(value, steps))
            }
            _ => None,
        }
    }

    fn is_tensor(&self, expression: &Expr) -> bool {
        let kind = (self.fact)(expression).and_then(ag_index::facts::Fact::tensor_kind);
        matches!(kind, Some(TensorKind::Tensor | TensorKind::Variable))
    }
}
