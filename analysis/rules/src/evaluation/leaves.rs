//! The leaves of arguments that JAX cannot trace.
//!
//! ```python
//! @flax.struct.dataclass
//! class State:
//!     params: jax.Array
//!     optimizer: str
//!
//! step(State(params, "adam"))         # `step` is jitted: a string is no array
//! ```

use ruff_python_ast::helpers::{map_callable, map_subscript};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::TextRange;

use super::Evaluation;
use super::faults::{Leaf, Reach};
use super::traced::{Compiled, Mode};
use super::values::{Object, Value};

/// Trees are searched up to this depth.
const DEEPEST: usize = 6;

/// Modules whose functions, with names in lower case, are functions of arrays.
const MODULES: [&str; 4] = ["jax.nn", "jax.lax", "flax.linen", "flax.nnx"];

impl<'a> Evaluation<'_, 'a> {
    /// Records the first leaf of an argument of a jitted function that JAX cannot trace.
    pub(super) fn record_leaf(
        &mut self,
        compiled: &Compiled<'a>,
        parameter: &str,
        value: &Value<'a>,
        range: TextRange,
    ) {
        // `equinox.filter_jit` traces only the arrays.
        let is_jit = compiled.mode == Mode::Jit && !compiled.constants.traces_only_arrays();
        if !is_jit || self.reach() == Reach::Possible {
            return;
        }
        let Value::Function(function) = &compiled.function else { return };
        if let Some((path, noun)) = self.leaf_in(value, DEEPEST) {
            let leaf =
                Leaf { function: function.def.name.to_string(), path: format!("{parameter}{path}"), noun };
            self.leaves.entry((self.ctx.document, range)).or_insert(leaf);
        }
    }

    /// Returns the path in a tree to a leaf that JAX cannot trace, and the kind of the leaf.
    fn leaf_in(&self, value: &Value<'a>, depth: usize) -> Option<(String, &'static str)> {
        let depth = depth.checked_sub(1)?;
        let of = |part: String, value: &Value<'a>| {
            self.leaf_in(value, depth).map(|(path, noun)| (format!("{part}{path}"), noun))
        };
        match value {
            Value::Text(_) => Some((String::new(), "a string")),
            Value::Function(_) | Value::Lambda(_) | Value::Compiled(_) | Value::Transformed(_) => {
                Some((String::new(), "a function"))
            }
            Value::Foreign => Some((String::new(), "an optimizer")),
            Value::Library(name) if is_function(name) => Some((String::new(), "a function")),
            Value::Tuple(_) | Value::List(_) => {
                let elements = value.elements()?;
                elements.iter().enumerate().find_map(|(index, element)| of(format!("[{index}]"), element))
            }
            Value::Dict(items) => {
                let items = items.borrow();
                items.as_ref()?.iter().find_map(|(key, value)| of(format!("[\"{key}\"]"), value))
            }
            Value::Object(object) => {
                let attributes = object.attributes.borrow();
                let attributes = attributes.as_ref()?;
                let names = self.traced_fields(object)?;
                let mut fields = names.into_iter().filter(|name| !self.forgotten.contains(name));
                fields.find_map(|name| of(format!(".{name}"), attributes.get(name)?))
            }
            _ => None,
        }
    }

    /// Returns the fields of an object that JAX traces: those of a named tuple, of a dataclass that is registered as a
    /// pytree, and of a module of Equinox, without static fields. Other objects have none.
    pub(super) fn traced_fields(&self, object: &Object<'a>) -> Option<Vec<&'a str>> {
        let hierarchy = self.hierarchy(object.class)?;
        let of_library =
            matches!(hierarchy.library.as_deref(), Some("equinox.Module" | "flax.struct.PyTreeNode"));
        let is_tree =
            |class: &&'a ast::StmtClassDef| class.decorator_list.iter().any(|it| self.makes_tree(class, it));
        if !of_library && !hierarchy.is_named_tuple && !hierarchy.classes.first().is_some_and(is_tree) {
            return None;
        }
        let mut fields = Vec::new();
        for class in hierarchy.classes {
            let ctx = self.module_of(class).ctx;
            for field in class.body.iter().filter_map(Stmt::as_ann_assign_stmt) {
                let is_class_variable = ctx
                    .resolve(map_subscript(&field.annotation))
                    .is_some_and(|name| name == "typing.ClassVar");
                let is_static = field.value.as_deref().is_some_and(|value| !is_traced_field(value));
                if let (Expr::Name(name), false, false) = (&*field.target, is_class_variable, is_static) {
                    fields.push(name.id.as_str());
                }
            }
        }
        Some(fields)
    }

    /// Returns whether a decorator makes a class a pytree whose fields are its children.
    fn makes_tree(&self, class: &'a ast::StmtClassDef, decorator: &ast::Decorator) -> bool {
        let name = self.module_of(class).ctx.resolve(map_callable(&decorator.expression));
        matches!(
            name.as_deref(),
            Some("flax.struct.dataclass" | "chex.dataclass" | "jax.tree_util.register_dataclass")
        ) && decorator.expression.as_call_expr().is_none_or(|call| call.arguments.is_empty())
    }
}

/// Returns whether a field of a class is certainly no static field: `field(default=0)`, but not
/// `field(pytree_node=False)`.
fn is_traced_field(value: &Expr) -> bool {
    const STATIC: [&str; 3] = ["static", "pytree_node", "metadata"];
    let Expr::Call(call) = value else { return true };
    let is_field = match &*call.func {
        Expr::Name(name) => name.id == "field",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "field",
        _ => false,
    };
    let keywords = &call.arguments.keywords;
    let is_other =
        |keyword: &ast::Keyword| keyword.arg.as_ref().is_none_or(|it| STATIC.contains(&it.as_str()));
    is_field && !keywords.iter().any(is_other)
}

/// Returns whether a name of a library is a function of arrays: `jax.nn.relu`, `jnp.tanh`.
fn is_function(name: &str) -> bool {
    const OPERATIONS: [&str; 8] = ["abs", "cos", "exp", "maximum", "minimum", "sin", "square", "tanh"];
    let Some((module, own)) = name.rsplit_once('.') else { return false };
    let is_operation = module == "jax.numpy" && OPERATIONS.contains(&own);
    is_operation || MODULES.contains(&module) && own.starts_with(|first: char| first.is_ascii_lowercase())
}
