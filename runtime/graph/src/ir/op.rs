//! The operations of a graph.

use super::graph::FunctionId;
use super::operator::Operator;

/// The operation of a node. Each variant lists its operands and results; `…` means any number of operands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Op {
    /// An operator of a library. Operands are in schema order. The operator is functional: it modifies no operand and
    /// has no `out=`.
    Operator(Operator),
    /// Arithmetic on scalars with Python semantics.
    Scalar(Scalar),
    /// `(tensor) -> int | float | bool`: the single element of a tensor.
    Item,
    /// `(tensor, dimension) -> int`
    Size,
    /// `(before, after) -> tensor`: the result of an in-place write under `torch.no_grad`: the value of
    /// `after` with the derivative of `before`.
    Overwritten,
    /// `(condition) then() else()`: the results of the branch that was taken.
    If,
    /// `(start…) cond(carried…) -> bool, body(carried…) -> carried…`
    While,
    /// `(start, stop, step, carried…) body(index, carried…) -> carried… [test(carried…) -> bool]`
    /// Iterates over `range(start, stop, step)`. The optional test runs before each iteration and implements
    /// `break`.
    For,
    /// `(argument…)`: calls a function of this graph.
    Call(FunctionId),
    /// `(item…) -> list`
    ListNew,
    /// `(length, item) -> list`: `[item] * length`
    ListFilled,
    /// `(list, item) -> list`
    ListAppend,
    /// `(list, index) -> item`
    ListGet,
    /// `(list, index, item) -> list`
    ListSet,
    /// `(list, index) -> list, item`
    ListPop,
    /// `(list, index, item) -> list`
    ListInsert,
    /// `(list) -> int`
    ListLen,
    /// `(list, start, stop, step) -> list`: each bound may be `none`.
    ListSlice,
    /// `(list, list) -> list`
    ListConcat,
    /// `(item…) -> tuple`
    TupleNew,
    /// `(tuple) -> item`
    TupleGet(u32),
    /// `(part…)`: prints strings and values, separated by spaces.
    Print,
    /// `(condition, message…)`: raises AssertionError if the condition is false.
    Assert,
    /// `(message…)`: raises the exception class with this name.
    Raise(Box<str>),
    /// `(argument…) -> …`: calls the Python function with this index.
    Python(u32),
    /// `(argument…) -> …`: calls the Python function with this index, which starts a collective and does not wait for it.
    Start(u32),
}

/// Operations whose textual form is only a name.
const NAMED: &[(&str, Op)] = &[
    ("item", Op::Item),
    ("size", Op::Size),
    ("overwritten", Op::Overwritten),
    ("if", Op::If),
    ("while", Op::While),
    ("for", Op::For),
    ("list.new", Op::ListNew),
    ("list.filled", Op::ListFilled),
    ("list.append", Op::ListAppend),
    ("list.get", Op::ListGet),
    ("list.set", Op::ListSet),
    ("list.pop", Op::ListPop),
    ("list.insert", Op::ListInsert),
    ("list.len", Op::ListLen),
    ("list.slice", Op::ListSlice),
    ("list.concat", Op::ListConcat),
    ("tuple.new", Op::TupleNew),
    ("print", Op::Print),
    ("assert", Op::Assert),
];

