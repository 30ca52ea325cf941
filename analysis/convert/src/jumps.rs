//! Lowers `break`, `continue` and `return` to flags. Three passes share this module.
//!
//! ```python
//! for x in xs:                    for x in xs:
//!     with lock:                      with lock:
//!         if x < 0:                       if x < 0:
//!             break          =>               break_ = True
//!         total += x                      else:
//!     seen += 1                               total += x
//!                                     if not break_:
//!                                         seen += 1
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::notes::Notes;
use super::tree::{self, blocks, else_block};
use super::{build, tree::synthesized};

/// The maximum depth at which code is moved into `else` blocks. Deeper code is guarded by flags.
const MAX_DEPTH: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Jump {
    Break,
    Continue,
    Return,
}

impl Jump {
    fn is(self, statement: &Stmt) -> bool {
        match self {
            Self::Break => matches!(statement, Stmt::Break(_)),
            Self::Continue => matches!(statement, Stmt::Continue(_)),
            Self::Return => matches!(statement, Stmt::Return(_)),
        }
    }
}

/// Returns whether a block contains a jump of this kind that exits the block.
pub(super) fn contains(block: &[Stmt], jump: Jump) -> bool {
    block.iter().any(|statement| {
        jump.is(statement)
            || match statement {
                Stmt::If(node) => {
                    contains(&node.body, jump)
                        || node.elif_else_clauses.iter().any(|clause| contains(&clause.body, jump))
                }
                Stmt::While(ast::StmtWhile { body, orelse, .. })
                | Stmt::For(ast::StmtFor { body, orelse, .. }) => {
                    (jump == Jump::Return && contains(body, jump)) || contains(orelse, jump)
                }
                Stmt::With(node) => contains(&node.body, jump),
                Stmt::Match(node) => node.cases.iter().any(|case| contains(&case.body, jump)),
                Stmt::Try(node) => {
                    let ast::StmtTry { body, orelse, finalbody, .. } = node;
                    contains(body, jump)
                        || contains(orelse, jump)
                        || contains(finalbody, jump)
                        || node
                            .handlers
                            .iter()
                            .any(|ast::ExceptHandler::ExceptHandler(handler)| contains(&handler.body, jump))
                }
                _ => false,
            }
    })
}

/// Returns whether control never reaches the end of a block.
pub(super) fn exits(block: &[Stmt]) -> bool {
    match block.last() {
        Some(Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Raise(_)) => true,
        Some(Stmt::If(node)) => {
            exits(&node.body) && node.elif_else_clauses.last().is_some_and(|clause| exits(&clause.body))
        }
        Some(Stmt::Try(node)) => {
            exits(&node.finalbody)
                || ((exits(&node.body) || exits(&node.orelse))
                    && node
                        .handlers
                        .iter()
                        .all(|ast::ExceptHandler::ExceptHandler(handler)| exits(&handler.body)))
        }
        _ => false,
    }
}

/// Returns whether a block ends with a jump, or with an `if` all of whose branches exit, at least one of them by a
/// jump.
fn jumps(block: &[Stmt]) -> bool {
    match block.last() {
        Some(Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_)) => true,
        Some(Stmt::If(node)) => {
            (jumps(&node.body) || node.elif_else_clauses.iter().any(|clause| jumps(&clause.body)))
                && exits(block)
        }
        _ => false,
    }
}

/// For each `if` with a jump, at every level of a block, moves the statements after it into the branch without a jump.
/// Most jumps are then at the end of the block, where they need no flag.
pub(super) fn move_rest(block: &mut ast::Suite, notes: &Notes, depth: usize) {
    let mut position = 0;
    while let Some(statement) = block.get(position) {
        // Statements after a jump are unreachable.
        if matches!(statement, Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_)) {
            notes.record_unreached(block.drain(position + 1..));
            return;
        }
        if position + 1 < block.len() && depth < MAX_DEPTH && takes_rest(statement, notes) {
            let mut rest: ast::Suite = block.drain(position + 1..).collect();
            if let Some(Stmt::If(node)) = block.get_mut(position) {
                append_rest(node, &mut rest);
            }
        }
        if let Some(statement) = block.get_mut(position) {
            for inner in blocks(statement) {
                move_rest(inner, notes, depth + 1);
            }
        }
        position += 1;
    }
}

/// Returns whether exactly one branch of an `if` continues after the `if`.
fn takes_rest(statement: &Stmt, notes: &Notes) -> bool {
    let Stmt::If(node) = statement else { return false };
    if notes.is_kept(node) {
        return false;
    }
    match node.elif_else_clauses.last() {
        None => jumps(&node.body),
        Some(clause) => match (exits(&node.body), exits(&clause.body)) {
            (true, false) => jumps(&node.body) && falls_through_once(&clause.body, notes),
            (false, true) => jumps(&clause.body) && falls_through_once(&node.body, notes),
            _ => false,
        },
    }
}

