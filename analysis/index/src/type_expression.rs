//! Type expressions as data: the types that the fixpoint propagates between files.
//!
//! The oracle converts the type engine's types to type expressions, and prints them in annotated source. A class is
//! given with its module, so a type expression has the same meaning in all files:
//!
//! ```text
//! list[Tensor] | int    Union([Generic(Builtin("list"), [Class(tensorflow, Tensor)]), Builtin("int")])
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use ruff_python_ast::name::Name;

/// A type expression. Its parts are shared, so a copy is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeExpression {
    /// A name that is visible in all files: `int`, `list`, `None`.
    Builtin(Name),
    /// The assumed type of a root's argument.
    Placeholder(Placeholder),
    /// `...`, in `tuple[int, ...]`.
    Ellipsis,
    /// A class; in `TypeOf[…]` also a function or module.
    Class(Arc<QualifiedName>),
    /// `list[int]`; without arguments `tuple[()]`.
    Generic(Arc<(TypeExpression, Vec<TypeExpression>)>),
    /// `int | str`. No part is a union.
    Union(Arc<[TypeExpression]>),
    /// `*tuple[int, ...]`, in a tuple.
    Unpacked(Arc<TypeExpression>),
}

/// A definition, by its module and its qualname: `model.layers`, `Config.Mode`. An empty qualname means the module
/// itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    pub module: Name,
    pub qualname: Name,
}

/// Classes in the stub `__builtins__.pyi`. Annotated source uses them as the types of assumed arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placeholder {
    /// A Tensor of TensorFlow, or a structure of Tensors.
    Tensor,
    /// The argument of a `tf.function`: a Tensor, or a structure of Tensors. A loop over it counts as staged.
    Argument,
    /// An array of JAX, or a structure of arrays.
    Array,
}

/// The class for a Tensor of unknown dtype in the annotations of annotated source. It is a subclass of
/// `tensorflow.Tensor[Any]`: with `Tensor[Any]` itself as the declared type of a parameter, ty would infer `Tensor[Any]`
/// for an argument such as `tf.reduce_sum(x)`, although the dtype of `x` is known.
pub const UNTYPED_TENSOR: &str = "ag_untyped_";

impl Placeholder {
    pub const ALL: [Self; 3] = [Self::Tensor, Self::Argument, Self::Array];
    /// The module of the classes.
    pub const MODULE: &'static str = "__builtins__";

    /// Returns the name of the class in annotated source.
    pub fn class(self) -> &'static str {
        match self {
            Self::Tensor => "ag_tensor_",
            Self::Argument => "ag_argument_",
            Self::Array => "ag_array_",
        }
    }

    /// Returns the name for display.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Tensor | Self::Argument => "Tensor",
            Self::Array => "Array",
        }
    }

    pub fn of_class(class: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|placeholder| placeholder.class() == class)
    }
}

impl QualifiedName {
    fn is(&self, module: &str, qualname: &str) -> bool {
        self.module == module && self.qualname == qualname
    }

    /// Returns the notation of [`TypeExpression`]'s `Display`, without the opening brace.
    fn notation(&self) -> impl Iterator<Item = u8> {
        self.module.bytes().chain([b':']).chain(self.qualname.bytes()).chain([b'}'])
    }
}

impl TypeExpression {
    pub fn builtin(name: &'static str) -> Self {
        Self::Builtin(Name::new_static(name))
    }

    pub fn none() -> Self {
        Self::builtin("None")
    }

    pub fn any() -> Self {
        Self::class("typing", "Any")
    }

    pub fn class(module: &str, qualname: &str) -> Self {
        Self::Class(Arc::new(QualifiedName { module: Name::new(module), qualname: Name::new(qualname) }))
    }

    pub fn generic(class: Self, arguments: Vec<Self>) -> Self {
        Self::Generic(Arc::new((class, arguments)))
    }

    /// `Callable[..., result]`
    pub fn callable(result: Self) -> Self {
        Self::generic(Self::class("typing", "Callable"), vec![Self::Ellipsis, result])
    }

