//! The root from which a staged function is reached: the last step of each of its why-chains.

use ag_db::Db;
use ag_db::diagnostic::{Anchor, Span, Step};
use ag_index::assumptions::Stage;
use ag_index::index::FunctionId;

use crate::queries;
use crate::stages::root_name;

/// Maximum number of calls that are followed back to the root.
const MAX_CALLERS: usize = 16;

/// Returns the step "reached from `train_step`, a jitted function". Its location is the decorator or call that declares
/// the root. `None` for a root itself, whose declaration is next to the code.
pub fn step(db: &dyn Db, stage: &Stage) -> Option<Step> {
    if stage.root.is_some() {
        return None;
    }
    let mut cause = stage.cause.as_ref()?;
    for _ in 0..MAX_CALLERS {
        let Span { document, anchor: Anchor::Function(path), .. } = cause else { return None };
        let caller = queries::stage(db, FunctionId::new(db, *document, path.clone())).as_ref()?;
        if caller.root.is_some() {
            let message = format!("reached from `{}`, {}", path.qualname, root_name(caller.root));
            return Some(Step { message, span: caller.cause.clone() });
        }
        cause = caller.cause.as_ref()?;
    }
    None
}
