//! Pass 3: `continue` becomes a flag that guards the rest of the loop body.
//!
//! ```python
//! for x in xs:                    for x in xs:
//!     try:                            continue_ = False
//!         y = parse(x)                try:
//!     except ValueError:     =>           y = parse(x)
//!         continue                    except ValueError:
//!     total += y                          continue_ = True
//!                                     if not continue_:
//!                                         total += y
//! ```

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::jumps::{self, Jump, Lowering};
use super::lowering::LoweringContext;
use super::tree::{self, blocks};
use super::{binding_tests, build};

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    tree::rewrite(body, |mut statement, out| {
        for inner in blocks(&mut statement) {
            run(ctx, inner);
        }
        let start = statement.start();
        match &mut statement {
            Stmt::While(node) if !ctx.notes.is_kept(node) => {
                lower(ctx, &mut node.body, start);
                binding_tests::lower(ctx, node, out);
            }
            Stmt::For(node) if !ctx.notes.is_kept(node) => lower(ctx, &mut node.body, start),
            _ => {}
        }
        out.push(statement);
    });
}

fn lower(ctx: &LoweringContext, body: &mut ast::Suite, start: ruff_text_size::TextSize) {
    if !jumps::contains(body, Jump::Continue) {
        return;
    }
    let flag = ctx.names.fresh("continue_");
    let mut lowering = Lowering::new(Jump::Continue, &flag, ctx.notes);
    lowering.block(body, true);
    if lowering.is_used {
        let origin = TextRange::empty(start);
        body.insert(0, build::assign(&flag, build::boolean(false, origin), origin));
    }
}
