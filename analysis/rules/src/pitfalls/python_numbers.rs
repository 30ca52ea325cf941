//! The names of a scope that are bound to Python numbers, and those of them that change in each iteration of a loop.
//!
//! ```python
//! rate = 0.1
//! while step < 100:
//!     rate = decayed(rate, step)    # a number that changes
//!     step += 1                     # so is this
//! ```

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::FxHashSet;

use super::bindings::Bindings;
use super::number_attributes::NumberAttributes;
use crate::FileContext;
use crate::program::ScopeId;
use ag_syntax::expressions::natural;

/// The number of traces at which TensorFlow starts to warn.
pub(super) const MANY_TRACES: usize = 5;

/// The maximum depth of expressions that are recognized as numbers.
const MAX_DEPTH: usize = 16;

/// Builtin functions that return a number if all their arguments are numbers.
const KEEP_NUMBERS: [&str; 6] = ["float", "int", "round", "abs", "min", "max"];

/// The Python numbers of a scope.
pub(super) struct Numbers<'c, 'a> {
    ctx: &'c FileContext<'a>,
    attributes: &'c NumberAttributes<'c, 'a>,
    /// The function whose body is the scope, or the module.
    scope: ScopeId,
    /// The names that are bound only to numbers.
    names: FxHashSet<&'a str>,
    /// The functions of the file that compute a number from numbers.
    arithmetic: FxHashSet<&'a str>,
    /// The names whose numbers change in the enclosing loops.
    changing: Vec<&'a str>,
}

impl<'c, 'a> Numbers<'c, 'a> {
    /// Returns the numbers of a function body or module.
    pub(super) fn of_scope(
        ctx: &'c FileContext<'a>,
        attributes: &'c NumberAttributes<'c, 'a>,
        scope: ScopeId,
        body: &'a [Stmt],
        parameters: Option<&'a ast::Parameters>,
    ) -> Self {
        let bounds = bounds(body);
        let is_number = |parameter: &ast::AnyParameterRef| {
            parameter.default().is_some_and(Expr::is_number_literal_expr)
                || parameter.annotation().is_some_and(is_number_type)
                || bounds.contains(parameter.name().as_str())
        };
        let parameters = parameters.into_iter().flat_map(|parameters| parameters.iter());
        let (given, others): (Vec<_>, Vec<_>) = parameters.partition(is_number);
        let others: Vec<&str> = others.iter().map(|parameter| parameter.name().as_str()).collect();
        let mut bindings = Bindings::of_scope(body, &others);
        for parameter in given {
            bindings.values.entry(parameter.name().as_str()).or_default();
        }
        for (name, value) in std::mem::take(&mut bindings.updates) {
            bindings.values.entry(name).or_default().push(value);
        }
        let mut counters = Vec::new();
        for node in std::mem::take(&mut bindings.loops) {
            match number_variable(node) {
                Some(name) => counters.push(name),
                None => bindings.forget(&node.target),
            }
        }
        let names = bindings.values.keys().copied().chain(counters);
        let names = names.filter(|name| !bindings.others.contains(name)).collect();
        let arithmetic = arithmetic_functions(ctx);
        let mut numbers = Self { ctx, attributes, scope, names, arithmetic, changing: Vec::new() };
        // A name is a number only if all its values are.
        loop {
            let is_no_number = |name: &&&'a str| {
                bindings.values.get(**name).into_iter().flatten().any(|value| !numbers.is_number(value, 0))
            };
            let Some(name) = numbers.names.iter().find(is_no_number).copied() else { return numbers };
            numbers.names.remove(name);
        }
    }

    /// Enters a loop. The result must be passed to [`Numbers::leave`].
    pub(super) fn enter(&mut self, statement: &'a Stmt) -> usize {
        let before = self.changing.len();
        let body = match statement {
            Stmt::For(node) => {
                self.changing.extend(number_variable(node));
                &node.body
            }
            Stmt::While(node) => &node.body,
            _ => return before,
        };
        let mut updates = Updates::default();
        updates.visit_body(body);
        loop {
            let known = self.changing.len();
            for (name, value) in &updates.found {
                let changes = match value {
                    Some(value) => self.mentions(value, Some(name)),
                    None => true,
                };
                if self.names.contains(name) && changes && !self.changing.contains(name) {
                    self.changing.push(name);
                }
            }
            if self.changing.len() == known {
                return before;
            }
        }
    }

    pub(super) fn leave(&mut self, before: usize) {
        self.changing.truncate(before);
    }

    /// Returns whether an expression is a number that differs in each iteration of an enclosing loop.
    pub(super) fn changes(&self, expression: &'a Expr) -> bool {
        self.is_number(expression, 0) && self.mentions(expression, None)
    }

    fn is_number(&self, expression: &'a Expr, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let is_number = |expression: &'a Expr| self.is_number(expression, depth + 1);
        match expression {
            Expr::NumberLiteral(_) => true,
            Expr::Attribute(attribute) => {
                is_constant(self.ctx, expression) || self.attributes.contains(self.scope, attribute)
            }
            Expr::Name(name) => {
                self.names.contains(name.id.as_str()) || self.changing.contains(&name.id.as_str())
            }
            Expr::UnaryOp(operation) => is_number(&operation.operand),
            Expr::BinOp(operation) => is_number(&operation.left) && is_number(&operation.right),
            Expr::If(node) => is_number(&node.body) && is_number(&node.orelse),
            Expr::Call(call) => {
                let arguments = &call.arguments;
                let keywords = arguments.keywords.iter().map(|keyword| &keyword.value);
                let is_named = |name: &ast::ExprName| {
                    let name = name.id.as_str();
                    KEEP_NUMBERS.contains(&name) || self.arithmetic.contains(name)
                };
                let is_function = || {
                    call.func.as_name_expr().is_some_and(is_named)
                        || self.attributes.is_arithmetic(self.scope, &call.func)
                };
                always_returns_number(self.ctx, &call.func)
                    || !arguments.is_empty()
                        && is_function()
                        && arguments.args.iter().chain(keywords).all(is_number)
            }
            _ => false,
        }
    }

    /// Returns whether an expression reads a name whose number changes, or the name `own`.
    fn mentions(&self, expression: &Expr, own: Option<&str>) -> bool {
        struct Reads<'n> {
            changing: &'n [&'n str],
            own: Option<&'n str>,
            found: bool,
        }
        impl SourceOrderVisitor<'_> for Reads<'_> {
            fn visit_expr(&mut self, expression: &Expr) {
                if let Expr::Name(name) = expression {
                    let name = name.id.as_str();
                    self.found |= self.own == Some(name) || self.changing.contains(&name);
                }
                source_order::walk_expr(self, expression);
            }
        }
        let mut reads = Reads { changing: &self.changing, own, found: false };
        reads.visit_expr(expression);
        reads.found
    }
}

