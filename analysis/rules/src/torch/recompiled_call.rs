//! Calls in a loop that compile a function of `torch.compile` again in each iteration.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FileContext;
use super::super::declare::declare_rule;
use crate::names::{Names, bound_names};
use crate::program::{Bound, Program, ScopeId};
use ag_index::dialect::RootKind;
use ag_index::index::FileIndex;
use ag_syntax::expressions;

declare_rule! {
    /// ## What it does
    /// Reports calls in a loop that compile a function again in each iteration:
    ///
    /// - a text that depends on the iteration is an argument of the compiled function;
    /// - a counter is an argument which the function uses as the bound of a `range`, or as the index of a list or
    ///   `nn.ModuleList`, or with `dynamic=False`;
    /// - the program of the file passes another float, or a list of another length, in each iteration;
    /// - a lambda that reads a counter is an argument;
    /// - `torch.compile` compiles a lambda, a `partial` or a nested function that reads a counter of the loop.
    ///
    /// ## Why is this bad?
    /// The compiler treats these values as constants and guards on them, so each new value compiles the function again.
    /// After 8 compilations (`torch._dynamo.config.recompile_limit`) it stops compiling and runs the function in
    /// Python; with `fullgraph=True` it raises.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def score(x, tag):
    ///     return {tag: x.mean()}
    ///
    /// for epoch in range(10):
    ///     score(torch.ones(3), f"epoch-{epoch}")
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def score(x):
    ///     return x.mean()
    ///
    /// for epoch in range(10):
    ///     scores = {f"epoch-{epoch}": score(torch.ones(3))}
    /// ```
    ///
    /// ## What torch reports
    /// `torch._dynamo hit config.recompile_limit (8)`
    pub(crate) static TORCH_RECOMPILED_CALL = {
        code: "AG520", name: "torch-recompiled-call",
        summary: "a call in a loop compiles a function again in each iteration",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: File(is_of_interest, check),
    }
}

fn is_of_interest(index: &FileIndex) -> bool {
    let is_compiled = || index.roots.iter().any(|site| site.kind == RootKind::TorchCompile);
    // A compiled lambda is no root.
    index.imports.uses("torch") && (index.calls.contains_key("compile") || is_compiled())
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    for site in program.calls.iter().filter(|site| site.repeated.is_some()) {
        let changing = Changing::around(ctx, program, site.scope, site.node.range());
        if changing.counters.is_empty() && changing.bound.is_empty() {
            continue;
        }
        if is_compile(ctx, &site.node.func) {
            compiles_again(ctx, program, site.scope, site.node, &changing);
        } else if let Some(compiled) = compiled(ctx, program, site.scope, &site.node.func) {
            passes(ctx, program, site.node, &compiled, &changing);
        }
    }
}

/// Reports `torch.compile(lambda x: x / (step + 1))` in a loop over `step`.
fn compiles_again(
    ctx: &FileContext,
    program: &Program,
    scope: ScopeId,
    call: &ast::ExprCall,
    changing: &Changing,
) {
    let Some(function) = call.arguments.args.first() else { return };
    let counter = match function {
        Expr::Lambda(_) => changing.counter_in(&Names::of_expression(function)),
        Expr::Call(made) if ctx.resolve(&made.func).is_some_and(|name| name == "functools.partial") => {
            changing.counter_in(&Names::of_expression(function))
        }
        Expr::Name(_) => match program.value(scope, function).0 {
            Bound::Function(def) if changing.body.contains_range(def.range()) => {
                changing.counter_in(&Names::of_body(&def.body))
            }
            _ => None,
        },
        _ => None,
    };
    if let Some(counter) = counter {
        let message = format!("each iteration compiles a new function, which depends on `{counter}`");
        ctx.report(&TORCH_RECOMPILED_CALL, call, message)
            .help("compile one function before the loop, and pass the value as a Tensor")
            .emit();
    }
}

