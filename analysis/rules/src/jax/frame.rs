//! The values of the expressions in a function or module, given the values of its variables.

use std::sync::Arc;

use ag_syntax::blocks;
use ruff_python_ast::visitor::source_order::SourceOrderVisitor;
use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use super::abstract_value::{DType, Leaf, Value};
use super::array_operations::{binary, without_dtype};
use super::changes::Changes;
use super::evaluate::{DEEPEST, Evaluator};
use super::function::Function;
use super::function_transforms::Transform;
use crate::program::{Bound, ScopeId};

pub(super) type Environment<'a> = FxHashMap<&'a str, Value>;

pub(super) struct Frame<'e, 'c, 'a> {
    pub(super) evaluator: &'e Evaluator<'c, 'a>,
    pub(super) scope: ScopeId,
    pub(super) depth: usize,
}

impl<'a> Frame<'_, '_, 'a> {
    pub(super) fn body(&self, body: &'a [Stmt], environment: &mut Environment<'a>) -> Value {
        for statement in body {
            match statement {
                Stmt::Return(returned) => {
                    return returned
                        .value
                        .as_deref()
                        .map_or(Value::None, |value| self.value(value, environment));
                }
                Stmt::Assign(assign) => {
                    let value = self.value(&assign.value, environment);
                    for target in &assign.targets {
                        bind(target, &value, environment);
                    }
                }
                Stmt::AnnAssign(assign) => {
                    if let Some(value) = &assign.value {
                        let value = self.value(value, environment);
                        bind(&assign.target, &value, environment);
                    }
                }
                Stmt::AugAssign(assign) => {
                    let left = self.value(&assign.target, environment);
                    let value = binary(&left, assign.op, &self.value(&assign.value, environment));
                    bind(&assign.target, &value, environment);
                }
                Stmt::Expr(ast::StmtExpr { value, .. }) => {
                    // A method may change its object: `values.append(x)`.
                    if let Expr::Call(call) = &**value
                        && let Expr::Attribute(method) = &*call.func
                    {
                        bind(&method.value, &Value::Unknown, environment);
                    }
                    if matches!(&**value, Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_))
                        || self.never_returns(value)
                    {
                        return Value::Unknown;
                    }
                }
                Stmt::FunctionDef(def) => {
                    let value = match self.evaluator.returns_as_written(def) {
                        true => self.evaluator.function_value(def.range()),
                        false => Value::Unknown,
                    };
                    environment.insert(def.name.as_str(), value);
                }
                Stmt::Pass(_) | Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Assert(_) => {}
                // Values of names that conditional or repeated code binds or changes are unknown afterwards.
                other => {
                    let mut changes = Changes::default();
                    changes.visit_stmt(other);
                    if changes.leaves {
                        return Value::Unknown;
                    }
                    environment.extend(changes.names.into_iter().map(|name| (name, Value::Unknown)));
                }
            }
        }
        match blocks::may_complete(body, &|expression| self.never_returns(expression)) {
            true => Value::None,
            // `def body(carry, x): raise NotImplementedError` returns nothing, not even `None`.
            false => Value::Unknown,
        }
    }

    /// Returns whether an expression ends the program, or calls a function that always raises: `sys.exit(1)`,
    /// `fail(x)`.
    fn never_returns(&self, expression: &Expr) -> bool {
        let Some(call) = expression.as_call_expr() else { return false };
        if self.evaluator.ctx.resolve(&call.func).is_some_and(|name| ENDS.contains(&name.as_str())) {
            return true;
        }
        let Expr::Name(callee) = &*call.func else { return false };
        let called = self.evaluator.program.lookup(self.scope, &callee.id, call.start());
        matches!(called, Some((Bound::Function(def), _)) if raises(def))
    }

    pub(super) fn value(&self, expression: &'a Expr, environment: &Environment<'a>) -> Value {
        match expression {
            Expr::NoneLiteral(_) => Value::None,
            Expr::StringLiteral(_) | Expr::FString(_) | Expr::BytesLiteral(_) => Value::Other,
            Expr::Lambda(lambda) => self.evaluator.function_value(lambda.range()),
            Expr::BooleanLiteral(_) => Value::array(Some(DType::Bool), false, Some(Vec::new())),
            Expr::NumberLiteral(literal) => match &literal.value {
                ast::Number::Int(integer) => {
                    integer.as_i64().map_or(Value::number(DType::Int32), Value::integer)
                }
                ast::Number::Float(_) => Value::number(DType::Float32),
                ast::Number::Complex { .. } => Value::number(DType::Complex64),
            },
            Expr::Tuple(tuple) => {
                self.elements(&tuple.elts, environment).map_or(Value::Unknown, Value::Tuple)
            }
            Expr::List(list) => self.elements(&list.elts, environment).map_or(Value::Unknown, Value::List),
            Expr::Dict(dict) => {
                let items = dict.items.iter().map(|item| {
                    let key = item.key.as_ref()?.as_string_literal_expr()?.value.to_str().to_owned();
                    Some((key, self.value(&item.value, environment)))
                });
                items.collect::<Option<Vec<_>>>().map_or(Value::Unknown, Value::Dict)
            }
            Expr::Name(name) => match environment.get(name.id.as_str()) {
                Some(value) => value.clone(),
                None => self.outer(name),
            },
            Expr::BinOp(operation) => binary(
                &self.value(&operation.left, environment),
                operation.op,
                &self.value(&operation.right, environment),
            ),
            Expr::UnaryOp(operation) => {
                let operand = self.value(&operation.operand, environment);
                match (operation.op, operand) {
                    (ast::UnaryOp::USub, Value::Leaf(leaf)) => {
                        Value::Leaf(Leaf { integer: leaf.integer.and_then(i64::checked_neg), ..leaf })
                    }
                    (ast::UnaryOp::UAdd, value @ Value::Leaf(_)) => value,
                    (ast::UnaryOp::Invert, Value::Leaf(leaf)) => Value::Leaf(Leaf { integer: None, ..leaf }),
                    _ => Value::Unknown,
                }
            }
            Expr::Compare(compare) => {
                let [op] = &*compare.ops else { return Value::Unknown };
                if matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::In | ast::CmpOp::NotIn) {
                    return Value::array(Some(DType::Bool), false, Some(Vec::new()));
                }
                let left = self.value(&compare.left, environment);
                let right =
                    compare.comparators.first().map_or(Value::Unknown, |it| self.value(it, environment));
                match binary(&left, Operator::Add, &right) {
                    Value::Leaf(leaf) => Value::array(Some(DType::Bool), false, leaf.shape),
                    _ => Value::Unknown,
                }
            }
            Expr::If(conditional) => {
                let body = self.value(&conditional.body, environment);
                body.joined(self.value(&conditional.orelse, environment))
            }
            Expr::Subscript(subscript) => self.item(subscript, environment),
            Expr::Attribute(attribute) => {
                match (self.value(&attribute.value, environment), attribute.attr.as_str()) {
                    (Value::Leaf(leaf), "T" | "mT")
                        if leaf.shape.as_ref().is_some_and(|shape| shape.len() < 2) =>
                    {
                        Value::Leaf(leaf)
                    }
                    (Value::Leaf(leaf), "T" | "mT") => {
                        let shape = leaf.shape.filter(|shape| shape.len() == 2);
                        let shape = shape.map(|shape| shape.into_iter().rev().collect());
                        Value::Leaf(Leaf { shape, extent: None, ..leaf })
                    }
                    (Value::Leaf(leaf), "shape") => {
                        leaf.shape.map_or(Value::Unknown, |shape| Value::shape(&shape))
                    }
                    (Value::Leaf(leaf), "size" | "ndim") => {
                        let integer = leaf.shape.map(|shape| match attribute.attr.as_str() {
                            "ndim" => shape.len() as u64,
                            _ => shape.iter().product(),
                        });
                        let integer = integer.and_then(|integer| i64::try_from(integer).ok());
                        integer.map_or(Value::number(DType::Int32), Value::integer)
                    }
                    (Value::Record(record), name) => record.field(name).cloned().unwrap_or(Value::Unknown),
                    (Value::Object(object), name) => self.attribute_of(&object, name),
                    _ => match self.evaluator.ctx.resolve(expression).as_deref() {
                        Some(
                            "jax.numpy.pi" | "jax.numpy.inf" | "jax.numpy.nan" | "jax.numpy.e" | "math.pi"
                            | "math.inf" | "numpy.inf" | "numpy.pi" | "numpy.nan",
                        ) => Value::number(DType::Float32),
                        Some(_) => self.imported(expression),
                        None => Value::Unknown,
                    },
                }
            }
            Expr::Call(call) => self.call(call, environment),
            _ => Value::Unknown,
        }
    }

    /// Returns the values of the elements of a tuple or list, or of positional arguments; `None` if a starred element
    /// has an unknown length.
    pub(super) fn elements(&self, elements: &'a [Expr], environment: &Environment<'a>) -> Option<Vec<Value>> {
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            match element {
                Expr::Starred(starred) => match self.value(&starred.value, environment) {
                    Value::Tuple(inner) | Value::List(inner) => values.extend(inner),
                    _ => return None,
                },
                element => values.push(self.value(element, environment)),
            }
        }
        Some(values)
    }

    /// Returns the value of a name that is bound outside the function.
    fn outer(&self, name: &'a ast::ExprName) -> Value {
        if self.depth > DEEPEST {
            return Value::Unknown;
        }
        let Some((binding, owner)) =
            self.evaluator.program.binding(self.scope, &name.id, name.range().start())
        else {
            return Value::Unknown;
        };
        match binding.bound {
            Bound::Value(value) => {
                let frame = Frame { evaluator: self.evaluator, scope: owner, depth: self.depth + 1 };
                match frame.value(value, &Environment::default()) {
                    Value::List(_) | Value::Dict(_) if self.evaluator.is_changed(owner, &name.id) => {
                        Value::Unknown
                    }
                    value => value,
                }
            }
            Bound::Function(def) if self.evaluator.returns_as_written(def) => {
                self.evaluator.function_value(def.range())
            }
            Bound::Function(_) | Bound::Class(_) => Value::Other,
            Bound::Import => self.imported(&Expr::Name(name.clone())),
            Bound::Count => Value::number(DType::Int32),
            Bound::Element(_) => Value::Unknown,
            Bound::Other => self.evaluator.parameter(owner, binding.range, self.depth),
        }
    }

    fn call(&self, call: &'a ast::ExprCall, environment: &Environment<'a>) -> Value {
        let ctx = self.evaluator.ctx;
        if let Some(name) = ctx.resolve(&call.func) {
            if name == "functools.partial" {
                return self.partial(call, environment);
            }
            if let Some(transform) = Transform::of_call(&name, call) {
                return self.transformed(transform, call, environment);
            }
            let is_of_function =
                call.func.as_name_expr().is_some_and(|it| environment.contains_key(it.id.as_str()));
            if !is_of_function && self.evaluator.imported(&call.func).is_some() {
                return self
                    .record(call, environment)
                    .or_else(|| self.object(call, environment))
                    .unwrap_or_else(|| self.apply(&self.imported(&call.func), &call.arguments, environment));
            }
            let value = self.library(&name, call, environment);
            // With `jax_enable_x64`, a default dtype or `float` has 64 bits. Abstract values do not represent this.
            return if self.evaluator.wide { without_dtype(value) } else { value };
        }
        if let Expr::Attribute(method) = &*call.func {
            return self.method(method, call, environment);
        }
        if call.func.is_call_expr()
            && let function @ Value::Function(_) = self.value(&call.func, environment)
        {
            return self.apply(&function, &call.arguments, environment);
        }
        // `jax.grad(loss)(params)` has the structure of the parameters, also if `loss` is unknown.
        if let Expr::Call(made) = &*call.func
            && ctx.resolve(&made.func).is_some_and(|name| name == "jax.grad")
            && made.arguments.args.len() == 1
            && made.arguments.keywords.is_empty()
        {
            let first = call.arguments.args.first().filter(|argument| !argument.is_starred_expr());
            return first.map_or(Value::Unknown, |first| self.value(first, environment).structure());
        }
        let Some(name) = call.func.as_name_expr() else { return Value::Unknown };
        if let Some(value) = environment.get(name.id.as_str()) {
            return self.apply(value, &call.arguments, environment);
        }
        if let Some(created) = self.record(call, environment).or_else(|| self.object(call, environment)) {
            return created;
        }
        match self.evaluator.program.lookup(self.scope, &name.id, name.range().start()) {
            Some((Bound::Function(def), _)) if self.evaluator.returns_as_written(def) => {
                self.call_function(Function::Def(def), &call.arguments, environment)
            }
            Some(_) => self.apply(&self.outer(name), &call.arguments, environment),
            None => match name.id.as_str() {
                "len" => {
                    let argument = call.arguments.args.first();
                    let length = argument.and_then(|it| self.value(it, environment).length());
                    length.map_or(Value::number(DType::Int32), Value::integer)
                }
                "int" => match call.arguments.args.first().map(|it| self.value(it, environment)) {
                    Some(value @ Value::Leaf(Leaf { integer: Some(_), .. })) => value,
                    _ => Value::number(DType::Int32),
                },
                "float" => Value::number(DType::Float32),
                "str" | "repr" => Value::Other,
                "abs" => call.arguments.args.first().map_or(Value::Unknown, |it| self.value(it, environment)),
                _ => Value::Unknown,
            },
        }
    }
}

