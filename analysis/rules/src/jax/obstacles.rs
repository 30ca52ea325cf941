//! Finds results of `lax.while_loop` and of host callbacks that depend on the argument of a transformation: the loop has
//! no derivative in reverse mode, a callback has none at all, and `jax.vmap` maps a callback only on request.

use std::cell::Cell;

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;

use super::abstract_value::Value;
use super::evaluate::Evaluator;
use super::function::Function;
use super::transformed::is_false;
use crate::program::{Binding, Bound, ScopeId};
use ag_index::callbacks::argument;
use ag_syntax::expressions::{natural, sequence};
use ag_syntax::statements;

/// The maximum number of calls and names that are followed.
const DEEPEST: usize = 20;

/// The maximum number of expressions that are followed for one function.
const MAX_STEPS: usize = 4000;

/// Functions whose result depends on their first arguments, with a derivative that is not zero everywhere.
const SMOOTH: [&str; 54] = [
    "abs",
    "add",
    "asarray",
    "cos",
    "cosh",
    "cross",
    "cumsum",
    "divide",
    "dot",
    "elu",
    "exp",
    "expand_dims",
    "expm1",
    "gelu",
    "hypot",
    "inner",
    "kron",
    "log",
    "log1p",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "outer",
    "power",
    "prod",
    "ravel",
    "relu",
    "reshape",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take_along_axis",
    "tan",
    "tanh",
    "transpose",
    "var",
    "vdot",
];

/// An element of a tuple, or a field of a record.
#[derive(Clone, Copy)]
enum Part<'a> {
    Index(usize),
    Field(&'a str),
}

/// How a value depends on the argument with respect to which a function is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Dependence {
    /// The value does not depend on the argument, or not certainly.
    None,
    Smooth,
    /// The value depends on the argument through an operation that cannot be transformed.
    Through(Obstacle),
}

const LOOP: Dependence = Dependence::Through(Obstacle::Loop);
const CALLBACK: Dependence = Dependence::Through(Obstacle::Callback);

/// An operation that a transformation does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Obstacle {
    /// `lax.while_loop`
    Loop,
    /// A host callback receives a value that depends on the argument.
    Callback,
}

/// Returns what has no derivative, if the result of a function certainly depends on the first parameter through it:
///
/// ```python
/// def halve(x):
///     return lax.while_loop(lambda v: v > 1.0, lambda v: v / 2, x)
/// ```
pub(super) fn without_derivative<'a>(
    evaluator: &Evaluator<'_, 'a>,
    function: Function<'a>,
) -> Option<Obstacle> {
    let flow = Flow { evaluator, steps: Cell::new(MAX_STEPS), maps: false };
    match flow.result(function, &[Passed::of(Dependence::Smooth)], &Parameters::default(), DEEPEST) {
        Dependence::Through(obstacle) => Some(obstacle),
        Dependence::None | Dependence::Smooth => None,
    }
}

/// Returns whether a function passes a value that depends on one of its mapped parameters to a callback that `jax.vmap`
/// does not map: `jax.pure_callback` without `vmap_method`, or `io_callback` with `ordered=True`.
pub(super) fn maps_callback<'a>(
    evaluator: &Evaluator<'_, 'a>,
    function: Function<'a>,
    is_mapped: &[bool],
) -> bool {
    let dependence = |mapped: &bool| if *mapped { Dependence::Smooth } else { Dependence::None };
    let passed: Vec<Passed> = is_mapped.iter().map(|mapped| Passed::of(dependence(mapped))).collect();
    let flow = Flow { evaluator, steps: Cell::new(MAX_STEPS), maps: true };
    flow.result(function, &passed, &Parameters::default(), DEEPEST) == CALLBACK
}

/// The known properties of the parameters of a function that is followed.
#[derive(Clone, Default)]
struct Parameters<'a> {
    /// How each parameter depends on the argument of `jax.grad`.
    dependences: FxHashMap<(ScopeId, &'a str), Dependence>,
    /// The functions that are passed for parameters: `update` in `def solve(update, x): …`.
    functions: FxHashMap<(ScopeId, &'a str), Function<'a>>,
}

/// An argument of a call.
#[derive(Clone, Copy)]
struct Passed<'a> {
    dependence: Dependence,
    function: Option<Function<'a>>,
}

impl Passed<'_> {
    fn of(dependence: Dependence) -> Self {
        Self { dependence, function: None }
    }
}

