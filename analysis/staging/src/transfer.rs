//! Transfer functions of staged statements: the variables that a staged `if` or loop carries become Tensors.
//!
//! ```python
//! count = 0
//! while tf.reduce_sum(x) > 1.0:   # staged: `count` is carried through the graph
//!     count += 1
//!     if count > 5: ...           # so this is staged too
//! ```
//!
//! A type checker infers `int` for each use of `count`. This module promotes the facts of such expressions
//! to Tensors along reaching definitions, until a fixpoint. A value of unknown type that does not pass through a staged
//! statement on some path stays partly unknown:
//!
//! ```python
//! for i in tf.range(3):
//!     count += 1
//! for layer in layers:
//!     count = layer(count)        # whatever the function returns
//! math.sqrt(count)                # `Tensor | Unknown`
//! ```

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

/// The maximum number of passes over a function. Promotions in nested statements depend on each other, so one pass is
/// not enough. Expressions that are not promoted by then keep the type checker's facts.
const MAX_ITERATIONS: usize = 6;

/// Returns `facts` after the transfer functions of the staged statements in a converted function.
pub fn apply(def: &ast::StmtFunctionDef, flow: &Flow, facts: &Facts) -> Facts {
    let nodes = decisions::nodes(def);
    if flow.is_opaque() || !nodes.iter().any(|(node, _)| node.branches().is_some()) {
        return facts.clone();
    }
    let mut promotion = Promotion {
        flow,
        facts,
        tensor: tensor(),
        regions: Vec::new(),
        partly_unknown: Fact { unknown: true, ..tensor() },
        expressions: FxHashSet::default(),
        values: FxHashSet::default(),
        uncertain: FxHashSet::default(),
        uncertain_values: FxHashSet::default(),
    };
    for _ in 0..MAX_ITERATIONS {
        promotion.regions = promotion.find_regions(&nodes);
        let before = promotion.size();
        promotion.visit_body(&def.body);
        if promotion.size() == before {
            break;
        }
    }
    if promotion.expressions.is_empty() {
        return facts.clone();
    }
    let facts = facts.with(&promotion.expressions, promotion.tensor);
    if promotion.uncertain.is_empty() {
        facts
    } else {
        facts.with(&promotion.uncertain, promotion.partly_unknown)
    }
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

/// A staged statement and the variables that it carries through the graph.
struct Region {
    range: TextRange,
    is_loop: bool,
    carried: Vec<QName>,
}

struct Promotion<'a> {
    flow: &'a Flow,
    facts: &'a Facts,
    tensor: Fact,
    partly_unknown: Fact,
    regions: Vec<Region>,
    /// The promoted expressions.
    expressions: FxHashSet<ExprId>,
    /// The ranges of `expressions`, and of the targets of `+=` that become Tensors.
    values: FxHashSet<TextRange>,
    /// The promoted expressions that are Tensors on some paths and of unknown type on others.
    uncertain: FxHashSet<ExprId>,
    /// The ranges of `uncertain`, and of the targets of `+=` that become such values.
    uncertain_values: FxHashSet<TextRange>,
}