/// Reports the arguments of a compiled function for which each iteration compiles it again.
fn passes<'a>(
    ctx: &FileContext<'a>,
    program: &Program<'a>,
    call: &'a ast::ExprCall,
    compiled: &Compiled<'a>,
    changing: &Changing<'a>,
) {
    let positional =
        call.arguments.args.iter().enumerate().map(|(position, value)| (Some(position), None, value));
    let keywords = call.arguments.keywords.iter().map(|keyword| (None, keyword.arg.as_ref(), &keyword.value));
    for (position, keyword, value) in positional.chain(keywords) {
        let shown = ctx.text(value);
        let message = if changing.is_text(value) {
            format!("each iteration passes another text, `{shown}`, for which it compiles the function again")
        } else if changing.is_counter(value) {
            let parameter = match (keyword, position) {
                (Some(keyword), _) => Some(keyword.as_str()),
                (None, Some(position)) => compiled.parameter(position),
                (None, None) => None,
            };
            let uses = parameter.and_then(|name| compiled.needs_constant(ctx, program, name));
            match uses {
                _ if compiled.is_static => format!(
                    "each iteration passes another number, `{shown}`, for which `dynamic=False` compiles the function \
                     again"
                ),
                Some(what) => format!(
                    "each iteration compiles the function again: it uses the number `{shown}` as {what}"
                ),
                None => continue,
            }
        } else if let Some(counter) = changing.captured(value) {
            format!("each iteration passes another function, which depends on the number `{counter}`")
        } else {
            continue;
        };
        ctx.report(&TORCH_RECOMPILED_CALL, call, message)
            .help("pass a Tensor, or use the value outside the compiled function")
            .emit();
        return;
    }
}

/// A compiled function.
struct Compiled<'a> {
    function: Option<&'a ast::StmtFunctionDef>,
    class: Option<&'a ast::StmtClassDef>,
    /// Whether calls pass the first parameter implicitly.
    is_bound: bool,
    /// Whether `dynamic=False` is declared.
    is_static: bool,
}

impl<'a> Compiled<'a> {
    fn parameter(&self, position: usize) -> Option<&'a str> {
        let parameters = &self.function?.parameters;
        let mut positional = parameters.posonlyargs.iter().chain(&parameters.args);
        positional.nth(position + usize::from(self.is_bound)).map(|parameter| parameter.name().as_str())
    }

    /// Returns for what the function needs the value of a parameter, if the compiler treats it as a constant then.
    fn needs_constant(&self, ctx: &FileContext, program: &Program, name: &str) -> Option<&'static str> {
        let function = self.function?;
        let is_it = |value: &Expr| value.as_name_expr().is_some_and(|value| value.id == name);
        let is_bound_again = Names::of_body(&function.body).bound.contains(name);
        let uses = |expression: &Expr| match expression {
            Expr::Call(call) if call.func.as_name_expr().is_some_and(|callee| callee.id == "range") => {
                call.arguments.args.iter().any(is_it).then_some("the bound of a `range`")
            }
            Expr::Subscript(item) if self.is_sequence(ctx, program, &item.value) => match &*item.slice {
                Expr::Slice(slice) => {
                    let mut bounds = [&slice.lower, &slice.upper].into_iter().flatten();
                    bounds.any(|bound| is_it(bound)).then_some("the bound of a slice of a sequence")
                }
                index => is_it(index).then_some("the index of a sequence"),
            },
            _ => None,
        };
        expressions::of_function(function).into_iter().find_map(uses).filter(|_| !is_bound_again)
    }

    /// Returns whether an expression is `self.layers`, where the class assigns a list, tuple or `nn.ModuleList` to it.
    fn is_sequence(&self, ctx: &FileContext, program: &Program, value: &Expr) -> bool {
        let (Some(class), Expr::Attribute(attribute)) = (self.class, value) else { return false };
        let mut stores = program.stores.iter().filter(|store| {
            store.node.attr.id == attribute.attr.id && class.range().contains_range(store.node.range())
        });
        stores.any(|store| {
            let Some(assigned) = assigned(class, store.node.range()) else { return false };
            match assigned {
                Expr::List(_) | Expr::ListComp(_) | Expr::Tuple(_) => true,
                Expr::Call(call) => ctx
                    .resolve(&call.func)
                    .is_some_and(|name| name.starts_with("torch.nn.") && name.ends_with(".ModuleList")),
                _ => false,
            }
        })
    }
}

/// Returns the value that a statement of a class assigns to the target at a range.
fn assigned(class: &ast::StmtClassDef, target: TextRange) -> Option<&Expr> {
    struct Assigned<'a> {
        target: TextRange,
        found: Option<&'a Expr>,
    }
    impl<'a> SourceOrderVisitor<'a> for Assigned<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            if let Stmt::Assign(assign) = statement
                && assign.targets.iter().any(|target| target.range() == self.target)
            {
                self.found = Some(&assign.value);
            }
            source_order::walk_stmt(self, statement);
        }
    }
    let mut assigned = Assigned { target, found: None };
    assigned.visit_body(&class.body);
    assigned.found
}

