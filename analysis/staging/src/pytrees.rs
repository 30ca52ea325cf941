//! The classes whose instances JAX takes apart into leaves, as far as the syntax of a file shows them: named tuples, and
//! the dataclasses that libraries register as pytrees.

use ag_db::{Db, Document};
use ag_index::index::{file_index, tree};
use ag_syntax::imports::Imports;
use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

/// The decorators that register a dataclass as a pytree.
const DECORATORS: [&str; 4] = [
    "chex.dataclass",
    "flax.struct.dataclass",
    "jax.tree_util.register_dataclass",
    "jax_dataclasses.pytree_dataclass",
];

/// The base classes that register their subclasses, each with the leaves that it declares itself.
const BASES: [(&str, &[&str]); 4] = [
    ("typing.NamedTuple", &[]),
    ("flax.struct.PyTreeNode", &[]),
    ("flax.training.train_state.TrainState", &["step", "params", "opt_state"]),
    ("flax.training.dynamic_scale.DynamicScale", &["fin_steps", "scale"]),
];

/// A class whose instances are pytrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PytreeClass {
    pub name: Name,
    /// The fields that are children of the tree. Other fields are static.
    pub leaves: Vec<Name>,
}

/// Returns the pytree classes of a file that are not defined in a function.
#[salsa::tracked(returns(ref))]
pub(crate) fn pytree_classes(db: &dyn Db, document: Document) -> Vec<PytreeClass> {
    let index = file_index(db, document);
    let mut classes = Classes { imports: &index.imports, found: Vec::new() };
    if let Some(parsed) = tree(db, document) {
        classes.visit_body(parsed.suite());
    }
    classes.found
}

/// Returns the leaves that a class of a library declares: `step` of flax's `TrainState`.
pub(crate) fn leaves_of_library_class(module: &str, class: &str) -> &'static [&'static str] {
    let declares =
        |name: &str| name.strip_prefix(module).and_then(|rest| rest.strip_prefix('.')) == Some(class);
    BASES.iter().find(|(name, _)| declares(name)).map_or(&[], |(_, leaves)| leaves)
}

struct Classes<'a> {
    imports: &'a Imports,
    found: Vec<PytreeClass>,
}

impl Classes<'_> {
    fn pytree(&self, class: &ast::StmtClassDef) -> Option<PytreeClass> {
        let resolves_to = |expression: &Expr| self.imports.resolve(expression).map(|name| name.to_string());
        let mut leaves: Vec<Name> = Vec::new();
        let mut is_pytree = false;
        for base in class.bases() {
            if let Some(known) = resolves_to(base) {
                if let Some((_, own)) = BASES.iter().find(|(name, _)| *name == known) {
                    is_pytree = true;
                    leaves.extend(own.iter().map(|leaf| Name::new_static(leaf)));
                }
            } else if let Some(own) =
                self.found.iter().find(|own| base.as_name_expr().is_some_and(|name| name.id == own.name))
            {
                is_pytree = true;
                leaves.extend(own.leaves.iter().cloned());
            }
        }
        let mut listed = None;
        for decorator in &class.decorator_list {
            let (callee, arguments) = match &decorator.expression {
                Expr::Call(call) => (&*call.func, Some(&call.arguments)),
                other => (other, None),
            };
            let is_partial = resolves_to(callee).as_deref() == Some("functools.partial");
            let first = arguments.and_then(|arguments| arguments.args.first()).filter(|_| is_partial);
            let name = resolves_to(first.unwrap_or(callee));
            if name.is_some_and(|name| DECORATORS.contains(&name.as_str())) {
                is_pytree = true;
                listed = arguments.and_then(|arguments| arguments.find_keyword("data_fields"));
            }
        }
        if !is_pytree {
            return None;
        }
        match listed {
            Some(listed) => {
                let fields = ag_syntax::expressions::sequence(&listed.value)?.iter();
                leaves.extend(
                    fields
                        .filter_map(Expr::as_string_literal_expr)
                        .map(|name| Name::new(name.value.to_str())),
                );
            }
            None => leaves.extend(class.body.iter().filter_map(leaf)),
        }
        Some(PytreeClass { name: class.name.id.clone(), leaves })
    }
}

impl<'a> StatementVisitor<'a> for Classes<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) => {}
            Stmt::ClassDef(class) => self.found.extend(self.pytree(class)),
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

/// Returns the name of a field that is not static: `count: int`, but neither
/// `size: int = struct.field(pytree_node=False)` nor `size: int = field(metadata={"static": True})`.
fn leaf(statement: &Stmt) -> Option<Name> {
    let field = statement.as_ann_assign_stmt()?;
    let name = field.target.as_name_expr()?;
    let is_class_variable = match &*field.annotation {
        Expr::Subscript(subscript) => ends_with_class_variable(&subscript.value),
        annotation => ends_with_class_variable(annotation),
    };
    let options = field.value.as_deref().and_then(Expr::as_call_expr);
    let is_plain = |keyword: &ast::Keyword| {
        keyword
            .arg
            .as_ref()
            .is_some_and(|name| matches!(name.as_str(), "default" | "default_factory" | "repr" | "compare"))
    };
    let is_static = options.is_some_and(|call| !call.arguments.keywords.iter().all(is_plain));
    (!is_class_variable && !is_static).then(|| name.id.clone())
}

fn ends_with_class_variable(annotation: &Expr) -> bool {
    match annotation {
        Expr::Name(name) => name.id == "ClassVar",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "ClassVar",
        _ => false,
    }
}
