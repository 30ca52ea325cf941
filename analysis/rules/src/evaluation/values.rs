//! The values of the evaluation: Python values as far as they determine sizes of Tensors.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ag_db::Document;
use ruff_python_ast as ast;
use ruff_text_size::TextRange;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Frame;
use super::dtypes::Dtype;
use super::loaders::Loader;
use super::traced::{Compiled, Mode};
use super::transformations::{Passing, Stateful, Transformation};

/// The size of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    Known(i64),
    /// A dimension that `dynamic_shapes` declares with `Dim("batch")`.
    Dynamic(usize),
    /// `x.shape[0] // 8`, where the dimension is dynamic.
    Quotient(usize, i64),
    /// A size that depends on a dynamic dimension, as after pooling.
    Derived,
    /// A size that depends on the values of a Tensor, as in `x[mask]`, in a graph without breaks.
    Data,
    Unknown,
}

pub(super) type Shape = Vec<Size>;

/// The elements of an object that other references may change.
pub(super) type Shared<T> = Rc<RefCell<Option<Vec<T>>>>;

/// The value of all elements of a container, as far as they are the same; `None` if it has no elements yet.
pub(super) type Common<'a> = Rc<RefCell<Option<Value<'a>>>>;

#[derive(Clone)]
pub(super) enum Value<'a> {
    Unknown,
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    /// The path of a file in a folder that is not known, as the program composes it.
    Path(Rc<str>),
    /// A number that a Tensor holds: `x.item()`. It has no value while the code is traced.
    Number,
    /// An integer argument that differs between the calls of a compiled function.
    Symbol(usize),
    /// `x.shape[0]`, where the dimension is dynamic.
    Size(usize),
    /// `x.shape[0] // 8`, where the dimension is dynamic.
    Quotient(usize, i64),
    /// A size of a Tensor, or a number that Python computes from it, while `torch.jit.trace` records: `x.shape[0] // 2`.
    Recorded,
    /// `Dim("batch")`
    Dim(usize),
    /// A comparison of a dynamic dimension which only some of its sizes satisfy: `x.shape[0] > 16`.
    Bound,
    Tuple(Rc<[Value<'a>]>),
    /// A list or `nn.ModuleList`; `None` if its elements are not known.
    List(Shared<Value<'a>>),
    /// A dictionary with texts as keys, or an `nn.ModuleDict`.
    Dict(Shared<(Rc<str>, Value<'a>)>),
    /// A Tensor; the shape is `None` if its number of dimensions is not known.
    Tensor(Option<Rc<[Size]>>, Dtype),
    /// `torch.float32`
    Dtype(Dtype),
    Layer(Rc<Layer<'a>>),
    Object(Rc<Object<'a>>),
    Class(&'a ast::StmtClassDef),
    Function(Rc<Function<'a>>),
    Lambda(Rc<Lambda<'a>>),
    Partial(Rc<Partial<'a>>),
    /// A function or class of a library, as a value: `self.activation = torch.relu`.
    Library(Rc<str>),
    /// An object of a library whose methods do not call code of the file: an optimizer.
    Foreign,
    /// A function or module that torch compiles: the result of `torch.compile(f)`.
    Compiled(Rc<Compiled<'a>>),
    /// A module that torch has exported or recorded: `torch.fx.symbolic_trace(model)`.
    Program(Rc<Program<'a>>),
    /// `model.state_dict()`
    State(Rc<State>),
    /// A symbolic value of `torch.fx`.
    Proxy,
    /// The handle of a hook, by its number.
    Handle(usize),
    /// `TensorDataset(x, y)`
    Rows(Rc<[Value<'a>]>),
    /// `DataLoader(data, batch_size=4)`
    Loader(Rc<Loader<'a>>),
    /// `keras.layers.Dense(4)`, and whether it has been called, which creates its weights.
    Weights(Rc<Cell<bool>>),
    /// `tf.Variable(0.0)`
    Variable,
    /// An array with a value, which was created before tracing.
    Array,
    /// An array of a trace that has ended, by its position in the list of leaks.
    Leaked(usize),
    /// A Python iterator: `itertools.count()`, `iter(values)`, a generator.
    Iterator(Rc<PythonIterator<'a>>),
    /// `x.at` and `x.at[i]`, where `x` is an array.
    At,
    /// An argument whose structure is not known: an array, or a tree of arrays. JAX traces all of them.
    Tree,
    /// A list or another iterable of unknown length: `[jnp.sum(w) for w in weights]`.
    Many(Common<'a>),
    /// A dictionary with unknown keys: `{name: jnp.mean(loss) for name, loss in losses.items()}`.
    Table(Common<'a>),
    /// A function after `jax.grad`, `jax.vmap` or a similar transformation.
    Transformed(Rc<Transformed<'a>>),
    /// An object of a class of `flax.nnx`, and the layers of an `nnx.Sequential`.
    Stateful(Rc<Stateful>, Rc<[Value<'a>]>),
    /// `types.SimpleNamespace(rate=0.1)`
    Namespace(Shared<(Rc<str>, Value<'a>)>),
    /// `super()`, for an object and the class whose method calls it.
    Super(Rc<Object<'a>>, &'a ast::StmtClassDef),
}

/// A program that torch has made of a module.
pub(super) struct Program<'a> {
    pub mode: Mode,
    /// The example inputs, with the dimensions that are declared dynamic.
    pub inputs: Vec<Value<'a>>,
    pub recorded: Recorded<'a>,
    /// The number of programs made before.
    pub made: usize,
    /// The module from which it was made.
    pub module: Option<Rc<Object<'a>>>,
    /// Whether it can be called: `exported.module()`.
    pub is_callable: bool,
}

/// What a module reads while torch records it.
#[derive(Default)]
pub(super) struct Recorded<'a> {
    /// Where it has read `self.training`, and the value.
    pub modes: Vec<(Document, TextRange, bool)>,
    /// The attributes of objects that it has read.
    pub attributes: Vec<(Rc<Object<'a>>, String)>,
}

/// The parameters of a module.
pub(super) struct State {
    /// Whether `torch.compile` has returned the module.
    pub is_compiled: bool,
    /// Whether unknown code may have changed the names.
    pub is_changed: Cell<bool>,
}

/// How the evaluation of statements ends.
pub(super) enum Flow<'a> {
    Next,
    Break,
    Continue,
    Return(Value<'a>),
    /// The loop may end here, or continue.
    Jump,
    /// The function ends somewhere with an unknown result.
    Leave,
}

pub(super) struct Object<'a> {
    pub class: &'a ast::StmtClassDef,
    /// The number of transformed functions in which the object was created.
    pub depth: usize,
    /// `None` if unknown code may have changed the object.
    pub attributes: RefCell<Option<Attributes<'a>>>,
}

/// The attributes of an object, in the order in which the program assigns them first.
#[derive(Clone, Default)]
pub(super) struct Attributes<'a> {
    values: FxHashMap<String, Value<'a>>,
    order: Vec<String>,
}

impl<'a> FromIterator<(String, Value<'a>)> for Attributes<'a> {
    fn from_iter<T: IntoIterator<Item = (String, Value<'a>)>>(items: T) -> Self {
        let mut attributes = Self::default();
        items.into_iter().for_each(|(name, value)| attributes.insert(name, value));
        attributes
    }
}

impl<'a> Attributes<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.values.get(name)
    }

    pub(super) fn insert(&mut self, name: String, value: Value<'a>) {
        if !self.values.contains_key(&name) {
            self.order.push(name.clone());
        }
        self.values.insert(name, value);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.order.iter().filter_map(|name| Some((name.as_str(), self.values.get(name)?)))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value<'a>> {
        self.values.values()
    }
}

pub(super) struct PythonIterator<'a> {
    /// What it iterates over, as far as it is known.
    pub values: Value<'a>,
    /// The number of traces in which it was created.
    pub depth: usize,
}

pub(super) struct Function<'a> {
    pub def: &'a ast::StmtFunctionDef,
    pub scope: Scope<'a>,
    /// `self`, with the class that defines the method.
    pub receiver: Option<(Rc<Object<'a>>, &'a ast::StmtClassDef)>,
    /// The class that defines the function, if the first argument is `self`.
    pub class: Option<&'a ast::StmtClassDef>,
}

pub(super) struct Lambda<'a> {
    pub node: &'a ast::ExprLambda,
    pub frame: Frame<'a>,
}

/// `functools.partial(f, 1, key=2)`, or a class method.
pub(super) struct Partial<'a> {
    pub function: Value<'a>,
    pub positional: Vec<Value<'a>>,
    pub keywords: Vec<(&'a str, Value<'a>)>,
}

pub(super) struct Transformed<'a> {
    pub function: Value<'a>,
    pub transformation: Transformation,
    pub passing: Passing,
    /// The other arguments of a transform of `torch.func`, as far as they are known: `in_dims` and `out_dims`, or
    /// `argnums` and `has_aux`.
    pub options: [Option<Value<'a>>; 2],
}

/// The variables of a function or of the module, and the scope around it.
pub(super) type Scope<'a> = Rc<Variables<'a>>;

#[derive(Default)]
pub(super) struct Variables<'a> {
    pub bound: RefCell<FxHashMap<&'a str, Value<'a>>>,
    /// The names that a `global` statement declares.
    pub globals: RefCell<FxHashSet<&'a str>>,
    /// The names that a `nonlocal` statement declares.
    pub nonlocals: RefCell<FxHashSet<&'a str>>,
    pub parent: Option<Scope<'a>>,
}

/// A module of `torch.nn`.
pub(super) enum Layer<'a> {
    Linear {
        inputs: i64,
        outputs: i64,
        bias: bool,
    },
    Conv(Convolution),
    Embedding {
        width: i64,
    },
    /// `LayerNorm`: the last dimensions have these sizes.
    Normalization(Vec<i64>),
    /// `BatchNorm2d`: the second dimension has this size.
    BatchNorm {
        channels: i64,
    },
    Pool {
        dimensions: usize,
        kernel: i64,
        stride: i64,
        padding: i64,
    },
    AdaptivePool {
        dimensions: usize,
        size: i64,
    },
    Flatten,
    /// An activation or dropout, by its name.
    Elementwise(&'static str),
    Sequential(Shared<Value<'a>>),
    /// `Upsample(scale_factor=2)`
    Upsample {
        factor: i64,
    },
    /// A module whose parameters have another dtype: `nn.Linear(2, 3).to(torch.bfloat16)`.
    Cast(Rc<Layer<'a>>, Dtype),
    /// A module whose result is a Tensor of unknown shape.
    Other,
}

pub(super) struct Convolution {
    pub dimensions: usize,
    pub inputs: i64,
    pub outputs: i64,
    pub kernel: i64,
    pub stride: i64,
    pub padding: i64,
    pub dilation: i64,
    pub transposed: bool,
}

impl Layer<'_> {
    pub(super) fn has_parameters(&self) -> bool {
        match self {
            Self::Linear { .. } | Self::Conv(_) | Self::Embedding { .. } => true,
            Self::Cast(layer, _) => layer.has_parameters(),
            _ => false,
        }
    }

    /// Returns whether a module is an instance of a class of torch.
    pub(super) fn is_instance(&self, class: &str) -> Option<bool> {
        let class = class.strip_prefix("torch.nn.")?.rsplit('.').next()?;
        if class == "Module" {
            return Some(true);
        }
        let own = match self {
            Self::Linear { .. } => "Linear",
            Self::Embedding { .. } => "Embedding",
            Self::Normalization(_) => "LayerNorm",
            Self::Sequential(_) => "Sequential",
            Self::Conv(convolution) => {
                let digit = class.chars().nth_back(1).and_then(|digit| digit.to_digit(10));
                let is_same =
                    digit.and_then(|digit| usize::try_from(digit).ok()) == Some(convolution.dimensions);
                let is_convolution = class.starts_with("Conv");
                return Some(
                    is_convolution && is_same && class.contains("Transpose") == convolution.transposed,
                );
            }
            Self::Cast(layer, _) => return layer.is_instance(class),
            Self::BatchNorm { .. } if !class.contains("Norm") => return Some(false),
            Self::Pool { .. } | Self::AdaptivePool { .. } if !class.contains("Pool") => return Some(false),
            Self::Elementwise(name) => name,
            Self::BatchNorm { .. }
            | Self::Pool { .. }
            | Self::AdaptivePool { .. }
            | Self::Flatten
            | Self::Upsample { .. }
            | Self::Other => return None,
        };
        Some(own == class)
    }
}

impl<'a> Value<'a> {
    pub(super) fn tensor(shape: Shape) -> Self {
        Self::Tensor(Some(shape.into()), Dtype::Unknown)
    }

    /// A Tensor of which nothing is known.
    pub(super) fn unshaped() -> Self {
        Self::Tensor(None, Dtype::Unknown)
    }

    pub(super) fn list(elements: Vec<Value<'a>>) -> Self {
        Self::List(Rc::new(RefCell::new(Some(elements))))
    }

    /// An iterable of unknown length.
    pub(super) fn many(element: Value<'a>) -> Self {
        Self::Many(Rc::new(RefCell::new(Some(element))))
    }

    /// A dictionary with unknown keys.
    pub(super) fn table(value: Value<'a>) -> Self {
        Self::Table(Rc::new(RefCell::new(Some(value))))
    }

    pub(super) fn dict(items: Vec<(Rc<str>, Value<'a>)>) -> Self {
        Self::Dict(Rc::new(RefCell::new(Some(items))))
    }

    pub(super) fn tuple(elements: Vec<Value<'a>>) -> Self {
        Self::Tuple(elements.into())
    }

    pub(super) fn size(size: Size) -> Self {
        match size {
            Size::Known(size) => Self::Int(size),
            Size::Dynamic(id) => Self::Size(id),
            Size::Quotient(id, divisor) => Self::Quotient(id, divisor),
            Size::Data => Self::Number,
            Size::Derived | Size::Unknown => Self::Unknown,
        }
    }

    /// Returns the size that this integer is as an argument of `view`.
    pub(super) fn as_size(&self) -> Size {
        match self {
            Self::Int(size) => Size::Known(*size),
            Self::Size(id) => Size::Dynamic(*id),
            Self::Quotient(id, divisor) => Size::Quotient(*id, *divisor),
            _ => Size::Unknown,
        }
    }

    /// Returns the text of a constant; `None` for other values.
    pub(super) fn constant(&self) -> Option<String> {
        Some(match self {
            Self::None => "None".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => format!("{value:?}"),
            Self::Text(text) => format!("{text:?}"),
            _ => return None,
        })
    }

    /// Returns the value as a key of a dictionary; `None` if it is not known.
    pub(super) fn key(&self) -> Option<Rc<str>> {
        Some(match self {
            Self::Text(text) => text.clone(),
            Self::Int(value) => value.to_string().into(),
            Self::Bool(value) => value.to_string().into(),
            Self::None => "None".into(),
            Self::Tuple(elements) => {
                let parts: Option<Vec<_>> = elements.iter().map(Self::key).collect();
                format!("({})", parts?.join(", ")).into()
            }
            _ => return None,
        })
    }

    /// Returns whether the value is a Tensor, or a number that a Tensor holds.
    pub(super) fn is_traced(&self) -> bool {
        matches!(self, Self::Tensor(..) | Self::Number | Self::Proxy)
    }

    /// Returns whether the value is a number of Python.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_))
    }

    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Bool(value) => Some((*value).into()),
            _ => None,
        }
    }

    pub(super) fn as_float(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "integers are small")]
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the elements of a list or tuple.
    pub(super) fn elements(&self) -> Option<Vec<Value<'a>>> {
        match self {
            Self::Tuple(elements) => Some(elements.to_vec()),
            Self::List(elements) => elements.borrow().clone(),
            Self::Iterator(iterator) => iterator.values.elements(),
            _ => None,
        }
    }

    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::None => Some(false),
            Self::Bool(value) => Some(*value),
            Self::Int(value) => Some(*value != 0),
            Self::Float(value) => Some(*value != 0.0),
            Self::Text(text) => Some(!text.is_empty()),
            Self::Tuple(elements) => Some(!elements.is_empty()),
            Self::List(elements) => elements.borrow().as_ref().map(|elements| !elements.is_empty()),
            Self::Dict(items) => items.borrow().as_ref().map(|items| !items.is_empty()),
            Self::Class(_)
            | Self::Function(_)
            | Self::Lambda(_)
            | Self::Partial(_)
            | Self::Library(_)
            | Self::Compiled(_)
            | Self::Transformed(_)
            | Self::Stateful(..) => Some(true),
            _ => None,
        }
    }

    /// Returns the value after a compiled function has returned it: numbers and sizes have values then.
    pub(super) fn computed(&self) -> Self {
        match self {
            Self::Number => Self::Unknown,
            Self::Tensor(Some(shape), dtype) if shape.contains(&Size::Data) => {
                let known = |size: &Size| if *size == Size::Data { Size::Unknown } else { *size };
                Self::Tensor(Some(shape.iter().map(known).collect()), *dtype)
            }
            Self::Tuple(elements) => Self::tuple(elements.iter().map(Self::computed).collect()),
            value => value.clone(),
        }
    }

    /// Forgets what unknown code may change.
    pub(super) fn forget(&self) {
        match self {
            Self::List(elements) => *elements.borrow_mut() = None,
            Self::Dict(items) | Self::Namespace(items) => *items.borrow_mut() = None,
            Self::Many(common) | Self::Table(common) => *common.borrow_mut() = Some(Value::Unknown),
            Self::Layer(layer) => {
                if let Layer::Sequential(layers) = &**layer {
                    *layers.borrow_mut() = None;
                }
            }
            Self::Object(object) => *object.attributes.borrow_mut() = None,
            Self::Weights(exist) => exist.set(true),
            Self::State(state) => state.is_changed.set(true),
            Self::Stateful(state, parts) => {
                state.forget();
                parts.iter().for_each(Self::forget);
            }
            Self::Compiled(compiled) => compiled.function.forget(),
            Self::Transformed(transformed) => transformed.function.forget(),
            Self::Partial(partial) => partial.function.forget(),
            Self::Function(function) => {
                if let Some((object, _)) = &function.receiver {
                    *object.attributes.borrow_mut() = None;
                }
            }
            _ => {}
        }
    }
}