impl Promotion<'_> {
    fn fact(&self, expression: &Expr) -> Option<&Fact> {
        let id = expressions::id(expression)?;
        if self.uncertain.contains(&id) {
            Some(&self.partly_unknown)
        } else if self.expressions.contains(&id) {
            Some(&self.tensor)
        } else {
            self.facts.get(id)
        }
    }

    fn size(&self) -> [usize; 4] {
        [self.expressions.len(), self.values.len(), self.uncertain.len(), self.uncertain_values.len()]
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

    /// Returns whether the value of `name` at `range` was carried through a staged statement, or was computed from such
    /// a value.
    fn is_carried(&self, name: &QName, range: TextRange) -> bool {
        let mut definitions = self.flow.definitions_of(range, name);
        // After a Python loop, its target counts as defined, although the loop may have no iteration:
        // `for i in range(3): …`, then `i`.
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
                // In the body of a loop, the value comes from the previous iteration or from before the loop.
                region.is_loop && definitions.iter().any(|definition| !within(region, definition))
            } else {
                definitions.iter().any(|definition| within(region, definition))
            }
        });
        through
            // A definition of `x` also defines `x.shape`, which is not promoted with `x`.
            || definitions.iter().filter(|definition| definition.name == *name).any(|definition| {
                self.values.contains(&definition.range)
                    || definition.value.is_some_and(|value| {
                        definition.kind != DefKind::ForTarget && self.values.contains(&value)
                    })
            })
    }

    /// Returns whether the value of `name` at `range` was carried through a staged statement on all paths, or was
    /// computed from such a value.
    fn is_always_carried(&self, name: &QName, range: TextRange) -> bool {
        let regions = || self.regions.iter().filter(|region| region.carried.contains(name));
        let definitions = self.flow.definitions_of(range, name);
        definitions.iter().filter(|definition| definition.kind != DefKind::Undefined).all(|definition| {
            let is_outside = definition.node == Cfg::ENTRY;
            let through = regions().any(|region| {
                let before = is_outside || definition.range.start() < region.range.start();
                let within = !is_outside && region.range.contains_range(definition.range);
                if region.range.contains_range(range) {
                    // A value that was computed earlier in the same iteration was not carried.
                    region.is_loop && (before || within && definition.range.start() > range.start())
                } else {
                    region.range.end() <= range.start() && (before || within)
                }
            });
            let is_certain =
                |value: &TextRange| self.values.contains(value) && !self.uncertain_values.contains(value);
            through || is_certain(&definition.range) || definition.value.as_ref().is_some_and(is_certain)
        })
    }

    /// Returns whether the expression is promoted and certainly a Tensor.
    fn is_certain(&self, expression: &Expr) -> bool {
        expressions::id(expression)
            .is_some_and(|id| self.expressions.contains(&id) && !self.uncertain.contains(&id))
    }

    fn is_promoted(&self, expression: &Expr) -> bool {
        expressions::id(expression).is_some_and(|id| self.expressions.contains(&id))
    }

    /// Promotes a Python number to a Tensor. Tensors keep their dtype, and other objects are not promoted. `certain`:
    /// whether the value is a Tensor on all paths.
    fn promote(&mut self, expression: &Expr, certain: bool) {
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
            let uncertain = fact.unknown && !certain;
            self.expressions.insert(id);
            self.values.insert(expression.range());
            if uncertain {
                self.uncertain.insert(id);
                self.uncertain_values.insert(expression.range());
            } else {
                self.uncertain.remove(&id);
                self.uncertain_values.remove(&expression.range());
            }
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Promotion<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            return;
        }
        source_order::walk_stmt(self, statement);
        if let Stmt::AugAssign(assign) = statement
            && let Some(name) = QName::from_expr(&assign.target)
            && (self.is_promoted(&assign.value) || self.is_carried(&name, assign.target.range()))
        {
            self.values.insert(assign.target.range());
            if self.is_certain(&assign.value) || self.is_always_carried(&name, assign.target.range()) {
                self.uncertain_values.remove(&assign.target.range());
            } else {
                self.uncertain_values.insert(assign.target.range());
            }
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        source_order::walk_expr(self, expression);
        let of_operands = |operands: &[&Expr]| {
            let promoted = operands.iter().any(|operand| self.is_promoted(operand));
            (promoted, operands.iter().any(|operand| self.is_certain(operand)))
        };
        let (is_promoted, certain) = match expression {
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => QName::from_expr(expression)
                .filter(|name| self.is_carried(name, expression.range()))
                .map_or((false, false), |name| (true, self.is_always_carried(&name, expression.range()))),
            Expr::BinOp(operation) => of_operands(&[&operation.left, &operation.right]),
            // AutoGraph's `not_` of a Tensor is a Tensor.
            Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::Not, operand, .. }) => {
                let lookup = |expression: &Expr| self.fact(expression);
                (binding::of_test(operand, &lookup) == Binding::Staged, true)
            }
            Expr::UnaryOp(operation) => of_operands(&[&operation.operand]),
            Expr::Compare(compare) => {
                let operands: Vec<&Expr> =
                    std::iter::once(&*compare.left).chain(&compare.comparators).collect();
                let computes = compare
                    .ops
                    .iter()
                    .all(|op| !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn));
                if computes { of_operands(&operands) } else { (false, false) }
            }
            Expr::If(conditional) => of_operands(&[&conditional.body, &conditional.orelse]),
            Expr::Named(named) => of_operands(&[&named.value]),
            _ => (false, false),
        };
        if is_promoted {
            self.promote(expression, certain);
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
