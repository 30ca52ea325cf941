//! Side effects and clocks under torch.compile.

use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::{break_severity, compiles, handles_tracing};

declare_rule! {
    /// ## What it does
    /// Reports calls in a function compiled by `torch.compile` that the compiler cannot trace: `print`, `open`,
    /// `input`, `breakpoint`, the clocks of `time`, the functions of `random`.
    ///
    /// ## Why is this bad?
    /// The compiler inserts a graph break: the call runs in Python between two graphs. With `fullgraph=True` it
    /// raises.
    ///
    /// A call within the arguments of another such call is not reported again: it leaves the graph with the outer one.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def double(x):
    ///     print("sum", x.sum())
    ///     return x * 2
    ///
    /// double(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def double(x):
    ///     return x * 2
    ///
    /// x = torch.ones(3)
    /// print("sum", x.sum())
    /// double(x)
    /// ```
    /// For random numbers use `torch.rand` or a similar function, which becomes part of the graph.
    ///
    /// ## What torch reports
    /// `Failed to trace builtin operator: Dynamo does not know how to trace builtin operator print`, or
    /// `Attempted to call function marked as skipped: Dynamo does not know how to trace the builtin
    /// time.time.`
    pub(crate) static TORCH_GRAPH_BREAK_BUILTIN = {
        code: "AG514", name: "torch-graph-break-builtin",
        summary: "a call that cannot be traced causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

const CLOCKS: [&str; 7] =
    ["monotonic", "perf_counter", "perf_counter_ns", "process_time", "sleep", "time", "time_ns"];
const DRAWS: [&str; 6] = ["choice", "gauss", "randint", "random", "randrange", "uniform"];

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    // Expressions come in pre-order: a call after the calls that contain it.
    let mut reported: Option<TextRange> = None;
    for expression in ctx.expressions() {
        let Some(call) = expression.as_call_expr() else { continue };
        let name = match ctx.resolve(&call.func) {
            Some(name) => match name.rsplit_once('.') {
                Some(("time", function)) if CLOCKS.contains(&function) => name.to_string(),
                Some(("random", function)) if DRAWS.contains(&function) => name.to_string(),
                _ => continue,
            },
            None => match ctx.builtin(&call.func) {
                Some(name @ ("print" | "open" | "input" | "breakpoint")) => name.to_owned(),
                _ => continue,
            },
        };
        let range = expression.range();
        if handles_tracing(ctx, range) || reported.is_some_and(|outer| outer.contains_range(range)) {
            continue;
        }
        reported = Some(range);
        ctx.report(
            &TORCH_GRAPH_BREAK_BUILTIN,
            expression,
            format!("`{name}` cannot be traced: the call causes a graph break"),
        )
        .severity(break_severity(ctx))
        .help("call it outside the compiled function")
        .emit();
    }
}