    /// Returns the union of one or more parts. Duplicate parts are not removed.
    pub fn union(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::Union(inner) => flat.extend(inner.iter().cloned()),
                part => flat.push(part),
            }
        }
        match <[Self; 1]>::try_from(flat) {
            Ok([part]) => part,
            Err(flat) => Self::Union(flat.into()),
        }
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Self::Builtin(name) if name == "None")
    }

    pub fn is_any(&self) -> bool {
        matches!(self, Self::Class(class) if class.is("typing", "Any"))
    }

    /// Returns whether this is `tensorflow.Tensor[Any]`.
    pub fn is_untyped_tensor(&self) -> bool {
        let Self::Generic(generic) = self else { return false };
        let is_tensor = matches!(&generic.0, Self::Class(class)
            if class.qualname == "Tensor" && class.module.split('.').next() == Some("tensorflow"));
        is_tensor && generic.1.iter().all(Self::is_any)
    }

    pub fn is_callable(&self) -> bool {
        match self {
            Self::Class(class) => class.is("typing", "Callable"),
            Self::Generic(generic) => generic.0.is_callable(),
            Self::Union(parts) => parts.iter().any(Self::is_callable),
            _ => false,
        }
    }

    /// Returns the arguments if this is `class[…]` with the builtin class `class`.
    pub fn arguments_of(&self, class: &str) -> Option<&[Self]> {
        match self {
            Self::Generic(generic) if matches!(&generic.0, Self::Builtin(name) if name == class) => {
                Some(&generic.1)
            }
            _ => None,
        }
    }

    /// Returns the direct parts: of a generic type, the class and the arguments.
    fn parts(&self) -> (Option<&Self>, &[Self]) {
        match self {
            Self::Generic(generic) => (Some(&generic.0), &generic.1),
            Self::Union(parts) => (None, parts),
            Self::Unpacked(inner) => (Some(inner), &[]),
            Self::Builtin(_) | Self::Placeholder(_) | Self::Ellipsis | Self::Class(_) => (None, &[]),
        }
    }

    /// Calls `visit` with this type expression and all its parts.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        let (first, others) = self.parts();
        first.into_iter().chain(others).for_each(|part| part.visit(visit));
    }

    pub fn mentions_any(&self) -> bool {
        let mut found = false;
        self.visit(&mut |part| found |= part.is_any());
        found
    }

    /// Returns a copy in which the outermost parts for which `replace` returns a type expression are replaced.
    #[must_use]
    pub fn replaced(&self, replace: &dyn Fn(&Self) -> Option<Self>) -> Self {
        if let Some(other) = replace(self) {
            return other;
        }
        match self {
            Self::Generic(generic) => {
                let arguments = generic.1.iter().map(|argument| argument.replaced(replace));
                Self::generic(generic.0.replaced(replace), arguments.collect())
            }
            Self::Union(parts) => Self::union(parts.iter().map(|part| part.replaced(replace))),
            Self::Unpacked(inner) => Self::Unpacked(Arc::new(inner.replaced(replace))),
            leaf => leaf.clone(),
        }
    }

    /// Returns the length of the notation, in bytes.
    pub fn length(&self) -> usize {
        let qualified = |module: &str, qualname: &str| module.len() + qualname.len() + "{:}".len();
        let separated = |parts: &[Self], separator: &str| {
            parts.iter().map(Self::length).sum::<usize>() + parts.len().saturating_sub(1) * separator.len()
        };
        match self {
            Self::Builtin(name) => name.len(),
            Self::Placeholder(placeholder) => qualified(Placeholder::MODULE, placeholder.class()),
            Self::Ellipsis => "...".len(),
            Self::Class(class) => qualified(&class.module, &class.qualname),
            Self::Generic(generic) if generic.1.is_empty() => generic.0.length() + "[()]".len(),
            Self::Generic(generic) => generic.0.length() + separated(&generic.1, ", ") + "[]".len(),
            Self::Union(parts) => separated(parts, " | "),
            Self::Unpacked(inner) => inner.length() + "*".len(),
        }
    }

    /// Prints the type expression as Python. `name` returns the text for a class or placeholder. If it returns `None`
    /// for one of them, the result is `None`.
    pub fn print<'a>(
        &'a self,
        text: &mut String,
        name: &mut dyn FnMut(&'a Self, &mut String) -> Option<()>,
    ) -> Option<()> {
        match self {
            Self::Builtin(builtin) => text.push_str(builtin),
            Self::Ellipsis => text.push_str("..."),
            Self::Class(_) | Self::Placeholder(_) => name(self, text)?,
            Self::Generic(generic) => {
                generic.0.print(text, name)?;
                text.push('[');
                match generic.1.as_slice() {
                    [] => text.push_str("()"),
                    arguments => Self::print_separated(arguments, ", ", text, name)?,
                }
                text.push(']');
            }
            Self::Union(parts) => Self::print_separated(parts, " | ", text, name)?,
            Self::Unpacked(inner) => {
                text.push('*');
                inner.print(text, name)?;
            }
        }
        Some(())
    }

    fn print_separated<'a>(
        parts: &'a [Self],
        separator: &str,
        text: &mut String,
        name: &mut dyn FnMut(&'a Self, &mut String) -> Option<()>,
    ) -> Option<()> {
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                text.push_str(separator);
            }
            part.print(text, name)?;
        }
        Some(())
    }

    /// Returns the type for display, with classes by their qualnames: `list[Tensor]`.
    pub fn shown(&self) -> String {
        let mut shown = String::new();
        let _ = self.print(&mut shown, &mut |leaf, text| {
            match leaf {
                Self::Class(class) => text.push_str(&class.qualname),
                Self::Placeholder(placeholder) => text.push_str(placeholder.shown()),
                _ => {}
            }
            Some(())
        });
        shown
    }
}