/// Returns whether only one path reaches the end of a block. Code can then be appended there.
fn falls_through_once(block: &[Stmt], notes: &Notes) -> bool {
    match block.last() {
        Some(last @ Stmt::If(node)) => {
            let clause = node.elif_else_clauses.last();
            !(jumps(&node.body) || clause.is_some_and(|clause| jumps(&clause.body)))
                || takes_rest(last, notes)
        }
        _ => true,
    }
}

fn append_rest(node: &mut ast::StmtIf, rest: &mut ast::Suite) {
    if !exits(&node.body) {
        node.body.append(rest);
    } else if let Some(block) = else_block(node) {
        block.append(rest);
    } else {
        node.elif_else_clauses.push(build::else_clause(std::mem::take(rest)));
    }
}

/// Replaces the jumps of one kind in a block by flags, and guards the statements that they skip.
pub(super) struct Lowering<'a> {
    pub(super) jump: Jump,
    /// The variable that is set in place of the jump.
    pub(super) flag: &'a Name,
    pub(super) notes: &'a Notes,
    /// The statement that is emitted besides setting the flag.
    pub(super) replace: &'a dyn Fn(&Stmt) -> Option<Stmt>,
    /// The number of enclosing statements that may suppress an exception.
    pub(super) swallowing_depth: u32,
    /// The statement that is emitted besides resetting the flag.
    pub(super) undo: &'a dyn Fn(TextRange) -> Option<Stmt>,
    /// Whether any jump sets the flag. A jump at the end of the code does not need a flag.
    pub(super) is_used: bool,
}

impl<'a> Lowering<'a> {
    /// Returns a lowering that replaces jumps only by their flag.
    pub(super) fn new(jump: Jump, flag: &'a Name, notes: &'a Notes) -> Self {
        Self { jump, flag, notes, replace: &|_| None, swallowing_depth: 0, undo: &|_| None, is_used: false }
    }
}

impl Lowering<'_> {
    /// Lowers the jumps in a block. `tail`: whether no code follows the block. Returns whether the flag may be set
    /// after the block.
    pub(super) fn block(&mut self, block: &mut ast::Suite, tail: bool) -> bool {
        let mut may_jump = false;
        let mut position = 0;
        while position < block.len() {
            let is_last = position + 1 == block.len();
            let Some(statement) = block.get_mut(position) else { break };
            if self.jump.is(statement) {
                let origin = statement.range();
                let replacement = (self.replace)(statement);
                self.notes.record_unreached(block.drain(position + 1..));
                block.truncate(position);
                block.extend(replacement);
                if !tail {
                    self.is_used = true;
                    block.push(build::assign(self.flag, build::boolean(true, origin), origin));
                }
                if block.is_empty() {
                    block.push(build::pass());
                }
                return !tail;
            }
            let has_jump =
                runs_code_on_exit(statement) && contains(std::slice::from_ref(statement), self.jump);
            if has_jump {
                nest_items(statement);
            }
            let jumped = self.statement(statement, tail && is_last);
            may_jump |= jumped;
            if has_jump && self.swallowing_depth > 0 && (jumped || self.jump == Jump::Return) {
                let inner = std::mem::replace(statement, build::pass());
                *statement = self.with_reset(inner, jumped);
            }
            if jumped && !is_last {
                let mut rest: ast::Suite = block.drain(position + 1..).collect();
                self.block(&mut rest, tail);
                block.push(self.guarded(rest));
                return true;
            }
            position += 1;
        }
        may_jump
    }

    /// Returns `if not flag: rest`.
    fn guarded(&self, rest: ast::Suite) -> Stmt {
        let origin = rest.first().map_or_else(TextRange::default, Ranged::range);
        let origin = TextRange::empty(origin.start());
        build::if_(build::not(build::name(self.flag, origin)), rest, origin)
    }

    /// Resets the flag if code that runs on exit raises an exception. If an enclosing statement suppresses this
    /// exception, the jump does not happen.
    ///
    /// ```python
    /// try:
    ///     with inner: flag = True
    /// except: flag = False; raise
    /// ```
    fn with_reset(&self, inner: Stmt, flagged: bool) -> Stmt {
        let origin = TextRange::empty(inner.start());
        let flag = flagged.then(|| build::assign(self.flag, build::boolean(false, origin), origin));
        let reset: ast::Suite = flag.into_iter().chain((self.undo)(origin)).collect();
        let body = [inner].into_iter().collect();
        build::try_except_reraise(body, reset, origin)
    }

    fn protected_block(&mut self, block: &mut ast::Suite, tail: bool, swallows: bool) -> bool {
        self.swallowing_depth += u32::from(swallows);
        let may_jump = self.block(block, tail);
        self.swallowing_depth -= u32::from(swallows);
        may_jump
    }

    fn statement(&mut self, statement: &mut Stmt, tail: bool) -> bool {
        match statement {
            Stmt::If(node) => {
                let mut may_jump = self.block(&mut node.body, tail);
                for clause in &mut node.elif_else_clauses {
                    may_jump |= self.block(&mut clause.body, tail);
                }
                may_jump
            }
            Stmt::With(node) => self.protected_block(&mut node.body, tail, true),
            Stmt::Match(node) => {
                let mut may_jump = false;
                for case in &mut node.cases {
                    may_jump |= self.block(&mut case.body, tail);
                }
                may_jump
            }
            Stmt::Try(node) => {
                let catches = !node.handlers.is_empty();
                let mut may_jump =
                    self.protected_block(&mut node.body, tail && node.orelse.is_empty(), catches);
                if may_jump && !node.orelse.is_empty() {
                    let mut orelse = std::mem::take(&mut node.orelse);
                    self.block(&mut orelse, tail);
                    node.orelse = [self.guarded(orelse)].into_iter().collect();
                } else {
                    may_jump |= self.block(&mut node.orelse, tail);
                }
                for ast::ExceptHandler::ExceptHandler(handler) in &mut node.handlers {
                    may_jump |= self.block(&mut handler.body, tail);
                }
                may_jump
            }
            Stmt::While(node) if self.jump == Jump::Return && !self.notes.is_kept(node) => {
                let may_jump = self.block(&mut node.body, false);
                if may_jump {
                    stop_while(node, self.flag);
                }
                may_jump
            }
            Stmt::For(node) if self.jump == Jump::Return && !self.notes.is_kept(node) => {
                let may_jump = self.block(&mut node.body, false);
                if may_jump {
                    self.notes.add(&mut node.node_index, |note| note.stop_flags.push(self.flag.clone()));
                }
                may_jump
            }
            _ => false,
        }
    }
}

