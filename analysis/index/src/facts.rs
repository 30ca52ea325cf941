//! Facts about values, as plain data without types of the type engine.
//!
//! A [`Fact`] lists the alternatives for a value at run time. It determines the binding time of the value
//! ([`Binding`]): staged (the value is in the graph), python (it is known while tracing), mixed (it depends on the
//! caller) or unknown.

use ruff_python_ast::name::Name;

use crate::dialect::Dialect;

/// A binding time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    Staged,
    Python,
    Mixed,
    Unknown,
}

impl Binding {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Python => "python",
            Self::Mixed => "mixed",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the binding time of a value whose binding time is `self` on some paths and `other` on the other paths.
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Mixed, _) | (_, Self::Mixed) => Self::Mixed,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            _ => Self::Mixed,
        }
    }
}

/// The kind of a staged object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorKind {
    Tensor,
    Variable,
    Ragged,
    Sparse,
    /// `tf.data.Dataset`: a `for` over it is staged, but a test of it is Python.
    Dataset,
    /// An iterator over a Dataset.
    Iterator,
    TensorArray,
}

impl TensorKind {
    /// Returns whether a condition on a value of this kind is staged.
    pub fn is_tensor(self) -> bool {
        matches!(self, Self::Tensor | Self::Variable | Self::Ragged | Self::Sparse)
    }

    /// Returns whether a `for` over a value of this kind is staged.
    pub fn stages_iteration(self) -> bool {
        self.is_tensor() && self != Self::Sparse || matches!(self, Self::Dataset | Self::Iterator)
    }
}

/// The library to which a Tensor belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    Tensorflow,
    Torch,
    Jax,
    /// A library that runs on several of the libraries above, or has Tensors of its own.
    Other,
}

impl Library {
    pub fn of_package(package: &str) -> Self {
        match package {
            "tensorflow" | "tf_keras" => Self::Tensorflow,
            "torch" => Self::Torch,
            "jax" | "jaxlib" => Self::Jax,
            _ => Self::Other,
        }
    }

    /// Returns whether the library's Tensors are staged in a dialect. If not, they are host values, which are computed
    /// while tracing.
    fn is_staged_in(self, dialect: Dialect) -> bool {
        match dialect {
            Dialect::Tensorflow => matches!(self, Self::Tensorflow | Self::Other),
            // With the JAX backend, Keras traces JAX arrays.
            Dialect::Keras => self != Self::Torch,
            Dialect::Torch => matches!(self, Self::Torch | Self::Other),
            Dialect::Jax => matches!(self, Self::Jax | Self::Other),
            Dialect::Autograph | Dialect::Pennylane => true,
        }
    }
}

/// One alternative for a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Alternative {
    Tensor {
        kind: TensorKind,
        dtype: Option<DType>,
        library: Library,
    },
    None,
    Bool(Option<bool>),
    Int(Option<i64>),
    Float,
    Str(Option<Name>),
    /// A `list`, `tuple`, `dict`, `set`, …. `staged` is true if its type mentions Tensors.
    Container {
        class: Name,
        staged: bool,
    },
    /// A function, method or class whose definition is known: `tensorflow.cond`, `model.Net.step`.
    Callable(Callee),
    /// A module; with its name, if a file defines it.
    Module(Option<Name>),
    /// An instance of a class: the name of the class, and its module if known.
    Instance {
        module: Option<Name>,
        class: Name,
    },
}

/// A definition to which the callee of a call refers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Callee {
    pub kind: CalleeKind,
    /// The module of the definition, such as `tensorflow` or `model`; `None` if its file cannot be imported.
    pub module: Option<Name>,
    /// The name in the module, such as `cond` or `Net.step`.
    pub qualname: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CalleeKind {
    Function,
    /// A bound method: the first parameter is already bound.
    Method,
    Class,
}

/// Element types of Tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    String,
}

impl DType {
    const NAMES: [(Self, &'static str); 16] = [
        (Self::Bool, "bool"),
        (Self::Int8, "int8"),
        (Self::Int16, "int16"),
        (Self::Int32, "int32"),
        (Self::Int64, "int64"),
        (Self::UInt8, "uint8"),
        (Self::UInt16, "uint16"),
        (Self::UInt32, "uint32"),
        (Self::UInt64, "uint64"),
        (Self::Float16, "float16"),
        (Self::BFloat16, "bfloat16"),
        (Self::Float32, "float32"),
        (Self::Float64, "float64"),
        (Self::Complex64, "complex64"),
        (Self::Complex128, "complex128"),
        (Self::String, "string"),
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(dtype, _)| *dtype)
    }

    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(dtype, _)| *dtype == self).map_or("?", |(_, name)| name)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::Float16 | Self::BFloat16 | Self::Float32 | Self::Float64)
    }

    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Int8
                | Self::Int16
                | Self::Int32
                | Self::Int64
                | Self::UInt8
                | Self::UInt16
                | Self::UInt32
                | Self::UInt64
        )
    }
}

