//! Statements summed up: what each reads before it binds it, and what it binds for certain.

use ruff_python_ast::visitor::source_order::SourceOrderVisitor;
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::super::set::Set;
use super::access::{Access, Names, Place};

/// One statement. `live in = reads ∪ (live out − kills)`.
#[derive(Default)]
pub(super) struct Info {
    pub(super) reads: Set,
    /// Bound on every way through it; after a `raise`, which nothing follows, everything is.
    pub(super) kills: Set,
    pub(super) raises: bool,
    /// Bound on some way.
    pub(super) binds: Set,
    pub(super) places: Vec<Place>,
    /// Local without being bound.
    pub(super) declared: Set,
    /// Bound by the test of an `if` or `while`, the target of a `for`, the items of a `with`.
    pub(super) head: Set,
    /// Of these, those bound whenever the head is evaluated.
    pub(super) certain: Set,
    /// Bound by the iterable of a `for`.
    pub(super) iterable: Set,
    /// Read by the head.
    pub(super) head_reads: Set,
    /// The blocks in the order of `tree::blocks`.
    pub(super) blocks: Vec<Vec<Info>>,
}

pub(super) fn block(names: &mut Names<'_>, block: &[Stmt]) -> Vec<Info> {
    block.iter().map(|statement| self::statement(names, statement)).collect()
}

/// The sum of statements in a row.
pub(super) struct Sum {
    pub(super) reads: Set,
    pub(super) kills: Set,
    pub(super) raises: bool,
}

pub(super) fn sum(block: &[Info]) -> Sum {
    let mut sum = Sum { reads: Set::default(), kills: Set::default(), raises: false };
    for info in block.iter().rev() {
        if info.raises {
            sum = Sum { reads: info.reads.clone(), kills: info.kills.clone(), raises: true };
            continue;
        }
        sum.reads.subtract(&info.kills);
        sum.reads.union(&info.reads);
        sum.kills.union(&info.kills);
    }
    sum
}

/// Of two ways that may be gone.
fn either(one: Sum, other: Sum) -> Sum {
    let mut reads = one.reads;
    reads.union(&other.reads);
    let (kills, raises) = match (one.raises, other.raises) {
        (true, false) => (other.kills, false),
        (false, true) => (one.kills, false),
        (_, raises) => {
            let mut kills = one.kills;
            kills.intersect(&other.kills);
            (kills, raises)
        }
    };
    Sum { reads, kills, raises }
}

fn nothing() -> Sum {
    Sum { reads: Set::default(), kills: Set::default(), raises: false }
}

fn head(names: &mut Names<'_>, info: &mut Info, expressions: &[&Expr]) {
    let mut access = Access::new(names);
    expressions.iter().for_each(|expression| access.visit_expr(expression));
    let Access { reads, binds, certain, places, .. } = access;
    info.head_reads = reads;
    info.certain = certain;
    info.binds.union(&binds);
    info.head = binds;
    info.places.extend(places);
}

fn add_blocks(info: &mut Info, blocks: Vec<Vec<Info>>) {
    for inner in blocks.iter().flatten() {
        info.binds.union(&inner.binds);
        info.declared.union(&inner.declared);
        info.places.extend(inner.places.iter().cloned());
    }
    info.blocks = blocks;
}

/// Puts the head before what follows it.
fn after_head(info: &mut Info, rest: Sum) {
    info.reads = rest.reads;
    info.reads.subtract(&info.certain);
    info.reads.union(&info.head_reads);
    info.kills = rest.kills;
    info.kills.union(&info.certain);
    info.raises = rest.raises;
}