/// Rewrites `with a, b: …` as `with a: with b: …`, because `a` may suppress an exception that `b` raises.
fn nest_items(statement: &mut Stmt) {
    let Stmt::With(node) = statement else { return };
    while node.items.len() > 1 {
        let Some(item) = node.items.pop() else { return };
        let inner = ast::StmtWith {
            is_async: node.is_async,
            items: vec![item],
            body: std::mem::take(&mut node.body),
            range: TextRange::empty(node.range.start()),
            node_index: synthesized(),
        };
        node.body.push(Stmt::With(inner));
    }
}

/// Returns whether leaving the statement runs user code: `__exit__` or a `finally` block.
fn runs_code_on_exit(statement: &Stmt) -> bool {
    match statement {
        Stmt::With(_) => true,
        Stmt::Try(node) => !node.finalbody.is_empty(),
        _ => false,
    }
}

/// `while test:` becomes `while not flag and test:`, and `while True:` becomes `while not flag:`.
pub(super) fn stop_while(node: &mut ast::StmtWhile, flag: &str) {
    let origin = node.test.range();
    let stopped = build::not(build::name(flag, TextRange::empty(origin.start())));
    let test = std::mem::replace(&mut *node.test, build::none(origin));
    *node.test = match test {
        Expr::BooleanLiteral(literal) if literal.value => with_origin(stopped, origin),
        Expr::BoolOp(mut tests) if tree::is_synthesized(&tests) && tests.op == ast::BoolOp::And => {
            tests.values.insert(0, stopped);
            Expr::BoolOp(tests)
        }
        test => build::and(vec![stopped, test], origin),
    };
}

fn with_origin(expression: Expr, origin: TextRange) -> Expr {
    match expression {
        Expr::UnaryOp(node) => Expr::UnaryOp(ast::ExprUnaryOp { range: origin, ..node }),
        expression => expression,
    }
}

/// Rewrites every `elif` as an `if` in an `else` block, so that an `if` has at most two branches.
pub(super) fn nest_elifs(block: &mut ast::Suite) {
    for statement in block {
        if let Stmt::If(node) = statement {
            while node.elif_else_clauses.len() > 1
                || node.elif_else_clauses.last().is_some_and(|clause| clause.test.is_some())
            {
                let Some(last) = node.elif_else_clauses.pop() else { break };
                let (test, orelse) = match last.test {
                    Some(_) => (last, None),
                    None => match node.elif_else_clauses.pop() {
                        Some(test) => (test, Some(last)),
                        None => break,
                    },
                };
                let ast::ElifElseClause { test: Some(condition), body, range, .. } = test else { break };
                let range = orelse.as_ref().map_or(range, |orelse| range.cover(orelse.range()));
                let nested = ast::StmtIf {
                    test: Box::new(condition),
                    body,
                    elif_else_clauses: orelse.into_iter().collect(),
                    range,
                    node_index: ast::AtomicNodeIndex::NONE,
                };
                node.elif_else_clauses.push(ast::ElifElseClause {
                    range,
                    node_index: synthesized(),
                    test: None,
                    body: [Stmt::If(nested)].into_iter().collect(),
                });
            }
        }
        for inner in blocks(statement) {
            nest_elifs(inner);
        }
    }
}
