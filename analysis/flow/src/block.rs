//! The variables that the blocks of an `if`, `while` or `for` modify, with their roles.
//!
//! These variables are the state of the statement when it is converted to a functional operator such as `tf.cond`: the
//! inputs and outputs of the operator, and the variables that may be undefined on some path.
//!
//! ```python
//! if c:
//!     t = x + 1    # t: local
//!     y = t        # y: output, undefined before the `if` and on the path around it
//! return y
//! ```

use super::Flow;
use super::cfg::{Block, BlockKind, Cfg, EdgeKind, NodeId, NodeKind, StatementKind, StmtId};
use super::reaching::Def;
use ag_syntax::qname::QName;

/// Whether a name has a value at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Definedness {
    Never,
    Maybe,
    Always,
}

/// The role of a variable in the functional form of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// It is live after the statement, or declared `global` or `nonlocal`. An attribute or item has this role only if
    /// its root and its keys are live before the statement.
    Output,
    /// It is live before the statement, but not after it.
    Input,
    /// It is neither an input nor an output.
    Local,
}

/// A name that a block of the statement binds or deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockVariable {
    pub name: QName,
    pub role: Role,
    pub live_in: bool,
    pub live_out: bool,
    pub modified_in_body: bool,
    pub modified_in_orelse: bool,
    /// Whether it is defined at the start of the statement.
    pub before: Definedness,
    /// Whether it is defined at the normal end of the body; `Always` if the body never completes normally.
    /// `after_orelse` refers to the end of the `else` block or, without an `else` block, to the path around the body.
    pub after_body: Definedness,
    pub after_orelse: Definedness,
    /// Whether no binding of it reaches the statement, and it is not declared `global` or `nonlocal`.
    pub undefined: bool,
}

/// How control may leave a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// Whether control may reach the end of the block or, in the body of a loop, a `continue` of that loop.
    pub completes: bool,
    pub returns: bool,
    pub raises: bool,
    /// Whether control may reach a `break` of a loop around the block. If the block is the body of a loop, that loop
    /// counts, too.
    pub breaks: bool,
    pub continues: bool,
}

impl Exits {
    /// Returns whether every path through the block ends with a `return`.
    pub fn always_returns(self) -> bool {
        self.returns && !self.completes && !self.raises && !self.breaks && !self.continues
    }
}

/// The variables and exits of the blocks of one statement; see the module documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockVariables {
    /// The variables that the blocks modify, sorted by name.
    pub variables: Vec<BlockVariable>,
    pub body: Exits,
    pub orelse: Exits,
}

impl BlockVariables {
    pub fn get(&self, name: &QName) -> Option<&BlockVariable> {
        let index = self.variables.binary_search_by(|variable| variable.name.cmp(name)).ok()?;
        self.variables.get(index)
    }

    fn with(&self, role: Role) -> impl Iterator<Item = &BlockVariable> {
        self.variables.iter().filter(move |variable| variable.role == role)
    }

    pub fn outputs(&self) -> impl Iterator<Item = &BlockVariable> {
        self.with(Role::Output)
    }

    pub fn inputs_only(&self) -> impl Iterator<Item = &BlockVariable> {
        self.with(Role::Input)
    }

    /// Returns the state of the functional operator: first the outputs, then the variables that are only inputs.
    pub fn state(&self) -> impl Iterator<Item = &BlockVariable> {
        self.outputs().chain(self.inputs_only())
    }

    /// Returns the variables that are undefined before the statement, including variables that are local to the blocks.
    pub fn undefined(&self) -> impl Iterator<Item = &BlockVariable> {
        self.variables.iter().filter(|variable| variable.undefined)
    }
}

