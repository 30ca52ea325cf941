//! The calls of jitted functions within their file, argument by argument. Purely syntactic: a name is resolved
//! only if the file binds it once.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::FxHashMap;

use super::super::FileContext;
use ag_index::ids::ParameterIndex;
use ag_index::static_arguments::StaticArgument;

/// An argument of a call.
pub(super) struct Argument<'a> {
    pub call: &'a ast::ExprCall,
    pub function: &'a str,
    pub parameter: &'a str,
    pub value: &'a Expr,
    /// The parameter is one of `static_argnums`, `static_argnames`.
    pub is_static: bool,
    /// The value is a function of the file.
    pub is_function: bool,
}

/// A jitted function of the file.
struct Jitted<'a> {
    def: &'a ast::StmtFunctionDef,
    static_arguments: Vec<StaticArgument>,
}

pub(super) fn arguments<'a>(ctx: &'a FileContext<'a>) -> Vec<Argument<'a>> {
    if !ctx.imports.uses("jax") {
        return Vec::new();
    }
    let mut file = File::default();
    file.visit_body(ctx.parsed.suite());
    let mut jitted = FxHashMap::default();
    for def in &file.defs {
        if file.bindings.get(def.name.as_str()) == Some(&1)
            && let Some(static_arguments) = def.decorator_list.iter().find_map(|it| static_arguments(ctx, it))
        {
            jitted.insert(def.name.as_str(), Jitted { def, static_arguments });
        }
    }
    let is_function = |value: &Expr| {
        let Expr::Name(name) = value else { return false };
        let once = file.bindings.get(name.id.as_str()) == Some(&1);
        once && file.defs.iter().any(|def| def.name.id == name.id)
    };
    let mut all: Vec<Argument> = file.calls.iter().flat_map(|call| call_arguments(call, &jitted)).collect();
    for argument in &mut all {
        argument.is_function = is_function(argument.value);
    }
    all
}

/// The static arguments if the decorator is `jax.jit` and lists them as literals.
pub(super) fn static_arguments(ctx: &FileContext, decorator: &ast::Decorator) -> Option<Vec<StaticArgument>> {
    let is_jit = |expression: &Expr| ctx.resolve(expression).is_some_and(|name| name == "jax.jit");
    let keywords = match &decorator.expression {
        Expr::Call(call) => {
            let partial = ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
                && call.arguments.args.first().is_some_and(is_jit);
            if !partial && !is_jit(&call.func) {
                return None;
            }
            &*call.arguments.keywords
        }
        other => return is_jit(other).then(Vec::new),
    };
    let mut listed = Vec::new();
    for keyword in keywords {
        let Some(name) = &keyword.arg else { return None };
        if matches!(name.as_str(), "static_argnums" | "static_argnames") {
            let elements = match &keyword.value {
                Expr::Tuple(tuple) => tuple.elts.as_slice(),
                Expr::List(list) => list.elts.as_slice(),
                other => std::slice::from_ref(other),
            };
            for element in elements {
                listed.push(StaticArgument::of(element)?);
            }
        }
    }
    Some(listed)
}

fn call_arguments<'a>(call: &'a ast::ExprCall, jitted: &FxHashMap<&'a str, Jitted<'a>>) -> Vec<Argument<'a>> {
    let Some((function, target)) =
        call.func.as_name_expr().and_then(|name| jitted.get_key_value(name.id.as_str()))
    else {
        return Vec::new();
    };
    let parameters = &target.def.parameters;
    let positional: Vec<&ast::ParameterWithDefault> =
        parameters.posonlyargs.iter().chain(&parameters.args).collect();
    let mut found = Vec::new();
    let mut add = |parameter: &'a ast::ParameterWithDefault, position: Option<usize>, value| {
        let parameter = parameter.parameter.name.as_str();
        let position = position.map(ParameterIndex::from);
        let is_static = target.static_arguments.iter().any(|argument| argument.is_for(position, parameter));
        found.push(Argument { call, function, parameter, value, is_static, is_function: false });
    };
    for (position, value) in call.arguments.args.iter().enumerate() {
        if value.is_starred_expr() {
            break;
        }
        if let Some(parameter) = positional.get(position) {
            add(parameter, Some(position), value);
        }
    }
    for keyword in &call.arguments.keywords {
        let Some(name) = &keyword.arg else { continue };
        let position = positional.iter().position(|it| it.parameter.name.as_str() == name.as_str());
        let parameter = position
            .and_then(|position| positional.get(position).copied())
            .or_else(|| parameters.kwonlyargs.iter().find(|it| it.parameter.name.as_str() == name.as_str()));
        if let Some(parameter) = parameter {
            add(parameter, position, &keyword.value);
        }
    }
    found
}

/// The functions, bindings and calls of a file, at any depth.
#[derive(Default)]
struct File<'a> {
    defs: Vec<&'a ast::StmtFunctionDef>,
    bindings: FxHashMap<&'a str, usize>,
    calls: Vec<&'a ast::ExprCall>,
    in_class: bool,
}

impl<'a> File<'a> {
    fn bind(&mut self, name: &'a str) {
        *self.bindings.entry(name).or_default() += 1;
    }
}

impl<'a> SourceOrderVisitor<'a> for File<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let outer = self.in_class;
        match statement {
            Stmt::FunctionDef(def) => {
                // A method is not a name of the scope around its class.
                if !self.in_class {
                    self.bind(&def.name);
                    self.defs.push(def);
                }
                for parameter in def.parameters.iter() {
                    self.bind(parameter.name().as_str());
                }
                self.in_class = false;
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name);
                self.in_class = true;
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
        self.in_class = outer;
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Call(call) => self.calls.push(call),
            Expr::Name(name) if !name.ctx.is_load() => self.bind(&name.id),
            Expr::Lambda(lambda) => {
                for parameter in lambda.parameters.iter().flat_map(|parameters| parameters.iter()) {
                    self.bind(parameter.name().as_str());
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}
