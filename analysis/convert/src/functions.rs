//! Pass 13: the scope that a converted function runs in, and the functions nested in it.
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
use super::options::{Features, View};
use super::reason;
use super::tree::{blocks, docstring, is_made};
use super::unit::Unit;

pub(super) fn run(unit: &Unit, body: &mut ast::Suite) {
    nested(unit, body);
    lambdas(unit, body);
    if unit.options.view == View::Simplified || body.is_empty() {
        return;
    }
    let origin = TextRange::empty(body.first().map_or_else(Default::default, Ranged::start));
    let mut rest: ast::Suite = body.drain(docstring(body)..).collect();
    if rest.is_empty() {
        rest.push(build::pass());
    }
    let arguments = vec![
        build::string(&unit.name, origin),
        build::string(&unit.scope, origin),
        conversion_options(unit, origin),
    ];
    body.push(build::with(build::operator("FunctionScope", arguments, origin), &unit.scope, rest, origin));
}

/// Marks lambdas as converted with the function that they stand in.
pub(super) fn lambdas(unit: &Unit, body: &mut ast::Suite) {
    if unit.options.view == View::Full {
        expressions::rewrite(body, &Lambdas);
    }
}

/// The options that a function was converted with, for what it calls.
pub(super) fn conversion_options(unit: &Unit, origin: TextRange) -> Expr {
    if unit.is_nested {
        return build::operator_name("STD", origin);
    }
    let feature = |name| build::attribute(build::operator_name("Feature", origin), name, origin);
    let features = match unit.options.features {
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
        walk.parts(expression);
        if let Expr::Lambda(lambda) = expression
            && !is_made(lambda)
        {
            let origin = lambda.range;
            let lambda = std::mem::replace(expression, build::none(origin));
            *expression = build::operator("autograph_artifact", vec![lambda], origin);
        }
    }
}

/// Converts the functions that stand in a body, in the functions made of its blocks too.
pub(super) fn nested(unit: &Unit, body: &mut ast::Suite) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(def) if is_made(def) => nested(unit, &mut def.body),
            Stmt::FunctionDef(def) => function(unit, def, unit.class.as_ref()),
            Stmt::ClassDef(class) => {
                let name = class.name.id.clone();
                methods(unit, &mut class.body, &name);
            }
            _ => blocks(statement).into_iter().for_each(|inner| nested(unit, inner)),
        }
    }
}

/// A class body runs in a scope of its own, which no lambda sees: only its methods are converted.
fn methods(unit: &Unit, body: &mut ast::Suite, class: &Name) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(def) => function(unit, def, Some(class)),
            Stmt::ClassDef(inner) => {
                let name = inner.name.id.clone();
                methods(unit, &mut inner.body, &name);
            }
            _ => blocks(statement).into_iter().for_each(|inner| methods(unit, inner, class)),
        }
    }
}

fn function(unit: &Unit, def: &mut ast::StmtFunctionDef, class: Option<&Name>) {
    if reason::of_function(def).is_none() {
        let inner = Unit {
            name: def.name.id.clone(),
            scope: unit.names.fresh("fscope"),
            is_async: def.is_async,
            is_nested: true,
            class: class.cloned(),
            first_parameter: first_parameter(&def.parameters),
            maybe_undefined: RefCell::new(unit.maybe_undefined.borrow().clone()),
            element_types: RefCell::default(),
            ..*unit
        };
        inner.convert(def);
    }
    if unit.options.has_scopes() {
        mark_converted(def);
    }
}

/// `@ag__.autograph_artifact`, below all other decorators: it is not to be converted again.
pub(super) fn mark_converted(def: &mut ast::StmtFunctionDef) {
    let origin = TextRange::empty(def.name.start());
    def.decorator_list.push(ast::Decorator {
        range: origin,
        node_index: super::tree::made(),
        expression: build::operator_name("autograph_artifact", origin),
    });
}

pub(super) fn first_parameter(parameters: &ast::Parameters) -> Option<Name> {
    let first = parameters.posonlyargs.first().or(parameters.args.first());
    first.map(|parameter| parameter.parameter.name.id.clone())
}
