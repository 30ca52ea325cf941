//! Abstract values. An abstract value contains the structure, dtype and shape of a JAX value,
//! as far as the source shows them.

use std::sync::Arc;

use ag_db::Document;
use ruff_text_size::TextRange;

use super::array_operations::promote;
use super::function_transforms::Transform;

/// Element types, in the order of JAX's promotion within 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DType {
    Bool,
    UInt8,
    Int8,
    Int32,
    Float16,
    BFloat16,
    Float32,
    Complex64,
    /// A floating-point or complex dtype of which nothing else is known: that of `0.5 * x` or `jnp.mean(x)`.
    Inexact,
}

impl DType {
    /// Returns the dtype for `jnp.float32`, `"float32"` or `float`. Without `jax_enable_x64`, 64-bit types are 32-bit
    /// types.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" | "bool_" => Self::Bool,
            "uint8" => Self::UInt8,
            "int8" => Self::Int8,
            "int" | "int32" | "int64" => Self::Int32,
            "float16" => Self::Float16,
            "bfloat16" => Self::BFloat16,
            "float" | "float32" | "float64" => Self::Float32,
            "complex" | "complex64" | "complex128" => Self::Complex64,
            _ => return None,
        })
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::UInt8 => "uint8",
            Self::Int8 => "int8",
            Self::Int32 => "int32",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Complex64 => "complex64",
            Self::Inexact => "floating-point",
        }
    }

    /// Returns whether values of these dtypes certainly have different dtypes.
    fn differs_from(self, other: Self) -> bool {
        match (self, other) {
            (Self::Inexact, other) | (other, Self::Inexact) => !other.is_inexact(),
            (own, other) => own != other,
        }
    }

    pub(super) fn is_inexact(self) -> bool {
        self >= Self::Float16
    }

    pub(super) fn category(self) -> u8 {
        match self {
            Self::Bool => 0,
            Self::UInt8 | Self::Int8 | Self::Int32 => 1,
            Self::Float16 | Self::BFloat16 | Self::Float32 => 2,
            Self::Complex64 | Self::Inexact => 3,
        }
    }
}

/// An array or a number. A field is `None` if its content is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The dtype, and whether it is weak, as the dtype of a Python number is.
    pub dtype: Option<(DType, bool)>,
    pub shape: Option<Vec<u64>>,
    /// The number, if it is a Python integer that is known: `3`, `x.shape[0]`.
    pub integer: Option<i64>,
    /// In the body of a loop: how the size compares with that of an array in the carry.
    pub extent: Option<Extent>,
}

/// How the size of an array compares with that of an array in the carry of a loop. The number identifies the array in
/// the carry: see [`Value::numbered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The value is this array of the carry.
    Same(u32),
    /// The value is an array that consists of this array of the carry and of other arrays.
    Larger(u32),
}

/// An instance of a class that JAX flattens into its fields: a NamedTuple, or a registered dataclass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub class: Arc<str>,
    /// Whether it is a NamedTuple, whose fields also have positions.
    pub is_tuple: bool,
    pub fields: Vec<(String, Value)>,
}

impl Record {
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    pub(super) fn map(&self, mut of: impl FnMut(&str, &Value) -> Value) -> Value {
        let fields = self.fields.iter().map(|(name, value)| (name.clone(), of(name, value))).collect();
        Value::Record(Self { class: Arc::clone(&self.class), is_tuple: self.is_tuple, fields })
    }
}

/// A function of the project: a `def` or a lambda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionValue {
    pub document: Document,
    pub range: TextRange,
    /// The leading arguments that are bound: `partial(step, params)`, the object in `solver.step`.
    pub bound: Vec<Value>,
    /// The keywords that `partial` binds.
    pub keywords: Vec<(String, Value)>,
    /// The transformations of the function, starting with the innermost.
    pub transforms: Vec<Transform>,
}

/// An instance of a class of the project that is not a [`Record`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub document: Document,
    pub class: TextRange,
    /// The attributes that the constructor assigns.
    pub fields: Vec<(String, Value)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Unknown,
    None,
    /// A value that is not an array, such as a string.
    Other,
    Function(Arc<FunctionValue>),
    Object(Arc<Object>),
    Leaf(Leaf),
    Tuple(Vec<Value>),
    List(Vec<Value>),
    /// A dictionary with its keys in source order.
    Dict(Vec<(String, Value)>),
    Record(Record),
}

impl Value {
    pub(super) fn array(dtype: Option<DType>, weak: bool, shape: Option<Vec<u64>>) -> Self {
        Self::Leaf(Leaf { dtype: dtype.map(|dtype| (dtype, weak)), shape, ..Leaf::default() })
    }

