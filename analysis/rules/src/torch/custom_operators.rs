//! Operators that a program defines with `torch.library.custom_op`, without a function that computes the shape and dtype
//! of the result. The compiler and `torch.export` need it:
//!
//! ```python
//! @torch.library.custom_op("geo::distance", mutates_args=())
//! def distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor: ...
//!
//! @distance.register_fake
//! def _(a, b):
//!     return torch.empty_like(a)
//! ```

use ag_db::{Db, Document, text};
use ag_index::index::{file_index, tree};
use ag_staging::queries;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::operator_arguments::TORCH_OPERATOR_ARGUMENTS;
use super::{compiles, exports, handles_tracing, records_symbolically};

/// Reports calls of such operators in compiled and exported functions.
pub(super) fn check(ctx: &FunctionContext) {
    if !compiles(ctx) && (!exports(ctx) || records_symbolically(ctx)) {
        return;
    }
    for call in ctx.expressions().into_iter().filter_map(Expr::as_call_expr) {
        let Some((document, name)) = called(ctx, call) else { continue };
        let operators = incomplete_operators(ctx.db, document);
        let Some(operator) = operators.iter().find(|it| **it == name) else { continue };
        if document != ctx.document && mentions_fake(text(ctx.db, ctx.document).as_str(), operator) {
            continue;
        }
        if handles_tracing(ctx, call.range()) {
            continue;
        }
        let message = format!(
            "the operator `{name}` has no fake implementation, which tells the shape of the result: tracing raises"
        );
        ctx.report(&TORCH_OPERATOR_ARGUMENTS, call, message)
            .help(format!("register one: `@{name}.register_fake`"))
            .emit();
    }
}

/// Returns the function of the project that a call names, and its file.
fn called(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<(Document, Name)> {
    let name = call.func.as_name_expr()?;
    if ctx.flow.scope().is_local(&name.id) {
        return None;
    }
    if ctx.imports.get(&name.id).is_none() {
        return Some((ctx.document, name.id.clone()));
    }
    let site = ctx.types.calls.iter().find(|it| it.location.range == call.range() && !it.implicit)?;
    let [target] = site.targets.as_slice() else { return None };
    Some((target.document, target.path.qualname.clone()))
}

/// Returns the operators of a file that certainly have no fake implementation, by the names of their functions.
#[salsa::tracked(returns(ref))]
fn incomplete_operators(db: &dyn Db, document: Document) -> Vec<Name> {
    if !file_index(db, document).imports.uses("torch") {
        return Vec::new();
    }
    let source = text(db, document);
    let source = source.as_str();
    if !source.contains("custom_op") {
        return Vec::new();
    }
    let Some(module) = tree(db, document) else { return Vec::new() };
    let imports = queries::imports(db, document);
    let functions = module.suite().iter().filter_map(Stmt::as_function_def_stmt);
    let is_incomplete = |def: &&ast::StmtFunctionDef| {
        let [decorator] = def.decorator_list.as_slice() else { return false };
        let Expr::Call(call) = &decorator.expression else { return false };
        let is_operator = imports.resolve(&call.func).is_some_and(|name| name == "torch.library.custom_op");
        // torch needs none for an operator that only changes its arguments.
        let returns = def.returns.as_deref().is_some_and(|it| !it.is_none_literal_expr());
        let name = call.arguments.args.first().and_then(Expr::as_string_literal_expr);
        is_operator
            && returns
            && name.is_some_and(|name| {
                !mentions_fake(source, &def.name.id) && !mentions_fake(source, name.value.to_str())
            })
    };
    functions.filter(is_incomplete).map(|def| def.name.id.clone()).collect()
}

/// Returns whether a file may register a fake implementation of an operator.
fn mentions_fake(source: &str, operator: &str) -> bool {
    const REGISTERING: [&str; 5] =
        ["register_fake", "impl_abstract", "register_torch_dispatch", "\"Meta\"", "'Meta'"];
    let lines: Vec<&str> = source.lines().collect();
    lines.iter().any(|line| {
        let Some(at) = REGISTERING.iter().find_map(|it| line.find(it)) else { return false };
        let rest = line[at..].split_once('(').map_or("", |(_, rest)| rest.trim_start());
        let receiver = line[..at].trim_end().strip_suffix('.').unwrap_or_default();
        let receiver =
            receiver.rsplit(|it: char| !it.is_alphanumeric() && it != '_').next().unwrap_or_default();
        // `torch.library.register_fake("geo::distance")` and `distance.register_fake` name an operator.
        let names_other = rest.starts_with(['"', '\'']) && !rest.contains(operator)
            || !rest.starts_with(['"', '\''])
                && !receiver.is_empty()
                && receiver != operator
                && source.contains(&format!("def {receiver}("));
        !names_other
    })
}
