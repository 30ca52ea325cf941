//! `dynamic_shapes` of `torch.export.export`: names, dimensions, and conditions that restrict a dimension.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::Ranged;

use super::export_call::{Export, TORCH_EXPORT_CALL, is_dim, value};
use crate::names::bound_names;
use crate::program::Bound;
use crate::tracing;
use ag_syntax::expressions::natural;

impl<'a> Export<'_, 'a> {
    /// Checks `dynamic_shapes`. `names` are the parameters that receive the example inputs.
    pub(super) fn shapes(
        &self,
        shapes: &'a Expr,
        names: Option<&[&str]>,
        forward: Option<&'a ast::StmtFunctionDef>,
    ) {
        let Some(resolved) = value(self.program, self.scope, shapes) else { return };
        match resolved {
            Expr::Dict(dict) => self.by_name(dict, names, forward),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                if let Some(names) =
                    names.filter(|names| names.len() != elts.len() && !elts.iter().any(Expr::is_starred_expr))
                {
                    let message =
                        format!("`dynamic_shapes` has {} elements for {} inputs", elts.len(), names.len());
                    self.report(resolved, message, "give one element for each input, `None` if it is static");
                }
                elts.iter().for_each(|element| self.shape(element));
            }
            _ => {}
        }
        self.dimensions(shapes);
    }

    fn by_name(
        &self,
        dict: &'a ast::ExprDict,
        names: Option<&[&str]>,
        forward: Option<&'a ast::StmtFunctionDef>,
    ) {
        let mut keys = Vec::new();
        for item in &dict.items {
            let Some(key) = item.key.as_ref().and_then(Expr::as_string_literal_expr) else { return };
            keys.push((key.value.to_str(), key, &item.value));
        }
        // Without known inputs, all parameters may receive one.
        let parameters = forward.filter(|it| names.is_none() && it.parameters.kwarg.is_none());
        let parameters: Option<Vec<&str>> = parameters
            .map(|it| it.parameters.iter_non_variadic_params().map(|it| it.name().as_str()).collect());
        let known = names.or(parameters.as_deref());
        if let Some((unknown, at, _)) =
            known.and_then(|known| keys.iter().find(|(key, ..)| !known.contains(key)))
        {
            let message = format!("`dynamic_shapes` names `{unknown}`, which is not an input");
            self.report(*at, message, "use the names of the parameters of `forward`");
            return;
        }
        let mut missing =
            names.into_iter().flatten().filter(|name| !keys.iter().any(|(key, ..)| key == *name));
        if let Some(missing) = missing.next() {
            let message = format!("`dynamic_shapes` has no entry for the input `{missing}`");
            self.report(dict, message, "add it, with `None` if its shape is static");
            return;
        }
        for (name, _, shape) in keys {
            self.shape(shape);
            if let (Some(forward), Some(Expr::Dict(sizes))) =
                (forward, value(self.program, self.scope, shape))
            {
                for item in &sizes.items {
                    let axis = item.key.as_ref().and_then(natural);
                    if let (Some(axis), Some(bounds)) = (axis, self.bounds(&item.value)) {
                        let size = Size { input: name, axis, bounds };
                        self.specialized(forward, &size, MAX_CALLS);
                    }
                }
            }
        }
    }

    /// Checks the shape of one input: `{0: batch}`, `(batch, None)`, `None`.
    fn shape(&self, shape: &'a Expr) {
        const DIMENSIONS: &str =
            "give a dictionary, `{0: batch}`, or a tuple with an element for each dimension";
        let Some(resolved) = value(self.program, self.scope, shape) else { return };
        match resolved {
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) => {
                let message = "the shape of an input is neither a dictionary nor a tuple".to_owned();
                self.report(shape, message, DIMENSIONS);
            }
            Expr::Call(call) if is_dim(self.ctx, call) => {
                let message = "the shape of an input is a single `Dim`".to_owned();
                self.report(shape, message, DIMENSIONS);
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                if let Some(text) = elts.iter().find(|element| element.is_string_literal_expr()) {
                    let message = "a dimension is a string, not a `Dim`".to_owned();
                    self.report(text, message, "use `torch.export.Dim`");
                }
            }
            Expr::Dict(dict) => {
                for item in &dict.items {
                    if item.key.as_ref().is_some_and(|key| natural(key).is_some())
                        && item.value.is_string_literal_expr()
                    {
                        let message = "a dimension is a string, not a `Dim`".to_owned();
                        self.report(&item.value, message, "use `torch.export.Dim`");
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the sizes that a dimension allows: `Dim("batch")`, `Dim("batch", min=2, max=64)`.
    fn bounds(&self, dimension: &'a Expr) -> Option<(u64, u64)> {
        let call = value(self.program, self.scope, dimension).and_then(Expr::as_call_expr)?;
        let bound = |name: &str, default: u64| match call.arguments.find_keyword(name) {
            Some(keyword) => natural(&keyword.value),
            None => Some(default),
        };
        let is_known = is_dim(self.ctx, call) && call.arguments.args.len() == 1;
        Some((bound("min", 2)?, bound("max", u64::MAX)?)).filter(|_| is_known)
    }

    /// Reports dimensions that are defined twice in the shapes of this call.
    fn dimensions(&self, shapes: &'a Expr) {
        let mut known: Vec<(&str, &str)> = Vec::new();
        let mut names = Names::default();
        names.visit_expr(shapes);
        if let Some(resolved) = value(self.program, self.scope, shapes).filter(|_| shapes.is_name_expr()) {
            names.visit_expr(resolved);
        }
        for expression in names.found {
            let Some(Expr::Call(call)) = value(self.program, self.scope, expression) else { continue };
            let Some(Expr::StringLiteral(name)) = call.arguments.find_argument_value("name", 0) else {
                continue;
            };
            if !is_dim(self.ctx, call) {
                continue;
            }
            let text = self.ctx.text(&call.arguments);
            match known.iter().find(|(other, _)| *other == name.value.to_str()) {
                Some((_, other)) if *other != text => {
                    let message =
                        format!("the dimension `{}` has two different definitions", name.value.to_str());
                    self.report(expression, message, "use one `Dim` for both, or another name");
                    return;
                }
                Some(_) => {}
                None => known.push((name.value.to_str(), text)),
            }
        }
    }

    /// Reports a test such as `if x.shape[0] > 4:` that restricts a dynamic size, in `forward` or in a function that it
    /// calls with the input. Returns whether later code of the caller may not be reached, or may see another size.
    fn specialized(&self, function: &'a ast::StmtFunctionDef, size: &Size<'a>, calls: usize) -> bool {
        let mut names: Vec<&str> = Vec::new();
        for statement in &function.body {
            let test = match statement {
                Stmt::If(statement) => &*statement.test,
                Stmt::Assert(statement) => &*statement.test,
                Stmt::Assign(assign) => {
                    if self.follows(&assign.value, size, calls) {
                        return true;
                    }
                    let bound: Vec<&str> = assign.targets.iter().flat_map(bound_names).collect();
                    if bound.contains(&size.input) {
                        return true;
                    }
                    names.retain(|name| !bound.contains(name));
                    if let [Expr::Name(target)] = assign.targets.as_slice()
                        && size.is(&assign.value, &[])
                    {
                        names.push(&target.id);
                    }
                    continue;
                }
                Stmt::Return(node) => {
                    return node.value.as_deref().is_some_and(|value| self.follows(value, size, calls));
                }
                Stmt::Expr(node) => match self.follows(&node.value, size, calls) {
                    true => return true,
                    false => continue,
                },
                Stmt::Pass(_) => continue,
                _ => return true,
            };
            if let Expr::Compare(compare) = test
                && let ([op], [bound]) = (&*compare.ops, &*compare.comparators)
                && size.is_restricted(&compare.left, *op, bound, &names)
            {
                let message = format!(
                    "`{}` is declared dynamic, but the comparison restricts it",
                    tracing::snippet(self.ctx.text(&*compare.left))
                );
                self.ctx
                    .report(&TORCH_EXPORT_CALL, compare, message)
                    .label(self.ctx.span(self.call.range()), "exported here")
                    .help(
                        "declare the bounds, `Dim(\"batch\", min=…, max=…)`, or decide on static sizes only",
                    )
                    .emit();
                return true;
            }
            if let Stmt::If(_) = statement {
                return true;
            }
        }
        false
    }

    /// If a value is a call of a function of this file that receives the input, checks this function.
    fn follows(&self, value: &'a Expr, size: &Size<'a>, calls: usize) -> bool {
        let (Expr::Call(call), Some(calls)) = (value, calls.checked_sub(1)) else { return false };
        let is_input = |value: &Expr| value.as_name_expr().is_some_and(|input| input.id == size.input);
        let Some(position) = call.arguments.args.iter().position(is_input) else { return false };
        let (Bound::Function(function), _) = self.program.value(self.program.module(), &call.func) else {
            return false;
        };
        let Some(parameter) = function.parameters.args.get(position) else { return false };
        self.specialized(function, &Size { input: parameter.name().as_str(), ..*size }, calls)
    }
}

/// The maximum number of calls that are followed from `forward`.
const MAX_CALLS: usize = 3;

/// A dynamic size of an input, with the sizes that are allowed.
#[derive(Clone, Copy)]
struct Size<'a> {
    input: &'a str,
    axis: u64,
    bounds: (u64, u64),
}

impl Size<'_> {
    /// Returns whether an expression is the size, or one of the names that are bound to it.
    fn is(&self, expression: &Expr, names: &[&str]) -> bool {
        is_size(expression, self.input, self.axis)
            || expression.as_name_expr().is_some_and(|name| names.contains(&name.id.as_str()))
    }

    /// Returns whether a comparison holds for some of the allowed sizes only.
    fn is_restricted(&self, left: &Expr, op: CmpOp, bound: &Expr, names: &[&str]) -> bool {
        let (least, most) = self.bounds;
        if let Expr::BinOp(operation) = left {
            let divides = operation.op == ast::Operator::Mod && matches!(op, CmpOp::Eq | CmpOp::NotEq);
            return divides
                && self.is(&operation.left, names)
                && natural(&operation.right).is_some_and(|divisor| divisor > 1 && least < most);
        }
        let Some(bound) = natural(bound).filter(|_| self.is(left, names)) else { return false };
        match op {
            CmpOp::Lt | CmpOp::GtE => least < bound && most >= bound,
            CmpOp::LtE | CmpOp::Gt => least <= bound && most > bound,
            CmpOp::Eq | CmpOp::NotEq => least <= bound && bound <= most && least < most,
            _ => false,
        }
    }
}

/// The names and calls in `dynamic_shapes`.
#[derive(Default)]
struct Names<'a> {
    found: Vec<&'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Names<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if matches!(expression, Expr::Name(_) | Expr::Call(_)) {
            self.found.push(expression);
        }
        source_order::walk_expr(self, expression);
    }
}

/// Returns whether an expression is the size of an axis: `x.shape[0]`, `x.size(0)`, `len(x)`.
fn is_size(expression: &Expr, name: &str, axis: u64) -> bool {
    let is_input = |value: &Expr| value.as_name_expr().is_some_and(|input| input.id == name);
    match expression {
        Expr::Subscript(subscript) => {
            natural(&subscript.slice) == Some(axis)
                && subscript
                    .value
                    .as_attribute_expr()
                    .is_some_and(|shape| shape.attr.as_str() == "shape" && is_input(&shape.value))
        }
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                method.attr.as_str() == "size"
                    && is_input(&method.value)
                    && call.arguments.args.first().and_then(natural) == Some(axis)
            }
            Expr::Name(function) => {
                function.id == "len" && axis == 0 && call.arguments.args.first().is_some_and(is_input)
            }
            _ => false,
        },
        _ => false,
    }
}
