//! The functions that code passes to JAX or calls: a `def`, a lambda, a bound method, a `partial`.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::program::ScopeId;

/// A function: a `def` or a lambda.
#[derive(Clone, Copy)]
pub(super) enum Function<'a> {
    Def(&'a ast::StmtFunctionDef),
    Lambda(&'a ast::ExprLambda),
    /// A bound method: `self.step`. The receiver is not included.
    Method(&'a ast::StmtFunctionDef),
    /// `partial(step, params)`, with the arguments of `partial` and their scope.
    Partial(&'a ast::StmtFunctionDef, &'a ast::Arguments, ScopeId),
}

impl<'a> Function<'a> {
    pub(super) fn range(self) -> TextRange {
        match self {
            Self::Def(def) | Self::Method(def) | Self::Partial(def, ..) => def.range(),
            Self::Lambda(lambda) => lambda.range(),
        }
    }

    pub(super) fn parameters(self) -> Option<&'a ast::Parameters> {
        match self {
            Self::Def(def) | Self::Method(def) | Self::Partial(def, ..) => Some(&def.parameters),
            Self::Lambda(lambda) => lambda.parameters.as_deref(),
        }
    }

    /// Returns the positional parameters that are not bound yet.
    pub(super) fn positional(self) -> impl Iterator<Item = &'a ast::ParameterWithDefault> {
        let all = self.parameters().into_iter().flat_map(|it| it.posonlyargs.iter().chain(&it.args));
        all.skip(self.given()).filter(move |parameter| self.keyword(&parameter.parameter.name).is_none())
    }

    /// Returns the number of leading parameters that are already bound.
    pub(super) fn given(self) -> usize {
        match self {
            Self::Method(_) => 1,
            Self::Partial(_, arguments, _) => arguments.args.len().saturating_sub(1),
            Self::Def(_) | Self::Lambda(_) => 0,
        }
    }

    /// Returns the value that `partial` binds to a parameter as a keyword.
    pub(super) fn keyword(self, name: &str) -> Option<&'a Expr> {
        match self {
            Self::Partial(_, arguments, _) => arguments.find_keyword(name).map(|keyword| &keyword.value),
            _ => None,
        }
    }

    /// Returns whether the function can be called with this number of positional arguments.
    pub(super) fn accepts(self, arguments: usize) -> bool {
        let Some(parameters) = self.parameters() else { return arguments == 0 };
        let required = self.positional().filter(|parameter| parameter.default.is_none()).count();
        let keyword_only = parameters.kwonlyargs.iter().any(|parameter| {
            parameter.default.is_none() && self.keyword(&parameter.parameter.name).is_none()
        });
        let most = if parameters.vararg.is_some() { usize::MAX } else { self.positional().count() };
        !keyword_only && (required..=most).contains(&arguments)
    }

    /// Returns whether a call may pass this number of positional arguments, and the remaining ones as keywords.
    pub(super) fn accepts_count(self, arguments: usize) -> bool {
        let Some(parameters) = self.parameters() else { return arguments == 0 };
        parameters.vararg.is_some() || arguments <= self.positional().count()
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Def(def) | Self::Method(def) | Self::Partial(def, ..) => format!("`{}`", def.name),
            Self::Lambda(_) => "the lambda".to_owned(),
        }
    }
}
