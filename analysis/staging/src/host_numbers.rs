//! Python numbers that are read from Tensors, and tests that depend on them.
//!
//! ```python
//! count = mask.sum().item()
//! if count > 3: …              # the test has the type `bool`, but depends on the values of `mask`
//! sizes = mask.sum(1).tolist()
//! if sizes[0] > 3: …
//! ```

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use crate::binding::Lookup;
use ag_flow::{Def, Flow};
use ag_index::facts::TensorKind;
use ag_syntax::expressions;
use ag_syntax::qname::QName;
use ag_syntax::statements;

/// Maximum length of a chain of assignments that is followed back.
const MAX_STEPS: usize = 4;

/// A function in which numbers are followed back to Tensors.
pub struct HostNumbers<'a, 'c> {
    pub def: &'a ast::StmtFunctionDef,
    pub flow: &'c Flow,
    pub fact: Lookup<'c>,
    /// Returns whether a parameter, the result of a call or a property is such a number. Code outside this function
    /// determines these.
    pub outside: &'c dyn Fn(&'a Expr) -> bool,
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
            Expr::Attribute(_) => (self.outside)(expression).then_some(expression),
            Expr::Name(name) if steps > 0 => {
                if let Some(found) = self.of_comprehension(name, steps - 1) {
                    return Some(found);
                }
                let definitions = self.flow.definitions_of(name.range(), &QName::from(&name.id));
                let [definition] = definitions.as_slice() else { return None };
                if matches!(definition.kind, ag_flow::DefKind::Parameter(_)) {
                    return (self.outside)(expression).then_some(expression);
                }
                let Some(value) = definition.value else { return self.unpacked(definition, steps - 1) };
                let value = expressions::at(self.def, value)?;
                match definition.kind {
                    ag_flow::DefKind::Assign | ag_flow::DefKind::Walrus => self.within(value, steps - 1),
                    // `for n in x.tolist()`. Neither `i` in `for i in range(n)` nor `a` in `a, b = …` is such a number.
                    ag_flow::DefKind::ForTarget => {
                        self.list(value, steps - 1).or_else(|| self.unpacked(definition, steps - 1))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the conversion to a list of numbers, one of which a tuple of targets binds to a name:
    /// `for row, size in enumerate(sizes.tolist())`, `height, width = size.tolist()`.
    fn unpacked(&self, definition: &Def, steps: usize) -> Option<&'a Expr> {
        let position = |target: &Expr| {
            let targets = target.as_tuple_expr()?.elts.iter();
            targets.map(Ranged::range).position(|target| target == definition.range)
        };
        statements::of_function(self.def).into_iter().find_map(|statement| match statement {
            Stmt::For(node) => self.item(&node.iter, position(&node.target)?, steps),
            Stmt::Assign(assign) => {
                assign.targets.iter().find_map(position)?;
                self.list(&assign.value, steps)
            }
            _ => None,
        })
    }

    /// Returns the conversion to a list of numbers, one of which is at this position of each item of `iter`:
    /// `enumerate(sizes.tolist())`, `zip(names, sizes.tolist())`.
    fn item(&self, iter: &'a Expr, position: usize, steps: usize) -> Option<&'a Expr> {
        let call = iter.as_call_expr()?;
        let list = match call.func.as_name_expr()?.id.as_str() {
            "enumerate" if position == 1 => call.arguments.args.first()?,
            "zip" => call.arguments.args.get(position)?,
            _ => return None,
        };
        self.list(list, steps)
    }

    /// Returns the conversion to a list of numbers, if the name is the variable of a comprehension over it:
    /// `[x[n] for n in sizes.tolist()]`.
    fn of_comprehension(&self, name: &ast::ExprName, steps: usize) -> Option<&'a Expr> {
        let is_it = |target: &Expr| target.as_name_expr().is_some_and(|target| target.id == name.id);
        expressions::of_function(self.def).into_iter().find_map(|expression| {
            let generators = match expression {
                Expr::ListComp(ast::ExprListComp { generators, .. })
                | Expr::SetComp(ast::ExprSetComp { generators, .. })
                | Expr::DictComp(ast::ExprDictComp { generators, .. })
                | Expr::Generator(ast::ExprGenerator { generators, .. })
                    if expression.range().contains_range(name.range()) =>
                {
                    generators
                }
                _ => return None,
            };
            generators.iter().find_map(|generator| match &generator.target {
                target if is_it(target) => self.list(&generator.iter, steps),
                Expr::Tuple(targets) => {
                    self.item(&generator.iter, targets.elts.iter().position(is_it)?, steps)
                }
                _ => None,
            })
        })
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
            _ => (self.outside)(expression).then_some(expression),
        }
    }

    fn is_tensor(&self, expression: &Expr) -> bool {
        let kind = (self.fact)(expression).and_then(ag_index::facts::Fact::tensor_kind);
        matches!(kind, Some(TensorKind::Tensor | TensorKind::Variable))
    }
}
