//! Operations on Tensors of wrong sizes, in compiled and exported code.

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::evaluation;
use ag_index::index::FileIndex;

declare_rule! {
    /// ## What it does
    /// Reports operations and modules that do not accept the sizes of their inputs, in code that `torch.compile`,
    /// `torch.export` or TorchScript runs. The sizes are those that the program of the file computes: it creates the
    /// module from its configuration, and calls it with Tensors of known sizes. For `torch.export.export`, the
    /// operations are reported that fix the size of a dimension which `dynamic_shapes` declares as dynamic.
    ///
    /// ## Why is this bad?
    /// torch raises when it traces the operation, or when it runs it.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Net(nn.Module):
    ///     def __init__(self, width):
    ///         super().__init__()
    ///         self.encode = nn.Linear(4, width)
    ///         self.head = nn.Linear(2 * width, 1)
    ///
    ///     def forward(self, x):
    ///         return self.head(self.encode(x))
    ///
    /// model = torch.compile(Net(width=8))
    /// model(torch.randn(2, 4))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Net(nn.Module):
    ///     def __init__(self, width):
    ///         super().__init__()
    ///         self.encode = nn.Linear(4, width)
    ///         self.head = nn.Linear(width, 1)
    ///
    ///     def forward(self, x):
    ///         return self.head(self.encode(x))
    ///
    /// model = torch.compile(Net(width=8))
    /// model(torch.randn(2, 4))
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError when making fake tensor call: a and b must have same reduction dim, but got [2, 8] X [16, 1]`
    pub(crate) static TORCH_SIZES = {
        code: "AG604", name: "torch-sizes",
        summary: "an operation does not accept the sizes of its inputs",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: File(is_of_interest, check),
    }
}

fn is_of_interest(index: &FileIndex) -> bool {
    let is_called = |name: &&str| index.calls.contains_key(*name);
    index.imports.uses("torch")
        && (["compile", "export", "script", "trace"].iter().any(is_called)
            || index.roots.iter().any(|site| site.kind == ag_index::dialect::RootKind::TorchCompile))
}

fn check(ctx: &FileContext) {
    for mismatch in evaluation::mismatches(ctx) {
        ctx.report(&TORCH_SIZES, mismatch.range, mismatch.message)
            .help("change the sizes of the modules or inputs so that they agree")
            .emit();
    }
}
