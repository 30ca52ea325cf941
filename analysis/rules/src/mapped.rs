//! Determines whether a value depends on a mapped argument of `jax.vmap` or `torch.vmap`, or on an argument that `jax.grad`
//! differentiates, directly or through calls:
//!
//! ```python
//! def norm(v):
//!     return v.sum()            # mapped: `scaled` passes a mapped argument
//!
//! def scaled(row, weights):     # `row` is mapped, `weights` is not
//!     return row / norm(row * weights)
//!
//! jax.vmap(scaled, in_axes=(0, None))(table, weights)
//! ```

use std::cell::RefCell;

use ag_db::Db;
use ag_flow::{DefKind, Flow};
use ag_index::answers::Target;
use ag_index::assumptions::{Source, Stage};
use ag_index::dialect::RootKind;
use ag_index::index::{FunctionId, function_ast};
use ag_staging::queries;
use ag_syntax::expressions;
use ag_syntax::functions::FunctionAst;
use ag_syntax::qname::QName;
use ag_syntax::statements;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::FunctionContext;
use super::names::bound_names;
use super::path_certainty;

/// The maximum number of names, calls and operands that are followed.
const MAX_STEPS: usize = 24;

/// Attributes and methods of an array whose values do not depend on its elements.
const OF_SHAPE: [&str; 10] =
    ["shape", "ndim", "size", "dtype", "device", "dim", "numel", "nbytes", "itemsize", "sharding"];

/// Functions and methods whose derivative is zero everywhere.
const CONSTANT: [&str; 18] = [
    "all",
    "any",
    "around",
    "ceil",
    "count_nonzero",
    "digitize",
    "fix",
    "floor",
    "greater",
    "less",
    "nonzero",
    "rint",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "stop_gradient",
    "trunc",
];

/// Returns whether a value of this function certainly depends on a mapped argument.
pub(super) fn is_mapped(ctx: &FunctionContext, value: &Expr) -> bool {
    FunctionView::of_context(ctx).is_mapped(value, MAX_STEPS)
}

/// Returns whether a value of this function certainly depends on an argument that `jax.grad` differentiates, by operations
/// whose derivative is not zero everywhere. JAX computes the others without tracers: `x > 0`, `jnp.floor(x)`.
pub(super) fn is_differentiated(ctx: &FunctionContext, value: &Expr) -> bool {
    FunctionView { differentiates: true, ..FunctionView::of_context(ctx) }.is_mapped(value, MAX_STEPS)
}

/// The function that is checked, or a function that leads to it.
struct FunctionView<'a> {
    db: &'a dyn Db,
    function: FunctionId<'a>,
    ast: &'a FunctionAst,
    flow: &'a Flow,
    /// How the function is staged; `None` if it is not. The function around `jax.vmap(lambda row: f(row))` need not be
    /// staged.
    stage: Option<&'a Stage>,
    /// The definitions that are being followed. A loop leads back to one of them: `x = x @ w`. Such a value is mapped if
    /// its value before the loop is.
    followed: RefCell<Vec<TextRange>>,
    /// Whether only operations count whose derivative is not zero everywhere.
    differentiates: bool,
}

impl<'a> FunctionView<'a> {
    fn of_context(ctx: &FunctionContext<'a>) -> Self {
        Self {
            db: ctx.db,
            function: ctx.id(),
            ast: ctx.ast,
            flow: ctx.flow,
            stage: Some(ctx.stage),
            followed: RefCell::default(),
            differentiates: false,
        }
    }

    fn of(db: &'a dyn Db, function: FunctionId<'a>) -> Option<Self> {
        Some(Self {
            db,
            function,
            ast: function_ast(db, function).as_ref()?,
            flow: queries::flow(db, function).as_ref()?,
            stage: queries::stage(db, function).as_ref(),
            followed: RefCell::default(),
            differentiates: false,
        })
    }

