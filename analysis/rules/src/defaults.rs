//! Calls that are not made while all parameters have their defaults:
//!
//! ```python
//! @partial(jax.jit, static_argnames="validate")
//! def update(cache, slices, validate=False):
//!     if validate:
//!         check(slices)                         # not called by default
//! ```

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::callers::{self, Call, MAX_CALLERS};
use super::{classes, guards};
use ag_db::Db;
use ag_flow::{DefKind, Flow};
use ag_index::assumptions::{Source, Stage};
use ag_index::index::{FunctionId, function_ast};
use ag_staging::queries;
use ag_syntax::expressions;
use ag_syntax::functions::{FunctionAst, FunctionPath};
use ag_syntax::qname::QName;

/// Parameters to which libraries and training loops pass both `True` and `False`.
const SWITCHED: [&str; 7] =
    ["deterministic", "is_train", "is_training", "mask", "train", "training", "use_running_average"];

/// Returns whether a test is likely to hold in some call: it is such a parameter, or the default of the constructor
/// satisfies it.
pub(super) fn may_hold<'db>(
    db: &'db dyn Db,
    id: FunctionId<'db>,
    function: &FunctionAst,
    test: &Expr,
) -> bool {
    test.as_name_expr().is_some_and(|name| SWITCHED.contains(&name.id.as_str()))
        || of_constructor_satisfies(db, id, function, test)
}

/// Returns whether the calling function does not reach a call because a condition before the call is always true or
/// always false. The conditions are evaluated with the values of the parameters: the arguments that the known calls
/// pass, or else the defaults.
pub(super) fn exclude(db: &dyn Db, call: &Call) -> bool {
    let (Some(stage), Some(flow)) = (call.stage, queries::flow(db, call.function).as_ref()) else {
        return false;
    };
    let scope = Scope { db, stage, ast: call.ast, flow };
    excludes(&call.ast.def().body, call.range, &|test| scope.holds(test))
}

/// Returns whether a test of an attribute of the object is true if the constructor is called with its defaults:
/// `if self.mode == "auto":` after `def __init__(self, mode="auto"): self.mode = mode`. Also returns true if the
/// attribute is `True` in the body of the class.
pub(super) fn of_constructor_satisfies<'db>(
    db: &'db dyn Db,
    method: FunctionId<'db>,
    function: &FunctionAst,
    test: &Expr,
) -> bool {
    let (attribute, expected) = match test {
        Expr::Attribute(attribute) => (attribute, None),
        Expr::Compare(compare) => match (&*compare.ops, &*compare.left, &*compare.comparators) {
            ([CmpOp::Eq], Expr::Attribute(attribute), [literal]) if literal.is_literal_expr() => {
                (attribute, Some(literal))
            }
            _ => return false,
        },
        _ => return false,
    };
    let receiver = function.def().parameters.iter().next().map(|receiver| &receiver.name().id);
    let is_own = |value: &Expr, own: Option<&Name>| value.as_name_expr().map(|name| &name.id) == own;
    // A module of PyTorch is created in training mode.
    if attribute.attr.as_str() == "training" && expected.is_none() && is_own(&attribute.value, receiver) {
        return true;
    }
    let Some((class, _)) = method.path(db).qualname.rsplit_once('.') else { return false };
    let path = FunctionPath { qualname: format!("{class}.__init__").into(), occurrence: 0 };
    let is_of_class = || {
        let attributes = classes::true_attributes(db, method.document(db));
        expected.is_none()
            && is_own(&attribute.value, receiver)
            && attributes.iter().any(|(of, name)| of == class && *name == attribute.attr.id)
    };
    let constructor = FunctionId::new(db, method.document(db), path);
    let Some(constructor) = function_ast(db, constructor).as_ref().map(FunctionAst::def) else {
        return is_of_class();
    };
    let own = constructor.parameters.iter().next().map(|own| &own.name().id);
    let assigned = constructor.body.iter().find_map(|statement| {
        let Stmt::Assign(assign) = statement else { return None };
        let [target] = assign.targets.as_slice() else { return None };
        // `self.mode, self.limit = mode, limit`
        let (targets, values) = match (expressions::sequence(target), expressions::sequence(&assign.value)) {
            (Some(targets), Some(values)) if targets.len() == values.len() => (targets, values),
            _ => (std::slice::from_ref(target), std::slice::from_ref(&*assign.value)),
        };
        targets.iter().zip(values).find_map(|(target, value)| {
            let target = target.as_attribute_expr()?;
            let is_it = target.attr.id == attribute.attr.id && is_own(&target.value, own);
            is_it.then_some(value)
        })
    });
    let assigned = assigned.filter(|_| is_own(&attribute.value, receiver));
    if assigned.is_none() {
        return is_of_class();
    }
    let default = match assigned {
        Some(Expr::Name(parameter)) => {
            constructor.parameters.iter().find(|it| it.name().id == parameter.id).and_then(|it| it.default())
        }
        other => other.filter(|value| value.is_literal_expr()),
    };
    match (default, expected) {
        (Some(default), Some(expected)) => ComparableExpr::from(default) == ComparableExpr::from(expected),
        (Some(Expr::BooleanLiteral(literal)), None) => literal.value,
        _ => false,
    }
}