fn statement(names: &mut Names<'_>, statement: &Stmt) -> Info {
    let mut info = Info::default();
    match statement {
        Stmt::If(node) => {
            head(names, &mut info, &[&node.test]);
            let body = block(names, &node.body);
            let clauses = node.elif_else_clauses.iter().map(|clause| clause.body.as_slice());
            let orelse: Vec<Vec<Info>> = clauses.map(|clause| block(names, clause)).collect();
            let otherwise = orelse.first().map_or_else(nothing, |orelse| sum(orelse));
            after_head(&mut info, either(sum(&body), otherwise));
            add_blocks(&mut info, std::iter::once(body).chain(orelse).collect());
        }
        Stmt::While(node) => {
            head(names, &mut info, &[&node.test]);
            let body = block(names, &node.body);
            let reads = sum(&body).reads;
            after_head(&mut info, Sum { reads, ..nothing() });
            add_blocks(&mut info, vec![body, block(names, &node.orelse)]);
        }
        Stmt::For(node) => {
            head(names, &mut info, &[&node.target]);
            let target_reads = std::mem::take(&mut info.head_reads);
            let body = block(names, &node.body);
            // What one round reads before it binds it; the target is bound at its start.
            let mut reads = sum(&body).reads;
            reads.subtract(&info.head);
            reads.union(&target_reads);
            // Whether there is another round.
            for flag in names.notes.stop_flags(node) {
                reads.insert(names.number(&flag));
            }
            let mut iter = Access::new(names);
            iter.visit_expr(&node.iter);
            let Access { reads: iter_reads, binds: iter_binds, certain, .. } = iter;
            reads.union(&iter_reads);
            info.reads = reads;
            info.kills = certain;
            info.binds.union(&iter_binds);
            info.iterable = iter_binds;
            info.head_reads = iter_reads;
            info.head_reads.union(&target_reads);
            add_blocks(&mut info, vec![body, block(names, &node.orelse)]);
        }
        Stmt::With(node) => {
            let items = node.items.iter();
            let expressions: Vec<&Expr> = items
                .flat_map(|item| std::iter::once(&item.context_expr).chain(item.optional_vars.as_deref()))
                .collect();
            head(names, &mut info, &expressions);
            let body = block(names, &node.body);
            let mut rest = sum(&body);
            rest.raises = false;
            after_head(&mut info, rest);
            add_blocks(&mut info, vec![body]);
        }
        Stmt::Match(node) => {
            head(names, &mut info, &[&node.subject]);
            let mut rest = nothing();
            let mut captured = Set::default();
            let mut blocks = Vec::new();
            for case in &node.cases {
                let mut access = Access::new(names);
                access.visit_pattern(&case.pattern);
                case.guard.iter().for_each(|guard| access.visit_expr(guard));
                let (reads, binds) = (access.reads, access.binds);
                let body = block(names, &case.body);
                let mut way = sum(&body);
                way.reads.subtract(&binds);
                way.reads.union(&reads);
                rest = either(rest, Sum { raises: false, ..way });
                captured.union(&binds);
                info.head_reads.union(&reads);
                blocks.push(body);
            }
            after_head(&mut info, rest);
            info.head.union(&captured);
            info.binds.union(&captured);
            add_blocks(&mut info, blocks);
        }
        Stmt::Try(node) => try_statement(names, node, &mut info),
        Stmt::Raise(_) => {
            simple(names, statement, &mut info);
            info.raises = true;
        }
        _ => simple(names, statement, &mut info),
    }
    info
}

fn simple(names: &mut Names<'_>, statement: &Stmt, info: &mut Info) {
    // `x: int` makes a name local and binds nothing.
    if let Stmt::AnnAssign(ast::StmtAnnAssign { target, value: None, .. }) = statement
        && let Expr::Name(name) = &**target
    {
        info.declared.insert(names.number(&name.id));
        return;
    }
    let mut access = Access::new(names);
    access.visit_stmt(statement);
    let Access { reads, binds, certain, places, .. } = access;
    info.head_reads = reads.clone();
    info.reads = reads;
    info.kills = certain;
    info.binds = binds;
    info.places = places;
}

fn try_statement(names: &mut Names<'_>, node: &ast::StmtTry, info: &mut Info) {
    let body = block(names, &node.body);
    let orelse = block(names, &node.orelse);
    let finalbody = block(names, &node.finalbody);
    let mut through = sum(&body);
    let rest = sum(&orelse);
    let mut reads = rest.reads;
    reads.subtract(&through.kills);
    through.reads.union(&reads);
    through.kills.union(&rest.kills);
    through.raises = false;
    let mut handlers = Vec::new();
    for ast::ExceptHandler::ExceptHandler(handler) in &node.handlers {
        let mut access = Access::new(names);
        handler.type_.iter().for_each(|class| access.visit_expr(class));
        if let Some(name) = &handler.name {
            access.bind(&name.id);
            // It is deleted at the end of the handler.
            let number = access.names.number(&name.id);
            access.names.deleted.insert(number);
        }
        let (class, name) = (access.reads, access.binds);
        let statements = block(names, &handler.body);
        let mut way = sum(&statements);
        way.reads.subtract(&name);
        way.reads.union(&class);
        through = either(through, Sum { raises: way.raises, ..way });
        info.binds.union(&name);
        info.head_reads.union(&class);
        handlers.push(statements);
    }
    let last = sum(&finalbody);
    let mut reads = last.reads;
    reads.subtract(&through.kills);
    info.reads = through.reads;
    info.reads.union(&reads);
    info.kills = through.kills;
    info.kills.union(&last.kills);
    let blocks = std::iter::once(body).chain(handlers).chain([orelse, finalbody]).collect();
    add_blocks(info, blocks);
}