/// The names that a loop body binds, by an assignment or by `+=`.
#[derive(Default)]
struct Updates<'a> {
    found: Vec<(&'a str, Option<&'a Expr>)>,
}

impl<'a> StatementVisitor<'a> for Updates<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Assign(assign) => {
                let names = assign.targets.iter().filter_map(Expr::as_name_expr);
                self.found.extend(names.map(|name| (name.id.as_str(), Some(&*assign.value))));
            }
            Stmt::AugAssign(assign) => {
                let name = assign.target.as_name_expr();
                self.found.extend(name.map(|name| (name.id.as_str(), None)));
            }
            _ => {}
        }
        statement_visitor::walk_stmt(self, statement);
    }
}

/// Returns the names that are bounds of a Python loop, and so are numbers: `epochs` in `for epoch in range(epochs)`.
fn bounds(body: &[Stmt]) -> FxHashSet<&str> {
    #[derive(Default)]
    struct Bounds<'a>(FxHashSet<&'a str>);
    impl<'a> SourceOrderVisitor<'a> for Bounds<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                _ => source_order::walk_stmt(self, statement),
            }
        }
        fn visit_expr(&mut self, expression: &'a Expr) {
            if let Expr::Call(call) = expression
                && call.func.as_name_expr().is_some_and(|name| name.id == "range")
            {
                let names = call.arguments.args.iter().filter_map(Expr::as_name_expr);
                self.0.extend(names.map(|name| name.id.as_str()));
            }
            source_order::walk_expr(self, expression);
        }
    }
    let mut bounds = Bounds::default();
    bounds.visit_body(body);
    bounds.0
}

/// `int`, `float`
pub(super) fn is_number_type(annotation: &Expr) -> bool {
    annotation.as_name_expr().is_some_and(|name| matches!(name.id.as_str(), "int" | "float"))
}

/// `math.pi`
fn is_constant(ctx: &FileContext, expression: &Expr) -> bool {
    ctx.resolve(expression).is_some_and(|name| {
        name.strip_prefix("math.").is_some_and(|name| ["e", "inf", "pi", "tau"].contains(&name))
    })
}

/// Returns the functions of the module that return arithmetic on their parameters:
/// `def rate(step): return 0.9 ** step`.
fn arithmetic_functions<'a>(ctx: &FileContext<'a>) -> FxHashSet<&'a str> {
    let is_arithmetic = |def: &&ast::StmtFunctionDef| {
        let mut names: Vec<&str> = def.parameters.iter().map(|p| p.name().as_str()).collect();
        returns_arithmetic(ctx, &def.body, &mut names, &|_| false) == Some(true)
    };
    let functions = ctx.parsed.suite().iter().filter_map(Stmt::as_function_def_stmt);
    functions.filter(is_arithmetic).map(|def| def.name.as_str()).collect()
}