    /// Returns whether an expression has a derivative that is zero everywhere: a comparison, or an operation that rounds.
    fn is_constant(&self, value: &Expr) -> bool {
        match value {
            Expr::Compare(_) | Expr::BoolOp(_) => true,
            Expr::BinOp(operation) => {
                use ast::Operator::{BitAnd, BitOr, BitXor, FloorDiv, LShift, RShift};
                matches!(operation.op, BitAnd | BitOr | BitXor | FloorDiv | LShift | RShift)
            }
            Expr::UnaryOp(operation) => matches!(operation.op, ast::UnaryOp::Not | ast::UnaryOp::Invert),
            Expr::Call(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => return true,
                };
                let converts = name == "astype" || name == "asarray" || name == "array";
                CONSTANT.contains(&name)
                    || name.starts_with("is")
                    || name.starts_with("logical_")
                    || name.starts_with("arg")
                    || converts && call.arguments.len() > 1 - usize::from(name == "astype")
            }
            _ => false,
        }
    }

    fn is_mapped(&self, value: &Expr, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        if self.differentiates && self.is_constant(value) {
            return false;
        }
        let inner = |value: &Expr| self.is_mapped(value, steps);
        match value {
            Expr::Name(name) => self.is_mapped_name(name, steps),
            Expr::Subscript(subscript) => inner(&subscript.value) || inner(&subscript.slice),
            Expr::Attribute(attribute) => {
                !OF_SHAPE.contains(&attribute.attr.as_str()) && inner(&attribute.value)
            }
            Expr::UnaryOp(operation) => inner(&operation.operand),
            Expr::BinOp(operation) => inner(&operation.left) || inner(&operation.right),
            Expr::Compare(compare) => inner(&compare.left) || compare.comparators.iter().any(inner),
            Expr::BoolOp(operation) => operation.values.iter().any(inner),
            Expr::If(conditional) => inner(&conditional.body) && inner(&conditional.orelse),
            Expr::Named(named) => inner(&named.value),
            Expr::Tuple(tuple) => tuple.elts.iter().any(inner),
            Expr::List(list) => list.elts.iter().any(inner),
            Expr::Call(call) => self.is_mapped_call(value, call, steps),
            _ => false,
        }
    }

    fn is_mapped_call(&self, value: &Expr, call: &ast::ExprCall, steps: usize) -> bool {
        let inner = |value: &Expr| self.is_mapped(value, steps);
        let arguments = || call.arguments.iter_source_order().any(|argument| inner(argument.value()));
        let imports = queries::imports(self.db, self.function.document(self.db));
        if let Some(name) = imports.resolve(&call.func) {
            let computes = ["jax.", "torch.", "einops."].iter().any(|package| name.starts_with(package));
            let function = name.rsplit('.').next().unwrap_or_default();
            return computes && !function.ends_with("_like") && function != "shape" && arguments();
        }
        if let Some(method) = call.func.as_attribute_expr()
            && inner(&method.value)
        {
            return !method.attr.starts_with("new_") && !OF_SHAPE.contains(&method.attr.as_str());
        }
        let fact = expressions::id(value).and_then(|id| queries::facts(self.db, self.function).get(id));
        fact.is_some_and(|fact| fact.tensor_kind().is_some()) && arguments()
    }

    fn is_mapped_name(&self, name: &ast::ExprName, steps: usize) -> bool {
        if let Some(lambda) = self.lambda_of(name) {
            return self.is_mapped_by_call(lambda);
        }
        let definitions = self.flow.definitions_of(name.range(), &QName::from(&name.id));
        if definitions.is_empty() {
            return false;
        }
        definitions.iter().all(|definition| match definition.kind {
            DefKind::Parameter(_) => self.is_mapped_parameter(&name.id, steps),
            DefKind::Assign | DefKind::AugAssign | DefKind::Walrus | DefKind::ForTarget => {
                if self.followed.borrow().contains(&definition.range) {
                    return true;
                }
                self.followed.borrow_mut().push(definition.range);
                let value = definition
                    .value
                    .and_then(|range| expressions::at(self.ast.def(), range))
                    .or_else(|| self.unpacked(definition.range));
                let mapped = value.is_some_and(|value| self.is_mapped(value, steps));
                self.followed.borrow_mut().pop();
                mapped
            }
            DefKind::Outer => self.is_mapped_outside(name, steps),
            _ => false,
        })
    }

    /// Returns the right side of `a, b = f(x)`, which binds the name at `range`.
    fn unpacked(&self, range: TextRange) -> Option<&'a Expr> {
        statements::of_function(self.ast.def()).into_iter().find_map(|statement| match statement {
            Stmt::Assign(assign) => assign
                .targets
                .iter()
                .any(|target| target.range().contains_range(range))
                .then_some(&*assign.value),
            _ => None,
        })
    }

    fn is_mapped_parameter(&self, name: &ast::name::Name, steps: usize) -> bool {
        let Some(stage) = self.stage else { return false };
        let Some(position) = stage.parameters.iter().position(|parameter| parameter.name == *name) else {
            return false;
        };
        let own = stage.parameters.get(position.into());
        if own.is_none_or(|own| own.source == Source::Receiver) {
            return false;
        }
        if let Some(root) = stage.root {
            let is_static = stage.static_parameters.contains(position.into());
            return matches!(root, RootKind::JaxGrad | RootKind::JaxVmap | RootKind::TorchVmap)
                && !is_static
                && !stage.static_parameters.more;
        }
        let (document, path) = (self.function.document(self.db), self.function.path(self.db).clone());
        let target = Target { document, path, bound: false };
        let passed = path_certainty::argument(self.db, stage, &target, name)
            .or_else(|| path_certainty::argument_by_value(self.db, stage, position, name));
        passed.is_some_and(|(caller, value)| {
            FunctionView::of(self.db, caller).is_some_and(|caller| {
                FunctionView { differentiates: self.differentiates, ..caller }.is_mapped(value, steps)
            })
        })
    }

    /// Returns whether a variable of an enclosing staged function is mapped.
    fn is_mapped_outside(&self, name: &ast::ExprName, steps: usize) -> bool {
        let path = self.function.path(self.db);
        let Some((around, _)) = path.qualname.rsplit_once('.') else { return false };
        let around = ag_syntax::functions::FunctionPath { qualname: around.into(), occurrence: 0 };
        let function = FunctionId::new(self.db, self.function.document(self.db), around);
        let Some(outer) = FunctionView::of(self.db, function) else { return false };
        // Only a parameter of the enclosing function that is never bound again has the same value at each call.
        let is_parameter = outer
            .stage
            .is_some_and(|stage| stage.parameters.iter().any(|parameter| parameter.name == name.id));
        is_parameter
            && !statements::of_function(outer.ast.def())
                .into_iter()
                .any(|statement| binds(statement, &name.id))
            && outer.is_mapped_parameter(&name.id, steps)
    }

    /// Returns the lambda of which a name is a parameter.
    fn lambda_of(&self, name: &ast::ExprName) -> Option<&'a ast::ExprLambda> {
        let all = expressions::of_function(self.ast.def());
        let takes = |lambda: &&ast::ExprLambda| {
            let parameters = lambda.parameters.as_deref();
            lambda.range().contains_range(name.range())
                && parameters.is_some_and(|parameters| parameters.iter().any(|it| it.name().id == name.id))
        };
        let lambdas = all.into_iter().filter_map(Expr::as_lambda_expr);
        lambdas.filter(takes).min_by_key(|lambda| lambda.range().len())
    }

    /// Returns whether all arguments of a lambda are mapped: `jax.vmap(lambda a: …)`.
    fn is_mapped_by_call(&self, lambda: &ast::ExprLambda) -> bool {
        let imports = queries::imports(self.db, self.function.document(self.db));
        let all = expressions::of_function(self.ast.def());
        all.into_iter().filter_map(Expr::as_call_expr).any(|call| {
            let maps = imports
                .resolve(&call.func)
                .is_some_and(|name| matches!(name.as_str(), "jax.vmap" | "torch.vmap" | "torch.func.vmap"));
            let is_only = call.arguments.len() == 1;
            let mut arguments = call.arguments.args.iter();
            maps && is_only && arguments.any(|function| function.range() == lambda.range())
        })
    }
}

fn binds(statement: &Stmt, name: &str) -> bool {
    let is_bound = |target: &Expr| bound_names(target).contains(&name);
    match statement {
        Stmt::Assign(assign) => assign.targets.iter().any(is_bound),
        Stmt::AugAssign(assign) => is_bound(&assign.target),
        Stmt::AnnAssign(assign) => is_bound(&assign.target),
        Stmt::For(statement) => is_bound(&statement.target),
        _ => false,
    }
}
