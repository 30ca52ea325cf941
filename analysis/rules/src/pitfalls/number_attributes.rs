//! Attributes and methods of the file's classes that give Python numbers.
//!
//! ```python
//! class Schedule:
//!     def __init__(self, rate=0.1):
//!         self.rate = rate                  # a number
//!
//!     def __call__(self, step):
//!         return self.rate * 0.9**step      # a number, if `step` is one
//! ```

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::python_numbers::{is_number_type, returns_arithmetic};
use crate::FileContext;
use crate::program::ScopeId;
use ag_index::callbacks::argument;

pub(super) struct NumberAttributes<'c, 'a> {
    ctx: &'c FileContext<'a>,
    /// The attributes of each class that are Python numbers.
    numbers: FxHashMap<TextRange, FxHashSet<&'a str>>,
}

impl<'c, 'a> NumberAttributes<'c, 'a> {
    pub(super) fn of(ctx: &'c FileContext<'a>) -> Self {
        let classes = ctx.program().classes.iter();
        Self { ctx, numbers: classes.map(|class| (class.range(), of_class(ctx, class))).collect() }
    }

    /// Returns whether an attribute is a number: `self.rate`, `optimizer.rate`.
    pub(super) fn contains(&self, scope: ScopeId, attribute: &'a ast::ExprAttribute) -> bool {
        let class = self.class_of(scope, &attribute.value);
        class.is_some_and(|class| self.numbers[&class.range()].contains(attribute.attr.as_str()))
    }

    /// Returns whether a function returns a number if it is called with numbers: `schedule`, `self.rate_at`.
    pub(super) fn is_arithmetic(&self, scope: ScopeId, function: &'a Expr) -> bool {
        let found = match (self.class_of(scope, function), function) {
            (Some(class), _) => Some((class, "__call__")),
            (None, Expr::Attribute(attribute)) => {
                self.class_of(scope, &attribute.value).map(|class| (class, attribute.attr.as_str()))
            }
            _ => None,
        };
        let Some((class, name)) = found else { return false };
        let Some(def) = method(class, name).filter(|def| def.decorator_list.is_empty()) else { return false };
        let mut names: Vec<&str> = def.parameters.iter().map(|it| it.name().as_str()).collect();
        if names.is_empty() {
            return false;
        }
        let receiver = names.remove(0);
        let numbers = &self.numbers[&class.range()];
        let is_number = |attribute: &ast::ExprAttribute| {
            attribute.value.as_name_expr().is_some_and(|name| name.id == receiver)
                && numbers.contains(attribute.attr.as_str())
        };
        returns_arithmetic(self.ctx, &def.body, &mut names, &is_number) == Some(true)
    }

    /// Returns the class of an object that the file creates, or of `self`.
    fn class_of(&self, scope: ScopeId, object: &'a Expr) -> Option<&'a ast::StmtClassDef> {
        let program = self.ctx.program();
        let own = || program.class_of_name(scope, object.as_name_expr()?);
        program.class_of_object(scope, object).or_else(own)
    }
}

/// Returns the attributes of a class that are numbers: fields such as `rate: float = 0.1`, and attributes to which the
/// constructor assigns a number and no other code of the file assigns.
fn of_class<'a>(ctx: &FileContext<'a>, class: &'a ast::StmtClassDef) -> FxHashSet<&'a str> {
    let program = ctx.program();
    // Methods of other classes store in other objects.
    let is_of_class = |range: TextRange| {
        let mut classes = program.classes.iter().filter(|it| it.range().contains_range(range));
        class.range().contains_range(range) || classes.next().is_none()
    };
    let stores = |name: &str| {
        let stores = program.stores.iter().filter(|it| it.node.attr.as_str() == name);
        stores.filter(|it| is_of_class(it.node.range())).count()
    };
    let fields = class.body.iter().filter_map(Stmt::as_ann_assign_stmt).filter_map(|field| {
        let name = field.target.as_name_expr()?.id.as_str();
        (is_number_type(&field.annotation) && stores(name) == 0).then_some(name)
    });
    let constructor = method(class, "__init__");
    let assigned = constructor.into_iter().flat_map(|def| &def.body).filter_map(|statement| {
        let assign = statement.as_assign_stmt()?;
        let [Expr::Attribute(target)] = assign.targets.as_slice() else { return None };
        let is_number = match &*assign.value {
            Expr::Name(name) => is_number_parameter(ctx, class, constructor?, &name.id),
            value => value.is_number_literal_expr(),
        };
        (is_number && stores(&target.attr) == 1).then_some(target.attr.as_str())
    });
    fields.chain(assigned).collect()
}

/// Returns whether a parameter of a constructor is a number, by its annotation, its default, or all calls of the file.
fn is_number_parameter(
    ctx: &FileContext,
    class: &ast::StmtClassDef,
    constructor: &ast::StmtFunctionDef,
    name: &str,
) -> bool {
    let mut parameters = constructor.parameters.iter().enumerate();
    let Some((position, parameter)) = parameters.find(|(_, it)| it.name().as_str() == name) else {
        return false;
    };
    if let Some(annotation) = parameter.annotation() {
        return is_number_type(annotation);
    }
    if let Some(default) = parameter.default() {
        return default.is_number_literal_expr();
    }
    let Some(position) = position.checked_sub(1) else { return false };
    let program = ctx.program();
    let creations = program.calls_of(class.range());
    let passed: Vec<_> = creations.map(|site| argument(site.node, position, name)).collect();
    !passed.is_empty() && passed.iter().all(|value| value.is_some_and(Expr::is_number_literal_expr))
}

fn method<'a>(class: &'a ast::StmtClassDef, name: &str) -> Option<&'a ast::StmtFunctionDef> {
    class.body.iter().filter_map(Stmt::as_function_def_stmt).find(|def| def.name.as_str() == name)
}
