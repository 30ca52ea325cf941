//! The control flow graph of one function: its statements, its nodes, and the edges between them.
//!
//! A node is a simple statement or one step of a compound statement. Statement ids are assigned in
//! pre-order. An `elif` is an `if` statement within the `else` of the preceding clause; its range extends
//! to the end of the whole `if`. Nested functions, classes and lambdas are single steps.
//!
//! ```text
//! if c: A else: B      Test -True-> A -> Join,  Test -False-> B -> Join
//! while c: A else: B   Test -True-> A -Back-> Test,  Test -False-> B -> Join
//! for x in xs: A       Iter -> Next -True-> Target -> A -Back-> Next,  Next -False-> Join
//! with a as b: A       WithItem -> A -> Join
//! match s: case p …    Subject -> Pattern -True-> Capture -> Guard -True-> A -> Join,
//!                      Pattern, Guard -False-> the next Pattern, or Join
//! try: A except E …    Enter -> A -> Join,  A -Exception-> Dispatch -> Handler,
//!                      Handler -True-> HandlerName -> B -> Unbind -> Join,
//!                      Handler -False-> the next Handler, or the enclosing Dispatch, `finally` or Exit
//! ```
//!
//! Within a `try`, every step except `pass`, `break`, `continue`, `global` and `nonlocal` may raise an exception. Its
//! exception edge carries both the state before the step and the state after it. Outside of a `try`, only `raise`
//! raises. [`Input::with_may_suppress`] determines whether a `with` may suppress exceptions.
//!
//! The body of a `finally` has two copies if control enters it both normally and otherwise. One copy is for normal
//! completion. The other one is shared by exceptions, `return`, `break` and `continue`, and has edges to all of their
//! targets. A statement may therefore have several nodes of the same kind. The one with the smallest id belongs to
//! normal completion.

use std::ops::Range;

use ruff_python_ast as ast;
use ruff_text_size::{TextRange, TextSize};

use super::bits::{self, BitMatrix};
use super::build::{Builder, Syntax};
use super::input::Input;

/// A node of the graph. The first one is [`Cfg::ENTRY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// The pre-order index of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub u32);

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl StmtId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The step that a node performs. The fields are the indices of items, cases and handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    Entry,
    /// The exit: the target of `return`, of uncaught exceptions and of the end of the body.
    Exit,
    /// A simple statement, or a nested `def` or `class`.
    Statement,
    /// The condition of an `if`, `elif` or `while`.
    Test,
    /// Evaluates the iterable of a `for`, once.
    Iter,
    /// Advances the iterator of a `for`.
    Next,
    /// Binds the item to the target of a `for`.
    Target,
    WithItem(u32),
    Subject,
    /// Compares the subject with a pattern. Binds no names.
    Pattern(u32),
    /// Binds the names of a pattern that matched.
    Capture(u32),
    Guard(u32),
    /// The start of a `try`.
    Enter,
    /// The target of the exceptions in a `try` body.
    Dispatch,
    /// Evaluates the type of an `except` clause and compares the exception with it.
    Handler(u32),
    /// Binds the name `e` of `except E as e`.
    HandlerName(u32),
    /// Deletes `e` at the end of the clause.
    Unbind(u32),
    /// The merge point of the paths through a compound statement.
    Join,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: NodeKind,
    /// The statement that contains this step; `None` for entry and exit.
    pub stmt: Option<StmtId>,
    /// The range of the syntax that the node evaluates or binds. For other steps, the range of the statement.
    pub range: TextRange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    Normal,
    True,
    False,
    /// The edge from the end of a loop's body, or from a `continue`, to the head of the loop.
    Back,
    Break,
    Return,
    /// The edge of an exception. It carries both the state before the node and the state after it.
    Exception,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: NodeId,
    pub to: NodeId,
    pub kind: EdgeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatementKind {
    Simple,
    Return,
    Raise,
    Break,
    Continue,
    Function,
    Class,
    /// An `if` or an `elif`.
    If,
    While,
    For,
    With,
    Match,
    Try,
}

impl StatementKind {
    pub fn is_loop(self) -> bool {
        matches!(self, Self::While | Self::For)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// The first block of an `if`, `while`, `for`, `with` or `try`.
    Body,
    /// The `else` block of an `if` (including `elif` clauses), `while`, `for` or `try`.
    Else,
    Case(u32),
    Handler(u32),
    Finally,
}

/// A list of statements within a compound statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    /// The range of the statements in it, at any depth. The end is excluded.
    pub start: StmtId,
    pub end: StmtId,
}

