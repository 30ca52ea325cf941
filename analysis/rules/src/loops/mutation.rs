//! Mutations in a staged loop of Python containers created outside it: `items.append(x)`, `d[k] = v`.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::carried::StagedLoop;
use crate::FunctionContext;
use crate::effects::MUTATORS;
use ag_flow::DefKind;
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

/// A mutation of a container that was created before the loop.
pub(super) struct Mutation<'a> {
    pub(super) range: TextRange,
    pub(super) container: QName,
    pub(super) change: Change<'a>,
}

pub(super) enum Change<'a> {
    /// `items.append(x)`.
    Call(&'a ast::ExprCall, &'a str),
    /// `d[k] = v`, `d[k] += v`.
    Item { target: &'a ast::ExprSubscript, value: &'a Expr },
}

/// Returns the mutations in the body of a staged loop whose object is a list, dict or set that the function bound
/// before the loop.
pub(super) fn mutations<'a>(staged: &StagedLoop<'_, 'a>) -> Vec<Mutation<'a>> {
    let mut visitor = Mutations { found: Vec::new() };
    visitor.visit_body(staged.body());
    let ctx = staged.ctx;
    let mut found = visitor.found;
    found.retain(|mutation| {
        let definitions = ctx.flow.definitions_of(mutation.range, &mutation.container);
        let outside = definitions.iter().all(|definition| {
            definition.kind.defines()
                && !matches!(definition.kind, DefKind::Outer | DefKind::Import)
                && !staged.contains(definition)
        });
        outside && !definitions.is_empty() && container_class(ctx, mutation.receiver()).is_some()
    });
    found
}

impl<'a> Mutation<'a> {
    fn receiver(&self) -> &'a Expr {
        match self.change {
            Change::Call(call, _) => match &*call.func {
                Expr::Attribute(attribute) => &attribute.value,
                function => function,
            },
            Change::Item { target, .. } => &target.value,
        }
    }
}

/// Returns `list`, `dict` or `set` if a value is certainly such a container.
pub(super) fn container_class<'a>(ctx: &FunctionContext<'a>, value: &Expr) -> Option<&'a str> {
    let fact = ctx.python_fact(value);
    let mut classes = fact.alternatives.iter().map(|alternative| match alternative {
        Alternative::Container { class, .. } => Some(class.as_str()),
        _ => None,
    });
    let first = classes.next().filter(|_| !fact.unknown)??;
    let mutable = matches!(first, "list" | "dict" | "set");
    (mutable && classes.all(|class| class == Some(first))).then_some(first)
}

struct Mutations<'a> {
    found: Vec<Mutation<'a>>,
}

impl<'a> Mutations<'a> {
    fn item(&mut self, target: &'a Expr, value: &'a Expr) {
        if let Expr::Subscript(target) = target
            && let Some(container) = QName::from_expr(&target.value).filter(QName::is_simple)
        {
            self.found.push(Mutation {
                range: target.range(),
                container,
                change: Change::Item { target, value },
            });
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Mutations<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.item(target, &assign.value)),
            Stmt::AugAssign(assign) => self.item(&assign.target, &assign.value),
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Expr::Attribute(attribute) = &*call.func
            && MUTATORS.contains(&attribute.attr.as_str())
            && let Some(container) = QName::from_expr(&attribute.value).filter(QName::is_simple)
        {
            let change = Change::Call(call, attribute.attr.as_str());
            self.found.push(Mutation { range: call.range(), container, change });
        }
        if !expression.is_lambda_expr() {
            source_order::walk_expr(self, expression);
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
