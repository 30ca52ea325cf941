//! The control flow graph of one function: its statements, its nodes, and the edges between them.
//!
//! A node is a simple statement or one step of a compound one. Statements are numbered in
//! pre-order; an `elif` counts as an `if` statement within the `else` of the clause before it, and
//! reaches to the end of the whole `if`. Nested functions, classes and lambdas are single steps.
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
//!                      Handler -False-> the next Handler, or outwards
//! ```
//!
//! Within a `try` every step may raise, save `pass`, `break`, `continue`, `global` and `nonlocal`;
//! an exception leaves with the state before the step or after it. Elsewhere only `raise` does.
//! `with` is assumed not to swallow exceptions.
//!
//! The body of a `finally` is there twice when it is entered both normally and otherwise: once for
//! normal completion, once for exceptions, `return`, `break` and `continue` together, which
//! afterwards go on to all their targets. So a statement may have several nodes of a kind; the one
//! with the smallest number belongs to normal completion.

use std::ops::Range;

use ruff_python_ast as ast;
use ruff_text_size::{TextRange, TextSize};

use super::bits::{self, BitMatrix};
use super::build::{Builder, Syntax};
use super::input::Input;

/// A node of the graph; [`Cfg::ENTRY`] is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A statement by its number in pre-order.
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

/// What a node does. The numbers count items, cases and handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    Entry,
    /// Where `return`, an uncaught exception and the end of the body lead to.
    Exit,
    /// A simple statement, or a nested `def` or `class`.
    Statement,
    /// The condition of an `if`, `elif` or `while`.
    Test,
    /// The evaluation of a `for`'s iterable, once.
    Iter,
    /// Asks for the next item.
    Next,
    /// Binds the item to the target.
    Target,
    WithItem(u32),
    Subject,
    /// Compares with a pattern; binds nothing.
    Pattern(u32),
    /// Binds the names of a pattern that matched.
    Capture(u32),
    Guard(u32),
    /// The start of a `try`.
    Enter,
    /// Where the exceptions of a `try` body arrive.
    Dispatch,
    /// Evaluates the type of an `except` clause and compares with it.
    Handler(u32),
    /// Binds `e` of `except E as e`.
    HandlerName(u32),
    /// Deletes it at the end of the clause.
    Unbind(u32),
    /// Where the ways through a compound statement meet again.
    Join,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: NodeKind,
    /// The statement it is a step of; none for entry and exit.
    pub stmt: Option<StmtId>,
    /// The text that is evaluated or bound here; the statement's for steps without text.
    pub range: TextRange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    Normal,
    True,
    False,
    /// To the head of a loop, from the end of its body or from a `continue`.
    Back,
    Break,
    Return,
    /// With the state before the node or after it.
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
    /// Also an `elif`.
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
    /// Of `if`, `while`, `for`, `with`, `try`.
    Body,
    /// Of `if` (with its `elif` clauses), `while`, `for`, `try`.
    Else,
    Case(u32),
    Handler(u32),
    Finally,
}

/// A list of statements within a compound statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    /// The first statement, and the one after the last.
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
    /// The statement after all those within this one.
    pub end: StmtId,
    /// Its first node, and the one after which it is complete: a simple statement's only node, a
    /// compound one's `Join`.
    pub entry: NodeId,
    pub exit: NodeId,
    pub blocks: Vec<Block>,
}

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    nodes: Vec<Node>,
    statements: Vec<Statement>,
    /// Entry and exit of the further copies of statements in `finally` bodies.
    copies: Vec<(StmtId, NodeId, NodeId)>,
    successors: Edges,
    predecessors: Edges,
    /// The nodes by statement.
    of_stmt: Vec<NodeId>,
    of_stmt_start: Vec<u32>,
    /// Reverse post-order; unreachable nodes come last.
    order: Vec<NodeId>,
    /// One row.
    reachable: BitMatrix,
    /// Where those of the body end.
    body_end: StmtId,
    opaque: bool,
}

/// Edges sorted by one of their ends, and where those of each node start.
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

