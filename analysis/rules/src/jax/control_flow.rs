//! Finds functions that do not fit the control flow of `jax.lax`: carries, branches, conditions.

use ruff_python_ast::{self as ast, Expr};

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::abstract_value::{DType, Leaf, Value};
use super::callee::Callee;
use super::control_flow_arguments;
use super::evaluate::Evaluator;
use super::modules::Modules;
use super::{Fault, is_of_interest};
use crate::program::ScopeId;
use crate::sources::Contexts;
use ag_index::callbacks::argument;
use ag_syntax::expressions::sequence;

declare_rule! {
    /// ## What it does
    /// Reports functions and arguments that do not fit `jax.lax.scan`, `while_loop`, `fori_loop`, `cond`, `switch` and
    /// other functions of `jax.lax`:
    ///
    /// - the body of a loop returns a carry whose structure, dtype or shape differs from that of the initial carry
    /// - the body of a `scan` does not return a pair
    /// - the condition of a `while_loop` is not a boolean scalar
    /// - the branches of a `cond` or `switch` return different structures, dtypes or shapes
    /// - a function does not take the arguments that it is called with
    /// - the result of a function is passed instead of the function
    /// - a predicate or index is not a scalar, or has the wrong dtype
    /// - arrays to iterate over have different lengths
    ///
    /// ## Why is this bad?
    /// The loop becomes one operation of the compiled program, whose state has one type. JAX traces the body once
    /// and raises if its result cannot be the next state.
    ///
    /// ## Example
    /// ```python
    /// import jax.numpy as jnp
    /// from jax import lax
    ///
    /// def count(i, total):
    ///     return total + 0.5 * i
    ///
    /// lax.fori_loop(0, 10, count, jnp.int32(0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax.numpy as jnp
    /// from jax import lax
    ///
    /// def count(i, total):
    ///     return total + 0.5 * i
    ///
    /// lax.fori_loop(0, 10, count, jnp.float32(0))
    /// ```
    ///
    /// ## What jax reports
    /// `TypeError: scan body function carry input and carry output must have equal types, but they
    /// differ`, or `TypeError: cond branches must have equal output types but they differ.`
    pub(crate) static JAX_CONTROL_FLOW = {
        code: "AG544", name: "jax-control-flow",
        summary: "a function or an argument does not fit the control flow of `jax.lax`",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let contexts = Contexts::of(ctx);
    let modules = Modules::of(&contexts);
    let evaluator = Evaluator::in_project(ctx, program, &modules);
    for site in &program.calls {
        let Some(name) = ctx.resolve(&site.node.func) else { continue };
        let Some(function) = name.strip_prefix("jax.lax.") else { continue };
        let call = Call { evaluator: &evaluator, call: site.node, scope: site.scope };
        let fault = control_flow_arguments::fault(&call, function).or_else(|| match function {
            "scan" => call.scan(),
            "while_loop" => call.while_loop(),
            "fori_loop" => call.fori_loop(),
            "cond" => call.cond(),
            "switch" => call.switch(),
            _ => None,
        });
        if let Some(fault) = fault {
            fault.report(ctx, &JAX_CONTROL_FLOW, site.node, "this argument");
        }
    }
}

pub(super) struct Call<'e, 'c, 'a> {
    pub evaluator: &'e Evaluator<'c, 'a>,
    pub call: &'a ast::ExprCall,
    pub scope: ScopeId,
}

const SAME_TYPE: &str = "return the same structure, dtype and shape as the initial value; convert with `astype`, or \
                         start from a value of the final type";

impl<'e, 'c, 'a> Call<'e, 'c, 'a> {
    fn function(&self, position: usize, keyword: &str) -> Option<(Callee<'e, 'c, 'a>, &'a Expr)> {
        let expression = argument(self.call, position, keyword)?;
        Some((self.evaluator.callee(self.scope, expression)?, expression))
    }

    fn value(&self, position: usize, keyword: &str) -> Value {
        argument(self.call, position, keyword)
            .map_or(Value::Unknown, |expression| self.evaluator.value(self.scope, expression))
    }