/// Writes the notation, which determines the order and the length: `list[{tensorflow:Tensor}]`.
impl fmt::Display for TypeExpression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(self.length());
        let _ = self.print(&mut text, &mut |leaf, text| {
            let (module, qualname) = match leaf {
                Self::Class(class) => (class.module.as_str(), class.qualname.as_str()),
                Self::Placeholder(placeholder) => (Placeholder::MODULE, placeholder.class()),
                _ => return None,
            };
            text.extend(["{", module, ":", qualname, "}"]);
            Some(())
        });
        formatter.write_str(&text)
    }
}

/// Compares alphabetically by notation, so that builtins come before classes.
impl Ord for TypeExpression {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Builtin(name), Self::Builtin(other)) => name.cmp(other),
            (Self::Class(class), Self::Class(other)) => class.notation().cmp(other.notation()),
            (Self::Builtin(_), Self::Class(_) | Self::Placeholder(_)) => Ordering::Less,
            (Self::Class(_) | Self::Placeholder(_), Self::Builtin(_)) => Ordering::Greater,
            _ => self.to_string().cmp(&other.to_string()),
        }
    }
}

impl PartialOrd for TypeExpression {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::TypeExpression;

    fn tensor() -> TypeExpression {
        TypeExpression::class("tensorflow", "Tensor")
    }

    #[test]
    fn notation_and_its_length() {
        let list = TypeExpression::generic(TypeExpression::builtin("list"), vec![tensor()]);
        let tuple = TypeExpression::generic(TypeExpression::builtin("tuple"), Vec::new());
        let callable = TypeExpression::callable(TypeExpression::union([list, tuple, TypeExpression::none()]));
        let notation = "{typing:Callable}[..., list[{tensorflow:Tensor}] | tuple[()] | None]";
        assert_eq!(callable.to_string(), notation);
        assert_eq!(callable.length(), notation.len());
        assert_eq!(callable.shown(), "Callable[..., list[Tensor] | tuple[()] | None]");
    }

    #[test]
    fn the_order_is_that_of_the_notation() {
        let generic = |class: TypeExpression, argument| TypeExpression::generic(class, vec![argument]);
        let types = [
            TypeExpression::none(),
            TypeExpression::builtin("int"),
            TypeExpression::builtin("list"),
            generic(TypeExpression::builtin("list"), tensor()),
            TypeExpression::class("tensorflow", "Config.Mode"),
            TypeExpression::class("tensorflow", "Config"),
            TypeExpression::class("tensorflow.data", "Dataset"),
            TypeExpression::Placeholder(super::Placeholder::Tensor),
            TypeExpression::union([tensor(), TypeExpression::builtin("int")]),
        ];
        for left in &types {
            for right in &types {
                assert_eq!(left.cmp(right), left.to_string().cmp(&right.to_string()), "{left} {right}");
            }
        }
    }

    #[test]
    fn unions_are_flat() {
        let inner = TypeExpression::union([TypeExpression::builtin("int"), TypeExpression::none()]);
        assert_eq!(TypeExpression::union([inner, tensor()]).to_string(), "int | None | {tensorflow:Tensor}");
        assert_eq!(TypeExpression::union([tensor()]), tensor());
    }
}
