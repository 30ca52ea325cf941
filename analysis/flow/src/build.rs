//! Builds the control flow graph in one walk over the statements.
//!
//! The frontier holds the edges whose target is not there yet: the next node gets them all. It is
//! empty after `return`, `raise`, `break` and `continue`, so the node after them has no way in.

mod compound;
mod guarded;

use std::mem::take;

use ruff_python_ast::{self as ast, Expr, Identifier, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::cfg::{
    Block, BlockKind, Cfg, Edge, EdgeKind, Node, NodeId, NodeKind, Statement, StatementKind, StmtId,
};
use super::input::Input;

/// CPython refuses blocks nested deeper than this.
const MAX_NESTING: u32 = 100;

/// What a node evaluates or binds.
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
    /// Asks the iterator of a `for` for an item.
    Next(&'a ast::StmtFor),
}

#[derive(Default)]
pub(super) struct Builder<'a> {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// One for each node.
    pub(super) syntax: Vec<Syntax<'a>>,
    pub(super) statements: Vec<Statement>,
    pub(super) copies: Vec<(StmtId, NodeId, NodeId)>,
    pub(super) body_end: StmtId,
    pub(super) too_deep: bool,
    frontier: Vec<Pending>,
    frames: Vec<Frame>,
    with_may_suppress: bool,
    /// The number of the next statement; set back to walk a `finally` body again.
    next: u32,
    parent: Option<StmtId>,
    nesting: u32,
    doubling: u32,
}

/// An edge without target.
type Pending = (NodeId, EdgeKind);

/// What a jump meets on its way outwards.
enum Frame {
    Loop {
        head: NodeId,
        breaks: Vec<Pending>,
    },
    Handlers {
        dispatch: NodeId,
    },
    /// A `with` that may swallow exceptions, and those that it may.
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

    /// A node that nothing leads to yet.
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

    /// Leads the frontier to `node`.
    fn connect(&mut self, node: NodeId) {
        let edges = self.frontier.drain(..).map(|(from, kind)| Edge { from, to: node, kind });
        self.edges.extend(edges);
    }

    /// The next node in the flow.
    fn node(&mut self, kind: NodeKind, stmt: StmtId, range: TextRange, syntax: Syntax<'a>) -> NodeId {
        let node = self.detached(kind, Some(stmt), range, syntax);
        self.connect(node);
        self.frontier.push((node, EdgeKind::Normal));
        if may_raise(syntax) {
            self.raise_from(node);
        }
        node
    }

    /// A node with two ways out: the frontier is the one for true; the other is returned.
    fn branch(&mut self, kind: NodeKind, stmt: StmtId, range: TextRange, syntax: Syntax<'a>) -> Pending {
        let node = self.node(kind, stmt, range, syntax);
        self.frontier = vec![(node, EdgeKind::True)];
        (node, EdgeKind::False)
    }

    /// The exception of a node within a `try`; elsewhere it is assumed not to happen.
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

    /// Sends the frontier outwards.
    fn jump(&mut self, jump: Jump) {
        let kind = jump.edge();
        let mut pending = take(&mut self.frontier);
        for (_, edge) in &mut pending {
            if !matches!(edge, EdgeKind::True | EdgeKind::False) {
                *edge = kind;
            }
        }
        let leads_to = |to: NodeId| move |(from, kind)| Edge { from, to, kind };
        for frame in self.frames.iter_mut().rev() {
            match (frame, jump) {
                (Frame::Loop { breaks, .. }, Jump::Break) => {
                    breaks.append(&mut pending);
                    return;
                }
                (Frame::Loop { head, .. }, Jump::Continue) => {
                    self.edges.extend(pending.into_iter().map(leads_to(*head)));
                    return;
                }
                (Frame::With { suppressed }, Jump::Raise) => suppressed.extend(&pending),
                (Frame::Handlers { dispatch }, Jump::Raise) => {
                    self.edges.extend(pending.into_iter().map(leads_to(*dispatch)));
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
        // `break` outside a loop, which is no valid Python, ends the function too.
        self.edges.extend(pending.into_iter().map(leads_to(Cfg::EXIT)));
    }

    /// Numbers a statement. Its entry is the node that is built next.
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

    /// Ends a statement after all those within it.
    fn close(&mut self, stmt: StmtId, exit: NodeId) {
        let end = StmtId(self.next);
        match self.statements.get_mut(stmt.index()) {
            // Not closed yet: the end of a statement is after itself.
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
        // `else: if` is an `elif` that a pass has nested.
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
            // Within a `try` the node already has the edge of a step that may raise.
            Some(Jump::Raise) if self.catches() => {
                self.suppress(node);
                self.frontier.clear();
            }
            Some(jump) => self.jump(jump),
            None => {}
        }
    }

    /// Whether a `try` is around.
    fn catches(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, Frame::Handlers { .. } | Frame::Finally { .. }))
    }

    /// The exception of a node ends the `with`s around it, up to the innermost `try`.
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

/// Whether a step within a `try` may raise.
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
