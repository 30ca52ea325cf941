//! One function on its own, as TensorFlow loads it: without decorators, annotations and the values
//! of defaults, which come from the live function.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

use super::Converter;
use super::build;
use super::entry::{self, Entry, Node, Place};
use super::functions;
use super::map::SourceMap;
use super::names::Namer;
use super::notes::Notes;
use super::options::{Dialect, Pass, View};
use super::printer::{Printed, Printer};
use super::reason::Reason;
use super::tree::made;
use super::unit::{Context, Unit};

/// A function that has been converted, or not.
#[derive(Clone, Debug)]
pub struct Function {
    pub place: Place,
    /// Why `text` is the function as it was.
    pub reason: Option<Reason>,
    pub text: String,
    pub map: SourceMap,
}

impl Converter<'_> {
    /// Every function, method and lambda of the source by itself, in the order in which they start.
    pub fn functions(&self) -> Vec<Function> {
        let entries = entry::collect(self.text, self.parsed.suite());
        entries.iter().map(|entry| self.function(entry)).collect()
    }

    fn function(&self, entry: &Entry<'_>) -> Function {
        let reason = self.reason(entry);
        let printed = if reason.is_some() {
            Printer::new(&self.source).source_text(entry.place.range)
        } else {
            match entry.node {
                Node::Function(def) => self.bare_function(def, entry),
                Node::Lambda(lambda) => self.bare_lambda(lambda, entry),
            }
        };
        Function { place: entry.place.clone(), reason, text: printed.text, map: printed.map }
    }

    fn bare_function(&self, def: &ast::StmtFunctionDef, entry: &Entry<'_>) -> Printed {
        let mut def = def.clone();
        convert(&self.context(), &mut def, entry, false);
        if let Some(class) = &entry.class {
            let mangled = Mangled { prefix: mangling_prefix(class) };
            mangled.visit_body(&mut def.body);
        }
        def.decorator_list = ast::DecoratorList::new();
        def.returns = None;
        def.type_params = None;
        bare(&mut def.parameters);
        def.name = build::identifier(&format!("tf__{}", def.name.id));
        def.node_index = made();
        Printer::new(&self.source).statements(&[Stmt::FunctionDef(def)], "")
    }

    fn bare_lambda(&self, lambda: &ast::ExprLambda, entry: &Entry<'_>) -> Printed {
        let mut lambda = lambda.clone();
        convert_lambda(&self.context(), &mut lambda, entry, false);
        if let Some(parameters) = &mut lambda.parameters {
            bare(parameters);
        }
        lambda.node_index = made();
        let mut lambda = Expr::Lambda(lambda);
        if let Some(class) = &entry.class {
            Mangled { prefix: mangling_prefix(class) }.visit_expr(&mut lambda);
        }
        Printer::new(&self.source).assignment("tf__lam", &lambda)
    }
}

/// Takes the user's function through the passes. `is_nested`: its module is converted with it.
pub(super) fn convert(
    context: &Context<'_>,
    def: &mut ast::StmtFunctionDef,
    entry: &Entry<'_>,
    is_nested: bool,
) {
    let names = Namer::new(context.identifiers);
    let notes = Notes::default();
    let unit = Unit {
        source: context.source,
        options: context.options,
        identifiers: context.identifiers,
        names: &names,
        notes: &notes,
        name: def.name.id.clone(),
        scope: names.fresh("fscope"),
        is_nested,
        is_async: def.is_async,
        class: entry.class.clone(),
        first_parameter: functions::first_parameter(&def.parameters),
        maybe_undefined: RefCell::default(),
        element_types: RefCell::new(FxHashMap::default()),
    };
    unit.convert(def);
}

/// `lambda x: body` becomes `lambda x: ag__.with_function_scope(lambda lscope: body, 'lscope', …)`.
pub(super) fn convert_lambda(
    context: &Context<'_>,
    lambda: &mut ast::ExprLambda,
    entry: &Entry<'_>,
    is_nested: bool,
) {
    let names = Namer::new(context.identifiers);
    let notes = Notes::default();
    let scope = names.fresh("lscope");
    let parameters = lambda.parameters.as_deref();
    let unit = Unit {
        source: context.source,
        options: context.options,
        identifiers: context.identifiers,
        names: &names,
        notes: &notes,
        name: Name::new_static("lambda"),
        scope: scope.clone(),
        is_nested,
        is_async: false,
        class: entry.class.clone(),
        first_parameter: parameters.and_then(functions::first_parameter),
        maybe_undefined: RefCell::default(),
        element_types: RefCell::new(FxHashMap::default()),
    };
    let origin = lambda.body.range();
    let body = std::mem::replace(&mut *lambda.body, build::none(origin));
    let body = unit.convert_expression(body);
    let has_scope = context.options.view == View::Full && context.options.dialect != Dialect::Snek;
    let wrapped = has_scope && unit.runs(Pass::Functions);
    *lambda.body = if wrapped {
        let options = functions::conversion_options(&unit, TextRange::empty(origin.end()));
        let thunk = build::lambda(&[&scope], body);
        build::operator("with_function_scope", vec![thunk, build::string(&scope, origin), options], origin)
    } else {
        body
    };
}

/// Leaves of parameters the names, and `None` for the defaults.
fn bare(parameters: &mut ast::Parameters) {
    let origin = TextRange::empty(TextSize::default());
    let lists = [&mut parameters.posonlyargs, &mut parameters.args, &mut parameters.kwonlyargs];
    for parameter in lists.into_iter().flatten() {
        parameter.parameter.annotation = None;
        if let Some(default) = &mut parameter.default {
            **default = build::none(origin);
        }
    }
}

/// `_A` for a class `__A`; nothing for a class named by underscores alone.
fn mangling_prefix(class: &str) -> String {
    match class.trim_start_matches('_') {
        "" => String::new(),
        name => format!("_{name}"),
    }
}

/// Writes out what Python does with `self.__x` in a class body, for a function that leaves it.
struct Mangled {
    prefix: String,
}

impl Mangled {
    fn name(&self, name: &Name) -> Option<Name> {
        let is_private = name.starts_with("__") && !name.ends_with("__") && !self.prefix.is_empty();
        is_private.then(|| Name::new(format!("{}{name}", self.prefix)))
    }
}

impl Transformer for Mangled {
    fn visit_stmt(&self, statement: &mut Stmt) {
        if let Stmt::ClassDef(_) = statement {
            return;
        }
        transformer::walk_stmt(self, statement);
    }

    fn visit_expr(&self, expression: &mut Expr) {
        transformer::walk_expr(self, expression);
        match expression {
            Expr::Name(node) => {
                if let Some(name) = self.name(&node.id) {
                    node.id = name;
                    node.node_index = made();
                }
            }
            Expr::Attribute(node) => {
                if let Some(name) = self.name(&node.attr.id) {
                    node.attr.id = name;
                    node.node_index = made();
                }
            }
            _ => {}
        }
    }
}
