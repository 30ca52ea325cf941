//! The state of a statement: the variables that an `if`, `while` or `for` passes to its operator.
//!
//! [`Flow`] computes which variables are live, and which may be unbound. From these, this module selects the state by
//! AutoGraph's rules. The flow describes the tree before control flow is rewritten. Statements are identified by their
//! pre-order index, because synthesized ones have no unique range.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::lowering::LoweringContext;
use ag_flow::{Activity, BlockKind, Flow, Input, NameSet, NodeKind, StmtId};
use ag_syntax::blocks;
use ag_syntax::qname::QName;

/// One element of a statement's state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    /// The source text, such as `x` or `self.n`.
    pub(super) name: Name,
    /// The expression, if the variable is an attribute or item.
    pub(super) path: Option<Expr>,
    /// Whether it may be unbound when the state is read.
    pub(super) maybe_undefined: bool,
}

/// The dataflow facts of one `if`, `while` or `for`.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The variables that are used after the statement, then those that are used only in it. Both parts are sorted by
    /// name.
    pub(super) state: Vec<Variable>,
    pub(super) outputs: usize,
    /// The names that the body and the `else` block bind. The target of a `for` counts as bound by the body.
    pub(super) bound: [Vec<Name>; 2],
}

/// Returns the dataflow of a function's variables.
pub(super) fn flow(
    ctx: &LoweringContext,
    parameters: &ast::Parameters,
    body: &[Stmt],
    unreached: &[Stmt],
) -> Flow {
    let loop_conditions = |node: &ast::StmtFor| ctx.notes.stop_flags(node);
    let input = Input::variables(parameters, body);
    Flow::of(&Input { unreached, loop_conditions: &loop_conditions, ..input })
}

/// Computes the facts of an `if`, `while` or `for`.
pub(super) fn facts(ctx: &LoweringContext, flow: &Flow, stmt: StmtId, statement: &Stmt) -> Facts {
    let bound = flow.bound_in(Activity::extent(&flow.cfg, stmt));
    let (live_in, live_out) = (flow.live_before(stmt), flow.live_after(stmt));
    // Invariant: names declared `global` or `nonlocal` are live everywhere.
    let outputs = bound.clone().intersection(&live_out);
    let inputs = bound.intersection(&live_in).difference(&outputs);
    let undefined = flow.maybe_undefined(stmt);
    let variable = |name: &QName| Variable {
        name: name.root_name().clone(),
        path: None,
        maybe_undefined: undefined.contains(name),
    };
    let mut state: Vec<Variable> = outputs.iter().map(variable).collect();
    let mut seen = FxHashSet::default();
    for path in assigned_paths(statement) {
        let name = Name::new(&ctx.source[path.range()]);
        let is_live = |root: &Name| {
            let root = QName::from(root);
            live_in.contains(&root) || flow.is_defined_before_blocks(stmt, &root)
        };
        if root(path).is_some_and(is_live) && seen.insert(name.clone()) {
            state.push(Variable { name, path: Some(path.clone()), maybe_undefined: true });
        }
    }
    state.sort_by(|a, b| a.name.cmp(&b.name));
    let outputs = state.len();
    state.extend(inputs.iter().map(variable));
    let head = match statement {
        Stmt::For(_) => flow.bound_by(stmt, |kind| kind == NodeKind::Target),
        Stmt::While(_) => flow.bound_by(stmt, |kind| kind == NodeKind::Test),
        _ => flow.no_names(),
    };
    let body = flow.bound_in_block(stmt, BlockKind::Body).union(&head);
    let orelse = flow.bound_in_block(stmt, BlockKind::Else);
    Facts { state, outputs, bound: [names(&body), names(&orelse)] }
}

pub(super) fn names(set: &NameSet<'_>) -> Vec<Name> {
    set.iter().map(|name| name.root_name().clone()).collect()
}

/// Returns the attributes and items that a statement assigns, at any depth, in source order.
fn assigned_paths(statement: &Stmt) -> Vec<&Expr> {
    let mut found = Vec::new();
    for statement in blocks::statements(std::slice::from_ref(statement)) {
        match statement {
            Stmt::Assign(node) => node.targets.iter().for_each(|target| targets(target, &mut found)),
            Stmt::AugAssign(node) => targets(&node.target, &mut found),
            Stmt::AnnAssign(node) => targets(&node.target, &mut found),
            Stmt::For(node) => targets(&node.target, &mut found),
            Stmt::With(node) => {
                let items = node.items.iter().filter_map(|item| item.optional_vars.as_deref());
                items.for_each(|target| targets(target, &mut found));
            }
            _ => {}
        }
    }
    found
}

fn targets<'a>(target: &'a Expr, found: &mut Vec<&'a Expr>) {
    match target {
        Expr::Attribute(_) | Expr::Subscript(_) => found.push(target),
        Expr::Tuple(node) => node.elts.iter().for_each(|target| targets(target, found)),
        Expr::List(node) => node.elts.iter().for_each(|target| targets(target, found)),
        Expr::Starred(node) => targets(&node.value, found),
        _ => {}
    }
}

/// Returns the variable with which an attribute or item starts: `self` for `self.a['k'].n`.
fn root(mut path: &Expr) -> Option<&Name> {
    loop {
        match path {
            Expr::Name(node) => return Some(&node.id),
            Expr::Attribute(node) => path = &node.value,
            Expr::Subscript(node)
                if matches!(&*node.slice, Expr::StringLiteral(_) | Expr::NumberLiteral(_)) =>
            {
                path = &node.value;
            }
            _ => return None,
        }
    }
}
