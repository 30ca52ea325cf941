//! The binding time of a loop condition in the first iteration and in later ones.

use ruff_python_ast::{self as ast, CmpOp, Expr};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use ag_flow::{Def, DefKind, StmtId};
use ag_index::facts::Binding;
use ag_staging::construct::{Construct, ConstructKind};
use ag_syntax::qname::QName;

/// A `while` loop.
pub(super) struct Iterations<'c, 'a> {
    pub(super) ctx: &'c FunctionContext<'a>,
    pub(super) construct: &'a Construct,
    pub(super) stmt: StmtId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Iteration {
    First,
    Later,
}

impl<'a> Iterations<'_, 'a> {
    /// Returns the binding time of a condition in an iteration. It is staged if one operand is a Tensor.
    pub(super) fn binding(&self, test: &Expr, iteration: Iteration) -> Binding {
        let all = |operands: &mut dyn Iterator<Item = &Expr>| {
            let bindings: Vec<Binding> = operands.map(|operand| self.binding(operand, iteration)).collect();
            if bindings.contains(&Binding::Staged) {
                return Binding::Staged;
            }
            bindings.into_iter().reduce(Binding::join).unwrap_or(Binding::Unknown)
        };
        match test {
            Expr::UnaryOp(operation) => self.binding(&operation.operand, iteration),
            Expr::Named(named) => self.binding(&named.value, iteration),
            Expr::BoolOp(operation) => all(&mut operation.values.iter()),
            Expr::BinOp(ast::ExprBinOp { left, right, .. }) => all(&mut [&**left, &**right].into_iter()),
            Expr::Compare(compare) => {
                let by_identity =
                    |op: &CmpOp| matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn);
                if compare.ops.iter().all(by_identity) {
                    return Binding::Python;
                }
                all(&mut std::iter::once(&*compare.left).chain(&compare.comparators))
            }
            Expr::Call(call) => {
                let changes =
                    call.arguments.iter_source_order().any(|argument| self.changes(argument.value()));
                match self.ctx.python_fact(test).binding() {
                    Binding::Python if changes => Binding::Unknown,
                    Binding::Mixed => Binding::Unknown,
                    binding => binding,
                }
            }
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => match QName::from_expr(test) {
                Some(name) if self.is_bound_in_body(&name) => self.of_name(&name, iteration),
                _ => self.ctx.python_fact(test).binding(),
            },
            _ => self.ctx.python_fact(test).binding(),
        }
    }

    /// Returns the definitions in the body that bind a name of the condition to a Tensor.
    pub(super) fn tensor_definitions(&self, test: &Expr) -> Vec<&'a Def> {
        let mut names = Vec::new();
        self.names(test, &mut names);
        names
            .iter()
            .filter(|name| self.of_name(name, Iteration::First) == Binding::Python)
            .filter_map(|name| self.in_body(name).into_iter().find(|definition| self.is_staged(definition)))
            .collect()
    }

    fn names(&self, expression: &Expr, names: &mut Vec<QName>) {
        match expression {
            Expr::UnaryOp(operation) => self.names(&operation.operand, names),
            Expr::Named(named) => self.names(&named.value, names),
            Expr::BoolOp(operation) => operation.values.iter().for_each(|value| self.names(value, names)),
            Expr::BinOp(ast::ExprBinOp { left, right, .. }) => {
                self.names(left, names);
                self.names(right, names);
            }
            Expr::Compare(compare) => {
                self.names(&compare.left, names);
                compare.comparators.iter().for_each(|value| self.names(value, names));
            }
            _ => names.extend(QName::from_expr(expression).filter(|name| self.is_bound_in_body(name))),
        }
    }

    fn changes(&self, expression: &Expr) -> bool {
        match QName::from_expr(expression) {
            Some(name) => self.is_bound_in_body(&name),
            None => !expression.is_literal_expr(),
        }
    }

    fn is_bound_in_body(&self, name: &QName) -> bool {
        !self.in_body(name).is_empty()
    }

    /// Returns the definitions in the body that reach the next iteration.
    fn in_body(&self, name: &QName) -> Vec<&'a Def> {
        let mut definitions = self.ctx.flow.definitions_after_body(self.stmt, name);
        definitions.retain(|definition| {
            definition.kind.defines()
                && !matches!(definition.kind, DefKind::Parameter(_) | DefKind::Outer)
                && self.construct.range.contains_range(definition.range)
        });
        definitions
    }

    fn of_name(&self, name: &QName, iteration: Iteration) -> Binding {
        let before = self.ctx.flow.definitions_before(self.stmt, name);
        let first = before.iter().map(|definition| self.of_definition(definition)).reduce(Binding::join);
        let first = first.unwrap_or(Binding::Unknown);
        if iteration == Iteration::First {
            return first;
        }
        let later = self.in_body(name);
        if later.iter().any(|definition| self.is_staged(definition)) { Binding::Staged } else { first }
    }

    fn of_definition(&self, definition: &Def) -> Binding {
        match definition.kind {
            DefKind::AugAssign => match self.ctx.value_of(definition) {
                Some(value) if self.ctx.python_fact(value).binding() == Binding::Staged => Binding::Staged,
                _ => Binding::Unknown,
            },
            _ => self.ctx.fact_of(definition).binding(),
        }
    }

    /// Returns whether a definition binds a Tensor, or binds a known value under a staged condition of the body.
    fn is_staged(&self, definition: &Def) -> bool {
        let bound = self.of_definition(definition);
        let start = self.construct.range.start();
        let mut within =
            self.ctx.enclosing(definition.range).take_while(|construct| construct.range.start() != start);
        bound == Binding::Staged
            || bound != Binding::Unknown
                && within.any(|construct| {
                    construct.kind == ConstructKind::If && construct.binding == Binding::Staged
                })
    }

    /// Returns whether every iteration reaches `definition`.
    pub(super) fn is_certain(&self, definition: &Def) -> bool {
        let start = self.construct.range.start();
        let mut within = self
            .ctx
            .enclosing(definition.range.range())
            .take_while(|construct| construct.range.start() != start);
        within.all(|construct| construct.binding == Binding::Staged)
    }
}
