//! Options of `jax.jit` that do not fit the function: `static_argnames`, `donate_argnums`.

use ruff_python_ast::{self as ast, Expr};

use super::super::FileContext;
use super::Fault;
use super::evaluate::Evaluator;
use super::transformed::Transformed;
use crate::program::Bound;
use ag_syntax::expressions::{integer, sequence};

pub(super) fn fault<'a>(evaluator: &Evaluator<'_, 'a>, transformed: &Transformed<'a>) -> Option<Fault<'a>> {
    let keywords = &transformed.made.arguments.keywords;
    let parameters = match evaluator.program.value(transformed.scope, transformed.function()?).0 {
        Bound::Function(def) if def.decorator_list.is_empty() => Some(&*def.parameters),
        Bound::Value(Expr::Lambda(lambda)) => lambda.parameters.as_deref(),
        _ => None,
    };
    device_options(keywords).or_else(|| options(keywords, parameters?))
}

/// Returns the fault in the options of a decorator: `@partial(jax.jit, static_argnames="mode")`,
/// `@jax.jit(static_argnames="mode")`.
pub(super) fn of_decorators<'a>(ctx: &FileContext<'a>, def: &'a ast::StmtFunctionDef) -> Option<Fault<'a>> {
    let call = def.decorator_list.last()?.expression.as_call_expr()?;
    let is_jit = |expression: &Expr| ctx.resolve(expression).is_some_and(|name| name == "jax.jit");
    let partial = ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
        && call.arguments.args.len() == 1
        && is_jit(&call.arguments.args[0]);
    (partial || is_jit(&call.func) && call.arguments.args.is_empty())
        .then(|| options(&call.arguments.keywords, &def.parameters))
        .flatten()
}

/// Returns the fault if `device=` is combined with `backend=` or with shardings. A variable may be None, so it does not
/// count.
fn device_options<'a>(keywords: &'a [ast::Keyword]) -> Option<Fault<'a>> {
    let given = |name: &str| {
        let found =
            keywords.iter().find(|keyword| keyword.arg.as_ref().is_some_and(|it| it.as_str() == name));
        found
            .map(|keyword| &keyword.value)
            .filter(|value| matches!(value, Expr::Call(_) | Expr::Subscript(_) | Expr::StringLiteral(_)))
    };
    let (device, backend) = (given("device"), given("backend"));
    let device_or_backend = device.or(backend)?;
    let shardings = ["in_shardings", "out_shardings"].into_iter().find_map(given);
    let at = if device.is_some() && backend.is_some() { Some(device_or_backend) } else { shardings };
    at.map(|at| Fault {
        message: "`device`, `backend` and shardings of `jax.jit` cannot be combined".to_owned(),
        help: "pass one of them",
        at,
    })
}

fn options<'a>(keywords: &'a [ast::Keyword], parameters: &ast::Parameters) -> Option<Fault<'a>> {
    let positional: Vec<&str> =
        parameters.posonlyargs.iter().chain(&parameters.args).map(|it| it.parameter.name.as_str()).collect();
    let positional_only: Vec<&str> =
        parameters.posonlyargs.iter().map(|it| it.parameter.name.as_str()).collect();
    let keyword_only: Vec<&str> = parameters.kwonlyargs.iter().map(|it| it.parameter.name.as_str()).collect();
    let (mut fixed, mut donated) = (Vec::new(), Vec::new());
    for keyword in keywords {
        let name = keyword.arg.as_ref()?;
        let (of_names, set) = match name.as_str() {
            "static_argnums" => (false, &mut fixed),
            "static_argnames" => (true, &mut fixed),
            "donate_argnums" => (false, &mut donated),
            "donate_argnames" => (true, &mut donated),
            _ => continue,
        };
        for element in sequence(&keyword.value).unwrap_or(std::slice::from_ref(&keyword.value)) {
            if of_names {
                if element.is_number_literal_expr() {
                    return Some(Fault {
                        message: format!("`{name}` contains a number, but must contain names"),
                        help: "pass the names of parameters, or `static_argnums`",
                        at: element,
                    });
                }
                let Some(literal) = element.as_string_literal_expr() else { continue };
                let text = literal.value.to_str();
                if positional_only.contains(&text) {
                    return Some(Fault {
                        message: format!("`{text}` in `{name}` is a positional-only parameter"),
                        help: "use `static_argnums`",
                        at: element,
                    });
                }
                let is_parameter = positional.contains(&text) || keyword_only.contains(&text);
                if !is_parameter && parameters.kwarg.is_none() {
                    return Some(Fault {
                        message: format!("`{text}` in `{name}` is not a parameter of the function"),
                        help: "pass the names of parameters",
                        at: element,
                    });
                }
                let position = positional.iter().position(|it| *it == text);
                set.extend(
                    position.and_then(|position| i64::try_from(position).ok()).map(|it| (it, element)),
                );
            } else {
                let Some(number) = integer(element) else { continue };
                let count = positional.len() as i64;
                if parameters.vararg.is_none() && !(-count..count).contains(&number) {
                    return Some(Fault {
                        message: format!(
                            "`{name}` has {number}, but the function has {count} positional parameters"
                        ),
                        help: "pass positions of parameters, counted from 0",
                        at: element,
                    });
                }
                set.push((if number < 0 { number + count } else { number }, element));
            }
        }
    }
    let (_, at) =
        donated.into_iter().find(|(position, _)| fixed.iter().any(|(other, _)| other == position))?;
    Some(Fault {
        message: "an argument of `jax.jit` is both static and donated".to_owned(),
        help: "donate arrays only",
        at,
    })
}