impl Op {
    /// Returns an operation of the graph itself without a parameter: `item`, `list.append`, `scalar.add`.
    pub fn builtin(name: &str) -> Option<Self> {
        if let Some(scalar) = name.strip_prefix("scalar.") {
            return Scalar::from_text(scalar).map(Self::Scalar);
        }
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, op)| op.clone())
    }

    /// Parses an operation without a parameter: a builtin one, or an operator such as `aten.add.Tensor`.
    pub fn named(name: &str) -> Option<Self> {
        if name.starts_with("scalar.") {
            return Self::builtin(name);
        }
        Self::builtin(name).or_else(|| Operator::parse(name).map(Self::Operator))
    }

    /// Returns an operator of ATen by its name and overload: `add.Tensor`.
    pub fn aten(name: &str) -> Self {
        Self::Operator(Operator::aten(name))
    }

    /// Returns the name, for operations whose textual form is only a name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Operator(operator) => Some(operator.text()),
            _ => NAMED.iter().find(|(_, op)| op == self).map(|(name, _)| *name),
        }
    }

    /// Returns whether the operation has an effect besides its results. Passes neither remove nor reorder such nodes. A
    /// node with regions also has the effects of its regions.
    pub fn has_effect(&self) -> bool {
        match self {
            Self::Print
            | Self::Assert
            | Self::Raise(_)
            | Self::Python(_)
            | Self::Start(_)
            | Self::Call(_) => true,
            Self::Operator(operator) => is_random(operator),
            _ => false,
        }
    }

    /// Returns whether the operation may raise, for example for an index out of range or a division by zero. ATen
    /// operators do not count, because tracing has already rejected operands that do not fit them.
    pub fn can_raise(&self) -> bool {
        matches!(
            self,
            Self::ListGet
                | Self::ListSet
                | Self::ListPop
                | Self::Item
                | Self::Scalar(
                    Scalar::FloorDiv
                        | Scalar::TrueDiv
                        | Scalar::Mod
                        | Scalar::Pow
                        | Scalar::Log
                        | Scalar::Sqrt
                )
        )
    }

    /// Returns the names of the operation's regions, in order. The test of a `for` is optional.
    pub fn regions(&self) -> &'static [&'static str] {
        match self {
            Self::If => &["then", "else"],
            Self::While => &["cond", "body"],
            Self::For => &["body", "test"],
            _ => &[],
        }
    }
}

/// Returns whether the operator draws from the random number generator, whose state is an effect.
fn is_random(operator: &Operator) -> bool {
    matches!(
        operator.name(),
        "rand"
            | "randn"
            | "randint"
            | "randperm"
            | "rand_like"
            | "randn_like"
            | "randint_like"
            | "bernoulli"
            | "multinomial"
            | "normal"
            | "normal_functional"
            | "poisson"
            | "binomial"
            | "native_dropout"
            | "dropout"
            | "uniform"
            | "exponential"
            | "geometric"
            | "log_normal"
            | "cauchy"
            | "random"
            | "rrelu_with_noise"
            | "rrelu_with_noise_functional"
            | "_standard_gamma"
            | "_sample_dirichlet"
    )
}

/// Scalar functions. Binary functions promote to the wider type: bool < int < float.
macro_rules! scalars {
    ($($name:ident $text:literal $operands:literal),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Scalar { $($name),* }

        impl Scalar {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns the number of operands.
            pub fn operands(self) -> usize {
                match self { $(Self::$name => $operands),* }
            }
        }
    };
}

scalars! {
    Add "add" 2, Sub "sub" 2, Mul "mul" 2, FloorDiv "floordiv" 2, TrueDiv "truediv" 2, Mod "mod" 2, Pow "pow" 2,
    Neg "neg" 1, Abs "abs" 1, Min "min" 2, Max "max" 2,
    Eq "eq" 2, Ne "ne" 2, Lt "lt" 2, Le "le" 2, Gt "gt" 2, Ge "ge" 2,
    And "and" 2, Or "or" 2, Not "not" 1,
    ToInt "int" 1, ToFloat "float" 1, ToBool "bool" 1,
    Floor "floor" 1, Ceil "ceil" 1, Round "round" 1,
    Sqrt "sqrt" 1, Exp "exp" 1, Log "log" 1, Sin "sin" 1, Cos "cos" 1, Tan "tan" 1, Tanh "tanh" 1,
    // The condition, the value if true, the value if false.
    Select "select" 3,
}

impl Scalar {
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scalar| scalar.text() == text)
    }
}
