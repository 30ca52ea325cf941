//! The arguments of calls through values: the callee is a variable, field or element, not the name of a function. If
//! such a call passes Tensors, the parameters of the function are Tensors. Several functions may flow to the call; then
//! this holds for those that only staged code calls, if they accept the arguments.
//!
//! ```python
//! class Policy:
//!     def __call__(self, weights, x):
//!         return self.activation(weights @ x)     # `relu(x)` and `tanh(x)`, if `activation` is one of them
//! ```

use ag_db::Db;
use ag_index::answers::{ArgumentSlot, ScopeTypes};
use ag_index::assumed::AssumedType;
use ag_index::facts::TensorKind;
use ag_index::ids::{Code, ParameterIndex};
use ag_index::index::{DefaultValue, FunctionId, ParameterKind, Signature, function_ast};
use ag_index::oracle::Scope;
use ag_syntax::{expressions, statements};
use ruff_python_ast::name::Name;
use ruff_python_ast::{Arguments, Expr, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::parameters::{parameter_at, takes_receiver, tensor_of};
use super::{Answers, Cause, Contribution, Fixpoint};
use crate::value_flow::PossibleCalls;

impl Fixpoint {
    /// Updates the arguments that the queried scopes pass in calls through values. Returns whether any changed.
    pub(super) fn contribute_by_value(&mut self, db: &dyn Db, answers: &Answers) -> bool {
        let possible = std::sync::Arc::clone(&self.possible);
        let mut changed = false;
        for (scope, types) in answers {
            let passed = self.passed_by_value(db, &possible, *scope, types);
            if self.by_value.get(scope).map_or(&[][..], Vec::as_slice) != passed {
                self.by_value.insert(*scope, passed);
                changed = true;
            }
        }
        changed
    }

    /// Returns whether a scope passes the same Tensors in calls through values as before, apart from the locations of
    /// the calls.
    pub(crate) fn passes_same_by_value(
        &self,
        db: &dyn Db,
        possible: &PossibleCalls,
        scope: Scope,
        types: &ScopeTypes,
    ) -> bool {
        let known = self.by_value.get(&scope).map_or(&[][..], Vec::as_slice);
        let passed = self.passed_by_value(db, possible, scope, types);
        let without_location = |(callee, parameter, contribution): &(Scope, ParameterIndex, Contribution)| {
            (*callee, *parameter, contribution.assumed.clone())
        };
        known.iter().map(without_location).eq(passed.iter().map(without_location))
    }

    fn passed_by_value(
        &self,
        db: &dyn Db,
        possible: &PossibleCalls,
        scope: Scope,
        types: &ScopeTypes,
    ) -> Vec<(Scope, ParameterIndex, Contribution)> {
        let mut passed = Vec::new();
        let Some(staged) = self.staged.get(&scope) else { return passed };
        let Some(calls) = possible.calls_in(scope) else { return passed };
        let Some(entry) = self.index(db, scope).function(scope.code) else { return passed };
        let function = FunctionId::new(db, self.document(scope), entry.path.clone());
        let Some(ast) = function_ast(db, function).as_ref() else { return passed };
        for call in calls.filter(|call| call.is_sole_callee || self.only_staged.contains(&call.callee)) {
            let Some(code @ Code::Function(_)) = call.callee.function() else { continue };
            let callee = Scope { document: call.callee.document, code };
            let (Some(signature), Some((_, range))) =
                (self.index(db, callee).signature(code), possible.site(scope.document, call.site))
            else {
                continue;
            };
            let within = range.checked_sub(entry.range.start());
            let Some(node) = within.and_then(|range| expressions::at(ast.def(), range)?.as_call_expr())
            else {
                continue;
            };
            if node.arguments.args.iter().any(Expr::is_starred_expr) {
                continue;
            }
            let bound = match call.is_sole_callee {
                true => usize::from(call.bound),
                false => usize::from(takes_receiver(self.index(db, callee), callee)),
            };
            if !call.is_sole_callee && !accepts(signature, bound, &node.arguments) {
                continue;
            }
            let positional = node.arguments.args.iter().zip(0..);
            let positional = positional.map(|(value, position)| (ArgumentSlot::Position(position), value));
            let keywords = node.arguments.keywords.iter().filter_map(|keyword| {
                Some((ArgumentSlot::Keyword(keyword.arg.as_ref()?.id.clone()), &keyword.value))
            });
            for (slot, value) in positional.chain(keywords) {
                let fact = expressions::id(value).and_then(|id| types.facts.get(id));
                let is_tensor = fact.is_some_and(|fact| {
                    let mut fact = fact.in_dialect(staged.dialect);
                    fact.unknown &= !is_fed_back(ast.def(), value, node.range());
                    matches!(fact.tensor_kind(), Some(TensorKind::Tensor | TensorKind::Variable))
                });
                let parameter = parameter_at(signature, bound, &slot);
                if let Some(parameter) = parameter.filter(|_| is_tensor) {
                    let location = self.index(db, scope).location(scope.code, range);
                    let contribution = Contribution {
                        cause: Cause { scope, location },
                        bound: false,
                        staged: true,
                        possible: true,
                        assumed: AssumedType::of(tensor_of(staged.dialect)),
                    };
                    passed.push((callee, parameter, contribution));
                }
            }
        }
        passed
    }
}

/// Returns whether the result of a call becomes its argument: `for step in self.steps: x = step(x)`. The type of the
/// result is unknown, so part of the argument's type is unknown as well.
pub fn is_fed_back(def: &StmtFunctionDef, argument: &Expr, call: TextRange) -> bool {
    let Expr::Name(name) = argument else { return false };
    statements::of_function(def).into_iter().filter_map(Stmt::as_assign_stmt).any(|assign| {
        let [Expr::Name(target)] = assign.targets.as_slice() else { return false };
        target.id == name.id && assign.value.range().contains_range(call)
    })
}

/// Returns whether the arguments of a call are those that a function needs: each has a parameter, and each parameter
/// without a default has an argument.
fn accepts(signature: &Signature, bound: usize, arguments: &Arguments) -> bool {
    let is_named = |name: &Name| {
        arguments.keywords.iter().any(|keyword| keyword.arg.as_ref().is_none_or(|given| given.id == *name))
    };
    let positional = signature.parameters.iter().skip(bound).filter(|parameter| {
        matches!(parameter.kind, ParameterKind::PositionalOnly | ParameterKind::Positional)
    });
    let takes_more = signature.parameters.iter().any(|parameter| parameter.kind == ParameterKind::VarArgs);
    (takes_more || arguments.args.len() <= positional.clone().count())
        && positional
            .skip(arguments.args.len())
            .all(|parameter| parameter.default != DefaultValue::Absent || is_named(&parameter.name))
        && arguments
            .keywords
            .iter()
            .filter_map(|keyword| keyword.arg.as_ref())
            .all(|name| parameter_at(signature, bound, &ArgumentSlot::Keyword(name.id.clone())).is_some())
}
