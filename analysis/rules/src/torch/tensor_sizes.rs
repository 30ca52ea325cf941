//! What the evaluation of a program finds: operations on Tensors of wrong sizes or dtypes in compiled and exported code.
//! It also finds places where other rules apply, and reports these under their codes.

use super::super::declare::declare_rule;
use super::evaluated;
use crate::evaluation;
use ag_db::{Db, Document};
use ag_index::index::file_index;

declare_rule! {
    /// ## What it does
    /// Reports operations and modules that do not accept the sizes or dtypes of their inputs, in code that
    /// `torch.compile`, `torch.export` or TorchScript runs. The sizes are those that the program of the file computes: it creates the
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
        summary: "an operation does not accept the sizes or dtypes of its inputs",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: FileInProject(is_of_interest, evaluated::report),
    }
}

/// The program may be in another file of the project.
fn is_of_interest(db: &dyn Db, document: Document) -> bool {
    file_index(db, document).imports.uses("torch") && !evaluation::programs(db, document).is_empty()
}
