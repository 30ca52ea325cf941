//! Classes of the file whose instances JAX flattens as trees: NamedTuples, and dataclasses that JAX, flax or chex
//! register.

use std::sync::Arc;

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::abstract_value::{Record, Value};
use super::evaluate::Evaluator;
use super::frame::{Environment, Frame};
use crate::program::Bound;
use ag_syntax::expressions::sequence;

/// Decorators that register a dataclass as a tree.
const REGISTERING: [&str; 5] = [
    "chex.dataclass",
    "flax.struct.dataclass",
    "jax.tree_util.register_dataclass",
    "jax_dataclasses.pytree_dataclass",
    "tjax.dataclasses.dataclass",
];
/// Base classes that register their derived classes as trees.
const BASES: [&str; 2] = ["flax.struct.PyTreeNode", "equinox.Module"];
/// Methods that change how an object is created or flattened.
const CONSTRUCTORS: [&str; 4] = ["__init__", "__new__", "__post_init__", "tree_flatten"];

/// A class whose instances are trees of their fields.
pub(super) struct RecordClass<'a> {
    name: &'a str,
    is_tuple: bool,
    fields: Vec<Field<'a>>,
}

struct Field<'a> {
    name: &'a str,
    default: Option<&'a Expr>,
    /// Whether it is configured, as by `flax.struct.field(pytree_node=False)`. Then it may not be part of the tree.
    is_configured: bool,
}

impl<'a> RecordClass<'a> {
    /// Returns the record class that a `class` defines: `class Carry(NamedTuple)`,
    /// `@flax.struct.dataclass class State`.
    pub(super) fn of_class(ctx: &FileContext, class: &'a ast::StmtClassDef) -> Option<Self> {
        let is_tuple = is_named_tuple(ctx, class);
        if !is_tuple && !is_registered(ctx, class) || class.body.iter().any(is_constructor) {
            return None;
        }
        let fields = class.body.iter().filter_map(Stmt::as_ann_assign_stmt).filter_map(|field| {
            let name = field.target.as_name_expr()?;
            let default = field.value.as_deref();
            Some(Field {
                name: &name.id,
                default,
                is_configured: default.is_some_and(|it| it.is_call_expr()),
            })
        });
        Some(Self { name: &class.name, is_tuple, fields: fields.collect() })
    }

    /// Returns the record class that a call creates: `collections.namedtuple("Carry", "x count")`.
    fn of_call(ctx: &FileContext, call: &'a ast::ExprCall) -> Option<Self> {
        let is_maker = ctx.resolve(&call.func).is_some_and(|name| name == "collections.namedtuple");
        let [name, fields] = &*call.arguments.args else { return None };
        if !is_maker || !call.arguments.keywords.is_empty() {
            return None;
        }
        let names: Vec<&str> = match fields {
            Expr::StringLiteral(names) => {
                names.value.to_str().split([' ', ',']).filter(|it| !it.is_empty()).collect()
            }
            other => {
                let names =
                    sequence(other)?.iter().map(|name| Some(name.as_string_literal_expr()?.value.to_str()));
                names.collect::<Option<_>>()?
            }
        };
        let field = |name| Field { name, default: None, is_configured: false };
        let name = name.as_string_literal_expr()?.value.to_str();
        Some(Self { name, is_tuple: true, fields: names.into_iter().map(field).collect() })
    }

    /// Returns the record class to which an expression certainly refers, and the evaluator of its module.
    fn of<'e, 'c>(frame: &Frame<'e, 'c, 'a>, expression: &'a Expr) -> Option<(&'e Evaluator<'c, 'a>, Self)> {
        let local = expression
            .as_name_expr()
            .and_then(|name| frame.evaluator.program.lookup(frame.scope, &name.id, name.range().start()));
        let (evaluator, bound) = match local {
            Some((Bound::Import, _)) | None => {
                let (evaluator, bound, _) = frame.evaluator.imported(expression)?;
                (evaluator, bound)
            }
            Some((bound, _)) => (frame.evaluator, bound),
        };
        let class = match bound {
            Bound::Class(class) => Self::of_class(evaluator.ctx, class),
            Bound::Value(Expr::Call(call)) => Self::of_call(evaluator.ctx, call),
            _ => None,
        };
        Some((evaluator, class?))
    }
}

