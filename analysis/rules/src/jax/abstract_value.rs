//! Abstract values, and operations on them. An abstract value contains the structure, dtype and shape of a JAX value,
//! as far as the source shows them.

use std::sync::Arc;

use ag_db::Document;
use ruff_python_ast::Operator;
use ruff_text_size::TextRange;

/// Element types, in the order of JAX's promotion within 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DType {
    Bool,
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

    fn category(self) -> u8 {
        match self {
            Self::Bool => 0,
            Self::Int32 => 1,
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

    fn map(&self, mut of: impl FnMut(&str, &Value) -> Value) -> Value {
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
                Self::Leaf(Leaf { extent, ..leaf.clone() })
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
            Self::None => Self::None,
            Self::Leaf(leaf) => Self::Leaf(Leaf {
                dtype: leaf.dtype.map(|(dtype, _)| (dtype, false)),
                shape: leaf.shape.and_then(|shape| Some(shape.split_first()?.1.to_vec())),
                ..Leaf::default()
            }),
            Self::Tuple(elements) => Self::Tuple(elements.into_iter().map(Self::slice).collect()),
            Self::List(elements) => Self::List(elements.into_iter().map(Self::slice).collect()),
            Self::Dict(items) => {
                Self::Dict(items.into_iter().map(|(key, value)| (key, value.slice())).collect())
            }
            Self::Record(record) => record.map(|_, value| value.clone().slice()),
            Self::Unknown | Self::Other | Self::Function(_) | Self::Object(_) => Self::Unknown,
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

/// Returns the dtype of `a + b`.
pub(super) fn promote(left: Option<(DType, bool)>, right: Option<(DType, bool)>) -> Option<(DType, bool)> {
    if let (Some((dtype, _)), None) | (None, Some((dtype, _))) = (left, right) {
        return dtype.is_inexact().then_some((DType::Inexact, false));
    }
    let (left, right) = (left?, right?);
    if left.0 == DType::Inexact || right.0 == DType::Inexact {
        return Some((DType::Inexact, left.1 && right.1));
    }
    let (strong, weak) = match (left.1, right.1) {
        (true, true) => return Some(if left.0.category() >= right.0.category() { left } else { right }),
        (false, false) => {
            let dtype = match (left.0, right.0) {
                (left, right) if left == right => left,
                (DType::Float16, DType::BFloat16) | (DType::BFloat16, DType::Float16) => DType::Float32,
                (left, right) => left.max(right),
            };
            return Some((dtype, false));
        }
        (false, true) => (left.0, right.0),
        (true, false) => (right.0, left.0),
    };
    if weak.category() <= strong.category() { Some((strong, false)) } else { Some((weak, true)) }
}

/// Returns the shape of `a + b`.
pub(super) fn broadcast(left: Option<&[u64]>, right: Option<&[u64]>) -> Option<Vec<u64>> {
    let (left, right) = (left?, right?);
    let (longer, shorter) = if left.len() >= right.len() { (left, right) } else { (right, left) };
    let offset = longer.len() - shorter.len();
    let dimensions = longer.iter().enumerate().map(|(position, &own)| {
        let other = position.checked_sub(offset).and_then(|position| shorter.get(position)).copied();
        match other {
            None | Some(1) => Some(own),
            Some(other) if own == 1 || own == other => Some(other),
            Some(_) => None,
        }
    });
    dimensions.collect()
}

/// Returns the value without its dtype, unless that is `bool`: with `jax_enable_x64`, other dtypes may have 64 bits.
pub(super) fn without_dtype(value: Value) -> Value {
    match value {
        Value::Leaf(leaf) => {
            Value::Leaf(Leaf { dtype: leaf.dtype.filter(|(dtype, _)| *dtype == DType::Bool), ..leaf })
        }
        other => other,
    }
}

/// Returns the array that has these elements.
pub(super) fn stacked(elements: &[Value]) -> Leaf {
    let leaves: Option<Vec<&Leaf>> = elements.iter().map(Value::leaf).collect();
    let Some(leaves) = leaves else {
        let nested = elements.iter().all(|element| matches!(element, Value::List(_) | Value::Tuple(_)));
        let inner: Vec<Leaf> = elements
            .iter()
            .filter_map(|element| match element {
                Value::List(inner) | Value::Tuple(inner) => Some(stacked(inner)),
                _ => None,
            })
            .collect();
        let inner: Vec<Value> = inner.into_iter().map(Value::Leaf).collect();
        return if nested { stacked(&inner) } else { Leaf::default() };
    };
    let Some(first) = leaves.first() else {
        return Leaf { dtype: Some((DType::Float32, false)), shape: Some(vec![0]), ..Leaf::default() };
    };
    let dtype =
        leaves.iter().map(|leaf| leaf.dtype).reduce(promote).flatten().map(|(dtype, _)| (dtype, false));
    let shape = first.shape.clone().map(|mut shape| {
        shape.insert(0, leaves.len() as u64);
        shape
    });
    Leaf {
        dtype,
        shape: shape.filter(|_| leaves.iter().all(|leaf| leaf.shape == first.shape)),
        ..Leaf::default()
    }
}

/// Returns the result of a function such as `jnp.sum`, which has this shape.
pub(super) fn reduction(function: &str, leaf: &Leaf, shape: Option<Vec<u64>>) -> Value {
    let dtype = match function {
        "any" | "all" => Some(DType::Bool),
        "argmax" | "argmin" => Some(DType::Int32),
        "mean" => Some(match leaf.dtype {
            Some((dtype, _)) if dtype.is_inexact() => dtype,
            Some(_) => DType::Float32,
            None => DType::Inexact,
        }),
        "sum" | "prod" => {
            leaf.dtype.map(|(dtype, _)| if dtype == DType::Bool { DType::Int32 } else { dtype })
        }
        _ => leaf.dtype.map(|(dtype, _)| dtype),
    };
    Value::array(dtype, false, shape)
}

pub(super) fn binary(left: &Value, op: Operator, right: &Value) -> Value {
    let (Some(left), Some(right)) = (left.leaf(), right.leaf()) else {
        // An operation on an array and an unknown value returns an array of unknown dtype.
        let array = [left, right].iter().any(|side| side.leaf().is_some());
        let other = [left, right].iter().all(|side| matches!(side, Value::Unknown | Value::Leaf(_)));
        let dtype = promote(left.leaf().and_then(|it| it.dtype), right.leaf().and_then(|it| it.dtype));
        let dtype = dtype.map(|(dtype, _)| dtype).or((op == Operator::Div).then_some(DType::Inexact));
        return if array && other { Value::array(dtype, false, None) } else { Value::Unknown };
    };
    let promoted = promote(left.dtype, right.dtype);
    let dtype = match op {
        Operator::Div => promoted
            .map(|(dtype, weak)| if dtype.is_inexact() { (dtype, weak) } else { (DType::Float32, weak) })
            .or(Some((DType::Inexact, false))),
        Operator::Pow | Operator::MatMult | Operator::LShift | Operator::RShift => {
            promoted.filter(|(dtype, _)| dtype.is_inexact())
        }
        _ => promoted.filter(|(dtype, _)| {
            *dtype != DType::Bool || matches!(op, Operator::BitAnd | Operator::BitOr | Operator::BitXor)
        }),
    };
    let shapes = (left.shape.as_deref(), right.shape.as_deref());
    let shape = match op {
        Operator::MatMult => product(shapes.0, shapes.1),
        _ => broadcast(shapes.0, shapes.1),
    };
    Value::Leaf(Leaf { dtype, shape, ..Leaf::default() })
}

/// Returns the shape of `a @ b`.
fn product(left: Option<&[u64]>, right: Option<&[u64]>) -> Option<Vec<u64>> {
    let (left, right) = (left?, right?);
    let ((inner, rows), (columns, outer)) = (left.split_last()?, right.split_last()?);
    match (rows.split_last(), outer.split_last()) {
        (_, None) => (inner == columns).then(|| rows.to_vec()),
        (None, Some((other, batch))) => {
            (inner == other).then(|| batch.iter().chain([columns]).copied().collect())
        }
        (Some((row, batch)), Some((other, other_batch))) if inner == other => {
            let mut shape = broadcast(Some(batch), Some(other_batch))?;
            shape.extend([row, columns]);
            Some(shape)
        }
        _ => None,
    }
}