fn is_compile(ctx: &FileContext, callee: &Expr) -> bool {
    ctx.resolve(callee).is_some_and(|name| name == "torch.compile")
}

/// Returns the compiled function that a callee certainly is: `step` after `step = torch.compile(f)`, or with the
/// decorator `@torch.compile`.
fn compiled<'a>(
    ctx: &FileContext<'a>,
    program: &Program<'a>,
    scope: ScopeId,
    callee: &'a Expr,
) -> Option<Compiled<'a>> {
    let is_static = |arguments: &ast::Arguments| {
        arguments.find_keyword("dynamic").is_some_and(|keyword| {
            keyword.value.as_boolean_literal_expr().is_some_and(|literal| !literal.value)
        })
    };
    let decorated = |function: &'a ast::StmtFunctionDef| {
        let [decorator] = function.decorator_list.as_slice() else { return None };
        let (callee, is_static) = match &decorator.expression {
            Expr::Call(call) => (&*call.func, is_static(&call.arguments)),
            name => (name, false),
        };
        is_compile(ctx, callee).then_some((function, is_static))
    };
    if let Expr::Attribute(method) = callee
        && let Some((function, is_static)) = program.method(scope, method).and_then(decorated)
    {
        let class =
            program.classes.iter().find(|class| class.range().contains_range(function.range())).copied();
        return Some(Compiled { function: Some(function), class, is_bound: true, is_static });
    }
    if let (Bound::Function(function), _) = program.value(scope, callee) {
        let (function, is_static) = decorated(function)?;
        return Some(Compiled { function: Some(function), class: None, is_bound: false, is_static });
    }
    let (origin, scope) = program.origin(callee, scope);
    let call = origin.as_call_expr().filter(|call| is_compile(ctx, &call.func))?;
    let is_static = is_static(&call.arguments);
    let unknown = Compiled { function: None, class: None, is_bound: false, is_static };
    let object = call.arguments.args.first()?;
    let class_of = |object: &'a Expr, scope: ScopeId| {
        let (origin, scope) = program.origin(object, scope);
        match program.value(scope, &origin.as_call_expr()?.func).0 {
            Bound::Class(class) => Some(class),
            _ => None,
        }
    };
    let in_class = |class: &'a ast::StmtClassDef, name: &str| {
        let mut methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let function =
            methods.find(|method| method.name.as_str() == name && method.decorator_list.is_empty());
        Compiled { function, class: Some(class), is_bound: true, is_static }
    };
    if let (Bound::Function(function), _) = program.value(scope, object) {
        return Some(Compiled { function: Some(function), ..unknown });
    }
    if let Some(class) = class_of(object, scope) {
        return Some(in_class(class, "forward"));
    }
    let Expr::Attribute(method) = object else { return Some(unknown) };
    let own = method.value.as_name_expr().and_then(|name| program.class_of_name(scope, name));
    let class = own.or_else(|| class_of(&method.value, scope));
    Some(class.map_or(unknown, |class| in_class(class, &method.attr)))
}

/// The values that change in each iteration of the loops around a call.
struct Changing<'a> {
    /// The body of the outermost loop.
    body: TextRange,
    /// The names that are bound to another number in each iteration.
    counters: Vec<&'a str>,
    /// The names that the loops bind.
    bound: Vec<&'a str>,
    /// The texts that the loops assign to names.
    texts: Vec<&'a str>,
}

impl<'a> Changing<'a> {
    fn around(ctx: &FileContext<'a>, program: &Program<'a>, scope: ScopeId, call: TextRange) -> Self {
        let function = program.functions.iter().find(|(def, _)| def.range() == program.range(scope));
        let body = function.map_or(ctx.parsed.suite(), |(def, _)| &def.body);
        let mut loops = Loops { call, found: Vec::new() };
        loops.visit_body(body);
        let outermost = loops.found.first().map_or_else(TextRange::default, |it| it.range());
        let mut changing =
            Self { body: outermost, counters: Vec::new(), bound: Vec::new(), texts: Vec::new() };
        let mut assignments = Vec::new();
        for node in loops.found {
            let inner = match node {
                Stmt::For(node) => {
                    changing.bound.extend(bound_names(&node.target));
                    changing.counters.extend(counter(node));
                    &node.body
                }
                Stmt::While(node) => &node.body,
                _ => continue,
            };
            for statement in inner {
                match statement {
                    Stmt::Assign(assign) => {
                        if let [Expr::Name(target)] = assign.targets.as_slice() {
                            assignments.push((target.id.as_str(), &*assign.value));
                        }
                    }
                    Stmt::AugAssign(assign) => {
                        let target =
                            assign.target.as_name_expr().filter(|_| assign.value.is_number_literal_expr());
                        changing.counters.extend(target.map(|target| target.id.as_str()));
                    }
                    _ => {}
                }
            }
        }
        changing.bound.extend(changing.counters.clone());
        for (name, value) in assignments {
            if changing.is_counter(value) {
                changing.counters.push(name);
                changing.bound.push(name);
            }
            if changing.is_text(value) {
                changing.texts.push(name);
            }
        }
        changing
    }

