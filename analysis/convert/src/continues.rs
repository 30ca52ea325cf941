//! Pass 3: `continue` becomes a flag that guards the rest of the loop's body.
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
use super::tree::{self, blocks};
use super::unit::Unit;
use super::{binding_tests, build};

pub(super) fn run(unit: &Unit, body: &mut ast::Suite) {
    tree::rewrite(body, |mut statement, out| {
        for inner in blocks(&mut statement) {
            run(unit, inner);
        }
        let start = statement.start();
        match &mut statement {
            Stmt::While(node) if !unit.notes.is_kept(node) => {
                lower(unit, &mut node.body, start);
                binding_tests::lower(unit, node, out);
            }
            Stmt::For(node) if !unit.notes.is_kept(node) => lower(unit, &mut node.body, start),
            _ => {}
        }
        out.push(statement);
    });
}

fn lower(unit: &Unit, body: &mut ast::Suite, start: ruff_text_size::TextSize) {
    if !jumps::contains(body, Jump::Continue) {
        return;
    }
    let flag = unit.names.fresh("continue_");
    let mut lowering = Lowering::new(Jump::Continue, &flag, unit.notes);
    lowering.block(body, true);
    if lowering.is_used {
        let origin = TextRange::empty(start);
        body.insert(0, build::assign(&flag, build::boolean(false, origin), origin));
    }
}
