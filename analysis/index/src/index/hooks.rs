//! Hooks of modules that a file compiles:
//!
//! ```python
//! def watch(model, hook):
//!     for child in model.modules():
//!         child.register_forward_hook(hook)
//!
//! watch(model, report)
//! compiled = torch.compile(model)
//! ```
//!
//! `torch.compile` traces `report` with the module. The registration is a root only if the file shows that the module,
//! or a module around it, is compiled.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::assumptions::RootOptions;
use crate::callbacks::registered_hook;
use crate::dialect::RootKind;
use crate::index::{FileIndex, last_name};

/// The maximum number of loops and parameters that are followed from a registration to a compiled module.
const MAX_STEPS: usize = 4;

/// Removes the roots of hooks that no compiled module certainly calls. The others receive the options of the call that
/// compiles the module.
pub(super) fn remove_uncompiled(index: &mut FileIndex, text: &str, body: &[Stmt]) {
    if !text.contains(".register_forward_") {
        return;
    }
    let mut file = File { text, ..File::default() };
    file.visit_body(body);
    let registrations: Vec<&ast::ExprCall> =
        file.calls.iter().copied().filter(|call| registered_hook(call).is_some()).collect();
    let registration = |range: TextRange| registrations.iter().find(|call| call.range() == range);
    for site in &index.roots {
        if site.kind == RootKind::TorchCompile
            && registration(site.range).is_none()
            && let Some(call) = file.calls.iter().find(|call| call.range() == site.range)
        {
            let first = call.arguments.args.first();
            let object = match &*call.func {
                Expr::Attribute(method) if first.is_none() => &*method.value,
                _ => match first {
                    Some(object) => object,
                    None => continue,
                },
            };
            file.compiled.push((object, site.options.clone()));
        }
    }
    let roots = std::mem::take(&mut index.roots);
    let kept = roots.into_iter().filter_map(|mut site| {
        if let Some(call) = registration(site.range) {
            let module = &*call.func.as_attribute_expr()?.value;
            site.options = file.options(module, MAX_STEPS)?;
        }
        Some(site)
    });
    index.roots = kept.collect();
}

/// The parts of a file that lead from a registration to a compiled module.
#[derive(Default)]
struct File<'a> {
    text: &'a str,
    calls: Vec<&'a ast::ExprCall>,
    /// The functions, each with the class around it.
    functions: Vec<(&'a ast::StmtFunctionDef, Option<&'a str>)>,
    /// The loops and comprehensions: their range, targets and iterables.
    loops: Vec<(TextRange, &'a Expr, &'a Expr)>,
    /// The assignments of the results of calls: the text of the target, and the name of the called function.
    created: Vec<(&'a str, &'a str)>,
    /// The objects that the file compiles.
    compiled: Vec<(&'a Expr, RootOptions)>,
    class: Option<&'a str>,
}

impl<'a> File<'a> {
    /// Returns the options with which a module is compiled, or a module around it: `model` for `model.layers[0]`.
    fn options(&self, module: &Expr, steps: usize) -> Option<RootOptions> {
        let steps = steps.checked_sub(1)?;
        let mut part = module;
        loop {
            let is_it = |object: &Expr| self.text[object.range()] == self.text[part.range()];
            if let Some((_, options)) = self.compiled.iter().find(|(object, _)| is_it(object)) {
                return Some(options.clone());
            }
            part = match part {
                Expr::Attribute(attribute) => &attribute.value,
                Expr::Subscript(item) => &item.value,
                Expr::Call(call) if last_name(&call.func).is_some_and(|name| name == "enumerate") => {
                    call.arguments.args.first()?
                }
                Expr::Call(call) => &call.func,
                Expr::Name(name) => return self.options_of_name(name, steps),
                _ => return None,
            };
        }
    }

    fn options_of_name(&self, name: &ast::ExprName, steps: usize) -> Option<RootOptions> {
        let around = |range: TextRange| range.contains_range(name.range());
        let binds = |target: &Expr| match target {
            Expr::Tuple(tuple) => tuple.elts.iter().any(|it| is_name(it, &name.id)),
            target => is_name(target, &name.id),
        };
        if let Some((.., iterable)) =
            self.loops.iter().rfind(|(range, target, _)| around(*range) && binds(target))
        {
            return self.options(iterable, steps);
        }
        let has_parameter = |it: &ast::StmtFunctionDef| {
            it.parameters.iter().any(|parameter| parameter.name().as_str() == name.id.as_str())
        };
        let (function, class) =
            self.functions.iter().rfind(|(it, _)| around(it.range()) && has_parameter(it))?;
        if let Some(class) = class.filter(|_| name.id == "self") {
            return self
                .compiled
                .iter()
                .find(|(object, _)| self.is_of_class(object, class))
                .map(|it| it.1.clone());
        }
        let constructs = function.name.as_str() == "__init__";
        let called = class.filter(|_| constructs).unwrap_or(function.name.as_str());
        let mut calls = self.calls.iter().filter(|call| last_name(&call.func).is_some_and(|it| it == called));
        calls.find_map(|call| {
            let mut arguments = call.arguments.iter_source_order();
            arguments.find_map(|argument| self.options(argument.value(), steps))
        })
    }

    /// Returns whether a compiled object is created by a call of this class: `Net()`, or `model` after `model = Net()`.
    fn is_of_class(&self, object: &Expr, class: &str) -> bool {
        if let Expr::Call(call) = object {
            return last_name(&call.func).is_some_and(|name| name == class);
        }
        let text = &self.text[object.range()];
        self.created.iter().any(|(target, callee)| *target == text && *callee == class)
    }
}

impl<'a> SourceOrderVisitor<'a> for File<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::ClassDef(class) => {
                let outer = self.class.replace(class.name.as_str());
                source_order::walk_stmt(self, statement);
                self.class = outer;
                return;
            }
            Stmt::FunctionDef(function) => {
                self.functions.push((function, self.class));
                let outer = self.class.take();
                source_order::walk_stmt(self, statement);
                self.class = outer;
                return;
            }
            Stmt::For(node) => self.loops.push((node.range(), &node.target, &node.iter)),
            Stmt::Assign(assign) => {
                if let ([target], Expr::Call(call)) = (&*assign.targets, &*assign.value)
                    && let Expr::Name(callee) = &*call.func
                {
                    self.created.push((&self.text[target.range()], callee.id.as_str()));
                }
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Call(call) => self.calls.push(call),
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                let loops = generators.iter().map(|it| (expression.range(), &it.target, &it.iter));
                self.loops.extend(loops);
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}

fn is_name(expression: &Expr, name: &str) -> bool {
    expression.as_name_expr().is_some_and(|it| it.id == name)
}