    /// Returns the value of a Python number: a scalar with a weak dtype.
    pub(super) fn number(dtype: DType) -> Self {
        Self::array(Some(dtype), true, Some(Vec::new()))
    }

    /// Returns the value of a Python integer that is known.
    pub(super) fn integer(integer: i64) -> Self {
        let dtype = Some((DType::Int32, true));
        Self::Leaf(Leaf { dtype, shape: Some(Vec::new()), integer: Some(integer), ..Leaf::default() })
    }

    /// Returns the value of a shape: a tuple of integers.
    pub(super) fn shape(shape: &[u64]) -> Self {
        Self::Tuple(
            shape.iter().map(|size| i64::try_from(*size).map_or(Self::Unknown, Self::integer)).collect(),
        )
    }

    /// Returns the size of a dimension, if the value is a known integer that is not negative.
    pub(super) fn size(&self) -> Option<u64> {
        self.leaf()?.integer.and_then(|integer| u64::try_from(integer).ok())
    }

    /// Returns `len(value)`.
    pub(super) fn length(&self) -> Option<i64> {
        match self {
            Self::Leaf(leaf) => i64::try_from(*leaf.shape.as_ref()?.first()?).ok(),
            Self::Dict(items) => i64::try_from(items.len()).ok(),
            other => i64::try_from(other.elements()?.len()).ok(),
        }
    }

    /// Returns the value if it is either this value or `other`.
    pub(super) fn joined(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        let one = self.without_integers();
        if one == other.without_integers() { one } else { Self::Unknown }
    }

    /// Returns the value without its known integers, as JAX passes it to a traced function.
    pub(super) fn without_integers(&self) -> Self {
        self.map(&|leaf| Leaf { integer: None, ..leaf.clone() })
    }

    /// Returns the value with the same structure and other arrays.
    pub(super) fn map(&self, of: &dyn Fn(&Leaf) -> Leaf) -> Self {
        match self {
            Self::Leaf(leaf) => Self::Leaf(of(leaf)),
            Self::Tuple(elements) => Self::Tuple(elements.iter().map(|it| it.map(of)).collect()),
            Self::List(elements) => Self::List(elements.iter().map(|it| it.map(of)).collect()),
            Self::Dict(items) => {
                Self::Dict(items.iter().map(|(key, item)| (key.clone(), item.map(of))).collect())
            }
            Self::Record(record) => record.map(|_, value| value.map(of)),
            Self::Unknown | Self::None | Self::Other | Self::Function(_) | Self::Object(_) => self.clone(),
        }
    }

