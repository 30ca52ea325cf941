//! Reports what the evaluation finds, each finding under the rule to which it belongs.

use ag_index::index::{FunctionId, file_index};
use ag_staging::results::stages_of;
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;

use super::break_branch::TORCH_GRAPH_BREAK_BRANCH;
use super::break_builtin::TORCH_GRAPH_BREAK_BUILTIN;
use super::break_item::TORCH_GRAPH_BREAK_ITEM;
use super::break_object::TORCH_GRAPH_BREAK_OBJECT;
use super::break_tensor::TORCH_GRAPH_BREAK_TENSOR;
use super::export_branch::TORCH_EXPORT_BRANCH;
use super::export_call::TORCH_EXPORT_CALL;
use super::export_item::TORCH_EXPORT_ITEM;
use super::export_result::TORCH_EXPORT_RESULT;
use super::export_state::TORCH_EXPORT_STATE;
use super::func_gradient::TORCH_GRADIENT;
use super::operator_arguments::TORCH_OPERATOR_ARGUMENTS;
use super::recompile::TORCH_RECOMPILE;
use super::recompiled_call::TORCH_RECOMPILED_CALL;
use super::repeated_changes::{self, Owner};
use super::script_attribute::SCRIPT_ATTRIBUTE;
use super::script_global::SCRIPT_GLOBAL;
use super::script_none::SCRIPT_NONE;
use super::script_untyped::SCRIPT_UNTYPED;
use super::stale_attribute::TORCH_STALE_ATTRIBUTE;
use super::tensor_sizes::TORCH_SIZES;
use super::trace_constant::TRACE_CONSTANT;
use super::vmap::TORCH_VMAP;
use crate::FileContext;
use crate::evaluation::{Found, Kind, Mode, found, programs};
use crate::run::function_diagnostics;
use ag_db::diagnostic::{Anchor, Severity};

