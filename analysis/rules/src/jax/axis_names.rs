//! Names of axes that are not bound: `lax.pmean(x, "batch")` without `axis_name="batch"`, and
//! `NamedSharding(mesh, P("batch"))` for a mesh without this axis.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use super::super::FileContext;
use super::evaluate::Evaluator;
use super::{Fault, kinds, transformed};
use crate::program::{Bound, Program, ScopeId};
use ag_index::callbacks::argument;
use ag_syntax::expressions::sequence;

/// The collective operations, each with the position of its argument for the axis name.
const COLLECTIVE: &[(&str, usize)] = &[
    ("all_gather", 1),
    ("all_to_all", 1),
    ("axis_index", 0),
    ("pmax", 1),
    ("pmean", 1),
    ("pmin", 1),
    ("ppermute", 1),
    ("psum", 1),
    ("psum_scatter", 1),
];

/// A collective operation over an axis whose name is known.
struct Collective<'a> {
    call: &'a ast::ExprCall,
    /// The name of the operation without `jax.lax.`
    function: String,
    axis: &'a str,
    /// The literals that name the axis.
    literals: Vec<&'a ast::ExprStringLiteral>,
}

/// Returns the fault if a `PartitionSpec` names an axis that its mesh does not have. Both must be written out, or bound to
/// names once.
pub(super) fn not_of_mesh<'a>(
    ctx: &FileContext<'a>,
    scope: ScopeId,
    mesh: &'a Expr,
    spec: &'a Expr,
) -> Option<Fault<'a>> {
    let program = ctx.program();
    let call = |value: &'a Expr| match program.value(scope, value).0 {
        Bound::Value(Expr::Call(call)) => Some((ctx.resolve(&call.func)?, call)),
        _ => None,
    };
    let (maker, mesh) = call(mesh)?;
    let names = match maker.as_str() {
        "jax.make_mesh" | "jax.sharding.Mesh" => argument(mesh, 1, "axis_names")?,
        _ => return None,
    };
    let (maker, spec) = call(spec)?;
    if !matches!(maker.as_str(), "jax.sharding.PartitionSpec" | "jax.P") {
        return None;
    }
    let names: Option<Vec<&str>> = match names {
        Expr::StringLiteral(name) => Some(vec![name.value.to_str()]),
        names => {
            sequence(names)?.iter().map(|name| Some(name.as_string_literal_expr()?.value.to_str())).collect()
        }
    };
    let (names, written) = (names?, spec.arguments.args.iter());
    let mut axes = written.flat_map(|axis| sequence(axis).unwrap_or(std::slice::from_ref(axis)));
    let at = axes
        .find(|axis| axis.as_string_literal_expr().is_some_and(|it| !names.contains(&it.value.to_str())))?;
    Some(Fault {
        message: format!("the mesh has no axis `{}`", ctx.text(at).trim_matches(['"', '\''])),
        help: "use one of the names that the mesh declares",
        at,
    })
}

/// Returns the collective operations that only functions call that the file maps without this axis name, each with a
/// message. An axis name that occurs elsewhere in the file is skipped, because it may be bound there.
pub(super) fn unbound<'a>(evaluator: &Evaluator<'_, 'a>) -> Vec<(&'a ast::ExprCall, String)> {
    let (ctx, program) = (evaluator.ctx, evaluator.program);
    let mut collectives = Vec::new();
    for site in &program.calls {
        let Some(name) = ctx.resolve(&site.node.func) else { continue };
        let function = name.strip_prefix("jax.lax.").unwrap_or_default();
        let Some((_, position)) = COLLECTIVE.iter().find(|(known, _)| *known == function) else { continue };
        let axis = argument(site.node, *position, "axis_name");
        if let Some(literals) = axis.and_then(|axis| literals(program, site.scope, axis))
            && let Some(axis) = literals.first().map(|literal| literal.value.to_str())
        {
            collectives.push(Collective { call: site.node, function: function.to_owned(), axis, literals });
        }
    }
    if collectives.is_empty() {
        return Vec::new();
    }
    let mapped = mapped(evaluator);
    let is_unbound = |collective: &&Collective| {
        let axis = collective.axis;
        let quoted = [format!("\"{axis}\""), format!("'{axis}'")];
        let written: usize = quoted.iter().map(|text| ctx.text.matches(text.as_str()).count()).sum();
        let uses: FxHashSet<_> = collectives
            .iter()
            .filter(|other| other.axis == axis)
            .flat_map(|other| &other.literals)
            .map(|literal| literal.range())
            .collect();
        let runs = |(range, name): &(TextRange, Option<&str>)| {
            *name != Some(axis)
                && reached(program, *range).iter().any(|it| it.contains_range(collective.call.range()))
        };
        written == uses.len() && mapped.iter().any(runs)
    };
    collectives
        .iter()
        .filter(is_unbound)
        .map(|Collective { call, function, axis, .. }| {
            (*call, format!("`lax.{function}` uses the axis `{axis}`, which no transformation defines"))
        })
        .collect()
}