struct Flow<'e, 'c, 'a> {
    evaluator: &'e Evaluator<'c, 'a>,
    /// The number of expressions that may still be followed. A variable is followed again at each use.
    steps: Cell<usize>,
    /// Whether the function is mapped. If not, it is differentiated.
    maps: bool,
}

impl<'a> Flow<'_, '_, 'a> {
    /// Returns how the result of a function depends on the argument. `known` also has the parameters of enclosing
    /// functions.
    fn result(
        &self,
        function: Function<'a>,
        arguments: &[Passed<'a>],
        known: &Parameters<'a>,
        depth: usize,
    ) -> Dependence {
        let Some((returned, scope, known)) = self.entered(function, arguments, known) else {
            return Dependence::None;
        };
        let statements = match function {
            Function::Def(def) => def.body.as_slice(),
            _ => &[],
        };
        // `io_callback(log, None, loss)`
        let unused = statements.iter().filter_map(|statement| statement.as_expr_stmt()?.value.as_call_expr());
        let unused = unused.filter_map(|call| self.of_callback(call, scope, &known, depth)).max();
        unused.unwrap_or(Dependence::None).max(self.of(returned, scope, &known, depth))
    }

    /// Returns the dependence of the result of a host callback; `None` for other calls.
    fn of_callback(
        &self,
        call: &'a ast::ExprCall,
        scope: ScopeId,
        known: &Parameters<'a>,
        depth: usize,
    ) -> Option<Dependence> {
        let name = self.evaluator.ctx.resolve(&call.func)?;
        let keyword = |name: &str| call.arguments.find_keyword(name).map(|keyword| &keyword.value);
        let is_rejected = match &*name {
            "jax.pure_callback" => {
                !self.maps
                    || !call.arguments.keywords.iter().any(|keyword| {
                        let name = keyword.arg.as_ref();
                        name.is_none_or(|name| matches!(name.as_str(), "vmap_method" | "vectorized"))
                    })
            }
            "jax.experimental.io_callback" => {
                !self.maps || keyword("ordered").is_some_and(|value| !is_false(value))
            }
            _ => return None,
        };
        let values = call.arguments.args.iter().skip(2).map(|value| self.of(value, scope, known, depth));
        let depends = values.max().unwrap_or(Dependence::None);
        Some(if depends > Dependence::None && is_rejected { CALLBACK } else { depends })
    }

    /// Returns the expression that a function returns, the scope of its body, and the known properties of its
    /// parameters.
    fn entered(
        &self,
        function: Function<'a>,
        arguments: &[Passed<'a>],
        known: &Parameters<'a>,
    ) -> Option<(&'a Expr, ScopeId, Parameters<'a>)> {
        let returned = match function {
            Function::Def(def) | Function::Method(def) | Function::Partial(def, ..) => {
                match def.body.last()? {
                    Stmt::Return(ast::StmtReturn { value, .. }) => value.as_deref()?,
                    _ => return None,
                }
            }
            Function::Lambda(lambda) => &*lambda.body,
        };
        let scope = self.evaluator.program.scope_of(function.range())?;
        let mut known = known.clone();
        for (parameter, passed) in function.positional().zip(arguments) {
            let name = parameter.parameter.name.as_str();
            if self.evaluator.program.bindings(scope, name).len() == 1 {
                known.dependences.insert((scope, name), passed.dependence);
                known.functions.extend(passed.function.map(|function| ((scope, name), function)));
            }
        }
        Some((returned, scope, known))
    }

    /// Returns an element of a tuple or record: `while_loop(test, body, (x, 0))[0]`, `state.x`.
    fn of_element(
        &self,
        tuple: &'a Expr,
        part: Part<'a>,
        scope: ScopeId,
        known: &Parameters<'a>,
        depth: usize,
    ) -> Dependence {
        let Some(depth) = depth.checked_sub(1) else { return Dependence::None };
        let (Bound::Value(value), scope) = self.evaluator.program.value(scope, tuple) else {
            return Dependence::None;
        };
        if let Some(element) = self.element(value, part, scope) {
            return self.of(element, scope, known, depth);
        }
        let Expr::Call(call) = value else { return Dependence::None };
        if self.is_while_loop(call) {
            let init = argument(call, 2, "init_val").map(|init| self.evaluator.program.value(scope, init));
            let Some((Bound::Value(init), owner)) = init else { return Dependence::None };
            let Some(element) = self.element(init, part, owner) else { return Dependence::None };
            let body = argument(call, 1, "body_fun").and_then(|it| self.evaluator.function(scope, it));
            let reads = body
                .and_then(|body| self.entered(body, &[], known))
                .map_or(Dependence::None, |(returned, scope, known)| {
                    self.of_element(returned, part, scope, &known, depth)
                });
            return self.after_loop(element, reads, owner, known, depth);
        }
        match self.entered_by(call, scope, known, depth) {
            Some((returned, scope, known)) => self.of_element(returned, part, scope, &known, depth),
            None => Dependence::None,
        }
    }

    /// Returns an element of a tuple that is written out, or an argument of the constructor of a record: `x` of
    /// `State(x, 0)` for the field `position`.
    fn element(&self, value: &'a Expr, part: Part<'a>, scope: ScopeId) -> Option<&'a Expr> {
        match (value, part) {
            (Expr::Tuple(tuple), Part::Index(index)) if !tuple.iter().any(Expr::is_starred_expr) => {
                tuple.elts.get(index)
            }
            (Expr::Call(call), part) => {
                let (Bound::Class(class), _) = self.evaluator.program.value(scope, &call.func) else {
                    return None;
                };
                let declares = |statement: &'a Stmt| {
                    Some(statement.as_ann_assign_stmt()?.target.as_name_expr()?.id.as_str())
                };
                let fields: Vec<&str> = class.body.iter().filter_map(declares).collect();
                let index = match part {
                    Part::Index(index) => index,
                    Part::Field(name) => fields.iter().position(|field| *field == name)?,
                };
                let has_constructor = class.body.iter().any(|statement| {
                    let def = statement.as_function_def_stmt();
                    def.is_some_and(|def| {
                        matches!(def.name.as_str(), "__init__" | "__new__" | "__post_init__")
                    })
                });
                (!has_constructor).then(|| argument(call, index, fields.get(index)?)).flatten()
            }
            _ => None,
        }
    }

