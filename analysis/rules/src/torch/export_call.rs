//! Calls of `torch.export.export`, and uses of the exported program, that raise.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::exported_program;
use crate::program::{Bound, Program, ScopeId, Site};
use ag_index::index::FileIndex;

declare_rule! {
    /// ## What it does
    /// Reports calls of `torch.export.export` that raise for every input, and uses of the exported program that raise:
    ///
    /// - a function or a scripted module instead of an `nn.Module`;
    /// - example inputs that are not in a tuple, or that are objects of a class of the program;
    /// - `dynamic_shapes` that do not match the inputs; two different `Dim` objects of the same name;
    /// - a size that is declared dynamic but that `forward` compares with a constant;
    /// - a call of the exported program itself; `eval()` and `train()` of its module, and calls of the module with
    ///   other arguments than those of the export, or with Tensors of sizes that the program does not accept.
    ///
    /// ## Why is this bad?
    /// The calls raise.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Double(nn.Module):
    ///     def forward(self, x):
    ///         return x * 2
    ///
    /// program = torch.export.export(Double(), (torch.ones(3),))
    /// program(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Double(nn.Module):
    ///     def forward(self, x):
    ///         return x * 2
    ///
    /// program = torch.export.export(Double(), (torch.ones(3),))
    /// program.module()(torch.ones(3))
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Unable to call ExportedProgram directly. You should use exported_program.module() instead.`
    pub(crate) static TORCH_EXPORT_CALL = {
        code: "AG525", name: "torch-export-call",
        summary: "the arguments of `torch.export.export` are not accepted",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: File(is_of_interest, check),
    }
}

fn is_of_interest(index: &FileIndex) -> bool {
    index.imports.uses("torch")
        && ["export", "draft_export"].iter().any(|name| index.calls.contains_key(*name))
}

/// Functions of torch that return a new Tensor.
const FACTORIES: [&str; 12] = [
    "torch.arange",
    "torch.empty",
    "torch.eye",
    "torch.full",
    "torch.linspace",
    "torch.ones",
    "torch.rand",
    "torch.randint",
    "torch.randn",
    "torch.tensor",
    "torch.zeros",
    "torch.zeros_like",
];
#[derive(Clone, Copy)]
pub(super) struct Export<'p, 'a> {
    pub(super) ctx: &'p FileContext<'a>,
    pub(super) program: &'p Program<'a>,
    pub(super) call: &'a ast::ExprCall,
    pub(super) scope: ScopeId,
    /// Where findings are reported, instead of the expressions that cause them. It is set while values are checked that
    /// come from another function.
    pub(super) at: Option<TextRange>,
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    for site in program.calls.iter().filter(|site| is_export(ctx, site.node)) {
        Export { ctx, program, call: site.node, scope: site.scope, at: None }.check();
    }
    exported_program::check(ctx);
}

pub(super) fn is_export(ctx: &FileContext, call: &ast::ExprCall) -> bool {
    ctx.resolve(&call.func)
        .is_some_and(|name| matches!(name.as_str(), "torch.export.export" | "torch.export.draft_export"))
}

/// Returns the value to which a name is bound, or the expression itself.
pub(super) fn value<'a>(program: &Program<'a>, scope: ScopeId, expression: &'a Expr) -> Option<&'a Expr> {
    match program.value(scope, expression).0 {
        Bound::Value(value) => Some(value),
        _ => None,
    }
}

pub(super) fn is_dim(ctx: &FileContext, call: &ast::ExprCall) -> bool {
    ctx.resolve(&call.func).is_some_and(|name| name == "torch.export.Dim")
}

impl<'a> Export<'_, 'a> {
    fn check(&self) {
        let argument = |name: &str, position: usize| self.call.arguments.find_argument_value(name, position);
        let class = argument("mod", 0).and_then(|module| self.module(module, self.scope));
        let inputs = argument("args", 1);
        let tuple = inputs.and_then(|inputs| self.inputs(inputs));
        let Some(shapes) = argument("dynamic_shapes", 3) else { return };
        let forward = class.and_then(forward);
        let names = tuple.and_then(|tuple| self.passed(tuple, forward?));
        let is_here = |it: &Expr| matches!(it, Expr::Dict(_) | Expr::Tuple(_) | Expr::List(_));
        if value(self.program, self.scope, shapes).is_some_and(is_here) {
            self.shapes(shapes, names.as_deref(), forward);
        } else {
            let (resolved, scope) = self.program.origin(shapes, self.scope);
            Export { scope, at: Some(shapes.range()), ..*self }.shapes(resolved, names.as_deref(), forward);
        }
    }

    pub(super) fn report(&self, at: impl Ranged, message: String, help: &'static str) {
        let at = self.at.unwrap_or_else(|| at.range());
        self.ctx.report(&TORCH_EXPORT_CALL, at, message).help(help).emit();
    }

    /// Returns the class of the exported module, if this file defines it.
    fn module(&self, module: &'a Expr, scope: ScopeId) -> Option<&'a ast::StmtClassDef> {
        const WRAP: &str = "export an `nn.Module` whose `forward` calls the function";
        let (module, scope) = self.program.origin(module, scope);
        match self.program.value(scope, module) {
            (Bound::Function(function), _) => {
                let message = format!("`{}` is a function; `torch.export` exports modules", function.name);
                self.report(module, message, WRAP);
                None
            }
            (Bound::Value(Expr::Lambda(_)), _) => {
                self.report(
                    module,
                    "a lambda cannot be exported; `torch.export` exports modules".to_owned(),
                    WRAP,
                );
                None
            }
            (Bound::Value(Expr::Call(created)), scope) => {
                if let Some(name) = self.ctx.resolve(&created.func)
                    && matches!(name.as_str(), "torch.jit.script" | "torch.jit.load")
                {
                    let message =
                        format!("the result of `{name}` is a ScriptModule, which cannot be exported");
                    self.report(module, message, "export the module itself");
                    return None;
                }
                match self.program.value(scope, &created.func) {
                    (Bound::Class(class), _) => Some(class),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the example inputs, if they are a tuple.
    fn inputs(&self, inputs: &'a Expr) -> Option<&'a ast::ExprTuple> {
        const TUPLE: &str = "pass a tuple: `(x,)`";
        match value(self.program, self.scope, inputs)? {
            Expr::Tuple(tuple) => {
                tuple.elts.iter().for_each(|element| self.input(element));
                Some(tuple)
            }
            Expr::List(_) | Expr::ListComp(_) => {
                self.report(inputs, "the example inputs are a list, not a tuple".to_owned(), TUPLE);
                None
            }
            Expr::Dict(_) => {
                self.report(
                    inputs,
                    "the example inputs are a dictionary, not a tuple".to_owned(),
                    "pass it as `kwargs`, after `()`",
                );
                None
            }
            Expr::Call(call)
                if self.ctx.resolve(&call.func).is_some_and(|name| FACTORIES.contains(&name.as_str())) =>
            {
                self.report(inputs, "the example inputs are a Tensor, not a tuple".to_owned(), TUPLE);
                None
            }
            _ => None,
        }
    }

    /// Reports an input that is an object of a class that `torch.export` does not support.
    fn input(&self, element: &'a Expr) {
        let (Bound::Value(Expr::Call(created)), scope) = self.program.value(self.scope, element) else {
            return;
        };
        let (Bound::Class(class), _) = self.program.value(scope, &created.func) else { return };
        let registers = |site: &Site<ast::ExprCall>| {
            let text = self.ctx.text(&*site.node.func);
            text.contains("register")
        };
        let plain = class.arguments.as_ref().is_none_or(|arguments| arguments.is_empty());
        if plain && !self.program.calls.iter().any(registers) {
            let message =
                format!("the example input is a `{}`, which `torch.export` does not support", class.name);
            self.report(
                element,
                message,
                "pass Tensors, or register the class with `torch.export.register_dataclass`",
            );
        }
    }

    /// Returns the names of the parameters that receive the example inputs.
    fn passed(&self, tuple: &ast::ExprTuple, forward: &'a ast::StmtFunctionDef) -> Option<Vec<&'a str>> {
        let parameters = &forward.parameters;
        let starred = tuple.elts.iter().any(Expr::is_starred_expr);
        if starred || parameters.vararg.is_some() || parameters.kwarg.is_some() {
            return None;
        }
        let all: Vec<&str> = parameters
            .posonlyargs
            .iter()
            .chain(&parameters.args)
            .skip(1)
            .map(|it| it.name().as_str())
            .collect();
        let mut names: Vec<&str> = all.iter().take(tuple.elts.len()).copied().collect();
        if names.len() != tuple.elts.len() {
            return None;
        }
        if let Some(keywords) = self.call.arguments.find_argument_value("kwargs", 2) {
            let Expr::Dict(dict) = value(self.program, self.scope, keywords)? else {
                return keywords.is_none_literal_expr().then_some(names);
            };
            let known: Vec<&str> =
                parameters.iter_non_variadic_params().map(|parameter| parameter.name().as_str()).collect();
            for key in dict.iter_keys() {
                let key = key?.as_string_literal_expr()?.value.to_str();
                names.extend(known.iter().filter(|name| **name == key));
            }
        }
        Some(names)
    }
}

fn forward(class: &ast::StmtClassDef) -> Option<&ast::StmtFunctionDef> {
    class
        .body
        .iter()
        .filter_map(Stmt::as_function_def_stmt)
        .find(|method| method.name.as_str() == "forward" && method.decorator_list.is_empty())
}