/// Returns the literals with which the file names an axis: the argument itself, or the arguments of all calls, if the
/// argument is a parameter. All have the same text, and there is at least one.
fn literals<'a>(
    program: &Program<'a>,
    scope: ScopeId,
    axis: &'a Expr,
) -> Option<Vec<&'a ast::ExprStringLiteral>> {
    let literals: Vec<_> = match axis {
        Expr::StringLiteral(literal) => vec![literal],
        Expr::Name(_) => kinds::Parameter::of(program, scope, axis)?
            .arguments(program)
            .map(|passed| passed?.0.as_string_literal_expr())
            .collect::<Option<_>>()?,
        _ => return None,
    };
    let first = literals.first()?;
    literals.iter().all(|it| it.value.to_str() == first.value.to_str()).then_some(literals)
}

/// Returns the functions that the file maps, each with the name of the axis, if it has one. Functions that are mapped
/// over an axis whose name is unknown are left out.
fn mapped<'a>(evaluator: &Evaluator<'_, 'a>) -> Vec<(TextRange, Option<&'a str>)> {
    let (ctx, program) = (evaluator.ctx, evaluator.program);
    let name_of = |scope: ScopeId, axis: Option<&'a Expr>| match axis {
        None => Some(None),
        Some(axis) => match program.value(scope, axis).0 {
            Bound::Value(Expr::StringLiteral(literal)) => Some(Some(literal.value.to_str())),
            _ => None,
        },
    };
    let mut mapped: Vec<_> = transformed::all(ctx, program)
        .into_iter()
        .filter(|it| matches!(it.name.as_str(), "vmap" | "pmap"))
        .filter_map(|it| {
            let function = evaluator.function(it.scope, it.function()?)?;
            Some((function.range(), name_of(it.scope, it.keyword("axis_name"))?))
        })
        .collect();
    let is_mapping = |function: &Expr| {
        ctx.resolve(function).is_some_and(|name| matches!(name.as_str(), "jax.vmap" | "jax.pmap"))
    };
    for (def, scope) in &program.functions {
        let Some(decorator) = def.decorator_list.last() else { continue };
        let axis = match &decorator.expression {
            Expr::Call(call)
                if ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
                    && call.arguments.args.first().is_some_and(is_mapping) =>
            {
                call.arguments.find_keyword("axis_name").map(|keyword| &keyword.value)
            }
            function if is_mapping(function) => None,
            _ => continue,
        };
        mapped.extend(name_of(*scope, axis).map(|name| (def.range(), name)));
    }
    mapped
}

/// Returns a function and the functions of the file that it calls, directly or through others.
fn reached(program: &Program, function: TextRange) -> Vec<TextRange> {
    let mut reached = vec![function];
    let mut next = 0;
    while let Some(&caller) = reached.get(next) {
        next += 1;
        for site in program.calls.iter().filter(|site| caller.contains_range(site.node.range())) {
            if let (Bound::Function(def), _) = program.value(site.scope, &site.node.func)
                && !reached.iter().any(|known| known.contains_range(def.range()))
            {
                reached.push(def.range());
            }
        }
    }
    reached
}