/// Reports the findings in a file, from all programs that run code of it.
pub(super) fn report(ctx: &FileContext) {
    const BRANCH: &str = "use `torch.where`, or `torch.cond` to evaluate one branch only";
    let mut known = None;
    let all = programs(ctx.db, ctx.document).iter().flat_map(|program| found(ctx.db, *program));
    for Found { range, kind, message, is_explored, .. } in all.filter(|found| found.document == ctx.document)
    {
        let (range, kind) = (*range, *kind);
        // The rules about functions report most of it, some under other codes.
        let may_repeat = *is_explored || kind == Kind::Bound;
        if may_repeat && known.get_or_insert_with(|| of_functions(ctx)).iter().any(|it| overlap(*it, range)) {
            continue;
        }
        // The rule about functions reports the attribute where the function reads it.
        let name = Name::new(ctx.text(range).rsplit('.').next().unwrap_or_default());
        if kind == (Kind::Attribute { is_float: false })
            && repeated_changes::find(ctx.db, ctx.document, &Owner::Object, &name).is_some()
        {
            continue;
        }
        // A float is compiled again once, and then it is an input of the graph.
        let of_number = |is_float: bool| if is_float { Severity::Info } else { Severity::Warning };
        let (rule, severity, help) = match kind {
            Kind::Sizes => (
                &TORCH_SIZES,
                Severity::Error,
                "change the sizes of the modules or inputs so that they agree",
            ),
            Kind::Bound => (
                &TORCH_EXPORT_CALL,
                Severity::Error,
                "declare a range with `Dim(…, max=…)` that decides it, or remove the condition",
            ),
            Kind::Frozen => (
                &TRACE_CONSTANT,
                Severity::Warning,
                "store the number in a buffer that the module changes, or pass it as an argument",
            ),
            Kind::Count => (&TORCH_SIZES, Severity::Error, "change the number of targets or of parts"),
            Kind::Decision(Mode::Compile { full_graph, .. }) => {
                let severity = if full_graph { Severity::Error } else { Severity::Warning };
                (&TORCH_GRAPH_BREAK_BRANCH, severity, BRANCH)
            }
            Kind::Decision(Mode::Export | Mode::Symbolic) => (&TORCH_EXPORT_BRANCH, Severity::Error, BRANCH),
            Kind::Decision(_) => (&TRACE_CONSTANT, Severity::Warning, BRANCH),
            Kind::Conversion => (
                &TORCH_GRAPH_BREAK_ITEM,
                Severity::Warning,
                "keep the Tensor; operators and indexing accept Tensors",
            ),
            Kind::Call { full_graph } => {
                let severity = if full_graph { Severity::Error } else { Severity::Warning };
                (&TORCH_GRAPH_BREAK_BUILTIN, severity, "call it outside the compiled function")
            }
            Kind::Order { full_graph } => {
                let severity = if full_graph { Severity::Error } else { Severity::Warning };
                (&TORCH_GRAPH_BREAK_TENSOR, severity, "use `torch.sort`, `torch.argsort` or `torch.max`")
            }
            Kind::Creation { full_graph } => {
                let severity = if full_graph { Severity::Error } else { Severity::Warning };
                (&TORCH_GRAPH_BREAK_OBJECT, severity, "create it before the compiled function runs")
            }
            Kind::Result => (
                &TORCH_EXPORT_RESULT,
                Severity::Error,
                "return Tensors, or tuples, lists and NamedTuples of Tensors",
            ),
            Kind::Lambda => (
                &SCRIPT_ATTRIBUTE,
                Severity::Error,
                "define a method or a function, or an attribute for each value",
            ),
            Kind::Inputs => (&TORCH_EXPORT_CALL, Severity::Error, "pass a tuple: `(x,)`"),
            Kind::Number => (
                &TORCH_EXPORT_ITEM,
                Severity::Error,
                "use `.item()` with `torch._check` to constrain the number, or use the size of a Tensor",
            ),
            Kind::Stale => (
                &TORCH_STALE_ATTRIBUTE,
                Severity::Warning,
                "make the program again, or pass the value as an argument",
            ),
            Kind::Input => (
                &TORCH_EXPORT_CALL,
                Severity::Error,
                "declare the dimension dynamic: `dynamic_shapes=({0: Dim.AUTO},)`",
            ),
            Kind::Scripted => {
                (&SCRIPT_UNTYPED, Severity::Error, "annotate the parameter with the type that calls pass")
            }
            Kind::Method => {
                (&SCRIPT_ATTRIBUTE, Severity::Error, "decorate the method with `torch.jit.export`")
            }
            Kind::Called => (&TORCH_EXPORT_CALL, Severity::Error, "call `program.module()(…)`"),
            Kind::Constant => (
                &TORCH_EXPORT_CALL,
                Severity::Error,
                "pass arguments like those of the example, or export another program",
            ),
            Kind::Training => {
                (&TRACE_CONSTANT, Severity::Warning, "use a module: `nn.Dropout`, or set the mode before")
            }
            Kind::Symbol => (
                &TORCH_EXPORT_BRANCH,
                Severity::Error,
                "record the module with `torch.export.export`, where sizes are known",
            ),
            // A rule of its own reports it.
            Kind::Keys => continue,
            Kind::Derivative => (
                &TORCH_GRADIENT,
                Severity::Error,
                "define `setup_context` beside a `forward` without `ctx`, and `generate_vmap_rule = True`",
            ),
            Kind::Gradient => (
                &TORCH_GRADIENT,
                Severity::Error,
                "return a scalar Tensor, and leave the derivative to `torch.func`",
            ),
            Kind::Mapped => (
                &TORCH_VMAP,
                Severity::Error,
                "pass Tensors with the mapped dimension, or set `in_dims` and `out_dims` to `None` for other values",
            ),
            Kind::Stacked => (
                &TORCH_VMAP,
                Severity::Warning,
                "store the number in a buffer, which `stack_module_state` stacks",
            ),
            Kind::Escaped => (&TORCH_VMAP, Severity::Warning, "return the Tensor from the mapped function"),
            Kind::Example => (
                &TORCH_EXPORT_RESULT,
                Severity::Error,
                "wrap the module in one that passes this argument itself",
            ),
            Kind::Global => (
                &SCRIPT_GLOBAL,
                Severity::Error,
                "pass it as an argument, or assign it to an attribute in `__init__`",
            ),
            Kind::Operator => (
                &TORCH_OPERATOR_ARGUMENTS,
                Severity::Error,
                "start with Tensors of the sizes that the body returns",
            ),
            Kind::State => (
                &TORCH_EXPORT_STATE,
                Severity::Warning,
                "return the Tensor, or store it in a buffer (`register_buffer`)",
            ),
            Kind::None => (
                &SCRIPT_NONE,
                Severity::Error,
                "test it first: `if self.scale is not None:`, or use a default",
            ),
            Kind::Argument { is_float } => (
                &TORCH_RECOMPILED_CALL,
                of_number(is_float),
                "pass a Tensor, or use the value outside the compiled function",
            ),
            Kind::Attribute { is_float } => (
                &TORCH_RECOMPILE,
                of_number(is_float),
                "store the number in a buffer (`register_buffer`), or pass it as an argument",
            ),
        };
        // The values with which the code is reached may be others.
        let severity = if *is_explored { severity.min(Severity::Warning) } else { severity };
        ctx.report(rule, range, message).severity(severity).help(help).emit();
    }
}

/// Returns where the rules about functions report something that is not only info.
fn of_functions(ctx: &FileContext) -> Vec<TextRange> {
    let mut found = Vec::new();
    for path in stages_of(ctx.db, ctx.document).keys() {
        let function = FunctionId::new(ctx.db, ctx.document, path.clone());
        let Some((_, entry)) = file_index(ctx.db, ctx.document).definitions.find(path) else { continue };
        let own = function_diagnostics(ctx.db, function)
            .iter()
            .filter(|it| it.severity > Severity::Info && it.span.anchor == Anchor::Function(path.clone()));
        found.extend(own.map(|diagnostic| diagnostic.span.range + entry.range.start()));
    }
    found
}

fn overlap(first: TextRange, second: TextRange) -> bool {
    first.contains_range(second) || second.contains_range(first)
}