    /// Returns a counter that code reads.
    fn counter_in<'n>(&self, names: &Names<'n>) -> Option<&'n str> {
        let read = names.read.iter().map(|name| name.id.as_str());
        read.filter(|name| !names.parameters.contains(name)).find(|name| self.counters.contains(name))
    }

    /// Returns the counter that the function `lambda x: x * step` reads.
    fn captured(&self, function: &Expr) -> Option<&'a str> {
        function.as_lambda_expr()?;
        let names = Names::of_expression(function);
        let counter = self.counter_in(&names)?;
        self.counters.iter().copied().find(|known| *known == counter)
    }

    /// Returns whether an expression is arithmetic on a counter and literals: `step`, `step + 1`.
    fn is_counter(&self, value: &Expr) -> bool {
        match value {
            Expr::Name(name) => self.counters.contains(&name.id.as_str()),
            Expr::BinOp(operation) => {
                let sides = [&operation.left, &operation.right];
                sides.iter().any(|side| self.is_counter(side))
                    && sides.iter().all(|side| self.is_counter(side) || side.is_number_literal_expr())
            }
            _ => false,
        }
    }

    /// Returns whether an expression is a text with a value that the loop binds: `f"epoch-{epoch}"`, `str(epoch)`.
    fn is_text(&self, value: &Expr) -> bool {
        let is_made = match value {
            Expr::Name(name) => return self.texts.contains(&name.id.as_str()),
            Expr::FString(_) => true,
            Expr::BinOp(operation) => {
                matches!(operation.op, Operator::Add | Operator::Mod)
                    && operation.left.is_string_literal_expr()
            }
            Expr::Call(call) => match &*call.func {
                Expr::Name(name) => name.id == "str",
                Expr::Attribute(method) => {
                    method.attr.as_str() == "format" && method.value.is_string_literal_expr()
                }
                _ => false,
            },
            _ => false,
        };
        let reads = || Names::of_expression(value).read;
        is_made && reads().iter().any(|name| self.bound.contains(&name.id.as_str()))
    }
}

/// Returns the name that a loop binds to another number in each iteration: `i` in `for i in range(n)`, in
/// `for i, x in enumerate(xs)` and in `for i in (1, 2, 3)`.
fn counter(node: &ast::StmtFor) -> Option<&str> {
    if let Some(values) = expressions::sequence(&node.iter) {
        let are_numbers = values.len() > 1 && values.iter().all(Expr::is_number_literal_expr);
        return node.target.as_name_expr().filter(|_| are_numbers).map(|target| target.id.as_str());
    }
    let callee = node.iter.as_call_expr()?.func.as_name_expr()?;
    match (callee.id.as_str(), &*node.target) {
        ("range", Expr::Name(target)) => Some(target.id.as_str()),
        ("enumerate", Expr::Tuple(targets)) => {
            targets.elts.first()?.as_name_expr().map(|target| target.id.as_str())
        }
        _ => None,
    }
}

/// The loops of a body whose own bodies contain a call, from the outside in.
struct Loops<'a> {
    call: TextRange,
    found: Vec<&'a Stmt>,
}

impl<'a> SourceOrderVisitor<'a> for Loops<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !statement.range().contains_range(self.call)
            || matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_))
        {
            return;
        }
        let body = match statement {
            Stmt::For(node) => Some(&node.body),
            Stmt::While(node) => Some(&node.body),
            _ => None,
        };
        if body.is_some_and(|body| body.iter().any(|inner| inner.range().contains_range(self.call))) {
            self.found.push(statement);
        }
        source_order::walk_stmt(self, statement);
    }
}
