//! Finds the decisions of a function and determines their binding times.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::binding;
use crate::binding::Lookup;
use crate::construct::{Construct, ConstructKind, ConstructNode};
use ag_index::facts::{Binding, Fact};
use ag_syntax::expressions;
use ag_syntax::expressions::ExprId;

/// Returns the decisions of a function as syntax, in source order, each with the index of the statement decision around
/// it. Includes decisions in lambdas and comprehensions, but not in nested functions.
pub fn nodes(def: &ast::StmtFunctionDef) -> Vec<(ConstructNode<'_>, Option<u32>)> {
    let mut collector = Collector { nodes: Vec::new(), parent: None };
    collector.visit_body(&def.body);
    collector.nodes
}

/// Returns the decisions with their binding times. `why` is still empty: [`crate::why`] fills it in.
pub fn constructs(nodes: &[(ConstructNode<'_>, Option<u32>)], fact: Lookup) -> Vec<Construct> {
    nodes.iter().map(|(node, parent)| construct(*node, *parent, fact)).collect()
}

fn construct(node: ConstructNode, parent: Option<u32>, fact: Lookup) -> Construct {
    let (kind, range, test, test_range) = match node {
        ConstructNode::If(statement, clause) => {
            let range = match clause {
                0 => statement.range(),
                _ => statement
                    .elif_else_clauses
                    .get(clause - 1)
                    .map_or(statement.range(), |elif| TextRange::new(elif.start(), statement.end())),
            };
            (ConstructKind::If, range, node.test(), None)
        }
        ConstructNode::While(statement) => (ConstructKind::While, statement.range(), node.test(), None),
        ConstructNode::For(statement) => (ConstructKind::For, statement.range(), node.test(), None),
        ConstructNode::IfExp(expression) => (ConstructKind::IfExp, expression.range(), node.test(), None),
        ConstructNode::Assert(statement) => (ConstructKind::Assert, statement.range(), node.test(), None),
        ConstructNode::ComprehensionIf(_, _) => {
            let test = node.test();
            let range = test.map(Ranged::range).unwrap_or_default();
            (ConstructKind::ComprehensionIf, range, test, None)
        }
        ConstructNode::BoolOp(operation) => {
            let kind = match operation.op {
                ast::BoolOp::And => ConstructKind::And,
                ast::BoolOp::Or => ConstructKind::Or,
            };
            (kind, operation.range(), None, Some((operation.range(), &operation.node_index)))
        }
        ConstructNode::Not(operation) => {
            let test = Some((operation.range(), &operation.node_index));
            (ConstructKind::Not, operation.range(), None, test)
        }
        ConstructNode::Compare(compare) => {
            let test = Some((compare.range(), &compare.node_index));
            (ConstructKind::CompareChain, compare.range(), None, test)
        }
    };
    let binding = match node {
        ConstructNode::For(statement) => of_iteration(&statement.iter, fact),
        ConstructNode::BoolOp(operation) => binding::of_operands(operation, fact),
        ConstructNode::Not(operation) => binding::of_test(&operation.operand, fact),
        ConstructNode::Compare(compare) => binding::of_chain(compare, fact),
        _ => test.map_or(Binding::Unknown, |test| binding::of_test(test, fact)),
    };
    let (test, test_range) = match (test, test_range) {
        (Some(test), _) => (expressions::id(test), test.range()),
        (None, Some((range, index))) => (index.load().as_u32().map(ExprId), range),
        (None, None) => (None, range),
    };
    Construct {
        kind,
        range,
        test,
        test_range,
        binding,
        reads_tensor: false,
        why: std::sync::Arc::from([]),
        parent,
    }
}

/// Returns the binding time of a `for`. It is that of the iterable.
fn of_iteration(iterated: &Expr, fact: Lookup) -> Binding {
    match iterated {
        Expr::Named(named) => of_iteration(&named.value, fact),
        // A list literal is a Python list, whatever its elements are.
        Expr::List(_) | Expr::Tuple(_) | Expr::Dict(_) | Expr::Set(_) => Binding::Python,
        Expr::ListComp(_) | Expr::Generator(_) | Expr::SetComp(_) | Expr::DictComp(_) => Binding::Python,
        _ => fact(iterated).map_or(Binding::Unknown, Fact::iteration_binding),
    }
}

struct Collector<'a> {
    nodes: Vec<(ConstructNode<'a>, Option<u32>)>,
    parent: Option<u32>,
}

impl<'a> Collector<'a> {
    fn add(&mut self, node: ConstructNode<'a>) -> u32 {
        self.nodes.push((node, self.parent));
        self.nodes.len() as u32 - 1
    }

    fn within(&mut self, parent: u32, visit: impl FnOnce(&mut Self)) {
        let outer = self.parent.replace(parent);
        visit(self);
        self.parent = outer;
    }
}

impl<'a> SourceOrderVisitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                for decorator in &def.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                for parameter in def.parameters.iter() {
                    if let Some(default) = parameter.default() {
                        self.visit_expr(default);
                    }
                }
            }
            Stmt::If(node) => {
                let mut index = self.add(ConstructNode::If(node, 0));
                self.visit_expr(&node.test);
                self.within(index, |this| this.visit_body(&node.body));
                for (clause, elif) in node.elif_else_clauses.iter().enumerate() {
                    if let Some(test) = &elif.test {
                        index = self.add(ConstructNode::If(node, clause + 1));
                        self.visit_expr(test);
                    }
                    self.within(index, |this| this.visit_body(&elif.body));
                }
            }
            Stmt::While(node) => {
                let index = self.add(ConstructNode::While(node));
                self.visit_expr(&node.test);
                self.within(index, |this| this.visit_body(&node.body));
                self.visit_body(&node.orelse);
            }
            Stmt::For(node) => {
                let index = self.add(ConstructNode::For(node));
                self.visit_expr(&node.target);
                self.visit_expr(&node.iter);
                self.within(index, |this| this.visit_body(&node.body));
                self.visit_body(&node.orelse);
            }
            Stmt::Assert(node) => {
                self.add(ConstructNode::Assert(node));
                source_order::walk_stmt(self, statement);
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::If(node) => {
                self.add(ConstructNode::IfExp(node));
            }
            Expr::BoolOp(node) => {
                self.add(ConstructNode::BoolOp(node));
            }
            Expr::UnaryOp(node) if node.op == ast::UnaryOp::Not => {
                self.add(ConstructNode::Not(node));
            }
            Expr::Compare(node) if node.ops.len() > 1 => {
                self.add(ConstructNode::Compare(node));
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        for condition in 0..comprehension.ifs.len() {
            self.add(ConstructNode::ComprehensionIf(comprehension, condition));
        }
        source_order::walk_comprehension(self, comprehension);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