impl Block {
    pub fn contains(&self, stmt: StmtId) -> bool {
        self.start <= stmt && stmt < self.end
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub kind: StatementKind,
    pub range: TextRange,
    pub parent: Option<StmtId>,
    /// The id after those of this statement and of all statements within it.
    pub end: StmtId,
    /// The first node of the statement, and its last node on normal completion. For a simple statement, `exit` is the
    /// only node; for a compound one, the `Join`.
    pub entry: NodeId,
    pub exit: NodeId,
    pub blocks: Vec<Block>,
}

/// The control flow graph of one function; see the module documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    nodes: Vec<Node>,
    statements: Vec<Statement>,
    /// The entry and exit of each additional copy of a statement in a `finally` body.
    copies: Vec<(StmtId, NodeId, NodeId)>,
    successors: Edges,
    predecessors: Edges,
    /// The nodes sorted by statement.
    of_stmt: Vec<NodeId>,
    of_stmt_start: Vec<u32>,
    /// All nodes in reverse post-order, unreachable nodes last.
    order: Vec<NodeId>,
    /// The reachable nodes, as a bit set with one row.
    reachable: BitMatrix,
    /// The end of the statements of the body. The statements of [`Input::unreached`] start here.
    body_end: StmtId,
    opaque: bool,
}

/// Edges sorted by source or target node, and the start index of the edges of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edges {
    edges: Vec<Edge>,
    start: Vec<u32>,
}

impl Edges {
    fn new(mut edges: Vec<Edge>, nodes: usize, end: impl Fn(&Edge) -> NodeId) -> Self {
        edges.sort_by_key(|edge| end(edge));
        let start =
            (0..=nodes as u32).map(|node| edges.partition_point(|edge| end(edge).0 < node) as u32).collect();
        Self { edges, start }
    }

    fn of(&self, node: NodeId) -> &[Edge] {
        slice(&self.edges, &self.start, node.index())
    }
}

/// Returns slice number `index` of `items`. The slices are consecutive, and start at the offsets in `start`.
pub(super) fn slice<'a, T>(items: &'a [T], start: &[u32], index: usize) -> &'a [T] {
    match (start.get(index), start.get(index + 1)) {
        (Some(&from), Some(&to)) => items.get(from as usize..to as usize).unwrap_or_default(),
        _ => &[],
    }
}

impl Cfg {
    pub const ENTRY: NodeId = NodeId(0);
    pub const EXIT: NodeId = NodeId(1);

    pub fn build(def: &ast::StmtFunctionDef) -> Self {
        Self::with_syntax(&Input::function(def)).0
    }