/// Returns whether a block returns arithmetic on `names` and on the attributes that are numbers; `None` if it may do
/// anything else than compute and compare numbers. Names that it binds to arithmetic are added.
pub(super) fn returns_arithmetic<'a>(
    ctx: &FileContext,
    body: &'a [Stmt],
    names: &mut Vec<&'a str>,
    is_number: &dyn Fn(&ast::ExprAttribute) -> bool,
) -> Option<bool> {
    let mut returns = false;
    for statement in body {
        match statement {
            Stmt::Return(node) => {
                returns = of_names(ctx, node.value.as_deref()?, names, is_number, 0).then_some(true)?;
            }
            Stmt::Assign(ast::StmtAssign { targets, value, .. }) => {
                let ([Expr::Name(target)], true) = (&**targets, of_names(ctx, value, names, is_number, 0))
                else {
                    return None;
                };
                names.push(target.id.as_str());
            }
            Stmt::If(node) => {
                returns |= returns_arithmetic(ctx, &node.body, names, is_number)?;
                for clause in &node.elif_else_clauses {
                    returns |= returns_arithmetic(ctx, &clause.body, names, is_number)?;
                }
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => {}
            _ if is_text(statement) => {}
            _ => return None,
        }
    }
    Some(returns)
}

fn is_text(statement: &Stmt) -> bool {
    statement.as_expr_stmt().is_some_and(|statement| statement.value.is_string_literal_expr())
}

/// Returns whether an expression is arithmetic on numbers and these names.
fn of_names(
    ctx: &FileContext,
    value: &Expr,
    names: &[&str],
    is_number: &dyn Fn(&ast::ExprAttribute) -> bool,
    depth: usize,
) -> bool {
    let inner = |value: &Expr| depth < MAX_DEPTH && of_names(ctx, value, names, is_number, depth + 1);
    match value {
        Expr::NumberLiteral(_) => true,
        Expr::Attribute(attribute) => is_constant(ctx, value) || is_number(attribute),
        Expr::Name(name) => names.contains(&name.id.as_str()),
        Expr::UnaryOp(operation) => inner(&operation.operand),
        Expr::BinOp(operation) => inner(&operation.left) && inner(&operation.right),
        Expr::If(node) => inner(&node.body) && inner(&node.orelse),
        Expr::Call(call) => {
            let keeps = call.func.as_name_expr().is_some_and(|name| KEEP_NUMBERS.contains(&name.id.as_str()));
            always_returns_number(ctx, &call.func)
                || keeps && call.arguments.keywords.is_empty() && call.arguments.args.iter().all(inner)
        }
        _ => false,
    }
}

/// Returns whether a function returns a Python number for any argument: `len`, `math.cos`.
fn always_returns_number(ctx: &FileContext, function: &Expr) -> bool {
    match ctx.resolve(function) {
        // `math.frexp` and `math.modf` return tuples.
        Some(name) => name.strip_prefix("math.").is_some_and(|name| !matches!(name, "frexp" | "modf")),
        None => function.as_name_expr().is_some_and(|name| name.id == "len"),
    }
}

/// Returns the variable of a loop over numbers; `None` if the loop certainly has fewer than `MANY_TRACES` iterations.
fn number_variable(node: &ast::StmtFor) -> Option<&str> {
    if !may_be_long(node) {
        return None;
    }
    match node.iter.as_ref() {
        Expr::Call(call) => {
            let callee = call.func.as_name_expr()?.id.as_str();
            match (callee, node.target.as_ref()) {
                ("range", Expr::Name(target)) => Some(target.id.as_str()),
                ("enumerate", Expr::Tuple(targets)) => {
                    targets.elts.first()?.as_name_expr().map(|target| target.id.as_str())
                }
                _ => None,
            }
        }
        Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
            let are_numbers = elts.iter().all(Expr::is_number_literal_expr);
            node.target.as_name_expr().filter(|_| are_numbers).map(|target| target.id.as_str())
        }
        _ => None,
    }
}

/// Returns whether a loop may have at least `MANY_TRACES` iterations, as far as its iterable shows.
pub(super) fn may_be_long(node: &ast::StmtFor) -> bool {
    match &*node.iter {
        Expr::Call(call) if call.func.as_name_expr().is_some_and(|name| name.id == "range") => {
            !matches!(&*call.arguments.args, [stop] if natural(stop).is_some_and(|stop| stop < MANY_TRACES as u64))
        }
        Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
            elts.len() >= MANY_TRACES
        }
        _ => true,
    }
}
