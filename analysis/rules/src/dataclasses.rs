//! The methods that `@dataclass` generates, as far as they decide whether objects have a hash.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr};

/// The kind of a class, which determines the methods that are generated for it.
pub(crate) enum ClassKind {
    Plain,
    Dataclass { eq: bool, frozen: bool, unsafe_hash: bool },
}

impl ClassKind {
    /// Returns the kind of a class; `None` if it has a decorator other than `@dataclass`.
    pub(crate) fn of(class: &ast::StmtClassDef, resolve: impl Fn(&Expr) -> Option<Name>) -> Option<Self> {
        let [decorator] = class.decorator_list.as_slice() else {
            return class.decorator_list.is_empty().then_some(Self::Plain);
        };
        let (callee, keywords) = match &decorator.expression {
            Expr::Call(call) => (&*call.func, &*call.arguments.keywords),
            other => (other, &[][..]),
        };
        if resolve(callee).is_none_or(|name| name != "dataclasses.dataclass") {
            return None;
        }
        let (mut eq, mut frozen, mut unsafe_hash) = (true, false, false);
        for keyword in keywords {
            let value = keyword.value.as_boolean_literal_expr()?.value;
            match keyword.arg.as_ref()?.as_str() {
                "eq" => eq = value,
                "frozen" => frozen = value,
                "unsafe_hash" => unsafe_hash = value,
                _ => {}
            }
        }
        Some(Self::Dataclass { eq, frozen, unsafe_hash })
    }

    /// Returns whether objects of the class have a hash. `defines` returns whether the body of the class binds a name.
    pub(crate) fn is_hashable(&self, defines: impl Fn(&str) -> bool) -> bool {
        defines("__hash__")
            || match *self {
                Self::Dataclass { eq, frozen, unsafe_hash } => !eq || frozen || unsafe_hash,
                Self::Plain => !defines("__eq__"),
            }
    }
}