impl Flow {
    /// Returns the variables of an `if`, `elif`, `while` or `for`; `None` for other statements.
    pub fn block_variables(&self, stmt: StmtId) -> Option<BlockVariables> {
        let statement = self.cfg.statement(stmt)?;
        if !matches!(statement.kind, StatementKind::If | StatementKind::While | StatementKind::For) {
            return None;
        }
        let is_loop = statement.kind != StatementKind::If;
        let empty = Block { kind: BlockKind::Else, start: statement.end, end: statement.end };
        let body = self.cfg.block(stmt, BlockKind::Body).unwrap_or(empty);
        let orelse = self.cfg.block(stmt, BlockKind::Else).unwrap_or(empty);
        let changed = |block| {
            let bound = self.activity.modifies_in(&self.cfg, block);
            bound.union(&self.activity.deletes_in(&self.cfg, block))
        };
        let mut in_body = changed(body);
        if is_loop {
            // The target and a walrus in the test are bound in every iteration.
            for &node in self.cfg.nodes_of(stmt) {
                in_body = in_body.union(&self.activity.modifies(node));
            }
        }
        let in_orelse = changed(orelse);
        let live_in = self.live_before(stmt);
        let live_out = self.live_after(stmt);
        let ends = Ends::new(&self.cfg, stmt, body, is_loop);
        let after_body = self.reaching.leaving(&ends.body);
        let after_orelse = self.reaching.leaving(&ends.orelse);
        let scope = self.activity.scope();
        let variables = in_body.clone().union(&in_orelse);
        let variables = variables.iter().map(|name| {
            let outer = scope.is_declared_outer(name.root());
            let (is_in, is_out) = (live_in.contains(name), live_out.contains(name));
            let role = if !name.is_simple() {
                let base = QName::from(name.root_name());
                let needed = std::iter::once(base).chain(name.key_names().map(QName::from));
                let is_live = needed.into_iter().all(|name| live_in.contains(&name));
                if is_live { Role::Output } else { Role::Local }
            } else if is_out || outer {
                Role::Output
            } else if is_in {
                Role::Input
            } else {
                Role::Local
            };
            let before = self.defined_before(stmt, name);
            BlockVariable {
                role,
                live_in: is_in,
                live_out: is_out,
                modified_in_body: in_body.contains(name),
                modified_in_orelse: in_orelse.contains(name),
                before,
                after_body: self.defined_among(&after_body, name),
                after_orelse: self.defined_among(&after_orelse, name),
                undefined: name.is_simple() && !outer && before == Definedness::Never,
                name: name.clone(),
            }
        });
        Some(BlockVariables {
            variables: variables.collect(),
            body: self.exits(body, !ends.body.is_empty()),
            orelse: self.exits(orelse, !ends.orelse.is_empty()),
        })
    }

    /// Returns whether `name` has a value at the start of a statement. For a loop, this is before the first iteration.
    pub fn defined_before(&self, stmt: StmtId, name: &QName) -> Definedness {
        let Some(id) = self.activity.tracked(name) else { return Definedness::Never };
        definedness(self.reaching.among(&self.entering(stmt), id))
    }

    /// Returns the definitions of `name` that reach the start of a statement. For a loop, this is the start of the
    /// first iteration.
    pub fn definitions_before(&self, stmt: StmtId, name: &QName) -> Vec<&Def> {
        let Some(id) = self.activity.tracked(name) else { return Vec::new() };
        self.reaching.among(&self.entering(stmt), id).collect()
    }

    /// Returns the definitions of `name` at the normal end of the body of an `if`, `while` or `for`.
    pub fn definitions_after_body(&self, stmt: StmtId, name: &QName) -> Vec<&Def> {
        let body = self.cfg.block(stmt, BlockKind::Body);
        let (Some(id), Some(body)) = (self.activity.tracked(name), body) else { return Vec::new() };
        let is_loop = self.cfg.statement(stmt).is_some_and(|statement| statement.kind.is_loop());
        let ends = Ends::new(&self.cfg, stmt, body, is_loop);
        self.reaching.among(&self.reaching.leaving(&ends.body), id).collect()
    }

    /// Returns the definitions of `name` at the normal end of the `else` block or, without an `else` block, on the path
    /// around the body.
    pub fn definitions_after_orelse(&self, stmt: StmtId, name: &QName) -> Vec<&Def> {
        let body = self.cfg.block(stmt, BlockKind::Body);
        let (Some(id), Some(body)) = (self.activity.tracked(name), body) else { return Vec::new() };
        let is_loop = self.cfg.statement(stmt).is_some_and(|statement| statement.kind.is_loop());
        let ends = Ends::new(&self.cfg, stmt, body, is_loop);
        self.reaching.among(&self.reaching.leaving(&ends.orelse), id).collect()
    }

    /// Returns the definitions that reach a statement from outside it, as a row for [`Reaching::among`].
    ///
    /// [`Reaching::among`]: super::Reaching
    pub(super) fn entering(&self, stmt: StmtId) -> Vec<u64> {
        let within = self.cfg.extent(stmt);
        let outside = |node: NodeId| {
            let own = self.cfg.node(node).and_then(|node| node.stmt);
            self.cfg.is_reachable(node) && own.is_none_or(|stmt| !within.contains(&stmt))
        };
        let entries = self.cfg.points(stmt).flat_map(|(entry, _)| self.cfg.predecessors(entry));
        self.reaching.along(entries.filter(|edge| outside(edge.from)))
    }

