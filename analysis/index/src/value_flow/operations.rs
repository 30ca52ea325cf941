//! Operations that Python performs by calling special methods of a value's class.

/// An operation on a value. The class of the value determines which methods Python calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `if a:`, `not a`
    Truth,
    Length,
    /// `a == b`
    Equality,
    /// `a < b`, `sorted(a)`
    Order,
    /// `d[a]`, `{a}`
    Hash,
    /// `b in a`
    Contains,
    /// `for b in a`
    Iterate,
    Next,
    /// `a[b]`
    Item,
    /// `a[b] = c`
    SetItem,
    /// `with a:`
    Context,
    Add,
    InPlace,
    Subtract,
    Multiply,
    Divide,
    Matmul,
    Power,
    Or,
    And,
    Negate,
    ReflectedAdd,
    ReflectedSubtract,
    ReflectedMultiply,
    ReflectedDivide,
    ReflectedMatmul,
    ReflectedPower,
    ReflectedOr,
    ReflectedAnd,
    Absolute,
    Float,
    Integer,
    /// `str(a)`, `f"{a}"`
    Text,
    /// `a.name`, where no attribute is known
    MissingAttribute,
    /// `a.name`, if it may run code: a property, `__getattribute__`
    Attribute,
    /// `a.name = b`
    SetAttribute,
    /// `object.a`, where `a` is a value in the body of the object's class
    Descriptor,
    /// `object.a = b`, where `a` is a value in the body of the object's class
    SetDescriptor,
    /// `isinstance(b, a)`
    InstanceCheck,
    /// `class B(a):`
    Subclass,
    /// A library receives the value, and may perform any of these operations on it.
    Library,
}

impl Operation {
    /// Returns the special methods that Python may call for the operation. A class may define none of them.
    pub const fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Truth => &["__bool__", "__len__"],
            Self::Length => &["__len__"],
            Self::Equality => &["__eq__", "__ne__"],
            Self::Order => &["__lt__", "__le__", "__gt__", "__ge__"],
            Self::Hash => &["__hash__", "__eq__"],
            Self::Contains => &["__contains__"],
            Self::Iterate => &["__iter__", "__next__", "__getitem__"],
            Self::Next => &["__next__"],
            Self::Item => &["__getitem__"],
            Self::SetItem => &["__setitem__"],
            Self::Context => &["__enter__", "__exit__"],
            Self::Add => &["__add__"],
            Self::InPlace => &["__iadd__", "__add__"],
            Self::Subtract => &["__sub__"],
            Self::Multiply => &["__mul__"],
            Self::Divide => &["__truediv__"],
            Self::Matmul => &["__matmul__"],
            Self::Power => &["__pow__"],
            Self::Or => &["__or__"],
            Self::And => &["__and__"],
            Self::Negate => &["__neg__"],
            Self::ReflectedAdd => &["__radd__"],
            Self::ReflectedSubtract => &["__rsub__"],
            Self::ReflectedMultiply => &["__rmul__"],
            Self::ReflectedDivide => &["__rtruediv__"],
            Self::ReflectedMatmul => &["__rmatmul__"],
            Self::ReflectedPower => &["__rpow__"],
            Self::ReflectedOr => &["__ror__"],
            Self::ReflectedAnd => &["__rand__"],
            Self::Absolute => &["__abs__"],
            Self::Float => &["__float__"],
            Self::Integer => &["__int__", "__index__"],
            Self::Text => &["__format__", "__str__", "__repr__"],
            Self::MissingAttribute => &["__getattr__"],
            Self::Attribute => &["__getattribute__"],
            Self::SetAttribute => &["__setattr__"],
            Self::Descriptor => &["__get__"],
            Self::SetDescriptor => &["__set__"],
            Self::InstanceCheck => &["__instancecheck__"],
            Self::Subclass => &["__init_subclass__"],
            Self::Library => &[
                "__hash__",
                "__eq__",
                "__len__",
                "__iter__",
                "__getitem__",
                "__bool__",
                "__float__",
                "__index__",
                "__array__",
                "__jax_array__",
                "__torch_function__",
            ],
        }
    }
}
