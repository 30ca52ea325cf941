//! Types of values and their text form: `f32[4,?]@cuda:0`, `int`, `list[f32[4]]`.

use std::fmt;

/// The element types of torch. The text form is a letter for the kind followed by the bits; booleans are
/// `bool`.
macro_rules! dtypes {
    ($($name:ident $text:literal $torch:literal $bytes:literal),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $($name),* }

        impl DType {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name in the text of a graph: `f32`.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns the name in Python, without `torch.`: `float32`.
            pub fn torch(self) -> &'static str {
                match self { $(Self::$name => $torch),* }
            }

            /// Bytes per element.
            pub fn size(self) -> usize {
                match self { $(Self::$name => $bytes),* }
            }
        }
    };
}

// Messages list the dtypes in this order.
dtypes! {
    F16 "f16" "float16" 2, BF16 "bf16" "bfloat16" 2, F32 "f32" "float32" 4, F64 "f64" "float64" 8,
    I8 "i8" "int8" 1, I16 "i16" "int16" 2, I32 "i32" "int32" 4, I64 "i64" "int64" 8,
    U8 "u8" "uint8" 1, Bool "bool" "bool" 1,
    C64 "c64" "complex64" 8, C128 "c128" "complex128" 16, C32 "c32" "complex32" 4,
    U16 "u16" "uint16" 2, U32 "u32" "uint32" 4, U64 "u64" "uint64" 8,
    F8E4M3 "f8e4m3" "float8_e4m3fn" 1, F8E5M2 "f8e5m2" "float8_e5m2" 1,
    F8E4M3Z "f8e4m3z" "float8_e4m3fnuz" 1, F8E5M2Z "f8e5m2z" "float8_e5m2fnuz" 1,
}

impl DType {
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dtype| dtype.text() == text)
    }

    /// Returns whether tensors of this dtype have derivatives.
    pub fn is_differentiable(self) -> bool {
        self.is_floating() || matches!(self, Self::C32 | Self::C64 | Self::C128)
    }

    pub fn is_floating(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::BF16
                | Self::F32
                | Self::F64
                | Self::F8E4M3
                | Self::F8E5M2
                | Self::F8E4M3Z
                | Self::F8E5M2Z
        )
    }

    /// Returns the scalar type that `Tensor.item()` returns. `None` for complex numbers.
    pub fn scalar(self) -> Option<Type> {
        match self {
            Self::Bool => Some(Type::Bool),
            Self::C32 | Self::C64 | Self::C128 => None,
            dtype if dtype.is_floating() => Some(Type::Float),
            _ => Some(Type::Int),
        }
    }
}

