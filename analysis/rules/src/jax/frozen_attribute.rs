//! Assignment to an attribute of an immutable module or tree.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::targets;
use crate::program::{Bound, Program};
use ag_index::index::FileIndex;

declare_rule! {
    /// ## What it does
    /// Reports methods that assign to an attribute of their object, although objects of this class are immutable: a
    /// module of equinox, a module of `flax.linen`, or a `flax.struct.dataclass`.
    ///
    /// ## Why is this bad?
    /// The assignment raises. Traced code has no state: a changed object has to be returned.
    ///
    /// ## Example
    /// ```python
    /// import equinox as eqx
    /// import jax
    ///
    /// class Mean(eqx.Module):
    ///     total: jax.Array
    ///
    ///     def __call__(self, x):
    ///         self.total = self.total + x
    ///         return self.total
    ///
    /// step = eqx.filter_jit(lambda mean, x: mean(x))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import equinox as eqx
    /// import jax
    ///
    /// class Mean(eqx.Module):
    ///     total: jax.Array
    ///
    ///     def __call__(self, x):
    ///         total = self.total + x
    ///         return total, eqx.tree_at(lambda mean: mean.total, self, total)
    ///
    /// step = eqx.filter_jit(lambda mean, x: mean(x))
    /// ```
    /// In `flax.linen`, keep state in variables: `self.variable("stats", "total", …)`.
    ///
    /// ## What jax reports
    /// `dataclasses.FrozenInstanceError: cannot assign to field 'total'`, or
    /// `flax.errors.SetAttributeFrozenModuleError: Can't set total=… for Module of type Mean: Module instance is frozen
    /// outside of setup method.`
    pub(crate) static JAX_FROZEN_ATTRIBUTE = {
        code: "AG550", name: "jax-frozen-attribute",
        summary: "an attribute of an immutable object is assigned",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(has_frozen_classes, check),
    }
}

/// Returns whether a file imports a library with immutable classes.
fn has_frozen_classes(index: &FileIndex) -> bool {
    index.imports.uses("equinox") || index.imports.uses("flax")
}

/// Methods that may assign attributes although the object is immutable.
const CONSTRUCTORS: [&str; 6] =
    ["__init__", "__post_init__", "__setattr__", "__setstate__", "__check_init__", "setup"];
/// Methods whose first parameter is the class even without a decorator. Classes are not immutable.
const OF_CLASSES: [&str; 3] = ["__new__", "__init_subclass__", "__class_getitem__"];
/// Base classes and decorators that make objects immutable, each with a noun phrase for messages.
const BASES: [(&str, &str); 3] = [
    ("equinox.Module", "a module of equinox"),
    ("flax.linen.Module", "a module of `flax.linen`"),
    ("flax.struct.PyTreeNode", "a `flax.struct.PyTreeNode`"),
];
const DECORATORS: [(&str, &str); 1] = [("flax.struct.dataclass", "a `flax.struct.dataclass`")];

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let mut constructing = None;
    for class in program.classes.iter().copied() {
        let Some(kind) = frozen_kind(ctx, program, class, 0) else { continue };
        let constructing = constructing.get_or_insert_with(|| Constructing::of(program));
        for def in class.body.iter().filter_map(Stmt::as_function_def_stmt) {
            if !constructing.names.contains(def.name.as_str()) {
                check_method(ctx, class, kind, def);
            }
        }
    }
}

/// Returns the base class or decorator that makes the objects of a class immutable, as a noun phrase.
fn frozen_kind<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    class: &'a ast::StmtClassDef,
    depth: usize,
) -> Option<&'static str> {
    let overrides = |statement: &Stmt| {
        statement.as_function_def_stmt().is_some_and(|def| def.name.as_str() == "__setattr__")
    };
    if depth > 3 || class.body.iter().any(overrides) {
        return None;
    }
    let decorated = class.decorator_list.iter().find_map(|it| named(ctx, &it.expression, &DECORATORS));
    decorated.or_else(|| {
        class.bases().iter().find_map(|base| {
            named(ctx, base, &BASES).or_else(|| {
                let name = base.as_name_expr()?;
                match program.value(program.module(), base).0 {
                    Bound::Class(parent) if parent.name.as_str() == name.id.as_str() => {
                        frozen_kind(ctx, program, parent, depth + 1)
                    }
                    _ => None,
                }
            })
        })
    })
}

fn named(ctx: &FileContext, expression: &Expr, known: &[(&str, &'static str)]) -> Option<&'static str> {
    let name = ctx.resolve(expression)?;
    known.iter().find(|(known, _)| *known == name.as_str()).map(|(_, kind)| *kind)
}

fn check_method(ctx: &FileContext, class: &ast::StmtClassDef, kind: &str, def: &ast::StmtFunctionDef) {
    let is_plain = |decorator: &ast::Decorator| match &decorator.expression {
        Expr::Name(name) => !matches!(name.id.as_str(), "staticmethod" | "classmethod"),
        Expr::Attribute(attribute) => attribute.attr.as_str() != "setter",
        Expr::Call(_) => true,
        _ => false,
    };
    let Some(receiver) = def.parameters.posonlyargs.iter().chain(&def.parameters.args).next() else { return };
    if OF_CLASSES.contains(&def.name.as_str()) || !def.decorator_list.iter().all(is_plain) {
        return;
    }
    let receiver = receiver.parameter.name.as_str();
    for statement in ag_syntax::statements::of_function(def) {
        for (target, _) in targets(statement) {
            let Expr::Attribute(attribute) = target else { continue };
            if attribute.value.as_name_expr().is_some_and(|object| object.id == *receiver) {
                report(ctx, class, kind, attribute);
            }
        }
    }
}

fn report(ctx: &FileContext, class: &ast::StmtClassDef, kind: &str, attribute: &ast::ExprAttribute) {
    let name = &class.name;
    ctx.report(
        &JAX_FROZEN_ATTRIBUTE,
        attribute,
        format!("`{}` cannot be assigned: `{name}` is {kind}, whose objects are immutable", attribute.attr),
    )
    .label(ctx.span(name.range()), "this class")
    .help("return the new value, or a changed copy of the object")
    .emit();
}

/// The methods that constructors call, directly or through other methods, in any class of the file.
struct Constructing<'a> {
    names: FxHashSet<&'a str>,
}

impl<'a> Constructing<'a> {
    fn of(program: &Program<'a>) -> Self {
        let mut constructing = Self { names: CONSTRUCTORS.into_iter().collect() };
        loop {
            let before = constructing.names.len();
            for (def, _) in &program.functions {
                if constructing.names.contains(def.name.as_str()) {
                    constructing.visit_body(&def.body);
                }
            }
            if constructing.names.len() == before {
                return constructing;
            }
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Constructing<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Attribute(attribute) = expression {
            self.names.insert(attribute.attr.as_str());
        }
        source_order::walk_expr(self, expression);
    }
}
