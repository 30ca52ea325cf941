//! Pass 13: wraps a function body in its `FunctionScope`, and converts the nested functions.
//!
//! ```python
//! def f(x):                   def f(x):
//!     """Doc."""                  """Doc."""
//!     g = lambda y: y    =>       with ag__.FunctionScope('f', 'fscope', ag__.STD) as fscope:
//!     return g(x)                     g = ag__.autograph_artifact(lambda y: y)
//!                                     return fscope.ret(ag__.converted_call(g, (x,), None, fscope), True)
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use std::cell::RefCell;

use super::build;
use super::expressions::{self, Rewrite, Walk};
use super::lowering::{LoweringContext, first_parameter};
use super::options::{Features, View};
use super::reason;
use super::tree::{blocks, docstring, is_synthesized};

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    nested(ctx, body);
    lambdas(ctx, body);
    if ctx.options.view == View::Simplified || body.is_empty() {
        return;
    }
    let origin = TextRange::empty(body.first().map_or_else(Default::default, Ranged::start));
    let mut rest: ast::Suite = body.drain(docstring(body)..).collect();
    if rest.is_empty() {
        rest.push(build::pass());
    }
    let arguments = vec![
        build::string(&ctx.name, origin),
        build::string(&ctx.scope, origin),
        conversion_options(ctx, origin),
    ];
    body.push(build::with(build::operator("FunctionScope", arguments, origin), &ctx.scope, rest, origin));
}

/// Marks lambdas with `ag__.autograph_artifact`, so that they are not converted again at run time. They are already
/// converted, together with their enclosing function.
pub(super) fn lambdas(ctx: &LoweringContext, body: &mut ast::Suite) {
    if ctx.options.view == View::Full {
        expressions::rewrite(body, &Lambdas);
    }
}

/// Returns the conversion options of a function. They apply to the functions that it calls, too.
pub(super) fn conversion_options(ctx: &LoweringContext, origin: TextRange) -> Expr {
    if ctx.is_nested {
        return build::operator_name("STD", origin);
    }
    let feature = |name| build::attribute(build::operator_name("Feature", origin), name, origin);
    let features = match ctx.options.features {
        Features::ALL => feature("ALL"),
        features => build::tuple(features.names().map(feature).collect(), origin),
    };
    let truth = || build::boolean(true, origin);
    let keywords = vec![
        build::keyword("recursive", truth()),
        build::keyword("user_requested", truth()),
        build::keyword("optional_features", features),
        build::keyword("internal_convert_user_code", truth()),
    ];
    build::call_with(build::operator_name("ConversionOptions", origin), Vec::new(), keywords, origin)
}

struct Lambdas;

impl Rewrite for Lambdas {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        if let Expr::Lambda(lambda) = expression
            && !is_synthesized(lambda)
        {
            let origin = lambda.range;
            let lambda = std::mem::replace(expression, build::none(origin));
            *expression = build::operator("autograph_artifact", vec![lambda], origin);
        }
    }
}

/// Converts the functions nested in a body, including those inside generated functions.
pub(super) fn nested(ctx: &LoweringContext, body: &mut ast::Suite) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(def) if is_synthesized(def) => nested(ctx, &mut def.body),
            Stmt::FunctionDef(def) => function(ctx, def, ctx.class.as_ref()),
            Stmt::ClassDef(class) => {
                let name = class.name.id.clone();
                methods(ctx, &mut class.body, &name);
            }
            _ => blocks(statement).into_iter().for_each(|inner| nested(ctx, inner)),
        }
    }
}

/// Converts the methods of a class. Lambdas in the class body are not converted, because they cannot access its scope.
fn methods(ctx: &LoweringContext, body: &mut ast::Suite, class: &Name) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(def) => function(ctx, def, Some(class)),
            Stmt::ClassDef(inner) => {
                let name = inner.name.id.clone();
                methods(ctx, &mut inner.body, &name);
            }
            _ => blocks(statement).into_iter().for_each(|inner| methods(ctx, inner, class)),
        }
    }
}

fn function(ctx: &LoweringContext, def: &mut ast::StmtFunctionDef, class: Option<&Name>) {
    if reason::of_function(def, ctx.options.features).is_none() {
        let inner = LoweringContext {
            name: def.name.id.clone(),
            scope: ctx.names.fresh("fscope"),
            is_async: def.is_async,
            is_nested: true,
            class: class.cloned(),
            first_parameter: first_parameter(&def.parameters),
            maybe_undefined: RefCell::new(ctx.maybe_undefined.borrow().clone()),
            element_types: RefCell::default(),
            ..*ctx
        };
        (inner.lower_nested)(&inner, def);
    }
    if ctx.options.has_scopes() {
        mark_converted(def);
    }
}

/// Adds `@ag__.autograph_artifact` below all other decorators, so that the function is not converted again.
pub(super) fn mark_converted(def: &mut ast::StmtFunctionDef) {
    let origin = TextRange::empty(def.name.start());
    def.decorator_list.push(ast::Decorator {
        range: origin,
        node_index: super::tree::synthesized(),
        expression: build::operator_name("autograph_artifact", origin),
    });
}
