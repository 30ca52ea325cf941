//! What staging does to Python values: the state of a staged `if` or loop comes out as Tensors.
//!
//! ```python
//! count = 0
//! while tf.reduce_sum(x) > 1.0:   # staged: `count` is carried through the graph
//!     count += 1
//!     if count > 5: ...           # so this is staged too
//! ```
//!
//! To a type checker `count` is an `int` throughout. Here the facts of such expressions are raised to
//! Tensors, by the definitions that reach them, until nothing changes.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use crate::binding;
use crate::construct::ConstructNode;
use crate::decisions;
use ag_flow::{Cfg, Def, DefKind, Flow, Role};
use ag_index::answers::Facts;
use ag_index::facts::{Alternative, Binding, Fact, Library, TensorKind};
use ag_syntax::expressions;
use ag_syntax::expressions::ExprId;
use ag_syntax::qname::QName;

/// Nested staged statements raise each other; deeper chains are left as the type checker sees them.
const MAX_ROUNDS: usize = 6;

/// The facts of a converted function with the effects of its staged statements.
pub fn apply(def: &ast::StmtFunctionDef, flow: &Flow, facts: &Facts) -> Facts {
    let nodes = decisions::nodes(def);
    if flow.is_opaque() || !nodes.iter().any(|(node, _)| node.branches().is_some()) {
        return facts.clone();
    }
    let mut raised = Raised {
        flow,
        facts,
        tensor: tensor(),
        regions: Vec::new(),
        expressions: FxHashSet::default(),
        values: FxHashSet::default(),
    };
    for _ in 0..MAX_ROUNDS {
        raised.regions = raised.find_regions(&nodes);
        let before = (raised.expressions.len(), raised.values.len());
        raised.visit_body(&def.body);
        if (raised.expressions.len(), raised.values.len()) == before {
            break;
        }
    }
    if raised.expressions.is_empty() {
        return facts.clone();
    }
    facts.with(&raised.expressions, raised.tensor)
}

fn tensor() -> Fact {
    Fact {
        alternatives: vec![Alternative::Tensor {
            kind: TensorKind::Tensor,
            dtype: None,
            library: Library::Other,
        }],
        shown: Name::new_static("Tensor"),
        ..Fact::default()
    }
}

/// A staged statement and the names that it carries through the graph.
struct Region {
    range: TextRange,
    is_loop: bool,
    carried: Vec<QName>,
}

struct Raised<'a> {
    flow: &'a Flow,
    facts: &'a Facts,
    tensor: Fact,
    regions: Vec<Region>,
    /// Expressions whose value is a Tensor by effect.
    expressions: FxHashSet<ExprId>,
    /// Where these expressions stand, and the targets of `+=` that become Tensors.
    values: FxHashSet<TextRange>,
}

impl Raised<'_> {
    fn fact(&self, expression: &Expr) -> Option<&Fact> {
        let id = expressions::id(expression)?;
        if self.expressions.contains(&id) { Some(&self.tensor) } else { self.facts.get(id) }
    }

    fn find_regions(&self, nodes: &[(ConstructNode, Option<u32>)]) -> Vec<Region> {
        let lookup = |expression: &Expr| self.fact(expression);
        decisions::constructs(nodes, &lookup)
            .iter()
            .filter(|construct| construct.binding == Binding::Staged)
            .filter_map(|construct| {
                let statement = self.flow.cfg.statement_at(construct.range.start())?;
                let variables = self.flow.block_variables(statement)?;
                let carried = variables
                    .state()
                    .filter(|variable| variable.role != Role::Local)
                    .map(|variable| variable.name.clone())
                    .collect();
                Some(Region { range: construct.range, is_loop: construct.kind.is_loop(), carried })
            })
            .collect()
    }

    /// Whether the value that `name` has at `range` came through a staged statement, or was computed
    /// from one that did.
    fn is_carried(&self, name: &QName, range: TextRange) -> bool {
        let mut definitions = self.flow.definitions_of(range, name);
        // What a loop of Python's leaves behind is taken to be there: `for i in range(3): …`, then `i`.
        if definitions
            .iter()
            .all(|definition| matches!(definition.kind, DefKind::ForTarget | DefKind::Undefined))
        {
            definitions.retain(|definition| definition.kind != DefKind::Undefined);
        }
        let within = |region: &Region, definition: &Def| {
            definition.node != Cfg::ENTRY && region.range.contains_range(definition.range)
        };
        let through = self.regions.iter().filter(|region| region.carried.contains(name)).any(|region| {
            if region.range.contains_range(range) {
                // In the body of a loop: the value is of the round before, or from before the loop.
                region.is_loop && definitions.iter().any(|definition| !within(region, definition))
            } else {
                definitions.iter().any(|definition| within(region, definition))
            }
        });
        through
            // Binding `x` gives another `x.shape`, which does not become what `x` becomes.
            || definitions.iter().filter(|definition| definition.name == *name).any(|definition| {
                self.values.contains(&definition.range)
                    || definition.value.is_some_and(|value| {
                        definition.kind != DefKind::ForTarget && self.values.contains(&value)
                    })
            })
    }

    fn is_raised(&self, expression: &Expr) -> bool {
        expressions::id(expression).is_some_and(|id| self.expressions.contains(&id))
    }

    /// Python numbers become Tensors on their way through the graph; Tensors stay what they are, with
    /// their dtype, and objects too.
    fn raise(&mut self, expression: &Expr) {
        let Some(id) = expressions::id(expression) else { return };
        let Some(fact) = self.facts.get(id) else { return };
        let is_number = |alternative: &Alternative| {
            use Alternative::{Bool, Float, Int, None, Tensor};
            matches!(alternative, Bool(_) | Int(_) | Float | None | Tensor { .. })
        };
        if fact.is_tensor() {
            return;
        }
        if !fact.never && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_number) {
            self.expressions.insert(id);
            self.values.insert(expression.range());
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Raised<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            return;
        }
        source_order::walk_stmt(self, statement);
        if let Stmt::AugAssign(assign) = statement
            && let Some(name) = QName::from_expr(&assign.target)
            && (self.is_raised(&assign.value) || self.is_carried(&name, assign.target.range()))
        {
            self.values.insert(assign.target.range());
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        source_order::walk_expr(self, expression);
        let raised = match expression {
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => {
                QName::from_expr(expression).is_some_and(|name| self.is_carried(&name, expression.range()))
            }
            Expr::BinOp(operation) => self.is_raised(&operation.left) || self.is_raised(&operation.right),
            // `not_` of AutoGraph gives a Tensor for one.
            Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::Not, operand, .. }) => {
                let lookup = |expression: &Expr| self.fact(expression);
                binding::of_test(operand, &lookup) == Binding::Staged
            }
            Expr::UnaryOp(operation) => self.is_raised(&operation.operand),
            Expr::Compare(compare) => {
                compare
                    .ops
                    .iter()
                    .all(|op| !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn))
                    && (self.is_raised(&compare.left)
                        || compare.comparators.iter().any(|comparator| self.is_raised(comparator)))
            }
            Expr::If(conditional) => self.is_raised(&conditional.body) || self.is_raised(&conditional.orelse),
            Expr::Named(named) => self.is_raised(&named.value),
            _ => false,
        };
        if raised {
            self.raise(expression);
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