    fn defined_among(&self, row: &[u64], name: &QName) -> Definedness {
        let Some(id) = self.activity.tracked(name) else { return Definedness::Never };
        definedness(self.reaching.among(row, id))
    }

    /// Returns the exits of a block.
    fn exits(&self, block: Block, completes: bool) -> Exits {
        let mut exits = Exits { completes, ..Exits::default() };
        for index in block.start.0..block.end.0 {
            let stmt = StmtId(index);
            let Some(statement) = self.cfg.statement(stmt) else { continue };
            if !self.cfg.is_reachable(statement.entry) {
                continue;
            }
            match statement.kind {
                StatementKind::Return => exits.returns = true,
                StatementKind::Raise => exits.raises = true,
                StatementKind::Break => exits.breaks |= !self.in_loop_of(block, stmt),
                StatementKind::Continue => exits.continues |= !self.in_loop_of(block, stmt),
                _ => {}
            }
        }
        exits
    }

    /// Returns whether the loop to which a `break` or `continue` belongs is within `block`.
    fn in_loop_of(&self, block: Block, jump: StmtId) -> bool {
        let mut inner = jump;
        while let Some(outer) = self.cfg.statement(inner).and_then(|statement| statement.parent) {
            if !block.contains(outer) {
                return false;
            }
            let of_body = self.cfg.block(outer, BlockKind::Body).is_some_and(|body| body.contains(jump));
            if of_body && self.cfg.statement(outer).is_some_and(|statement| statement.kind.is_loop()) {
                return true;
            }
            inner = outer;
        }
        false
    }
}

/// The last nodes of the blocks of a statement that complete normally.
struct Ends {
    body: Vec<NodeId>,
    orelse: Vec<NodeId>,
}

impl Ends {
    /// Finds the last nodes of both blocks. The body and the `else` block of an `if` continue to the join. The body of
    /// a loop continues to the loop head.
    fn new(cfg: &Cfg, stmt: StmtId, body: Block, is_loop: bool) -> Self {
        let mut ends = Self { body: Vec::new(), orelse: Vec::new() };
        let own = |node: NodeId| cfg.node(node).is_some_and(|node| node.stmt == Some(stmt));
        let in_body =
            |node: NodeId| cfg.node(node).and_then(|node| node.stmt).is_some_and(|stmt| body.contains(stmt));
        let within = cfg.extent(stmt);
        let inside = |node: NodeId| {
            cfg.node(node).and_then(|node| node.stmt).is_some_and(|stmt| within.contains(&stmt))
        };
        for (_, exit) in cfg.points(stmt) {
            for edge in cfg.predecessors(exit).iter().filter(|edge| inside(edge.from)) {
                let from_body = in_body(edge.from) || own(edge.from) && edge.kind == EdgeKind::True;
                match (is_loop, from_body) {
                    (true, true) => {}
                    (false, true) => ends.body.push(edge.from),
                    (_, false) => ends.orelse.push(edge.from),
                }
            }
        }
        if is_loop {
            for &head in cfg.nodes_of(stmt) {
                let is_head =
                    cfg.node(head).is_some_and(|node| matches!(node.kind, NodeKind::Test | NodeKind::Next));
                let back = cfg
                    .predecessors(head)
                    .iter()
                    .filter(|edge| in_body(edge.from) || own(edge.from) && edge.kind == EdgeKind::True);
                ends.body.extend(back.filter(|_| is_head).map(|edge| edge.from));
            }
        }
        ends.body.retain(|&node| cfg.is_reachable(node));
        ends.orelse.retain(|&node| cfg.is_reachable(node));
        ends
    }
}

/// Combines the definitions on all paths. If there are none, the point is unreachable, and the result is `Always`.
pub(super) fn definedness<'a>(definitions: impl Iterator<Item = &'a Def>) -> Definedness {
    let (mut defined, mut undefined) = (false, false);
    for definition in definitions {
        if definition.kind.defines() {
            // `DefKind::Closure` counts as a value, although the closure may not have run.
            defined = true;
        } else {
            undefined = true;
        }
    }
    match (defined, undefined) {
        (_, false) => Definedness::Always,
        (true, true) => Definedness::Maybe,
        (false, true) => Definedness::Never,
    }
}