    /// Returns the result of the function that a call enters: see [`Self::entered`].
    fn entered_by(
        &self,
        call: &'a ast::ExprCall,
        scope: ScopeId,
        known: &Parameters<'a>,
        depth: usize,
    ) -> Option<(&'a Expr, ScopeId, Parameters<'a>)> {
        if !call.arguments.keywords.is_empty() || self.evaluator.ctx.resolve(&call.func).is_some() {
            return None;
        }
        let function = self.callee(&call.func, scope, known)?;
        let passed = |value: &'a Expr| Passed {
            dependence: self.of(value, scope, known, depth),
            function: self.callee(value, scope, known),
        };
        let arguments: Vec<Passed> = call.arguments.args.iter().map(passed).collect();
        self.entered(function, &arguments, known)
    }

    /// Returns the right side of `_, x, _ = f()`, which binds the name at `range`, and the position of the name.
    fn unpacked(&self, scope: ScopeId, range: TextRange) -> Option<(&'a Expr, usize)> {
        let program = self.evaluator.program;
        let (def, _) = program.functions.iter().find(|(def, _)| def.range() == program.range(scope))?;
        statements::of_function(def).into_iter().filter_map(Stmt::as_assign_stmt).find_map(|assign| {
            let [Expr::Tuple(tuple)] = assign.targets.as_slice() else { return None };
            let index = tuple.elts.iter().position(|element| element.range() == range)?;
            (!tuple.iter().any(Expr::is_starred_expr)).then_some((&*assign.value, index))
        })
    }

    /// Returns the function that is called: a function of the file, or the function that is passed for a parameter.
    fn callee(&self, callee: &'a Expr, scope: ScopeId, known: &Parameters<'a>) -> Option<Function<'a>> {
        if let Some(name) = callee.as_name_expr()
            && let Some(owner) = self.evaluator.program.owner(scope, &name.id)
            && let Some(function) = known.functions.get(&(owner, name.id.as_str()))
        {
            return Some(*function);
        }
        if let Some(function) = self.evaluator.function(scope, callee) {
            return Some(function);
        }
        // `self.layer(x)`
        let def = self.evaluator.program.method_of_object(scope, callee, "__call__")?;
        self.evaluator.returns_as_written(def).then_some(Function::Method(def))
    }

    fn is_while_loop(&self, call: &ast::ExprCall) -> bool {
        self.evaluator.ctx.resolve(&call.func).is_some_and(|name| name == "jax.lax.while_loop")
    }

    /// Returns the dependence of a carried value after a loop. It follows from the dependence of the initial value and
    /// of the names that the body reads.
    fn after_loop(
        &self,
        init: &'a Expr,
        reads: Dependence,
        scope: ScopeId,
        known: &Parameters<'a>,
        depth: usize,
    ) -> Dependence {
        let value = self.evaluator.value(scope, init);
        let is_integer =
            matches!(&value, Value::Leaf(leaf) if leaf.dtype.is_some_and(|(it, _)| !it.is_inexact()));
        let depends = self.of(init, scope, known, depth).max(reads);
        match depends {
            // `jax.vmap` maps loops.
            _ if self.maps => depends,
            CALLBACK => depends,
            Dependence::None => depends,
            _ if is_integer => Dependence::None,
            _ => LOOP,
        }
    }

    fn of(&self, expression: &'a Expr, scope: ScopeId, known: &Parameters<'a>, depth: usize) -> Dependence {
        let Some((depth, steps)) = depth.checked_sub(1).zip(self.steps.get().checked_sub(1)) else {
            return Dependence::None;
        };
        self.steps.set(steps);
        let of = |expression: &'a Expr| self.of(expression, scope, known, depth);
        match expression {
            Expr::Name(name) => {
                let Some(owner) = self.evaluator.program.owner(scope, &name.id) else {
                    return Dependence::None;
                };
                if let Some(dependence) = known.dependences.get(&(owner, name.id.as_str())) {
                    return *dependence;
                }
                match self.evaluator.program.binding(scope, &name.id, name.range().start()) {
                    Some((Binding { bound: Bound::Value(value), .. }, owner)) => {
                        self.of(value, owner, known, depth)
                    }
                    Some((Binding { bound: Bound::Other, range, .. }, owner)) => {
                        match self.unpacked(owner, *range) {
                            Some((tuple, index)) => {
                                self.of_element(tuple, Part::Index(index), owner, known, depth)
                            }
                            None => Dependence::None,
                        }
                    }
                    _ => Dependence::None,
                }
            }
            Expr::BinOp(operation) => of(&operation.left).max(of(&operation.right)),
            Expr::UnaryOp(operation) => of(&operation.operand),
            // An element depends on the same values as its array or its tree of parameters.
            Expr::Subscript(item) => {
                let index = natural(&item.slice).and_then(|index| usize::try_from(index).ok());
                let element = index.map_or(Dependence::None, |index| {
                    self.of_element(&item.value, Part::Index(index), scope, known, depth)
                });
                element.max(of(&item.value))
            }
            Expr::Attribute(attribute) => {
                self.of_element(&attribute.value, Part::Field(attribute.attr.as_str()), scope, known, depth)
            }
            Expr::Call(call) => self.of_call(call, scope, known, depth),
            _ => Dependence::None,
        }
    }

    fn of_call(
        &self,
        call: &'a ast::ExprCall,
        scope: ScopeId,
        known: &Parameters<'a>,
        depth: usize,
    ) -> Dependence {
        let of = |expression: &'a Expr| self.of(expression, scope, known, depth);
        let all = || call.arguments.args.iter().map(of).max().unwrap_or(Dependence::None);
        if let Some(dependence) = self.of_callback(call, scope, known, depth) {
            return dependence;
        }
        if let Some(name) = self.evaluator.ctx.resolve(&call.func) {
            let (module, function) = name.rsplit_once('.').unwrap_or_default();
            return match (module, function) {
                ("jax.lax", "stop_gradient") if self.maps => all(),
                ("jax.lax", "while_loop") => {
                    let Some(init) = argument(call, 2, "init_val") else { return Dependence::None };
                    // The body reads variables from outside.
                    let body =
                        argument(call, 1, "body_fun").and_then(|it| self.evaluator.function(scope, it));
                    let reads = body.map_or(Dependence::None, |body| self.result(body, &[], known, depth));
                    self.after_loop(init, reads, scope, known, depth)
                }
                ("jax.numpy" | "jax.nn" | "jax.scipy.special", function) if SMOOTH.contains(&function) => {
                    all()
                }
                ("jax.numpy", "concatenate" | "stack" | "hstack" | "vstack") => {
                    let arrays = call.arguments.args.first().and_then(sequence);
                    arrays.into_iter().flatten().map(of).max().unwrap_or(Dependence::None)
                }
                _ => Dependence::None,
            };
        }
        match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "sum" | "mean" | "dot" | "reshape") => {
                of(&method.value)
            }
            Expr::Name(_) | Expr::Attribute(_) => match self.entered_by(call, scope, known, depth) {
                Some((returned, scope, known)) => self.of(returned, scope, &known, depth),
                None => Dependence::None,
            },
            _ => Dependence::None,
        }
    }
}