/// The known properties of the value of an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fact {
    pub alternatives: Vec<Alternative>,
    /// Whether the type is partly unknown.
    pub unknown: bool,
    /// Whether it is an argument of a root that is assumed to be a Tensor. A loop over it counts as staged.
    pub argument: bool,
    /// Whether the type engine infers `Never`: the code is unreachable, or the assumptions contradict each other.
    pub never: bool,
    /// The type in Python's notation, for display: `Tensor[float32] | None`.
    pub shown: Name,
}

impl Fact {
    /// Returns whether an alternative is a Tensor of a library that is not staged in `dialect`.
    pub fn is_foreign_to(&self, dialect: Dialect) -> bool {
        let foreign = |alternative: &Alternative| matches!(alternative, Alternative::Tensor { library, .. } if !library.is_staged_in(dialect));
        self.alternatives.iter().any(foreign)
    }

    /// Returns a copy in which Tensors of libraries that are not staged in `dialect` are host values.
    pub fn in_dialect(&self, dialect: Dialect) -> Self {
        let seen = |alternative: &Alternative| match alternative {
            Alternative::Tensor { library, .. } if !library.is_staged_in(dialect) => {
                Alternative::Instance { module: None, class: self.shown.clone() }
            }
            other => other.clone(),
        };
        Self { alternatives: self.alternatives.iter().map(seen).collect(), ..self.clone() }
    }

    pub fn unknown() -> Self {
        Self { unknown: true, shown: Name::new_static("Unknown"), ..Self::default() }
    }

    /// Returns the fact about a Tensor of a library.
    pub fn of_tensor(library: Library) -> Self {
        let shown = Name::new_static(if library == Library::Jax { "Array" } else { "Tensor" });
        let tensor = Alternative::Tensor { kind: TensorKind::Tensor, dtype: None, library };
        Self { alternatives: vec![tensor], shown, ..Self::default() }
    }

    /// Returns the binding time of a *test* of this value. A test of a Dataset is Python.
    pub fn binding(&self) -> Binding {
        self.binding_where(|kind| kind.is_tensor())
    }

    /// Returns the binding time of a `for` over this value.
    pub fn iteration_binding(&self) -> Binding {
        match self.binding_where(TensorKind::stages_iteration) {
            // `Tensor | Unknown` may also be a list of Tensors.
            Binding::Staged if self.unknown && !self.argument => Binding::Unknown,
            binding => binding,
        }
    }

    fn binding_where(&self, staged: impl Fn(TensorKind) -> bool) -> Binding {
        let (mut is_staged, mut is_python) = (false, false);
        for alternative in &self.alternatives {
            match alternative {
                Alternative::Tensor { kind, .. } if staged(*kind) => is_staged = true,
                _ => is_python = true,
            }
        }
        match (is_staged, is_python) {
            (true, true) => Binding::Mixed,
            // `Tensor | Unknown`: all known alternatives are staged.
            (true, false) => Binding::Staged,
            (false, _) if self.unknown || self.never => Binding::Unknown,
            (false, true) => Binding::Python,
            (false, false) => Binding::Unknown,
        }
    }

    /// Returns whether the value is certainly a Tensor.
    pub fn is_tensor(&self) -> bool {
        !self.unknown && self.binding() == Binding::Staged
    }

    /// Returns whether the value may be a Tensor.
    pub fn may_be_tensor(&self) -> bool {
        matches!(self.binding(), Binding::Staged | Binding::Mixed)
    }

    /// Returns the element type, if all Tensor alternatives have the same one.
    pub fn dtype(&self) -> Option<DType> {
        let mut dtypes = self.alternatives.iter().filter_map(|alternative| match alternative {
            Alternative::Tensor { kind, dtype, .. } if kind.is_tensor() => Some(*dtype),
            _ => None,
        });
        let first = dtypes.next()??;
        dtypes.all(|dtype| dtype == Some(first)).then_some(first)
    }

    pub fn is_none(&self) -> bool {
        !self.unknown && matches!(self.alternatives.as_slice(), [Alternative::None])
    }

    pub fn may_be_none(&self) -> bool {
        self.alternatives.contains(&Alternative::None)
    }

    /// Returns the kind of Tensor-like object that the value is, if there is no other alternative.
    pub fn tensor_kind(&self) -> Option<TensorKind> {
        match self.alternatives.as_slice() {
            [Alternative::Tensor { kind, .. }] if !self.unknown => Some(*kind),
            _ => None,
        }
    }

    /// Returns the kind of Tensor that the value is unless it is a Python number or `None`, which have hardly any
    /// attributes: `total` in `total.numpy()` after `total = 0.0` and `total += tf.reduce_sum(x)` in a loop.
    pub fn kind_of_object(&self) -> Option<TensorKind> {
        let is_object = |it: &&Alternative| {
            !matches!(it, Alternative::None | Alternative::Bool(_) | Alternative::Int(_) | Alternative::Float)
        };
        let mut objects = self.alternatives.iter().filter(is_object);
        match (objects.next(), objects.next()) {
            (Some(Alternative::Tensor { kind, .. }), None) => Some(*kind),
            _ => None,
        }
    }

    /// Returns the definition of the callable that the value is, if there is no other alternative.
    pub fn callee(&self) -> Option<&Callee> {
        match self.alternatives.as_slice() {
            [Alternative::Callable(callee)] => Some(callee),
            _ => None,
        }
    }
}