    /// Builds the graph and the syntax of each node.
    pub(super) fn with_syntax<'a>(input: &Input<'a>) -> (Self, Vec<Syntax<'a>>) {
        Self::assemble(Builder::run(input))
    }

    /// Builds the graph of an opaque function, which has only entry and exit.
    pub(super) fn opaque(input: &Input<'_>) -> Self {
        Self::assemble(Builder::opaque(input)).0
    }

    fn assemble(builder: Builder<'_>) -> (Self, Vec<Syntax<'_>>) {
        let Builder { nodes, edges, syntax, mut statements, mut copies, body_end, too_deep: opaque, .. } =
            builder;
        for statement in &mut statements {
            statement.blocks.shrink_to_fit();
        }
        copies.sort_unstable();
        let mut of_stmt: Vec<NodeId> = (0..nodes.len() as u32).map(NodeId).collect();
        of_stmt.retain(|node| nodes[node.index()].stmt.is_some());
        of_stmt.sort_by_key(|node| nodes[node.index()].stmt);
        let of_stmt_start = (0..=statements.len() as u32)
            .map(|stmt| of_stmt.partition_point(|node| nodes[node.index()].stmt < Some(StmtId(stmt))) as u32)
            .collect();
        let successors = Edges::new(edges.clone(), nodes.len(), |edge| edge.from);
        let predecessors = Edges::new(edges, nodes.len(), |edge| edge.to);
        let (order, reachable) = reverse_post_order(&successors, nodes.len());
        let cfg = Self {
            nodes,
            statements,
            copies,
            successors,
            predecessors,
            of_stmt,
            of_stmt_start,
            order,
            reachable,
            body_end,
            opaque,
        };
        (cfg, syntax)
    }

    /// Returns whether the function exceeds a limit of the analyses: more than 100 levels of blocks (the limit of
    /// CPython), 64 levels of scopes, or tens of thousands of bindings. The graph of such a function has no statements.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub fn node(&self, node: NodeId) -> Option<&Node> {
        self.nodes.get(node.index())
    }

    pub fn successors(&self, node: NodeId) -> &[Edge] {
        self.successors.of(node)
    }

    pub fn predecessors(&self, node: NodeId) -> &[Edge] {
        self.predecessors.of(node)
    }

    /// Returns all nodes in reverse post-order from the entry. Unreachable nodes come last.
    pub fn reverse_post_order(&self) -> &[NodeId] {
        &self.order
    }

    pub fn statements(&self) -> impl Iterator<Item = (StmtId, &Statement)> {
        self.statements.iter().enumerate().map(|(index, stmt)| (StmtId(index as u32), stmt))
    }

    pub fn statement(&self, stmt: StmtId) -> Option<&Statement> {
        self.statements.get(stmt.index())
    }

    /// Returns the statement or `elif` clause that starts at `offset`.
    pub fn statement_at(&self, offset: TextSize) -> Option<StmtId> {
        let index = self.statements.partition_point(|stmt| stmt.range.start() < offset);
        (self.statements.get(index)?.range.start() == offset).then_some(StmtId(index as u32))
    }

    /// Returns the innermost statement that contains `range`.
    pub fn statement_around(&self, range: TextRange) -> Option<StmtId> {
        let after = self.statements.partition_point(|stmt| stmt.range.start() <= range.start());
        let mut candidate = after.checked_sub(1).map(|index| StmtId(index as u32));
        while let Some(stmt) = candidate {
            let statement = self.statement(stmt)?;
            if statement.range.contains_range(range) {
                break;
            }
            candidate = statement.parent;
        }
        candidate
    }

    /// Returns the node that evaluates or binds the syntax at `range`. For an expression in a test, this is the `Test`.
    pub fn node_at(&self, range: TextRange) -> Option<NodeId> {
        let stmt = self.statement_around(range)?;
        self.nodes_of(stmt)
            .iter()
            .copied()
            .filter(|node| self.nodes[node.index()].has_text())
            .filter(|node| self.nodes[node.index()].range.contains_range(range))
            .min_by_key(|node| (self.nodes[node.index()].range.len(), *node))
    }

    /// Returns the nodes of a statement, without those of statements within it.
    pub fn nodes_of(&self, stmt: StmtId) -> &[NodeId] {
        slice(&self.of_stmt, &self.of_stmt_start, stmt.index())
    }

    /// Returns the nodes of the statements of a block, at any depth.
    pub fn nodes_in(&self, block: Block) -> &[NodeId] {
        let bound = |stmt: StmtId| self.of_stmt_start.get(stmt.index()).map(|&start| start as usize);
        match (bound(block.start), bound(block.end)) {
            (Some(from), Some(to)) => self.of_stmt.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns entry and exit of every copy of a statement. The copy for normal completion is first.
    pub fn points(&self, stmt: StmtId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let first = self.statement(stmt).map(|statement| (statement.entry, statement.exit));
        let from = self.copies.partition_point(|copy| copy.0 < stmt);
        let copies = self.copies[from..].iter().take_while(move |copy| copy.0 == stmt);
        first.into_iter().chain(copies.map(|&(_, entry, exit)| (entry, exit)))
    }

    pub fn block(&self, stmt: StmtId, kind: BlockKind) -> Option<Block> {
        self.statement(stmt)?.blocks.iter().copied().find(|block| block.kind == kind)
    }

    /// Returns the range of a statement and all statements within it.
    pub fn extent(&self, stmt: StmtId) -> Range<StmtId> {
        stmt..self.statement(stmt).map_or(stmt, |statement| statement.end)
    }

    /// Returns the statements of the function; empty if it is opaque.
    pub fn body(&self) -> Block {
        Block { kind: BlockKind::Body, start: StmtId(0), end: self.body_end }
    }

    /// Returns the statements of [`Input::unreached`].
    pub fn unreached(&self) -> Block {
        Block { kind: BlockKind::Body, start: self.body_end, end: StmtId(self.statements.len() as u32) }
    }

    pub fn is_reachable(&self, node: NodeId) -> bool {
        bits::contains(self.reachable.row(0), node.0)
    }
}

impl Node {
    /// Returns whether the node has the range of its own syntax, and not the range of the whole statement.
    fn has_text(&self) -> bool {
        !matches!(
            self.kind,
            NodeKind::Entry
                | NodeKind::Exit
                | NodeKind::Next
                | NodeKind::Enter
                | NodeKind::Dispatch
                | NodeKind::Unbind(_)
                | NodeKind::Join
        )
    }
}

fn reverse_post_order(successors: &Edges, count: usize) -> (Vec<NodeId>, BitMatrix) {
    let mut reachable = BitMatrix::new(1, count);
    let mut order = Vec::with_capacity(count);
    let mut stack = vec![(Cfg::ENTRY, 0)];
    reachable.insert(0, Cfg::ENTRY.0);
    while let Some((node, next)) = stack.last_mut() {
        match successors.of(*node).get(*next) {
            Some(edge) => {
                *next += 1;
                if !bits::contains(reachable.row(0), edge.to.0) {
                    reachable.insert(0, edge.to.0);
                    stack.push((edge.to, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    let unreachable = (0..count as u32).filter(|&node| !bits::contains(reachable.row(0), node));
    order.extend(unreachable.map(NodeId));
    (order, reachable)
}
