//! What the evaluation of a program finds: operations on Tensors of wrong sizes or dtypes in compiled and exported code.
//! It also finds places where other rules apply, and reports these under their codes.

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::break_branch::TORCH_GRAPH_BREAK_BRANCH;
use super::break_builtin::TORCH_GRAPH_BREAK_BUILTIN;
use super::break_item::TORCH_GRAPH_BREAK_ITEM;
use super::evaluation::{self, Found, Kind, Mode};
use super::export_branch::TORCH_EXPORT_BRANCH;
use super::recompile::TORCH_RECOMPILE;
use super::recompiled_call::TORCH_RECOMPILED_CALL;
use super::repeated_changes::{self, Owner};
use super::script_none::SCRIPT_NONE;
use super::trace_constant::TRACE_CONSTANT;
use ag_db::diagnostic::Severity;
use ag_db::{Db, Document};
use ag_index::index::{FileIndex, file_index};
use ruff_python_ast::name::Name;

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
        check: FileInProject(is_of_interest, check),
    }
}

/// The program may be in another file of the project.
fn is_of_interest(db: &dyn Db, document: Document) -> bool {
    file_index(db, document).imports.uses("torch") && !evaluation::programs(db, document).is_empty()
}

/// Returns whether a file compiles, exports or traces functions.
pub(super) fn is_program(index: &FileIndex) -> bool {
    let is_called = |name: &&str| index.calls.contains_key(*name);
    // `re.compile` is no reason.
    let compiles = is_called(&"compile") && !index.imports.uses("re");
    index.imports.uses("torch")
        && (compiles
            || ["export", "script", "trace"].iter().any(is_called)
            || index.roots.iter().any(|site| site.kind == ag_index::dialect::RootKind::TorchCompile))
}

fn check(ctx: &FileContext) {
    const BRANCH: &str = "use `torch.where`, or `torch.cond` to evaluate one branch only";
    let programs = evaluation::programs(ctx.db, ctx.document).iter();
    let found = programs.flat_map(|program| evaluation::found(ctx.db, *program));
    for Found { range, kind, message, .. } in found.filter(|found| found.document == ctx.document) {
        let (range, kind) = (*range, *kind);
        // The rule about functions reports the attribute where the function reads it.
        let name = Name::new(ctx.text(range).rsplit('.').next().unwrap_or_default());
        if kind == Kind::Attribute
            && repeated_changes::find(ctx.db, ctx.document, &Owner::Object, &name).is_some()
        {
            continue;
        }
        let (rule, severity, help) = match kind {
            Kind::Sizes => (
                &TORCH_SIZES,
                Severity::Error,
                "change the sizes of the modules or inputs so that they agree",
            ),
            Kind::Decision(Mode::Compile { full_graph, .. }) => {
                let severity = if full_graph { Severity::Error } else { Severity::Warning };
                (&TORCH_GRAPH_BREAK_BRANCH, severity, BRANCH)
            }
            Kind::Decision(Mode::Export) => (&TORCH_EXPORT_BRANCH, Severity::Error, BRANCH),
            Kind::Decision(Mode::Trace | Mode::Script) => (&TRACE_CONSTANT, Severity::Warning, BRANCH),
            Kind::Conversion => (
                &TORCH_GRAPH_BREAK_ITEM,
                Severity::Warning,
                "keep the Tensor; operators and indexing accept Tensors",
            ),
            Kind::Call { full_graph } => {
                let severity = if full_graph { Severity::Error } else { Severity::Warning };
                (&TORCH_GRAPH_BREAK_BUILTIN, severity, "call it outside the compiled function")
            }
            Kind::None => (
                &SCRIPT_NONE,
                Severity::Error,
                "test it first: `if self.scale is not None:`, or use a default",
            ),
            Kind::Argument => (
                &TORCH_RECOMPILED_CALL,
                Severity::Warning,
                "pass a Tensor, or use the value outside the compiled function",
            ),
            Kind::Attribute => (
                &TORCH_RECOMPILE,
                Severity::Warning,
                "store the number in a buffer (`register_buffer`), or pass it as an argument",
            ),
        };
        ctx.report(rule, range, message).severity(severity).help(help).emit();
    }
}