/// Constants of torch that have the same name in Python (without `torch.`) and in the text of a graph.
macro_rules! constants {
    ($(#[$doc:meta])* $class:ident { $($name:ident $torch:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $class { $($name),* }

        impl $class {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $torch),* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

constants! {
    /// The memory layout of a tensor, as an argument of an operator. Every value of a graph is strided.
    Layout {
        Strided "strided", SparseCoo "sparse_coo", SparseCsr "sparse_csr", Mkldnn "_mkldnn",
        SparseCsc "sparse_csc", SparseBsr "sparse_bsr", SparseBsc "sparse_bsc", Jagged "jagged",
    }
}

constants! {
    /// The order of dimensions in the memory of a result.
    MemoryFormat {
        Contiguous "contiguous_format", Preserve "preserve_format",
        ChannelsLast "channels_last", ChannelsLast3d "channels_last_3d",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Device {
    #[default]
    Cpu,
    Cuda(u8),
    /// Tensors with a shape and no data.
    Meta,
}

impl Device {
    /// `cpu`, `cuda`, `cuda:1`, `meta`.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Cuda(0)),
            "meta" => Some(Self::Meta),
            _ => text.strip_prefix("cuda:")?.parse().ok().map(Self::Cuda),
        }
    }
}

/// One dimension of a shape, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dim {
    Known(u64),
    /// An unknown size that is the same wherever this symbol occurs in a function.
    Symbol(u32),
    Unknown,
}

/// Returns the index of a dimension, which counts from the end if it is negative.
pub fn dimension(dim: i64, rank: usize) -> Option<usize> {
    let dim = if dim < 0 { dim + rank as i64 } else { dim };
    usize::try_from(dim).ok().filter(|dim| *dim < rank)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    pub dtype: DType,
    /// `None` if the rank is unknown.
    pub shape: Option<Vec<Dim>>,
    pub device: Device,
}

impl TensorType {
    /// Returns a CPU tensor with a fully known shape.
    pub fn new(dtype: DType, shape: &[u64]) -> Self {
        let shape = Some(shape.iter().copied().map(Dim::Known).collect());
        Self { dtype, shape, device: Device::Cpu }
    }

    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }

    /// Returns the sizes, if all are known.
    pub fn sizes(&self) -> Option<Vec<u64>> {
        self.shape
            .as_ref()?
            .iter()
            .map(|dim| if let Dim::Known(size) = dim { Some(*size) } else { None })
            .collect()
    }

    fn accepts(&self, given: &Self) -> bool {
        let dims = |wanted: &[Dim], given: &[Dim]| {
            wanted.len() == given.len()
                && wanted
                    .iter()
                    .zip(given)
                    .all(|pair| !matches!(pair, (Dim::Known(a), Dim::Known(b)) if a != b))
        };
        self.dtype == given.dtype
            && self.device == given.device
            && match (&self.shape, &given.shape) {
                (Some(wanted), Some(given)) => dims(wanted, given),
                _ => true,
            }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    Tensor(TensorType),
    /// A 64-bit scalar.
    Int,
    /// A 64-bit scalar.
    Float,
    Bool,
    Str,
    None,
    List(Box<Type>),
    Tuple(Vec<Type>),
    /// An opaque Python object.
    Object,
    /// An unknown type, for example the element type of an empty list.
    Any,
}

impl Type {
    pub fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub fn tensor(&self) -> Option<&TensorType> {
        if let Self::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    pub fn is_scalar(&self) -> bool {
        matches!(self, Self::Int | Self::Float | Self::Bool)
    }

    /// Returns whether a value of type `given` may be used where this type is declared. Unknown sizes accept every
    /// size.
    pub fn accepts(&self, given: &Self) -> bool {
        match (self, given) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Tensor(wanted), Self::Tensor(given)) => wanted.accepts(given),
            (Self::List(wanted), Self::List(given)) => wanted.accepts(given),
            (Self::Tuple(wanted), Self::Tuple(given)) => {
                wanted.len() == given.len()
                    && wanted.iter().zip(given).all(|(wanted, given)| wanted.accepts(given))
            }
            _ => self == given,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
            Self::Meta => f.write_str("meta"),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(size) => write!(f, "{size}"),
            Self::Symbol(symbol) => write!(f, "s{symbol}"),
            Self::Unknown => f.write_str("?"),
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype.text())?;
        match &self.shape {
            None => f.write_str("*")?,
            Some(shape) => separated(f, shape, ",")?,
        }
        f.write_str("]")?;
        if self.device == Device::Cpu { Ok(()) } else { write!(f, "@{}", self.device) }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(tensor) => tensor.fmt(f),
            Self::Int => f.write_str("int"),
            Self::Float => f.write_str("float"),
            Self::Bool => f.write_str("bool"),
            Self::Str => f.write_str("str"),
            Self::None => f.write_str("none"),
            Self::List(element) => write!(f, "list[{element}]"),
            Self::Tuple(elements) => {
                f.write_str("tuple[")?;
                separated(f, elements, ", ")?;
                f.write_str("]")
            }
            Self::Object => f.write_str("object"),
            Self::Any => f.write_str("any"),
        }
    }
}

fn separated<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T], between: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}
