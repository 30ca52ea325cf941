//! Unsupported uses of an exported program: calls of the program itself, calls of its module with other arguments,
//! `eval()`, and assignments to its attributes.

use ruff_python_ast::{self as ast, Expr};

use super::export_call::{TORCH_EXPORT_CALL, is_dim, is_export, value};
use crate::FileContext;
use crate::program::{Bound, Program, ScopeId, Site};
use crate::tracing;

/// The attributes of an exported program that cannot be set.
const READ_ONLY: [&str; 12] = [
    "call_spec",
    "constants",
    "dialect",
    "graph",
    "graph_module",
    "graph_signature",
    "module_call_graph",
    "range_constraints",
    "state_dict",
    "tensor_constants",
    "verifier",
    "verifiers",
];

pub(super) fn check(ctx: &FileContext) {
    let uses = Uses { ctx, program: ctx.program() };
    for site in uses.program.calls.iter().filter(|site| !is_export(ctx, site.node)) {
        uses.call(site);
    }
    for store in &uses.program.stores {
        if READ_ONLY.contains(&store.node.attr.as_str())
            && uses.exported(store.scope, &store.node.value).is_some()
        {
            let message = format!("`{}` of an exported program cannot be set", store.node.attr);
            ctx.report(&TORCH_EXPORT_CALL, store.node, message)
                .help("change it in place, or export again")
                .emit();
        }
    }
}

struct Uses<'p, 'a> {
    ctx: &'p FileContext<'a>,
    program: &'p Program<'a>,
}

impl<'a> Uses<'_, 'a> {
    fn call(&self, site: &Site<'a, ast::ExprCall>) {
        let (ctx, call, scope) = (self.ctx, site.node, site.scope);
        let report = |message: String| ctx.report(&TORCH_EXPORT_CALL, call, message);
        if let Some(method) = call.func.as_attribute_expr()
            && matches!(method.attr.as_str(), "eval" | "train")
            && self.module_of_export(scope, &method.value).is_some()
            && self.is_result_of_module(scope, &method.value)
        {
            report(format!("the module of an exported program does not support `{}()`", method.attr))
                .help("call `train()` or `eval()` on the module before exporting it")
                .emit();
        } else if self.is_dimension(scope, &call.func) {
            report("a `Dim` cannot be called".to_owned())
                .help("give bounds where it is created: `Dim(\"batch\", min=…, max=…)`")
                .emit();
        } else if let Some((export, scope)) = self.module_of_export(scope, &call.func) {
            self.module_call(export, scope, call);
        } else if self.exported(scope, &call.func).is_some() {
            let text = tracing::snippet(ctx.text(&*call.func));
            report("an exported program cannot be called".to_owned())
                .help(format!("call `{text}.module()(…)`"))
                .emit();
        } else if ctx.resolve(&call.func).is_some_and(|name| name == "torch.export.save") {
            self.saved(site);
        }
    }

    /// Returns whether an expression is `Dim("batch")`, or a name that is bound to such a call.
    fn is_dimension(&self, scope: ScopeId, expression: &'a Expr) -> bool {
        value(self.program, scope, expression)
            .and_then(Expr::as_call_expr)
            .is_some_and(|call| is_dim(self.ctx, call))
    }

    /// Returns the call of `torch.export.export` that returned the value of an expression.
    fn exported(&self, scope: ScopeId, expression: &'a Expr) -> Option<(&'a ast::ExprCall, ScopeId)> {
        match self.program.value(scope, expression) {
            (Bound::Value(Expr::Call(call)), scope) if is_export(self.ctx, call) => Some((call, scope)),
            _ => None,
        }
    }

    /// Returns the call that exported the program, if the expression is `program.module()`,
    /// `torch.export.unflatten(program)`, or a name that is bound to one of them.
    fn module_of_export(&self, scope: ScopeId, expression: &'a Expr) -> Option<(&'a ast::ExprCall, ScopeId)> {
        let (Bound::Value(Expr::Call(call)), scope) = self.program.value(scope, expression) else {
            return None;
        };
        if self.ctx.resolve(&call.func).is_some_and(|name| name == "torch.export.unflatten") {
            return self.exported(scope, call.arguments.args.first()?);
        }
        let method = call.func.as_attribute_expr().filter(|method| method.attr.as_str() == "module")?;
        self.exported(scope, &method.value)
    }

    /// Returns whether a module is the result of `program.module()`. In contrast, the module that
    /// `torch.export.unflatten` returns has `eval` and `train`.
    fn is_result_of_module(&self, scope: ScopeId, module: &'a Expr) -> bool {
        value(self.program, scope, module)
            .and_then(|value| value.as_call_expr()?.func.as_attribute_expr())
            .is_some_and(|method| method.attr.as_str() == "module")
    }

    /// Reports `torch.export.save(model, path)` if `model` is a module whose class is in this file.
    fn saved(&self, site: &Site<'a, ast::ExprCall>) {
        let Some(argument) = site.node.arguments.find_argument_value("ep", 0) else { return };
        let (Bound::Value(Expr::Call(created)), scope) = self.program.value(site.scope, argument) else {
            return;
        };
        if let (Bound::Class(class), _) = self.program.value(scope, &created.func) {
            let message = format!("`torch.export.save` saves an exported program, not a `{}`", class.name);
            self.ctx
                .report(&TORCH_EXPORT_CALL, argument, message)
                .help("export the module first: `torch.export.export(…)`")
                .emit();
        }
    }

    /// Checks a call of the exported module: it must pass as many arguments as there were example inputs.
    fn module_call(&self, export: &'a ast::ExprCall, scope: ScopeId, call: &ast::ExprCall) {
        let argument = |name: &str, position: usize| export.arguments.find_argument_value(name, position);
        let inputs = argument("args", 1).and_then(|inputs| value(self.program, scope, inputs));
        let Some(Expr::Tuple(tuple)) = inputs else { return };
        let mut keywords: Vec<&str> = Vec::new();
        if let Some(given) = argument("kwargs", 2).filter(|given| !given.is_none_literal_expr()) {
            let Some(Expr::Dict(dict)) = value(self.program, scope, given) else { return };
            for key in dict.iter_keys() {
                let Some(key) = key.and_then(Expr::as_string_literal_expr) else { return };
                keywords.push(key.value.to_str());
            }
        }
        let given: Option<Vec<&str>> = call
            .arguments
            .keywords
            .iter()
            .map(|keyword| keyword.arg.as_ref().map(ast::Identifier::as_str))
            .collect();
        let Some(given) = given else { return };
        let starred = |elements: &[Expr]| elements.iter().any(Expr::is_starred_expr);
        if starred(&tuple.elts) || starred(&call.arguments.args) {
            return;
        }
        let report = |message: String| {
            self.ctx
                .report(&TORCH_EXPORT_CALL, call, message)
                .help("pass the arguments as the example inputs were passed")
                .emit();
        };
        if given.len() != keywords.len() || given.iter().any(|name| !keywords.contains(name)) {
            let expected =
                if keywords.is_empty() { "none".to_owned() } else { format!("`{}`", keywords.join("`, `")) };
            report(format!("the keywords differ from those of the example inputs: {expected}"));
        } else if call.arguments.args.len() != tuple.elts.len() {
            let (here, exported) = (call.arguments.args.len(), tuple.elts.len());
            report(format!("the exported module takes {exported} arguments, but this call passes {here}"));
        }
    }
}
