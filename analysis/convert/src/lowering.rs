//! The state of the lowering of one function, shared by the passes.

use std::cell::RefCell;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use super::names::{Identifiers, Namer};
use super::notes::Notes;
use super::options::Options;
use super::tree::blocks;

/// What is the same for all functions of a file.
pub(super) struct Context<'a> {
    pub(super) source: &'a str,
    pub(super) options: &'a Options,
    pub(super) identifiers: &'a Identifiers<'a>,
}

/// The dtype and the shape of what a list holds.
pub(super) type ElementType = (Option<Expr>, Option<Expr>);

/// What the passes know of the function that they convert.
pub(super) struct LoweringContext<'a> {
    pub(super) source: &'a str,
    pub(super) options: &'a Options,
    pub(super) identifiers: &'a Identifiers<'a>,
    pub(super) names: &'a Namer<'a>,
    pub(super) notes: &'a Notes,
    pub(super) name: Name,
    /// The variable of its `FunctionScope`.
    pub(super) scope: Name,
    /// Whether it is part of another function, or of a module that is converted as a whole.
    pub(super) is_nested: bool,
    pub(super) is_async: bool,
    /// The class whose body it stands in, through functions around it: what `__name` is mangled with.
    pub(super) class: Option<Name>,
    pub(super) first_parameter: Option<Name>,
    /// Variables, its own and those of functions around it, that may be `Undefined` in a graph.
    pub(super) maybe_undefined: RefCell<FxHashSet<Name>>,
    /// What `set_element_type` said: dtype and shape.
    pub(super) element_types: RefCell<FxHashMap<Name, ElementType>>,
    /// Runs the passes on a function nested in this one: given, so that no pass imports the pipeline.
    pub(super) lower_nested: LowerFunction,
}

/// Runs the passes on a function.
pub(super) type LowerFunction = fn(&LoweringContext<'_>, &mut ast::StmtFunctionDef);

impl<'a> LoweringContext<'a> {
    /// A function that no other one contains. `scope` is the root of its scope's name.
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

/// The statements of a block at any depth that are not the user's own functions, those made by the
/// passes included.
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