/// The `index`-th of the consecutive slices of `items` that begin at `start`.
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

    /// The graph, and what each node stands for.
    pub(super) fn with_syntax<'a>(input: &Input<'a>) -> (Self, Vec<Syntax<'a>>) {
        Self::assemble(Builder::run(input))
    }

    /// The graph of a function of which nothing is known.
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

    /// Whether the function is beyond what is followed: blocks deeper than CPython accepts (100
    /// levels), scopes nested 64 levels, tens of thousands of bindings. Then the graph has no
    /// statements, and nothing is known of the function.
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

    /// All nodes in reverse post-order from the entry; those that cannot be reached come last.
    pub fn reverse_post_order(&self) -> &[NodeId] {
        &self.order
    }

    pub fn statements(&self) -> impl Iterator<Item = (StmtId, &Statement)> {
        self.statements.iter().enumerate().map(|(index, stmt)| (StmtId(index as u32), stmt))
    }

    pub fn statement(&self, stmt: StmtId) -> Option<&Statement> {
        self.statements.get(stmt.index())
    }

    /// The statement, or the `elif` clause, that starts at `offset`.
    pub fn statement_at(&self, offset: TextSize) -> Option<StmtId> {
        let index = self.statements.partition_point(|stmt| stmt.range.start() < offset);
        (self.statements.get(index)?.range.start() == offset).then_some(StmtId(index as u32))
    }

    /// The innermost statement around `range`.
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

    /// The node that evaluates or binds the text at `range`: of an expression in a test, the test.
    pub fn node_at(&self, range: TextRange) -> Option<NodeId> {
        let stmt = self.statement_around(range)?;
        self.nodes_of(stmt)
            .iter()
            .copied()
            .filter(|node| self.nodes[node.index()].has_text())
            .filter(|node| self.nodes[node.index()].range.contains_range(range))
            .min_by_key(|node| (self.nodes[node.index()].range.len(), *node))
    }

    /// The steps of a statement, without those of statements within it.
    pub fn nodes_of(&self, stmt: StmtId) -> &[NodeId] {
        slice(&self.of_stmt, &self.of_stmt_start, stmt.index())
    }

    /// The nodes of the statements of a block, at any depth.
    pub fn nodes_in(&self, block: Block) -> &[NodeId] {
        let bound = |stmt: StmtId| self.of_stmt_start.get(stmt.index()).map(|&start| start as usize);
        match (bound(block.start), bound(block.end)) {
            (Some(from), Some(to)) => self.of_stmt.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Entry and exit of every copy of a statement; first the one of normal completion.
    pub fn points(&self, stmt: StmtId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let first = self.statement(stmt).map(|statement| (statement.entry, statement.exit));
        let from = self.copies.partition_point(|copy| copy.0 < stmt);
        let copies = self.copies[from..].iter().take_while(move |copy| copy.0 == stmt);
        first.into_iter().chain(copies.map(|&(_, entry, exit)| (entry, exit)))
    }

    pub fn block(&self, stmt: StmtId, kind: BlockKind) -> Option<Block> {
        self.statement(stmt)?.blocks.iter().copied().find(|block| block.kind == kind)
    }

    /// A statement with all those within it.
    pub fn extent(&self, stmt: StmtId) -> Range<StmtId> {
        stmt..self.statement(stmt).map_or(stmt, |statement| statement.end)
    }

    /// The statements of the function; none when it is opaque.
    pub fn body(&self) -> Block {
        Block { kind: BlockKind::Body, start: StmtId(0), end: self.body_end }
    }

    /// The statements that are never reached: [`Input::unreached`].
    pub fn unreached(&self) -> Block {
        Block { kind: BlockKind::Body, start: self.body_end, end: StmtId(self.statements.len() as u32) }
    }

    pub fn is_reachable(&self, node: NodeId) -> bool {
        bits::contains(self.reachable.row(0), node.0)
    }
}

impl Node {
    /// Whether its range is text of its own, not that of the whole statement.
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