/// Returns whether a test such as `size is None` is true because the call that reaches the function does not pass this
/// argument, and its default is `None`.
pub(super) fn omission_satisfies(db: &dyn Db, function: &FunctionAst, stage: &Stage, test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let ([CmpOp::Is], [Expr::NoneLiteral(_)], Expr::Name(name)) =
        (&*compare.ops, &*compare.comparators, &*compare.left)
    else {
        return false;
    };
    let mut parameters = function.def().parameters.iter().enumerate();
    let Some((position, parameter)) = parameters.find(|(_, parameter)| parameter.name().id == name.id) else {
        return false;
    };
    let Some(Expr::Call(call)) = callers::of_stage(db, stage)
        .filter(|_| stage.root.is_none())
        .and_then(|call| expressions::at(call.ast.def(), call.range))
    else {
        return false;
    };
    // The receiver, if there is one, is not among the arguments.
    parameter.default().is_some_and(Expr::is_none_literal_expr)
        && !spreads(call)
        && call.arguments.args.len()
            < position
                + usize::from(stage.parameters.first().is_none_or(|first| first.source != Source::Receiver))
        && call.arguments.find_keyword(&name.id).is_none()
}

/// Returns whether `body` does not reach `range`. `holds` returns the truth value of a test, if it is known.
fn excludes(body: &[Stmt], range: TextRange, holds: &dyn Fn(&Expr) -> Option<bool>) -> bool {
    for statement in body {
        let Stmt::If(conditional) = statement else {
            if statement.range().contains_range(range) {
                return guards::bodies(statement).into_iter().any(|body| excludes(body, range, holds));
            }
            continue;
        };
        let elifs = &conditional.elif_else_clauses;
        let clauses = std::iter::once((Some(&*conditional.test), &conditional.body))
            .chain(elifs.iter().map(|clause| (clause.test.as_ref(), &clause.body)));
        for (test, body) in clauses {
            let holds_here = test.map_or(Some(true), holds);
            if body.iter().any(|statement| statement.range().contains_range(range)) {
                return holds_here == Some(false) || excludes(body, range, holds);
            }
            let ends = matches!(body.last(), Some(Stmt::Return(_) | Stmt::Raise(_)));
            if holds_here == Some(true) && test.is_some() {
                let is_later = conditional.range().contains_range(range)
                    || ends && conditional.range().end() <= range.start();
                if is_later && !test.is_some_and(|test| test.range().contains_range(range)) {
                    return true;
                }
                break;
            }
        }
    }
    false
}

/// A staged function in which parameters are evaluated.
struct Scope<'a> {
    db: &'a dyn Db,
    stage: &'a Stage,
    ast: &'a FunctionAst,
    flow: &'a Flow,
}

