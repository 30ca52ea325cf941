//! The expressions that give other expressions their values, through the functions and classes of a file.
//!
//! ```python
//! class Exporter:
//!     def __init__(self, model):
//!         self.model = model.eval()
//!
//!     def shapes(self):
//!         return {"x": {0: Dim("batch")}}
//!
//!     def run(self, inputs):
//!         return export(self.model, inputs, dynamic_shapes=self.shapes())
//!
//! Exporter(Net()).run((x,))
//! ```

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use crate::program::{Bound, Program, ScopeId, Site};

/// The maximum number of names, attributes, parameters and results that are followed.
const MAX_STEPS: usize = 8;

/// Methods of `nn.Module` that return their object.
const RETURNS_SELF: [&str; 14] = [
    "bfloat16",
    "cpu",
    "cuda",
    "double",
    "eval",
    "float",
    "half",
    "requires_grad_",
    "share_memory",
    "to",
    "to_empty",
    "train",
    "type",
    "xpu",
];

impl<'a> Program<'a> {
    /// Returns the expression whose value an expression certainly has, and its scope: `Net()` for `self.model`. It is
    /// the expression itself if nothing is known. Methods of `nn.Module` such as `eval` return their object.
    pub(crate) fn origin(&self, expression: &'a Expr, scope: ScopeId) -> (&'a Expr, ScopeId) {
        let (mut expression, mut scope) = (expression, scope);
        for _ in 0..MAX_STEPS {
            let Some(next) = self.step(expression, scope) else { break };
            (expression, scope) = next;
        }
        (expression, scope)
    }

    fn step(&self, expression: &'a Expr, scope: ScopeId) -> Option<(&'a Expr, ScopeId)> {
        match expression {
            Expr::Name(name) => match self.value(scope, expression) {
                (Bound::Value(value), _) if std::ptr::eq(value, expression) => None,
                (Bound::Value(value), owner) => Some((value, owner)),
                (Bound::Other, owner) => self.only_argument(name, owner),
                _ => None,
            },
            Expr::Attribute(attribute) => self.attribute_value(scope, attribute),
            Expr::Call(call) => {
                let method = call.func.as_attribute_expr();
                match method.filter(|method| RETURNS_SELF.contains(&method.attr.as_str())) {
                    Some(method) => Some((&method.value, scope)),
                    None => self.result(call, scope),
                }
            }
            _ => None,
        }
    }

    /// Returns the result of a call of a function or method without arguments, such as `self.shapes()`. Its body must
    /// end with the only `return`.
    fn result(&self, call: &'a ast::ExprCall, scope: ScopeId) -> Option<(&'a Expr, ScopeId)> {
        let function = match &*call.func {
            Expr::Attribute(method) => self.method(scope, method)?,
            function => match self.value(scope, function).0 {
                Bound::Function(function) => function,
                _ => return None,
            },
        };
        if !call.arguments.is_empty() || !function.decorator_list.is_empty() || function.is_async {
            return None;
        }
        let (Stmt::Return(last), before) = function.body.split_last()? else { return None };
        let is_simple = |statement: &Stmt| matches!(statement, Stmt::Assign(_) | Stmt::Expr(_));
        let value = last.value.as_deref().filter(|_| before.iter().all(is_simple))?;
        Some((value, self.scope_of(function.range())?))
    }

    /// Returns the argument for a parameter of a function, method or constructor, if one call of this file passes it.
    fn only_argument(&self, parameter: &ast::ExprName, scope: ScopeId) -> Option<(&'a Expr, ScopeId)> {
        let range = self.range(scope);
        let (function, around) = self.functions.iter().find(|(it, _)| it.range() == range)?;
        let position = function.parameters.args.iter().position(|it| it.name().id == parameter.id)?;
        let class = self.classes.iter().find(|class| class.range() == self.range(*around));
        let is_method_call = |site: &Site<ast::ExprCall>| {
            site.node.func.as_attribute_expr().is_some_and(|method| method.attr.id == function.name.id)
        };
        let mut calls: Box<dyn Iterator<Item = &Site<'a, ast::ExprCall>>> = match class {
            None => Box::new(self.calls_of(range)),
            Some(class) if function.name.as_str() == "__init__" => Box::new(self.calls_of(class.range())),
            Some(_) => Box::new(self.calls.iter().filter(|site| is_method_call(site))),
        };
        let (Some(site), None) = (calls.next(), calls.next()) else { return None };
        let position = position.checked_sub(usize::from(class.is_some()))?;
        let argument = site.node.arguments.find_argument_value(&parameter.id, position)?;
        (site.scope != scope).then_some((argument, site.scope))
    }
}
