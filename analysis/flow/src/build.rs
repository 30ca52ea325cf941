//! Builds the control flow graph in one walk over the statements.
//!
//! The *frontier* is the list of edges whose target does not exist yet. The next node becomes the target of all of
//! them. After `return`, `raise`, `break` and `continue` the frontier is empty, so the next node has no predecessor.

mod compound;
mod guarded;

use std::mem::take;

use ruff_python_ast::{self as ast, Expr, Identifier, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::cfg::{
    Block, BlockKind, Cfg, Edge, EdgeKind, Node, NodeId, NodeKind, Statement, StatementKind, StmtId,
};
use super::input::Input;

/// CPython's limit on the nesting of blocks.
const MAX_NESTING: u32 = 100;

/// The syntax that a node evaluates or binds.
#[derive(Clone, Copy)]
pub(super) enum Syntax<'a> {
    Nothing,
    Statement(&'a Stmt),
    Evaluate(&'a Expr),
    /// The target of a `for`, and its iterable.
    Target(&'a Expr, &'a Expr),
    WithItem(&'a ast::WithItem),
    Pattern(&'a Pattern),
    /// The pattern, and the subject.
    Capture(&'a Pattern, &'a Expr),
    HandlerName(&'a Identifier),
    Unbind(&'a Identifier),
    /// Advances the iterator of a `for`.
    Next(&'a ast::StmtFor),
}

#[derive(Default)]
pub(super) struct Builder<'a> {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// The syntax of each node, by node.
    pub(super) syntax: Vec<Syntax<'a>>,
    pub(super) statements: Vec<Statement>,
    pub(super) copies: Vec<(StmtId, NodeId, NodeId)>,
    pub(super) body_end: StmtId,
    pub(super) too_deep: bool,
    frontier: Vec<Pending>,
    frames: Vec<Frame>,
    with_may_suppress: bool,
    /// The id of the next statement. It is set back to build the second copy of a `finally` body.
    next: u32,
    parent: Option<StmtId>,
    nesting: u32,
    duplication: u32,
}

/// An edge without a target.
type Pending = (NodeId, EdgeKind);

/// An enclosing construct to which a jump or an exception may lead.
enum Frame {
    Loop {
        head: NodeId,
        breaks: Vec<Pending>,
    },
    Handlers {
        dispatch: NodeId,
    },
    /// A `with` that may suppress exceptions, with the edges of the exceptions that are raised in it.
    With {
        suppressed: Vec<Pending>,
    },
    Finally {
        entries: Vec<Pending>,
        jumps: Vec<Jump>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Jump {
    Return,
    Break,
    Continue,
    Raise,
}

impl Jump {
    fn edge(self) -> EdgeKind {
        match self {
            Self::Return => EdgeKind::Return,
            Self::Break => EdgeKind::Break,
            Self::Continue => EdgeKind::Back,
            Self::Raise => EdgeKind::Exception,
        }
    }
}

impl<'a> Builder<'a> {
    pub(super) fn run(input: &Input<'a>) -> Self {
        let mut builder = Self::start(input);
        builder.statements(input.body);
        builder.connect(Cfg::EXIT);
        builder.body_end = StmtId(builder.next);
        builder.statements(input.unreached);
        builder.frontier.clear();
        if builder.too_deep { Self::opaque(input) } else { builder }
    }

    pub(super) fn opaque(input: &Input<'a>) -> Self {
        let mut builder = Self { too_deep: true, ..Self::start(input) };
        builder.connect(Cfg::EXIT);
        builder
    }

    fn start(input: &Input<'a>) -> Self {
        let mut builder = Self { with_may_suppress: input.with_may_suppress, ..Self::default() };
        builder.detached(NodeKind::Entry, None, input.range, Syntax::Nothing);
        builder.detached(NodeKind::Exit, None, input.range, Syntax::Nothing);
        builder.frontier.push((Cfg::ENTRY, EdgeKind::Normal));
        builder
    }

    /// Adds a node without predecessors.
    fn detached(
        &mut self,
        kind: NodeKind,
        stmt: Option<StmtId>,
        range: TextRange,
        syntax: Syntax<'a>,
    ) -> NodeId {
        let node = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { kind, stmt, range });
        self.syntax.push(syntax);
        node
    }

    /// Makes `node` the target of all edges of the frontier.
    fn connect(&mut self, node: NodeId) {
        let edges = self.frontier.drain(..).map(|(from, kind)| Edge { from, to: node, kind });
        self.edges.extend(edges);
    }

    /// Adds a node after the frontier and makes it the new frontier.
    fn node(&mut self, kind: NodeKind, stmt: StmtId, range: TextRange, syntax: Syntax<'a>) -> NodeId {
        let node = self.detached(kind, Some(stmt), range, syntax);
        self.connect(node);
        self.frontier.push((node, EdgeKind::Normal));
        if may_raise(syntax) {
            self.raise_from(node);
        }
        node
    }

    /// Adds a node with two successors. The frontier becomes its true edge, and its false edge is returned.
    fn branch(&mut self, kind: NodeKind, stmt: StmtId, range: TextRange, syntax: Syntax<'a>) -> Pending {
        let node = self.node(kind, stmt, range, syntax);
        self.frontier = vec![(node, EdgeKind::True)];
        (node, EdgeKind::False)
    }

    /// Adds the exception edge of a node within a `try`. Nodes outside of a `try` are assumed not to raise exceptions.
    fn raise_from(&mut self, node: NodeId) {
        for frame in self.frames.iter_mut().rev() {
            match frame {
                Frame::Loop { .. } | Frame::With { .. } => {}
                Frame::Handlers { dispatch } => {
                    self.edges.push(Edge { from: node, to: *dispatch, kind: EdgeKind::Exception });
                    return;
                }
                Frame::Finally { entries, jumps } => {
                    entries.push((node, EdgeKind::Exception));
                    if !jumps.contains(&Jump::Raise) {
                        jumps.push(Jump::Raise);
                    }
                    return;
                }
            }
        }
    }

    /// Connects the frontier to the target of a jump.
    fn jump(&mut self, jump: Jump) {
        let kind = jump.edge();
        let mut pending = take(&mut self.frontier);
        for (_, edge) in &mut pending {
            if !matches!(edge, EdgeKind::True | EdgeKind::False) {
                *edge = kind;
            }
        }
        let edge_to = |to: NodeId| move |(from, kind)| Edge { from, to, kind };
        for frame in self.frames.iter_mut().rev() {
            match (frame, jump) {
                (Frame::Loop { breaks, .. }, Jump::Break) => {
                    breaks.append(&mut pending);
                    return;
                }
                (Frame::Loop { head, .. }, Jump::Continue) => {
                    self.edges.extend(pending.into_iter().map(edge_to(*head)));
                    return;
                }
                (Frame::With { suppressed }, Jump::Raise) => suppressed.extend(&pending),
                (Frame::Handlers { dispatch }, Jump::Raise) => {
                    self.edges.extend(pending.into_iter().map(edge_to(*dispatch)));
                    return;
                }
                (Frame::Finally { entries, jumps }, _) => {
                    entries.append(&mut pending);
                    if !jumps.contains(&jump) {
                        jumps.push(jump);
                    }
                    return;
                }
                _ => {}
            }
        }
        // A `break` or `continue` outside a loop is a syntax error. It leads to the exit, too.
        self.edges.extend(pending.into_iter().map(edge_to(Cfg::EXIT)));
    }

    /// Assigns an id to a statement. The node that is added next becomes its entry.
    fn open(&mut self, kind: StatementKind, range: TextRange) -> StmtId {
        let stmt = StmtId(self.next);
        self.next += 1;
        let entry = NodeId(self.nodes.len() as u32);
        if stmt.index() < self.statements.len() {
            self.copies.push((stmt, entry, entry));
        } else {
            let parent = self.parent;
            self.statements.push(Statement {
                kind,
                range,
                parent,
                end: stmt,
                entry,
                exit: entry,
                blocks: Vec::new(),
            });
        }
        stmt
    }

    /// Sets the end and the exit node of a statement after its blocks have been built.
    fn close(&mut self, stmt: StmtId, exit: NodeId) {
        let end = StmtId(self.next);
        match self.statements.get_mut(stmt.index()) {
            // The statement is not closed yet, so `end` is still the statement itself.
            Some(statement) if statement.end == stmt => {
                statement.end = end;
                statement.exit = exit;
            }
            _ => {
                if let Some(copy) = self.copies.iter_mut().rev().find(|copy| copy.0 == stmt) {
                    copy.2 = exit;
                }
            }
        }
    }

    fn join(&mut self, stmt: StmtId, range: TextRange) -> NodeId {
        self.node(NodeKind::Join, stmt, range, Syntax::Nothing)
    }

    fn block(&mut self, stmt: StmtId, kind: BlockKind, body: &'a [Stmt]) {
        let start = StmtId(self.next);
        let parent = self.parent.replace(stmt);
        // A conversion pass may have nested an `elif` as `else: if`. This does not add to the nesting.
        let is_elif = kind == BlockKind::Else && matches!(body, [Stmt::If(_)]);
        self.nesting += u32::from(!is_elif);
        if self.nesting > MAX_NESTING {
            self.too_deep = true;
        } else {
            self.statements(body);
        }
        self.nesting -= u32::from(!is_elif);
        self.parent = parent;
        self.end_block(stmt, kind, start);
    }

    fn end_block(&mut self, stmt: StmtId, kind: BlockKind, start: StmtId) {
        let end = StmtId(self.next);
        if let Some(statement) = self.statements.get_mut(stmt.index())
            && !statement.blocks.iter().any(|block| block.kind == kind)
        {
            statement.blocks.push(Block { kind, start, end });
        }
    }

    fn statements(&mut self, body: &'a [Stmt]) {
        for statement in body {
            if self.too_deep {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::If(node) => self.if_(node),
            Stmt::While(node) => self.while_(node),
            Stmt::For(node) => self.for_(node),
            Stmt::With(node) => self.with(node),
            Stmt::Match(node) => self.match_(node),
            Stmt::Try(node) => self.try_(node),
            Stmt::FunctionDef(_) => self.simple(statement, StatementKind::Function, None),
            Stmt::ClassDef(_) => self.simple(statement, StatementKind::Class, None),
            Stmt::Return(_) => self.simple(statement, StatementKind::Return, Some(Jump::Return)),
            Stmt::Raise(_) => self.simple(statement, StatementKind::Raise, Some(Jump::Raise)),
            Stmt::Break(_) => self.simple(statement, StatementKind::Break, Some(Jump::Break)),
            Stmt::Continue(_) => self.simple(statement, StatementKind::Continue, Some(Jump::Continue)),
            _ => self.simple(statement, StatementKind::Simple, None),
        }
    }

    fn simple(&mut self, statement: &'a Stmt, kind: StatementKind, jump: Option<Jump>) {
        let stmt = self.open(kind, statement.range());
        let node = self.node(NodeKind::Statement, stmt, statement.range(), Syntax::Statement(statement));
        self.close(stmt, node);
        match jump {
            // Within a `try` the node already has an exception edge.
            Some(Jump::Raise) if self.is_guarded() => {
                self.suppress(node);
                self.frontier.clear();
            }
            Some(jump) => self.jump(jump),
            None => {}
        }
    }

    /// Returns whether an exception of the current node leads to a handler or a `finally` of this function.
    fn is_guarded(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, Frame::Handlers { .. } | Frame::Finally { .. }))
    }

    /// Adds edges from a node that raises an exception to the ends of the enclosing `with` statements, up to the
    /// innermost `try`.
    fn suppress(&mut self, node: NodeId) {
        for frame in self.frames.iter_mut().rev() {
            match frame {
                Frame::Loop { .. } => {}
                Frame::With { suppressed } => suppressed.push((node, EdgeKind::Exception)),
                Frame::Handlers { .. } | Frame::Finally { .. } => return,
            }
        }
    }
}

/// Returns whether a node within a `try` may raise an exception.
fn may_raise(syntax: Syntax<'_>) -> bool {
    !matches!(
        syntax,
        Syntax::Nothing
            | Syntax::HandlerName(_)
            | Syntax::Unbind(_)
            | Syntax::Next(_)
            | Syntax::Statement(
                Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Global(_) | Stmt::Nonlocal(_)
            )
    )
}