fn is_named_tuple(ctx: &FileContext, class: &ast::StmtClassDef) -> bool {
    let bases = class.bases();
    let is_base = |base: &Expr| ctx.resolve(base).is_some_and(|name| name == "typing.NamedTuple");
    class.decorator_list.is_empty() && bases.iter().any(is_base) && bases.len() == 1
}

fn is_registered(ctx: &FileContext, class: &ast::StmtClassDef) -> bool {
    let callee = |decorator: &ast::Decorator| match &decorator.expression {
        Expr::Call(call) => ctx.resolve(&call.func),
        other => ctx.resolve(other),
    };
    let names: Option<Vec<_>> = class.decorator_list.iter().map(callee).collect();
    let Some(names) = names else { return false };
    let registers = names.iter().any(|name| REGISTERING.contains(&name.as_str()));
    let is_known = |name: &str| name == "dataclasses.dataclass" || REGISTERING.contains(&name);
    let inherits = match class.bases() {
        [] => registers,
        [base] => ctx.resolve(base).is_some_and(|name| BASES.contains(&name.as_str())),
        _ => false,
    };
    inherits && names.iter().all(|name| is_known(name))
}

fn is_constructor(statement: &Stmt) -> bool {
    statement.as_function_def_stmt().is_some_and(|def| CONSTRUCTORS.contains(&def.name.as_str()))
}

impl<'a> Frame<'_, '_, 'a> {
    /// Returns the record that a call creates, `Carry(x, count=0)`; `None` for any other call.
    pub(super) fn record(&self, call: &'a ast::ExprCall, environment: &Environment<'a>) -> Option<Value> {
        let (evaluator, class) = RecordClass::of(self, &call.func)?;
        let defaults = Frame { evaluator, scope: evaluator.program.module(), depth: self.depth };
        let arguments = &call.arguments;
        let is_open = arguments.args.iter().any(Expr::is_starred_expr)
            || arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
        if is_open || arguments.args.len() > class.fields.len() {
            return None;
        }
        let value = |(position, field): (usize, &Field<'a>)| {
            let value = match (arguments.find_argument_value(field.name, position), field.default) {
                _ if field.is_configured => Value::Unknown,
                (Some(given), _) => self.value(given, environment),
                (None, Some(default)) => defaults.value(default, &Environment::default()),
                (None, None) => Value::Unknown,
            };
            (field.name.to_owned(), value)
        };
        let fields = class.fields.iter().enumerate().map(value).collect();
        Some(Value::Record(Record { class: Arc::from(class.name), is_tuple: class.is_tuple, fields }))
    }

    /// Returns the result of `state._replace(count=1)` or `state.replace(count=1)`.
    pub(super) fn replaced(
        &self,
        record: Record,
        method: &str,
        call: &'a ast::ExprCall,
        environment: &Environment<'a>,
    ) -> Value {
        let replaces = method == if record.is_tuple { "_replace" } else { "replace" };
        if !replaces || !call.arguments.args.is_empty() {
            return Value::Unknown;
        }
        self.with_fields(record, &call.arguments.keywords, environment)
    }

    /// Returns the record after the fields named by these keywords have been replaced.
    pub(super) fn with_fields(
        &self,
        mut record: Record,
        keywords: &'a [ast::Keyword],
        environment: &Environment<'a>,
    ) -> Value {
        for keyword in keywords {
            let Some(name) = &keyword.arg else { return Value::Unknown };
            let value = self.value(&keyword.value, environment);
            let field = record.fields.iter_mut().find(|(field, _)| field == name.as_str());
            let Some((_, field)) = field else { return Value::Unknown };
            *field = value;
        }
        Value::Record(record)
    }
}
