//! Pass 2: `break` becomes a flag that ends the loop, and the `else` of a loop becomes an `if` after the loop.
//!
//! ```python
//! while test:                     break_ = False
//!     if found(x):                while not break_ and test:
//!         break              =>       if found(x):
//!     x += 1                              break_ = True
//! else:                               else:
//!     x = None                            x += 1
//!                                 if not break_:
//!                                     x = None
//! ```

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::jumps::{self, Jump, Lowering};
use super::lowering::LoweringContext;
use super::tree::{self, blocks};

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    jumps::move_rest(body, ctx.notes, 0);
    block(ctx, body);
}

fn block(ctx: &LoweringContext, suite: &mut ast::Suite) {
    tree::rewrite(suite, |mut statement, out| {
        for inner in blocks(&mut statement) {
            block(ctx, inner);
        }
        match &mut statement {
            Stmt::While(node) if !ctx.notes.is_kept(node) => {
                let orelse = std::mem::take(&mut node.orelse);
                let flag = lower(ctx, &mut node.body);
                if let Some(flag) = &flag {
                    jumps::stop_while(node, flag);
                }
                finish(statement, flag, orelse, out);
            }
            Stmt::For(node) if !ctx.notes.is_kept(node) => {
                let orelse = std::mem::take(&mut node.orelse);
                let flag = lower(ctx, &mut node.body);
                if let Some(flag) = &flag {
                    ctx.notes.add(&mut node.node_index, |note| note.stop_flags.push(flag.clone()));
                }
                finish(statement, flag, orelse, out);
            }
            _ => out.push(statement),
        }
    });
}

/// Lowers the `break`s of a loop body. Returns the flag that they set.
fn lower(ctx: &LoweringContext, body: &mut ast::Suite) -> Option<ast::name::Name> {
    if !jumps::contains(body, Jump::Break) {
        return None;
    }
    let flag = ctx.names.fresh("break_");
    // In a loop that also has a `continue`, `break` becomes `break_ = True; continue`.
    let continues = jumps::contains(body, Jump::Continue);
    let set_flag = |statement: &Stmt| {
        let origin = statement.range();
        build::assign(&flag, build::boolean(true, origin), origin)
    };
    if continues {
        replace_by_continue(body, &set_flag);
    } else {
        let mut lowering = Lowering::new(Jump::Break, &flag, ctx.notes);
        lowering.block(body, false);
    }
    Some(flag)
}

fn replace_by_continue(suite: &mut ast::Suite, set_flag: &dyn Fn(&Stmt) -> Stmt) {
    tree::rewrite(suite, |mut statement, out| {
        if matches!(statement, Stmt::Break(_)) {
            out.push(set_flag(&statement));
            out.push(Stmt::Continue(ast::StmtContinue {
                range: statement.range(),
                node_index: tree::synthesized(),
            }));
            return;
        }
        if !matches!(statement, Stmt::While(_) | Stmt::For(_)) {
            for inner in blocks(&mut statement) {
                replace_by_continue(inner, set_flag);
            }
        }
        out.push(statement);
    });
}

/// Emits the loop, the initialization of its flag and its `else` block.
fn finish(statement: Stmt, flag: Option<ast::name::Name>, mut orelse: ast::Suite, out: &mut ast::Suite) {
    let origin = TextRange::empty(statement.start());
    match flag {
        Some(flag) => {
            out.push(build::assign(&flag, build::boolean(false, origin), origin));
            out.push(statement);
            if !orelse.is_empty() {
                out.push(build::if_(build::not(build::name(&flag, origin)), orelse, origin));
            }
        }
        None => {
            out.push(statement);
            out.append(&mut orelse);
        }
    }
}
