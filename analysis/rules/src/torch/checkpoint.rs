//! Parameters that a module loads, although it has other names for them.

use super::super::declare::declare_rule;
use crate::FileContext;
use crate::evaluation::{Kind, found, programs};
use ag_db::{Db, Document};
use ag_index::index::file_index;

declare_rule! {
    /// ## What it does
    /// Reports calls of `load_state_dict` with the parameters of a module that `torch.compile` has returned, if the module
    /// that loads them is not compiled, and the other way round. The parameters may have been saved in a file before.
    ///
    /// ## Why is this bad?
    /// The names of the parameters of a compiled module start with `_orig_mod.`. The module does not find its own names,
    /// and raises. With `strict=False`, it silently loads nothing.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// model = torch.compile(nn.Linear(2, 3))
    /// torch.save(model.state_dict(), "linear.pt")
    ///
    /// model = nn.Linear(2, 3)
    /// model.load_state_dict(torch.load("linear.pt"))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// model = nn.Linear(2, 3)
    /// compiled = torch.compile(model)
    /// torch.save(model.state_dict(), "linear.pt")
    ///
    /// model = nn.Linear(2, 3)
    /// model.load_state_dict(torch.load("linear.pt"))
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Error(s) in loading state_dict for Linear: Missing key(s) in state_dict: "weight", "bias".
    /// Unexpected key(s) in state_dict: "_orig_mod.weight", "_orig_mod.bias".`
    pub(crate) static TORCH_CHECKPOINT = {
        code: "AG605", name: "torch-checkpoint",
        summary: "a module does not have the keys of the parameters that it loads",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: FileInProject(is_of_interest, report),
    }
}

/// The program may be in another file of the project.
fn is_of_interest(db: &dyn Db, document: Document) -> bool {
    let index = file_index(db, document);
    index.imports.uses("torch")
        && index.calls.contains_key("load_state_dict")
        && !programs(db, document).is_empty()
}

fn report(ctx: &FileContext) {
    let all = programs(ctx.db, ctx.document).iter().flat_map(|program| found(ctx.db, *program));
    for found in all.filter(|found| found.kind == Kind::Keys && found.document == ctx.document) {
        ctx.report(&TORCH_CHECKPOINT, found.range, &found.message)
            .help("save the parameters of the module itself: `model._orig_mod.state_dict()`")
            .emit();
    }
}
