//! Attributes of a Keras model that its callbacks assign while it trains:
//!
//! ```python
//! class Annealing(keras.callbacks.Callback):
//!     def on_epoch_begin(self, epoch, logs=None):
//!         self.model.weight = min(1.0, 0.1 * epoch)     # the traced step contains the first value
//! ```

use ruff_python_ast::Expr;
use rustc_hash::FxHashSet;

use crate::FunctionContext;
use crate::object_changes::{Store, object_changes};
use ag_index::assumptions::Source;

/// Returns the reads of attributes of `self` that callbacks of the file assign, and the assignments. The attributes are
/// Python values that methods of the same class assign first.
pub(super) fn reads<'a>(ctx: &FunctionContext<'a>) -> Vec<(&'a Expr, &'a Store)> {
    let changes = object_changes(ctx.db, ctx.document);
    let is_callback = |class: &str| {
        let bases = changes.classes.iter().find(|(name, _)| *name == class).map(|(_, class)| &class.bases);
        bases.is_some_and(|bases| bases.iter().any(|base| base.ends_with("Callback")))
    };
    let callbacks = changes.functions.iter().filter(|(path, _)| {
        let class = path.qualname.rsplit_once('.').map(|(class, _)| class);
        path.name().starts_with("on_") && class.is_some_and(is_callback)
    });
    let mut stores: Vec<&Store> = callbacks
        .flat_map(|(_, code)| &code.stores)
        .filter(|store| store.object == "self" && store.through.as_deref() == Some("model"))
        .collect();
    stores.sort_by(|one, other| one.attribute.cmp(&other.attribute));
    let receiver = ctx.stage.parameters.first().filter(|first| first.source == Source::Receiver);
    let class = ctx.class().and_then(|class| changes.classes.get(&class.qualname));
    let (Some(receiver), Some(class), false) = (receiver, class, stores.is_empty()) else {
        return Vec::new();
    };
    let mut seen = FxHashSet::default();
    let reads = ctx.expressions().into_iter().filter_map(|expression| {
        let Expr::Attribute(read) = expression else { return None };
        let is_own = read.value.as_name_expr().is_some_and(|name| name.id == receiver.name);
        let store = stores.iter().find(|store| store.attribute == read.attr.id)?;
        let is_python = class.assigned.contains(&read.attr.id) && !ctx.fact(expression).may_be_tensor();
        (is_own && read.ctx.is_load() && is_python && seen.insert(&read.attr.id))
            .then_some((expression, *store))
    });
    reads.collect()
}
