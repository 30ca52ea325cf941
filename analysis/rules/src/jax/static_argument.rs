//! Unhashable values of static arguments.

use ruff_text_size::Ranged;

use super::super::declare::declare_rule;
use super::super::{FileContext, FunctionContext};
use super::is_of_interest;
use super::jitted_calls::{Argument, arguments};
use crate::object_changes::object_changes;
use ag_db::Document;
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_index::facts::{Alternative, Fact};
use ag_index::modules::document_of;

declare_rule! {
    /// ## What it does
    /// Reports values that are not hashable (lists, dictionaries, sets, arrays, instances of a dataclass that is not
    /// frozen) passed to a static argument of a jitted function. Instances of dataclasses, lists, dictionaries
    /// and sets are also found by their types, and the call may be in another file.
    ///
    /// ## Why is this bad?
    /// JAX caches one compiled function for each value of the static arguments, keyed by hash. Lists,
    /// dictionaries, sets and arrays are not hashable, so the call raises.
    ///
    /// ## Example
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, static_argnames="shape")
    /// def shaped(x, shape):
    ///     return x.reshape(shape)
    ///
    /// shaped(jnp.ones(6), shape=[2, 3])
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, static_argnames="shape")
    /// def shaped(x, shape):
    ///     return x.reshape(shape)
    ///
    /// shaped(jnp.ones(6), shape=(2, 3))
    /// ```
    ///
    /// ## What jax reports
    /// `ValueError: Non-hashable static arguments are not supported.`
    pub(crate) static JAX_STATIC = {
        code: "AG507", name: "jax-static",
        summary: "a static argument is not hashable",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: FileAndFunction(is_of_interest, check, check_parameters),
    }
}

fn check(ctx: &FileContext) {
    for argument in arguments(ctx) {
        if !argument.is_static || argument.kind.hashable {
            continue;
        }
        let kind = &argument.kind.noun;
        ctx.report(
            &JAX_STATIC,
            argument.call,
            format!(
                "{kind} is not hashable, but `{}` is a static argument of `{}`",
                argument.parameter, argument.function
            ),
        )
        .label(ctx.span(argument.value.range()), kind.clone())
        .help(help(&argument))
        .emit();
    }
}

/// Reports calls that pass a list, a dictionary, or an instance of a dataclass without a hash for a static parameter. Its
/// class is known from the types of the calls:
///
/// ```python
/// class Experiment:
///     def __init__(self, config):
///         self.config = config
///
///     def run(self, x):
///         return simulate(x, self.config)
/// ```
fn check_parameters(ctx: &FunctionContext) {
    if ctx.root() != Some(RootKind::JaxJit) {
        return;
    }
    for (position, parameter) in ctx.stage.parameters.iter_enumerated() {
        let Some(fact) = ctx.types.parameters.get(position) else { continue };
        if fact.unknown
            || parameter.source != Source::CallSites
            || !ctx.stage.static_parameters.contains(position)
        {
            continue;
        }
        let (kind, help) = match fact.alternatives.as_slice() {
            [Alternative::Instance { class, .. }] if is_unhashable(ctx, fact) => {
                (format!("an instance of `{class}`"), INSTANCE_HELP)
            }
            [Alternative::Container { class, .. }] if matches!(class.as_str(), "list" | "dict" | "set") => {
                (format!("a {class}"), HELP)
            }
            _ => continue,
        };
        let message = format!(
            "{kind} is not hashable, but `{}` is a static argument of `{}`",
            parameter.name,
            ctx.def().name
        );
        let calls = || parameter.why.iter().filter_map(|step| step.span.as_ref()).skip(1);
        let own = calls().find(|span| span.document == ctx.document);
        let report = match own {
            Some(call) => ctx.report_at(&JAX_STATIC, call.clone(), message),
            None => {
                let report = ctx.report(&JAX_STATIC, &ctx.def().name, message);
                match calls().next() {
                    Some(call) => report.label(call.clone(), "called here"),
                    None => report,
                }
            }
        };
        report.help(help).emit();
    }
}

/// Returns whether a value is an instance of a class of the project whose objects have no hash.
fn is_unhashable(ctx: &FunctionContext, fact: &Fact) -> bool {
    let [Alternative::Instance { module, class }] = fact.alternatives.as_slice() else { return false };
    let defines = |document: Document| {
        object_changes(ctx.db, document).classes.get(class).is_some_and(|class| class.is_unhashable)
    };
    document_of(ctx.db, ctx.document, module.as_deref()).is_some_and(defines)
}

const HELP: &str = "pass a tuple or another hashable value";
const INSTANCE_HELP: &str = "make it a frozen dataclass, or define `__eq__` and `__hash__`";

fn help(argument: &Argument) -> &'static str {
    match argument.kind.noun.as_str() {
        "an array" => "pass a Python number or a tuple, or do not make the argument static",
        noun if noun.starts_with("an instance") && !noun.contains(" with ") => INSTANCE_HELP,
        _ => HELP,
    }
}
