//! The operations of a graph.

use super::graph::FunctionId;

/// What a node does. Operands and results of each are in its line; `…` are operands of any number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Op {
    /// An operator of a library: `aten.add.Tensor`, `torchvision.nms.default`. Operands in the order of its schema.
    /// Only operators that change none of their operands; no `out=`.
    Operator(Box<str>),
    /// Arithmetic on registers, with Python's meaning.
    Scalar(Scalar),
    /// `(tensor) -> int | float | bool`: the one element of a tensor.
    Item,
    /// `(tensor, dimension) -> int`
    Size,
    /// `(before, after) -> tensor`: what a change in place below `torch.no_grad` leaves, the value of `after` with the
    /// derivative of `before`.
    Overwritten,
    /// `(condition) then() else()`: yields of the branch that was taken.
    If,
    /// `(start…) cond(carried…) -> bool, body(carried…) -> carried…`
    While,
    /// `(start, stop, step, carried…) body(index, carried…) -> carried… [test(carried…) -> bool]`
    /// The rounds of `range(start, stop, step)`; the test is asked before each: `break`.
    For,
    /// `(argument…)`: a function of this graph.
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
    /// `(part…)`: strings and values, with a space between them.
    Print,
    /// `(condition, message…)`: AssertionError.
    Assert,
    /// `(message…)`: the exception's class by name.
    Raise(Box<str>),
    /// `(argument…) -> …`: a call back into Python, by the number that the host has given it.
    Python(u32),
}

/// The operations that are said by a name alone.
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
    /// An operation that has no number and no class: `item`, `list.append`, `scalar.add`, `aten.add.Tensor`.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(scalar) = name.strip_prefix("scalar.") {
            return Scalar::from_text(scalar).map(Self::Scalar);
        }
        let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, op)| op.clone());
        named.or_else(|| (name.split('.').count() == 3).then(|| Self::Operator(name.into())))
    }

    /// The name, of those that are said by a name alone.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Operator(name) => Some(name),
            _ => NAMED.iter().find(|(_, op)| op == self).map(|(name, _)| *name),
        }
    }

    /// Whether something happens beside its results: it stays, and keeps its place among its kind.
    /// A node with regions has the effects of what is in them.
    pub fn has_effect(&self) -> bool {
        match self {
            Self::Print | Self::Assert | Self::Raise(_) | Self::Python(_) | Self::Call(_) => true,
            Self::Operator(name) => is_random(name),
            _ => false,
        }
    }

    /// Whether it may raise: an index out of range, a division by zero.
    /// Operators raise where their operands do not fit, which is known while the graph is made.
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

    /// The names of its regions in their order; the test of a `for` may be missing.
    pub fn regions(&self) -> &'static [&'static str] {
        match self {
            Self::If => &["then", "else"],
            Self::While => &["cond", "body"],
            Self::For => &["body", "test"],
            _ => &[],
        }
    }
}

/// Draws from the generator of random numbers, whose state is an effect.
fn is_random(name: &str) -> bool {
    let name = name.split('.').nth(1).unwrap_or(name);
    matches!(
        name,
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

/// Functions of registers. Those of two operands take the wider type: bool < int < float.
macro_rules! scalars {
    ($($name:ident $text:literal $operands:literal),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Scalar { $($name),* }

        impl Scalar {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// How many operands it has.
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
    // The condition, what it gives when true, what when false.
    Select "select" 3,
}

impl Scalar {
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scalar| scalar.text() == text)
    }
}