impl<'a> Frame<'_, '_, 'a> {
    /// Returns the result of a function of the file for the arguments of a call.
    fn call_function(
        &self,
        function: Function<'a>,
        arguments: &'a ast::Arguments,
        environment: &Environment<'a>,
    ) -> Value {
        let Some(positional) = self.elements(&arguments.args, environment) else { return Value::Unknown };
        let parameters = function.positional().map(|parameter| parameter.parameter.name.as_str());
        let mut values: Vec<(&str, Value)> = parameters.zip(positional).collect();
        for keyword in &arguments.keywords {
            let Some(name) = &keyword.arg else { return Value::Unknown };
            values.push((name.as_str(), self.value(&keyword.value, environment)));
        }
        self.evaluator.call_with(function, values, self.depth + 1)
    }
}

fn bind<'a>(target: &'a Expr, value: &Value, environment: &mut Environment<'a>) {
    match target {
        Expr::Name(name) => {
            environment.insert(&name.id, value.clone());
        }
        Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
            let starred = elts.iter().any(Expr::is_starred_expr);
            let elements = value.elements().filter(|elements| elements.len() == elts.len() && !starred);
            for (position, target) in elts.iter().enumerate() {
                let value = elements.as_ref().and_then(|elements| elements.get(position).copied());
                bind(target, value.unwrap_or(&Value::Unknown), environment);
            }
        }
        Expr::Starred(starred) => bind(&starred.value, &Value::Unknown, environment),
        // `state["x"] = v` changes the object to which the name is bound.
        Expr::Subscript(subscript) => bind(&subscript.value, &Value::Unknown, environment),
        Expr::Attribute(attribute) => match attribute.value.as_name_expr() {
            Some(name) if let Some(Value::Object(object)) = environment.get_mut(name.id.as_str()) => {
                Arc::make_mut(object).fields.retain(|(field, _)| *field != *attribute.attr);
                Arc::make_mut(object).fields.push((attribute.attr.to_string(), value.clone()));
            }
            _ => bind(&attribute.value, &Value::Unknown, environment),
        },
        _ => {}
    }
}

/// Functions that never return.
const ENDS: [&str; 5] = ["sys.exit", "os._exit", "os.abort", "pytest.fail", "pytest.skip"];

/// Returns whether a function always raises.
fn raises(def: &ast::StmtFunctionDef) -> bool {
    let returns = blocks::statements(&def.body).into_iter().any(Stmt::is_return_stmt);
    !returns && !blocks::may_complete(&def.body, &|_| false)
}
