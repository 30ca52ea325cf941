//! One function on its way through the passes.

use std::cell::RefCell;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

use super::names::{Identifiers, Namer};
use super::notes::Notes;
use super::options::{Dialect, Options, Pass};
use super::tree::blocks;
use super::{
    asserts, breaks, calls, conditional_expressions, continues, control_flow, directives, functions, jumps,
    keep, lists, logical_expressions, returns, slices, snek, variables,
};

/// What is the same for all functions of a file.
pub(super) struct Context<'a> {
    pub(super) source: &'a str,
    pub(super) options: &'a Options,
    pub(super) identifiers: &'a Identifiers<'a>,
}

/// The dtype and the shape of what a list holds.
pub(super) type ElementType = (Option<Expr>, Option<Expr>);

/// What the passes know of the function that they convert.
pub(super) struct Unit<'a> {
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
}

impl<'a> Unit<'a> {
    /// A function that no other one contains. `scope` is the root of its scope's name.
    pub(super) fn outermost(
        context: &Context<'a>,
        names: &'a Namer<'a>,
        notes: &'a Notes,
        name: Name,
        scope: &'static str,
        parameters: Option<&ast::Parameters>,
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
            first_parameter: parameters.and_then(functions::first_parameter),
            maybe_undefined: RefCell::default(),
            element_types: RefCell::default(),
        }
    }
}

impl Unit<'_> {
    /// Runs the passes on a body, and on the functions nested in it. `def` declares the parameters.
    pub(super) fn convert(&self, def: &mut ast::StmtFunctionDef) {
        let mut body = std::mem::take(&mut def.body);
        jumps::nest_elifs(&mut body);
        if self.is_async {
            keep::awaiting(self.notes, &mut body, false);
        }
        let is_snek = self.options.dialect == Dialect::Snek;
        for pass in Pass::ALL {
            match pass {
                Pass::Returns if is_snek => snek::returns(self, &mut body),
                Pass::Functions if is_snek => snek::functions(self, &mut body),
                Pass::Asserts
                | Pass::Lists
                | Pass::Slices
                | Pass::Calls
                | Pass::ConditionalExpressions
                | Pass::LogicalExpressions
                | Pass::Variables
                    if is_snek => {}
                Pass::Directives => directives::run(self, &mut body),
                Pass::Breaks => breaks::run(self, &mut body),
                Pass::Continues => continues::run(self, &mut body),
                Pass::Returns => returns::run(self, &mut body),
                Pass::Asserts => asserts::run(self, &mut body),
                Pass::Lists => lists::run(self, &def.parameters, &mut body),
                Pass::Slices => slices::run(self, &mut body),
                Pass::Calls => calls::run(self, &mut body),
                Pass::ControlFlow => control_flow::run(self, &def.parameters, &mut body),
                Pass::ConditionalExpressions => conditional_expressions::run(self, &mut body),
                Pass::LogicalExpressions => logical_expressions::run(self, &mut body),
                Pass::Variables => variables::run(self, &mut body),
                Pass::Functions => functions::run(self, &mut body),
            }
            if self.options.until == Some(pass) {
                if pass != Pass::Functions {
                    functions::nested(self, &mut body);
                }
                break;
            }
        }
        def.body = body;
    }

    /// The passes on an expression that is a function's whole body.
    pub(super) fn convert_expression(&self, expression: Expr) -> Expr {
        let origin = expression.range();
        if self.options.dialect == Dialect::Snek {
            return expression;
        }
        let mut body: ast::Suite = [super::build::expression(expression, origin)].into_iter().collect();
        for pass in Pass::ALL.into_iter().filter(|pass| self.options.runs(*pass)) {
            match pass {
                Pass::Lists => lists::run(self, &ast::Parameters::default(), &mut body),
                Pass::Slices => slices::run(self, &mut body),
                Pass::Calls => calls::run(self, &mut body),
                Pass::ConditionalExpressions => conditional_expressions::run(self, &mut body),
                Pass::LogicalExpressions => logical_expressions::run(self, &mut body),
                Pass::Functions => functions::lambdas(self, &mut body),
                _ => {}
            }
        }
        match body.pop() {
            Some(Stmt::Expr(node)) => *node.value,
            _ => super::build::none(origin),
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
            && super::tree::is_made(def)
        {
            for_each(&mut def.body, visit);
        }
    }
}
