//! The state while one function is lowered. The passes share it.

use std::cell::RefCell;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use super::names::{Identifiers, Namer};
use super::notes::Notes;
use super::options::Options;
use super::tree::blocks;

/// The data that all functions of a file share.
pub(super) struct Context<'a> {
    pub(super) source: &'a str,
    pub(super) options: &'a Options,
    pub(super) identifiers: &'a Identifiers<'a>,
}

/// The dtype and shape of the elements of a list.
pub(super) type ElementType = (Option<Expr>, Option<Expr>);

/// The function that the passes convert.
pub(super) struct LoweringContext<'a> {
    pub(super) source: &'a str,
    pub(super) options: &'a Options,
    pub(super) identifiers: &'a Identifiers<'a>,
    pub(super) names: &'a Namer<'a>,
    pub(super) notes: &'a Notes,
    pub(super) name: Name,
    /// The name of the variable that holds its `FunctionScope`.
    pub(super) scope: Name,
    /// Whether it is converted together with another function or with a module.
    pub(super) is_nested: bool,
    pub(super) is_async: bool,
    /// The innermost enclosing class. There may be functions in between. Private names are mangled with the class name.
    pub(super) class: Option<Name>,
    pub(super) first_parameter: Option<Name>,
    /// The variables, its own or of enclosing functions, that may be `Undefined` in a graph.
    pub(super) maybe_undefined: RefCell<FxHashSet<Name>>,
    /// The element types declared by `set_element_type`, by variable.
    pub(super) element_types: RefCell<FxHashMap<Name, ElementType>>,
    /// Converts a function nested in this one. It is a function pointer, so that no pass depends on the pipeline.
    pub(super) lower_nested: LowerFunction,
}

/// Runs the passes on a function.
pub(super) type LowerFunction = fn(&LoweringContext<'_>, &mut ast::StmtFunctionDef);

impl<'a> LoweringContext<'a> {
    /// Returns the context of an outermost function. `scope` is the prefix of the name of its `FunctionScope` variable.
    pub(super) fn outermost(
        context: &Context<'a>,
        names: &'a Namer<'a>,
        notes: &'a Notes,
        name: Name,
        scope: &'static str,
        parameters: Option<&ast::Parameters>,
        lower_nested: LowerFunction,
    ) -> Self {
        Self {
            source: context.source,
            options: context.options,
            identifiers: context.identifiers,
            names,
            notes,
            name,
            scope: names.fresh(scope),
            is_nested: false,
            is_async: false,
            class: None,
            first_parameter: parameters.and_then(first_parameter),
            maybe_undefined: RefCell::default(),
            element_types: RefCell::default(),
            lower_nested,
        }
    }
}

/// Visits the statements of a block at any depth. Enters functions that passes have generated, but not functions of the
/// source.
pub(super) fn for_each(body: &mut ast::Suite, visit: &mut dyn FnMut(&mut Stmt)) {
    for statement in body {
        visit(statement);
        for inner in blocks(statement) {
            for_each(inner, visit);
        }
        if let Stmt::FunctionDef(def) = statement
            && super::tree::is_synthesized(def)
        {
            for_each(&mut def.body, visit);
        }
    }
}

pub(super) fn first_parameter(parameters: &ast::Parameters) -> Option<Name> {
    let first = parameters.posonlyargs.first().or(parameters.args.first());
    first.map(|parameter| parameter.parameter.name.id.clone())
}