    fn arity(
        &self,
        function: &Callee<'e, 'c, 'a>,
        at: &'a Expr,
        arguments: usize,
        caller: &str,
    ) -> Option<Fault<'a>> {
        (!function.accepts(arguments)).then(|| Fault {
            message: format!("`{caller}` calls {} with {arguments} positional arguments", function.name()),
            help: "change the function to take these arguments",
            at,
        })
    }

    /// Returns the fault if the body changes the type of the carry. `body` maps a carry to the next one.
    fn carry(
        &self,
        init: &Value,
        at: &'a Expr,
        caller: &str,
        body: &dyn Fn(Value) -> Value,
    ) -> Option<Fault<'a>> {
        let init = init.without_integers();
        let init = init.promoted(&body(init.clone()));
        let Some((given, returned)) = init.difference(&body(init.clone())) else {
            let numbered = init.numbered(&mut 0);
            return numbered.grows(&body(numbered.clone())).then(|| Fault {
                message: format!("an array in the carry of `{caller}` is larger after each iteration"),
                help: "write into an array of the final size: `x.at[i].set(y)`, or let a `scan` collect the new parts",
                at,
            });
        };
        Some(Fault {
            message: format!("the carry of `{caller}` is {given}, but its body returns {returned}"),
            help: SAME_TYPE,
            at,
        })
    }

    fn scan(&self) -> Option<Fault<'a>> {
        let (function, at) = self.function(0, "f")?;
        let caller = "lax.scan";
        if let Some(fault) = self.arity(&function, at, 2, caller) {
            return Some(fault);
        }
        let init = self.value(1, "init").without_integers();
        let xs = match argument(self.call, 2, "xs") {
            None | Some(Expr::NoneLiteral(_)) => Value::None,
            Some(_) => self.value(2, "xs").slice(),
        };
        let result = |carry: Value| function.call(vec![carry, xs.clone()], 0);
        let returned = result(init.clone());
        let is_pair = match &returned {
            Value::Unknown | Value::Object(_) => true,
            Value::Tuple(elements) | Value::List(elements) => elements.len() == 2,
            Value::Dict(items) => items.len() == 2,
            Value::Record(record) => record.fields.len() == 2,
            Value::None | Value::Other | Value::Function(_) | Value::Leaf(_) => false,
        };
        if !is_pair {
            return Some(Fault {
                message: format!(
                    "the body of `lax.scan` returns {}, not a pair of carry and output",
                    returned.noun()
                ),
                help: "return the new carry and the output of this step: `return carry, None`",
                at,
            });
        }
        self.carry(&init, at, caller, &|carry| match result(carry) {
            Value::Tuple(elements) | Value::List(elements) => {
                elements.into_iter().next().unwrap_or(Value::Unknown)
            }
            _ => Value::Unknown,
        })
    }

    fn while_loop(&self) -> Option<Fault<'a>> {
        let caller = "lax.while_loop";
        let init = self.value(2, "init_val").without_integers();
        if let Some((test, at)) = self.function(0, "cond_fun") {
            if let Some(fault) = self.arity(&test, at, 1, caller) {
                return Some(fault);
            }
            let result = test.call(vec![init.clone()], 0);
            let is_scalar = match &result {
                Value::Unknown | Value::Object(_) => true,
                Value::Leaf(leaf) => {
                    leaf.dtype.is_none_or(|(dtype, _)| dtype == DType::Bool)
                        && leaf.shape.as_ref().is_none_or(Vec::is_empty)
                }
                _ => false,
            };
            if !is_scalar {
                return Some(Fault {
                    message: format!(
                        "the condition of `lax.while_loop` returns {}, not a boolean scalar",
                        result.noun()
                    ),
                    help: "return a comparison of scalars, or reduce with `jnp.any` or `jnp.all`",
                    at,
                });
            }
        }
        let (body, at) = self.function(1, "body_fun")?;
        self.arity(&body, at, 1, caller)
            .or_else(|| self.carry(&init, at, caller, &|carry| body.call(vec![carry], 0)))
    }

    fn fori_loop(&self) -> Option<Fault<'a>> {
        let caller = "lax.fori_loop";
        let (body, at) = self.function(2, "body_fun")?;
        let init = self.value(3, "init_val");
        let dtype = (!self.evaluator.wide).then_some((DType::Int32, false));
        let index = || Value::Leaf(Leaf { dtype, shape: Some(Vec::new()), ..Leaf::default() });
        self.arity(&body, at, 2, caller)
            .or_else(|| self.carry(&init, at, caller, &|carry| body.call(vec![index(), carry], 0)))
    }

    fn cond(&self) -> Option<Fault<'a>> {
        let operands = self.operands(3)?;
        let branches = [self.function(1, "true_fun"), self.function(2, "false_fun")];
        // `lax.cond(pred, true_operand, true_fun, false_operand, false_fun)`
        if self.call.arguments.args.len() == 5 && branches[0].is_none() {
            return None;
        }
        self.branches(&branches, &operands, "lax.cond")
    }

    fn switch(&self) -> Option<Fault<'a>> {
        let operands = self.operands(2)?;
        // The list may be a variable: `lax.switch(i, BRANCHES, x)`.
        let (branches, scope) = self.evaluator.unchanged(self.scope, argument(self.call, 1, "branches")?)?;
        let branches: Vec<_> = sequence(branches)?
            .iter()
            .map(|branch| Some((self.evaluator.callee(scope, branch)?, branch)))
            .collect();
        self.branches(&branches, &operands, "lax.switch")
    }

    /// Returns the operands from this position on; `None` if a starred argument or a keyword may pass others.
    fn operands(&self, from: usize) -> Option<Vec<Value>> {
        let arguments = &self.call.arguments;
        if arguments.args.iter().any(Expr::is_starred_expr)
            || arguments
                .keywords
                .iter()
                .any(|keyword| keyword.arg.as_ref().is_none_or(|name| name.contains("operand")))
        {
            return None;
        }
        let operands = arguments.args.iter().skip(from);
        Some(operands.map(|operand| self.evaluator.value(self.scope, operand)).collect())
    }

    fn branches(
        &self,
        branches: &[Option<(Callee<'e, 'c, 'a>, &'a Expr)>],
        operands: &[Value],
        caller: &str,
    ) -> Option<Fault<'a>> {
        let operands: Vec<Value> = operands.iter().map(branch_operand).collect();
        let mut results: Vec<Value> = Vec::new();
        for (function, at) in branches.iter().flatten() {
            if let Some(fault) = self.arity(function, at, operands.len(), caller) {
                return Some(fault);
            }
            let result = function.call(operands.clone(), 0);
            if let Some((one, other)) = results.iter().find_map(|known| known.difference(&result)) {
                return Some(Fault {
                    message: format!("the branches of `{caller}` return different values: {one} and {other}"),
                    help: "return the same structure, dtype and shape from all branches",
                    at,
                });
            }
            results.push(result);
        }
        None
    }
}

/// Returns the value of an operand inside a branch. Values other than arrays become unknown.
fn branch_operand(value: &Value) -> Value {
    match value {
        Value::Other => Value::Unknown,
        other => other.without_integers(),
    }
}
