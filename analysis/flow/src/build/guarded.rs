//! Graph of `try`: exception edges, handlers and `finally`.

use std::mem::take;

use ruff_python_ast::{self as ast, ExceptHandler, Stmt};
use ruff_text_size::Ranged;

use super::{Builder, Frame, Jump, Pending, Syntax};
use crate::cfg::{BlockKind, EdgeKind, NodeKind, StatementKind, StmtId};

/// The maximum depth to which nested `finally` bodies are duplicated. A deeper body has a single copy.
const MAX_DUPLICATION: u32 = 3;

impl<'a> Builder<'a> {
    pub(super) fn try_(&mut self, node: &'a ast::StmtTry) {
        let stmt = self.open(StatementKind::Try, node.range);
        self.node(NodeKind::Enter, stmt, node.range, Syntax::Nothing);
        if !node.finalbody.is_empty() {
            self.frames.push(Frame::Finally { entries: Vec::new(), jumps: Vec::new() });
        }
        if node.handlers.is_empty() {
            self.block(stmt, BlockKind::Body, &node.body);
        } else {
            let dispatch = self.detached(NodeKind::Dispatch, Some(stmt), node.range, Syntax::Nothing);
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
        if !node.finalbody.is_empty()
            && let Some(Frame::Finally { entries, jumps }) = self.frames.pop()
        {
            self.finally(stmt, &node.finalbody, entries, &jumps);
        }
        let join = self.join(stmt, node.range);
        self.close(stmt, join);
    }

    /// Builds the `except` clauses in order. At the start, the frontier is the exception edge; at the end, it is the
    /// normal ends of the clauses.
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
                self.node(NodeKind::HandlerName(index), stmt, name.range, Syntax::HandlerName(name));
            }
            self.block(stmt, BlockKind::Handler(index), &handler.body);
            if let Some(name) = &handler.name {
                self.node(NodeKind::Unbind(index), stmt, name.range, Syntax::Unbind(name));
            }
            let mut unhandled = Vec::new();
            if handler.type_.is_some() {
                unhandled.push(other);
            }
            // Several `except*` clauses may run, one after the other.
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
        let duplicated =
            !entries.is_empty() && !self.frontier.is_empty() && self.duplication < MAX_DUPLICATION;
        let mixed = !duplicated && !self.frontier.is_empty();
        let mut complete = Vec::new();
        self.duplication += u32::from(duplicated);
        if duplicated {
            let first = self.next;
            self.block(stmt, BlockKind::Finally, body);
            complete.append(&mut self.frontier);
            self.next = first;
        }
        self.frontier.extend(entries);
        self.block(stmt, BlockKind::Finally, body);
        self.duplication -= u32::from(duplicated);
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
