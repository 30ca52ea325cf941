//! Builds the control flow graph in one walk over the statements.
//!
//! The frontier holds the edges whose target is not there yet: the next node gets them all. It is
//! empty after `return`, `raise`, `break` and `continue`, so the node after them has no way in.

use std::mem::take;

use ruff_python_ast::{
    self as ast, ElifElseClause, ExceptHandler, Expr, Identifier, Number, Pattern, Stmt,
};
use ruff_text_size::{Ranged, TextRange};

use super::cfg::{
    Block, BlockKind, Cfg, Edge, EdgeKind, Node, NodeId, NodeKind, Statement, StatementKind, StmtId,
};

/// CPython refuses blocks nested deeper than this.
const MAX_NESTING: u32 = 100;
/// How often the body of a `finally` within the body of a `finally` … is doubled.
const MAX_DOUBLING: u32 = 3;

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
}

#[derive(Default)]
pub(super) struct Builder<'a> {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// One for each node.
    pub(super) syntax: Vec<Syntax<'a>>,
    pub(super) statements: Vec<Statement>,
    pub(super) copies: Vec<(StmtId, NodeId, NodeId)>,
    pub(super) too_deep: bool,
    frontier: Vec<Pending>,
    frames: Vec<Frame>,
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
    Loop { head: NodeId, breaks: Vec<Pending> },
    Handlers { dispatch: NodeId },
    Finally { entries: Vec<Pending>, jumps: Vec<Jump> },
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
    pub(super) fn run(def: &'a ast::StmtFunctionDef) -> Self {
        let mut builder = Self::start(def);
        builder.statements(&def.body);
        if builder.too_deep {
            return Self::opaque(def);
        }
        builder.connect(Cfg::EXIT);
        builder
    }

    pub(super) fn opaque(def: &'a ast::StmtFunctionDef) -> Self {
        let mut builder = Self { too_deep: true, ..Self::start(def) };
        builder.connect(Cfg::EXIT);
        builder
    }

    fn start(def: &'a ast::StmtFunctionDef) -> Self {
        let mut builder = Self::default();
        builder.detached(NodeKind::Entry, None, def.range, Syntax::Nothing);
        builder.detached(NodeKind::Exit, None, def.range, Syntax::Nothing);
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
    fn node(
        &mut self,
        kind: NodeKind,
        stmt: StmtId,
        range: TextRange,
        syntax: Syntax<'a>,
    ) -> NodeId {
        let node = self.detached(kind, Some(stmt), range, syntax);
        self.connect(node);
        self.frontier.push((node, EdgeKind::Normal));
        if may_raise(syntax) {
            self.raise_from(node);
        }
        node
    }

    /// A node with two ways out: the frontier is the one for true; the other is returned.
    fn branch(
        &mut self,
        kind: NodeKind,
        stmt: StmtId,
        range: TextRange,
        syntax: Syntax<'a>,
    ) -> Pending {
        let node = self.node(kind, stmt, range, syntax);
        self.frontier = vec![(node, EdgeKind::True)];
        (node, EdgeKind::False)
    }

    /// The exception of a node within a `try`; elsewhere it is assumed not to happen.
    fn raise_from(&mut self, node: NodeId) {
        for frame in self.frames.iter_mut().rev() {
            match frame {
                Frame::Loop { .. } => {}
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
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            self.too_deep = true;
        } else {
            self.statements(body);
        }
        self.nesting -= 1;
        self.parent = parent;
        self.end_block(stmt, kind, start);
    }

    fn end_block(&mut self, stmt: StmtId, kind: BlockKind, start: StmtId) {
        let end = StmtId(self.next);
        if let Some(statement) = self.statements.get_mut(stmt.index()) {
            if !statement.blocks.iter().any(|block| block.kind == kind) {
                statement.blocks.push(Block { kind, start, end });
            }
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
            Stmt::Continue(_) => {
                self.simple(statement, StatementKind::Continue, Some(Jump::Continue))
            }
            _ => self.simple(statement, StatementKind::Simple, None),
        }
    }

    fn simple(&mut self, statement: &'a Stmt, kind: StatementKind, jump: Option<Jump>) {
        let stmt = self.open(kind, statement.range());
        let node =
            self.node(NodeKind::Statement, stmt, statement.range(), Syntax::Statement(statement));
        self.close(stmt, node);
        match jump {
            // Within a `try` the node already has the edge of a step that may raise.
            Some(Jump::Raise) if self.catches() => self.frontier.clear(),
            Some(jump) => self.jump(jump),
            None => {}
        }
    }

    fn catches(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame, Frame::Loop { .. }))
    }

    fn test(&mut self, stmt: StmtId, test: &'a Expr) -> Pending {
        self.branch(NodeKind::Test, stmt, test.range(), Syntax::Evaluate(test))
    }

    fn if_(&mut self, node: &'a ast::StmtIf) {
        let end = node.range.end();
        let outer = self.parent;
        let mut chain = vec![self.open(StatementKind::If, node.range)];
        let mut complete = Vec::new();
        let mut otherwise = self.test(chain[0], &node.test);
        self.block(chain[0], BlockKind::Body, &node.body);
        complete.append(&mut self.frontier);
        self.frontier.push(otherwise);
        for clause in &node.elif_else_clauses {
            let inner = chain[chain.len() - 1];
            match clause {
                ElifElseClause { test: Some(test), body, range, .. } => {
                    self.parent = Some(inner);
                    let stmt = self.open(
                        StatementKind::If,
                        TextRange::new(range.start(), end.max(range.end())),
                    );
                    chain.push(stmt);
                    otherwise = self.test(stmt, test);
                    self.block(stmt, BlockKind::Body, body);
                    complete.append(&mut self.frontier);
                    self.frontier.push(otherwise);
                }
                ElifElseClause { body, .. } => self.block(inner, BlockKind::Else, body),
            }
        }
        self.parent = outer;
        self.frontier.append(&mut complete);
        let join = self.join(chain[0], node.range);
        for (index, &stmt) in chain.iter().enumerate() {
            if let Some(&elif) = chain.get(index + 1) {
                self.end_block(stmt, BlockKind::Else, elif);
            }
            self.close(stmt, join);
        }
    }

    fn while_(&mut self, node: &'a ast::StmtWhile) {
        let stmt = self.open(StatementKind::While, node.range);
        let exhausted = self.test(stmt, &node.test);
        let exhausted = (!is_always_true(&node.test)).then_some(exhausted);
        self.loop_(stmt, node.range, exhausted, None, &node.body, &node.orelse);
    }

    fn for_(&mut self, node: &'a ast::StmtFor) {
        let stmt = self.open(StatementKind::For, node.range);
        self.node(NodeKind::Iter, stmt, node.iter.range(), Syntax::Evaluate(&node.iter));
        let exhausted = self.branch(NodeKind::Next, stmt, node.range, Syntax::Nothing);
        // An iterator may raise when it is asked for the next item.
        self.raise_from(exhausted.0);
        let target = Syntax::Target(&node.target, &node.iter);
        let target = Some((node.target.range(), target));
        self.loop_(stmt, node.range, Some(exhausted), target, &node.body, &node.orelse);
    }

    /// The rest of a loop whose head has just been built.
    fn loop_(
        &mut self,
        stmt: StmtId,
        range: TextRange,
        exhausted: Option<Pending>,
        target: Option<(TextRange, Syntax<'a>)>,
        body: &'a [Stmt],
        orelse: &'a [Stmt],
    ) {
        let Some(&(head, _)) = self.frontier.first() else { return };
        self.frames.push(Frame::Loop { head, breaks: Vec::new() });
        if let Some((range, syntax)) = target {
            self.node(NodeKind::Target, stmt, range, syntax);
        }
        self.block(stmt, BlockKind::Body, body);
        self.jump(Jump::Continue);
        let breaks = match self.frames.pop() {
            Some(Frame::Loop { breaks, .. }) => breaks,
            _ => Vec::new(),
        };
        self.frontier.extend(exhausted);
        if !orelse.is_empty() {
            self.block(stmt, BlockKind::Else, orelse);
        }
        self.frontier.extend(breaks);
        let join = self.join(stmt, range);
        self.close(stmt, join);
    }

    fn with(&mut self, node: &'a ast::StmtWith) {
        let stmt = self.open(StatementKind::With, node.range);
        if node.items.is_empty() {
            self.node(NodeKind::Enter, stmt, node.range, Syntax::Nothing);
        }
        for (index, item) in node.items.iter().enumerate() {
            self.node(NodeKind::WithItem(index as u32), stmt, item.range, Syntax::WithItem(item));
        }
        self.block(stmt, BlockKind::Body, &node.body);
        let join = self.join(stmt, node.range);
        self.close(stmt, join);
    }

    fn match_(&mut self, node: &'a ast::StmtMatch) {
        let stmt = self.open(StatementKind::Match, node.range);
        self.node(NodeKind::Subject, stmt, node.subject.range(), Syntax::Evaluate(&node.subject));
        let mut complete = Vec::new();
        for (index, case) in node.cases.iter().enumerate() {
            let index = index as u32;
            let range = case.pattern.range();
            let mut unmatched = vec![self.branch(
                NodeKind::Pattern(index),
                stmt,
                range,
                Syntax::Pattern(&case.pattern),
            )];
            if case.pattern.is_irrefutable() {
                unmatched.clear();
            }
            let capture = Syntax::Capture(&case.pattern, &node.subject);
            self.node(NodeKind::Capture(index), stmt, range, capture);
            if let Some(guard) = &case.guard {
                let syntax = Syntax::Evaluate(guard);
                unmatched.push(self.branch(NodeKind::Guard(index), stmt, guard.range(), syntax));
            }
            self.block(stmt, BlockKind::Case(index), &case.body);
            complete.append(&mut self.frontier);
            self.frontier = unmatched;
        }
        self.frontier.append(&mut complete);
        let join = self.join(stmt, node.range);
        self.close(stmt, join);
    }

    fn try_(&mut self, node: &'a ast::StmtTry) {
        let stmt = self.open(StatementKind::Try, node.range);
        self.node(NodeKind::Enter, stmt, node.range, Syntax::Nothing);
        if !node.finalbody.is_empty() {
            self.frames.push(Frame::Finally { entries: Vec::new(), jumps: Vec::new() });
        }
        if node.handlers.is_empty() {
            self.block(stmt, BlockKind::Body, &node.body);
        } else {
            let dispatch =
                self.detached(NodeKind::Dispatch, Some(stmt), node.range, Syntax::Nothing);
            self.frames.push(Frame::Handlers { dispatch });
            self.block(stmt, BlockKind::Body, &node.body);
            self.frames.pop();
            if !node.orelse.is_empty() {
                self.block(stmt, BlockKind::Else, &node.orelse);
            }
            let complete = take(&mut self.frontier);
            self.frontier.push((dispatch, EdgeKind::Normal));
            self.handlers(stmt, node);
            self.frontier.extend(complete);
        }
        if !node.finalbody.is_empty() {
            if let Some(Frame::Finally { entries, jumps }) = self.frames.pop() {
                self.finally(stmt, &node.finalbody, entries, &jumps);
            }
        }
        let join = self.join(stmt, node.range);
        self.close(stmt, join);
    }

    /// The `except` clauses in order; the frontier is that of the exception, then of what was handled.
    fn handlers(&mut self, stmt: StmtId, node: &'a ast::StmtTry) {
        let mut handled = Vec::new();
        for (index, handler) in node.handlers.iter().enumerate() {
            let index = index as u32;
            let ExceptHandler::ExceptHandler(handler) = handler;
            let (range, syntax) = match &handler.type_ {
                Some(class) => (class.range(), Syntax::Evaluate(class)),
                None => (handler.range, Syntax::Nothing),
            };
            let other = self.branch(NodeKind::Handler(index), stmt, range, syntax);
            if let Some(name) = &handler.name {
                self.node(
                    NodeKind::HandlerName(index),
                    stmt,
                    name.range,
                    Syntax::HandlerName(name),
                );
            }
            self.block(stmt, BlockKind::Handler(index), &handler.body);
            if let Some(name) = &handler.name {
                self.node(NodeKind::Unbind(index), stmt, name.range, Syntax::Unbind(name));
            }
            let mut unhandled = Vec::new();
            if handler.type_.is_some() {
                unhandled.push(other);
            }
            // Of `except*` clauses several may run, one after the other.
            if node.is_star {
                unhandled.extend(self.frontier.iter().copied());
            }
            handled.append(&mut self.frontier);
            self.frontier = unhandled;
        }
        if node.is_star {
            handled.extend(self.frontier.iter().copied());
        }
        self.jump(Jump::Raise);
        self.frontier = handled;
    }

    fn finally(&mut self, stmt: StmtId, body: &'a [Stmt], entries: Vec<Pending>, jumps: &[Jump]) {
        let doubled =
            !entries.is_empty() && !self.frontier.is_empty() && self.doubling < MAX_DOUBLING;
        let mixed = !doubled && !self.frontier.is_empty();
        let mut complete = Vec::new();
        self.doubling += u32::from(doubled);
        if doubled {
            let first = self.next;
            self.block(stmt, BlockKind::Finally, body);
            complete.append(&mut self.frontier);
            self.next = first;
        }
        self.frontier.extend(entries);
        self.block(stmt, BlockKind::Finally, body);
        self.doubling -= u32::from(doubled);
        let end = take(&mut self.frontier);
        for &jump in jumps {
            self.frontier.clone_from(&end);
            self.jump(jump);
        }
        self.frontier = complete;
        if mixed {
            self.frontier.extend(end);
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
            | Syntax::Statement(
                Stmt::Pass(_)
                    | Stmt::Break(_)
                    | Stmt::Continue(_)
                    | Stmt::Global(_)
                    | Stmt::Nonlocal(_)
            )
    )
}

/// `while True:` ends by `break` alone.
fn is_always_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(int) => int.as_i64().is_none_or(|value| value != 0),
            _ => false,
        },
        _ => false,
    }
}