    pub(super) fn leaf(&self) -> Option<&Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            _ => None,
        }
    }

    /// Returns the elements of a tuple, list or NamedTuple, by position.
    pub(super) fn elements(&self) -> Option<Vec<&Self>> {
        match self {
            Self::Tuple(elements) | Self::List(elements) => Some(elements.iter().collect()),
            Self::Record(record) if record.is_tuple => {
                Some(record.fields.iter().map(|(_, value)| value).collect())
            }
            _ => None,
        }
    }

    /// Returns a copy of a carry in which the arrays are numbered in order, starting with `next + 1`: see
    /// [`Extent::Same`].
    pub(super) fn numbered(&self, next: &mut u32) -> Self {
        match self {
            Self::Leaf(leaf) => {
                *next += 1;
                let extent = Some(Extent::Same(*next));
                Self::Leaf(Leaf { extent, integer: None, ..leaf.clone() })
            }
            // The type of the carry is unknown. Its next value may show that it is an array.
            Self::Unknown => {
                *next += 1;
                Self::Leaf(Leaf { extent: Some(Extent::Same(*next)), ..Leaf::default() })
            }
            Self::Tuple(elements) => Self::Tuple(elements.iter().map(|it| it.numbered(next)).collect()),
            Self::List(elements) => Self::List(elements.iter().map(|it| it.numbered(next)).collect()),
            Self::Dict(items) => {
                Self::Dict(items.iter().map(|(key, item)| (key.clone(), item.numbered(next))).collect())
            }
            Self::Record(record) => record.map(|_, value| value.numbered(next)),
            other => other.clone(),
        }
    }

    /// Returns whether an array of this numbered carry is larger in the next value of the carry.
    pub(super) fn grows(&self, next: &Self) -> bool {
        match (self, next) {
            (Self::Leaf(own), Self::Leaf(next)) => {
                matches!((own.extent, next.extent), (Some(Extent::Same(own)), Some(Extent::Larger(other))) if own == other)
            }
            (Self::Tuple(own), Self::Tuple(next)) | (Self::List(own), Self::List(next)) => {
                own.len() == next.len() && own.iter().zip(next).any(|(own, next)| own.grows(next))
            }
            (Self::Dict(own), Self::Dict(next)) => own.iter().any(|(key, value)| {
                next.iter().find(|(other, _)| key == other).is_some_and(|(_, next)| value.grows(next))
            }),
            (Self::Record(own), Self::Record(next)) if own.class == next.class => {
                own.fields.iter().any(|(name, value)| next.field(name).is_some_and(|next| value.grows(next)))
            }
            _ => false,
        }
    }

    /// Returns the value that one iteration over this value receives: a row of each array.
    pub(super) fn slice(self) -> Self {
        match self {
            Self::Other | Self::Function(_) | Self::Object(_) => Self::Unknown,
            other => other.map(&|leaf| Leaf {
                dtype: leaf.dtype.map(|(dtype, _)| (dtype, false)),
                shape: leaf.shape.as_ref().and_then(|shape| Some(shape.split_first()?.1.to_vec())),
                ..Leaf::default()
            }),
        }
    }

    /// Returns a noun phrase for messages.
    pub(super) fn noun(&self) -> String {
        match self {
            Self::Unknown => "an unknown value".to_owned(),
            Self::None => "None".to_owned(),
            Self::Other | Self::Object(_) => "no array".to_owned(),
            Self::Function(_) => "a function".to_owned(),
            Self::Leaf(leaf) => leaf.noun(),
            Self::Tuple(elements) => format!("a tuple of {}", elements.len()),
            Self::List(elements) => format!("a list of {}", elements.len()),
            Self::Dict(items) => {
                let keys: Vec<&str> = items.iter().map(|(key, _)| key.as_str()).collect();
                format!("a dictionary with the keys {}", keys.join(", "))
            }
            Self::Record(record) => format!("an instance of `{}`", record.class),
        }
    }

    /// Returns the first certain difference from `other` as two noun phrases: one for this value and one for `other`.
    pub(super) fn difference(&self, other: &Self) -> Option<(String, String)> {
        match (self, other) {
            (Self::Unknown | Self::Function(_) | Self::Object(_), _)
            | (_, Self::Unknown | Self::Function(_) | Self::Object(_))
            | (Self::Other, Self::Other) => None,
            (Self::Leaf(own), Self::Leaf(leaf)) => own.difference(leaf),
            _ => self.structural_difference(other, Self::difference),
        }
    }

    /// Returns the first certain difference between this tree, a prefix, and the tree `full`, as two noun phrases. A
    /// leaf of the prefix matches any subtree.
    pub(super) fn prefix_difference(&self, full: &Self) -> Option<(String, String)> {
        match (self, full) {
            (Self::Unknown | Self::Leaf(_) | Self::Other | Self::Function(_) | Self::Object(_), _)
            | (_, Self::Unknown | Self::Function(_) | Self::Object(_)) => None,
            _ => self.structural_difference(full, Self::prefix_difference),
        }
    }

    /// Returns the first difference between two containers. `difference` compares their elements.
    fn structural_difference(
        &self,
        other: &Self,
        difference: fn(&Self, &Self) -> Option<(String, String)>,
    ) -> Option<(String, String)> {
        let differ = || Some((self.noun(), other.noun()));
        match (self, other) {
            (Self::None, Self::None) => None,
            (Self::Tuple(own), Self::Tuple(others)) | (Self::List(own), Self::List(others)) => {
                if own.len() != others.len() {
                    return differ();
                }
                own.iter().zip(others).find_map(|(own, other)| difference(own, other))
            }
            (Self::Dict(own), Self::Dict(others)) => {
                let same_keys = own.len() == others.len()
                    && own.iter().all(|(key, _)| others.iter().any(|(other, _)| key == other));
                if !same_keys {
                    return differ();
                }
                own.iter().find_map(|(key, value)| {
                    let (_, other) = others.iter().find(|(other, _)| key == other)?;
                    difference(value, other)
                })
            }
            (Self::Record(own), Self::Record(others)) if own.class == others.class => {
                own.fields.iter().find_map(|(name, value)| difference(value, others.field(name)?))
            }
            _ => differ(),
        }
    }

    /// Collects the known arrays of a tree. Returns false if there may be others.
    pub(super) fn leaves<'v>(&'v self, found: &mut Vec<&'v Leaf>) -> bool {
        let mut complete = true;
        match self {
            Self::Leaf(leaf) => found.push(leaf),
            Self::None => {}
            Self::Tuple(elements) | Self::List(elements) => {
                for element in elements {
                    complete &= element.leaves(found);
                }
            }
            Self::Dict(items) => {
                for (_, item) in items {
                    complete &= item.leaves(found);
                }
            }
            Self::Record(record) => {
                for (_, value) in &record.fields {
                    complete &= value.leaves(found);
                }
            }
            Self::Unknown | Self::Other | Self::Function(_) | Self::Object(_) => complete = false,
        }
        complete
    }

    /// Returns a tree with this structure and unknown leaves.
    pub(super) fn structure(&self) -> Self {
        match self {
            Self::Tuple(elements) => Self::Tuple(elements.iter().map(Self::structure).collect()),
            Self::List(elements) => Self::List(elements.iter().map(Self::structure).collect()),
            Self::Dict(items) => {
                Self::Dict(items.iter().map(|(key, item)| (key.clone(), item.structure())).collect())
            }
            Self::Record(record) => record.map(|_, value| value.structure()),
            Self::None => Self::None,
            Self::Leaf(_) | Self::Other | Self::Function(_) | Self::Object(_) | Self::Unknown => {
                Self::Unknown
            }
        }
    }

    /// Returns whether the value is certainly not a function.
    pub(super) fn is_not_a_function(&self) -> bool {
        matches!(self, Self::Leaf(_) | Self::None | Self::Tuple(_) | Self::List(_) | Self::Dict(_))
    }

    /// Returns the initial carry after JAX has converted its Python numbers to the dtypes of the values that the body
    /// returns for them.
    pub(super) fn promoted(&self, returned: &Self) -> Self {
        match (self, returned) {
            (Self::Leaf(own), Self::Leaf(other)) => {
                let weak = own.dtype.is_some_and(|(_, weak)| weak);
                let dtype = if weak && other.dtype.is_none() {
                    None
                } else if weak && own.dtype.map(|it| it.0) != other.dtype.map(|it| it.0) {
                    promote(own.dtype, other.dtype)
                } else {
                    own.dtype
                };
                Self::Leaf(Leaf { dtype, shape: own.shape.clone(), ..Leaf::default() })
            }
            (Self::Tuple(own), Self::Tuple(others)) if own.len() == others.len() => {
                Self::Tuple(own.iter().zip(others).map(|(own, other)| own.promoted(other)).collect())
            }
            (Self::List(own), Self::List(others)) if own.len() == others.len() => {
                Self::List(own.iter().zip(others).map(|(own, other)| own.promoted(other)).collect())
            }
            (Self::Dict(own), Self::Dict(others)) => Self::Dict(
                own.iter()
                    .map(|(key, value)| {
                        let other = others.iter().find(|(other, _)| key == other);
                        (key.clone(), other.map_or_else(|| value.clone(), |(_, other)| value.promoted(other)))
                    })
                    .collect(),
            ),
            (Self::Record(own), Self::Record(others)) => own.map(|name, value| {
                others.field(name).map_or_else(|| value.clone(), |other| value.promoted(other))
            }),
            (Self::Leaf(own), Self::Unknown) if own.dtype.is_some_and(|(_, weak)| weak) => {
                Self::Leaf(Leaf { dtype: None, shape: own.shape.clone(), ..Leaf::default() })
            }
            _ => self.clone(),
        }
    }
}

impl Leaf {
    pub(super) fn noun(&self) -> String {
        let dtype = self.dtype.map_or("an array", |(dtype, _)| dtype.as_str());
        let Some(shape) = &self.shape else {
            let is_inexact = matches!(self.dtype, Some((DType::Inexact, _)));
            return if is_inexact { "a floating-point array".to_owned() } else { dtype.to_owned() };
        };
        let dimensions: Vec<String> = shape.iter().map(u64::to_string).collect();
        format!("{dtype}[{}]", dimensions.join(","))
    }

    fn difference(&self, other: &Self) -> Option<(String, String)> {
        let dtypes = self.dtype.zip(other.dtype).is_some_and(|(own, other)| own.0.differs_from(other.0));
        let shapes = self.shape.as_ref().zip(other.shape.as_ref()).is_some_and(|(own, other)| own != other);
        let shown = |leaf: &Self| match shapes {
            true => leaf.noun(),
            false => Self { shape: None, ..leaf.clone() }.noun(),
        };
        (dtypes || shapes).then(|| (shown(self), shown(other)))
    }
}
