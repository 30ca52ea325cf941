//! Options of a conversion.

use std::fmt;
use std::str::FromStr;

/// How functions are converted and printed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    pub view: View,
    pub operator_set: OperatorSet,
    pub features: Features,
    /// The last pass to run. By default, all passes run.
    pub until: Option<Pass>,
    /// The module of operators that a converted file imports. By default, it is that of `operator_set`.
    pub operators: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            view: View::Full,
            operator_set: OperatorSet::TensorFlow,
            features: Features::default(),
            until: None,
            operators: None,
        }
    }
}

impl Options {
    pub(super) fn operators_module(&self) -> &str {
        let default = match self.operator_set {
            OperatorSet::TensorFlow | OperatorSet::AutoGraph => "autograph.operators",
            OperatorSet::Snek => "autograph.operators.snek",
        };
        self.operators.as_deref().unwrap_or(default)
    }

    pub(super) fn runs(&self, pass: Pass) -> bool {
        self.until.is_none_or(|last| pass <= last)
    }

    /// Returns whether functions get a `FunctionScope` and are marked as converted.
    pub(super) fn has_scopes(&self) -> bool {
        self.view == View::Full && self.operator_set != OperatorSet::Snek && self.runs(Pass::Functions)
    }
}

/// The level of detail of converted code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Executable code.
    #[default]
    Full,
    /// Code as in the listings of the AutoGraph paper, without state accessors, scopes and guarded loads.
    Simplified,
}

/// The operators that converted code calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OperatorSet {
    /// TensorFlow 2's `ag__`.
    #[default]
    TensorFlow,
    /// The operators of this project's runtime, with the same signatures.
    AutoGraph,
    /// The operators `_if`, `_while`, `_for` and `_return` (Snek, figure 3).
    Snek,
}

/// The features that TensorFlow disables by default (`tf.autograph.experimental.Feature`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features {
    pub asserts: bool,
    pub builtins: bool,
    pub equality: bool,
    pub lists: bool,
    /// Whether functions that call `locals()` are converted. The operators then detect such calls at run time.
    /// TensorFlow has no such feature.
    pub scopes: bool,
}

impl Features {
    pub const ALL: Self = Self { asserts: true, builtins: true, equality: true, lists: true, scopes: false };

    /// Enables the feature with this name in TensorFlow. Returns false if the name is unknown.
    pub fn enable(&mut self, name: &str) -> bool {
        match name {
            "ALL" => *self = Self::ALL,
            "ASSERT_STATEMENTS" => self.asserts = true,
            "BUILTIN_FUNCTIONS" => self.builtins = true,
            "EQUALITY_OPERATORS" => self.equality = true,
            "LISTS" => self.lists = true,
            "SCOPES" => self.scopes = true,
            // These affect only the runtime, not the converted text.
            "AUTO_CONTROL_DEPS" | "NAME_SCOPES" => {}
            _ => return false,
        }
        true
    }

    /// Returns the names of the enabled features, sorted.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        [
            (self.asserts, "ASSERT_STATEMENTS"),
            (self.builtins, "BUILTIN_FUNCTIONS"),
            (self.equality, "EQUALITY_OPERATORS"),
            (self.lists, "LISTS"),
        ]
        .into_iter()
        .filter_map(|(on, name)| on.then_some(name))
    }
}

/// The passes, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    Directives,
    Breaks,
    Continues,
    Returns,
    Asserts,
    Lists,
    Slices,
    Calls,
    ControlFlow,
    ConditionalExpressions,
    LogicalExpressions,
    Variables,
    Functions,
}

impl Pass {
    pub const ALL: [Self; 13] = [
        Self::Directives,
        Self::Breaks,
        Self::Continues,
        Self::Returns,
        Self::Asserts,
        Self::Lists,
        Self::Slices,
        Self::Calls,
        Self::ControlFlow,
        Self::ConditionalExpressions,
        Self::LogicalExpressions,
        Self::Variables,
        Self::Functions,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Directives => "directives",
            Self::Breaks => "breaks",
            Self::Continues => "continues",
            Self::Returns => "returns",
            Self::Asserts => "asserts",
            Self::Lists => "lists",
            Self::Slices => "slices",
            Self::Calls => "calls",
            Self::ControlFlow => "control-flow",
            Self::ConditionalExpressions => "conditional-expressions",
            Self::LogicalExpressions => "logical-expressions",
            Self::Variables => "variables",
            Self::Functions => "functions",
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Pass {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|pass| pass.name() == name);
        found.ok_or_else(|| format!("unknown pass `{name}`"))
    }
}