impl<'a> Scope<'a> {
    fn holds(&self, test: &Expr) -> Option<bool> {
        match test {
            Expr::UnaryOp(operation) if operation.op == UnaryOp::Not => {
                self.holds(&operation.operand).map(|holds| !holds)
            }
            Expr::BoolOp(operation) => {
                let decisive = operation.op == ast::BoolOp::Or;
                let mut values = operation.values.iter().map(|value| self.holds(value));
                match values.any(|value| value == Some(decisive)) {
                    true => Some(decisive),
                    false => None,
                }
            }
            Expr::Compare(compare) => {
                let ([op], [right]) = (&*compare.ops, &*compare.comparators) else { return None };
                let equal = same(self.value(&compare.left, MAX_CALLERS)?, self.value(right, MAX_CALLERS)?)?;
                match op {
                    CmpOp::Is | CmpOp::Eq => Some(equal),
                    CmpOp::IsNot | CmpOp::NotEq => Some(!equal),
                    _ => None,
                }
            }
            Expr::Name(_) => match self.value(test, MAX_CALLERS)? {
                Expr::BooleanLiteral(literal) => Some(literal.value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the constant that an expression evaluates to by default.
    fn value<'e>(&'e self, expression: &'e Expr, calls: usize) -> Option<&'e Expr> {
        match expression {
            _ if is_constant(expression) => Some(expression),
            Expr::Name(name) => {
                let definitions = self.flow.definitions_of(name.range(), &QName::from(&name.id));
                let [definition] = definitions.as_slice() else { return None };
                matches!(definition.kind, DefKind::Parameter(_)).then(|| self.parameter(&name.id, calls))?
            }
            // `tuple(axes)`
            Expr::Call(call) if call.func.as_name_expr().is_some_and(|name| name.id == "tuple") => {
                let [inner] = &*call.arguments.args else { return None };
                self.value(inner, calls).filter(|value| value.is_tuple_expr())
            }
            _ => None,
        }
    }

    /// Returns the constant that a parameter receives from the call that reaches this function, or its default.
    fn parameter(&self, name: &Name, calls: usize) -> Option<&'a Expr> {
        let calls = calls.checked_sub(1)?;
        if let Some(Call { function, ast, stage, range }) = callers::of_stage(self.db, self.stage)
            && let Some(Expr::Call(call)) = expressions::at(ast.def(), range)
        {
            if spreads(call) {
                return None;
            }
            let passed = match self.stage.root {
                Some(_) => given(call, name),
                None => call
                    .arguments
                    .find_keyword(name)
                    .map(|it| &it.value)
                    .or_else(|| self.positional(call, name)),
            };
            let Some(passed) = passed else { return self.default(name) };
            let flow = queries::flow(self.db, function).as_ref()?;
            let caller = Scope { db: self.db, stage: stage?, ast, flow };
            return match passed {
                Expr::Name(inner) => {
                    let definitions = flow.definitions_of(inner.range(), &QName::from(&inner.id));
                    let is_parameter = definitions.iter().all(|it| matches!(it.kind, DefKind::Parameter(_)));
                    is_parameter.then(|| caller.parameter(&inner.id, calls))?
                }
                _ => Some(passed).filter(|passed| is_constant(passed)),
            };
        }
        self.default(name)
    }

    /// Returns the default of a parameter if no call of the project seems to replace it.
    fn default(&self, name: &Name) -> Option<&'a Expr> {
        let parameter = self.stage.parameters.iter().find(|parameter| parameter.name == *name)?;
        if parameter.source == Source::CallSites || SWITCHED.contains(&name.as_str()) {
            return None;
        }
        let declared = self.ast.def().parameters.iter().find(|declared| declared.name().id == *name)?;
        // An argument that is `None` by default is an input that most calls may have: `labels=None`.
        declared.default().filter(|default| is_constant(default) && !default.is_none_literal_expr())
    }

    /// Returns the positional argument of a direct call of this function.
    fn positional<'c>(&self, call: &'c ast::ExprCall, name: &Name) -> Option<&'c Expr> {
        let names: Vec<&Name> = self.ast.def().parameters.iter().map(|it| &it.name().id).collect();
        let position = names.iter().position(|declared| *declared == name)?;
        let has_receiver = names.first().is_some_and(|first| matches!(first.as_str(), "self" | "cls"));
        let is_bound = has_receiver && call.func.is_attribute_expr();
        call.arguments.args.get(position.checked_sub(usize::from(is_bound))?)
    }
}

fn spreads(call: &ast::ExprCall) -> bool {
    call.arguments.args.iter().any(Expr::is_starred_expr)
        || call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
}

/// Returns the keyword argument that a call which makes a root gives to its function, in a `partial`:
/// `jax.vmap(partial(f, flag=True))`.
fn given<'a>(call: &'a ast::ExprCall, name: &Name) -> Option<&'a Expr> {
    let inner = call.arguments.args.first().and_then(Expr::as_call_expr)?;
    inner.arguments.find_keyword(name).map(|keyword| &keyword.value)
}

fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_constant),
        Expr::UnaryOp(operation) => {
            operation.op == UnaryOp::USub && operation.operand.is_number_literal_expr()
        }
        _ => expression.is_literal_expr(),
    }
}

/// Returns whether two constants are equal; `None` if they cannot be compared here.
fn same(left: &Expr, right: &Expr) -> Option<bool> {
    let is_comparable = std::mem::discriminant(left) == std::mem::discriminant(right)
        || left.is_none_literal_expr()
        || right.is_none_literal_expr();
    is_comparable.then(|| ComparableExpr::from(left) == ComparableExpr::from(right))
}
