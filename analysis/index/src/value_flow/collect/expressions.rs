//! The constraints of expressions.

use std::sync::Arc;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::{Collector, Frame, part_of};
use crate::value_flow::{Call, Constraint, LambdaFlow, Node, Operation, Owner, Part};

impl<'a> Collector<'a> {
    /// Collects the calls in a condition, and the implicit call of `__bool__`.
    pub(super) fn condition(&mut self, test: &'a Expr) {
        let value = self.value(test);
        self.operate(value, Operation::Truth, test.range());
    }

    /// Collects the calls in an expression whose value is not used.
    pub(super) fn evaluate(&mut self, expression: &'a Expr) {
        let _ = self.value(expression);
    }

    /// Returns the node of an expression; `None` if its value is certainly neither a function nor an object of the
    /// project.
    pub(super) fn value(&mut self, expression: &'a Expr) -> Option<Node> {
        match expression {
            Expr::Name(name) => Some(self.lookup(&name.id)),
            Expr::Attribute(attribute) => self.attribute(expression, attribute),
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => {
                let base = self.value(&subscript.value);
                let key = self.value(&subscript.slice);
                self.operate(key, Operation::Hash, subscript.slice.range());
                self.element(base, part_of(&subscript.slice), subscript.range())
            }
            Expr::Lambda(lambda) => Some(self.lambda(lambda)),
            Expr::If(node) => {
                self.condition(&node.test);
                let values = [self.value(&node.body), self.value(&node.orelse)];
                self.either(&values)
            }
            Expr::BoolOp(node) => {
                let values: Vec<_> = node.values.iter().map(|value| self.value(value)).collect();
                if let Some((_, decisive)) = values.split_last() {
                    for (value, expression) in decisive.iter().zip(&node.values) {
                        self.operate(*value, Operation::Truth, expression.range());
                    }
                }
                self.either(&values)
            }
            Expr::Named(node) => {
                let value = self.value(&node.value);
                self.bind(&node.target, value);
                value
            }
            Expr::Starred(node) => self.value(&node.value),
            Expr::Await(node) => self.value(&node.value),
            Expr::List(ast::ExprList { elts, .. })
            | Expr::Tuple(ast::ExprTuple { elts, .. })
            | Expr::Set(ast::ExprSet { elts, .. }) => {
                let mut any = false;
                let mut parts = Vec::new();
                for (position, element) in (0..).zip(elts) {
                    let mut value = self.value(element);
                    if element.is_starred_expr() {
                        any = true;
                        value = self.element(value, Part::Any, element.range());
                    }
                    let part = if any { Part::Any } else { Part::Position(position) };
                    parts.extend(value.map(|value| (part, value)));
                }
                // `(2, 3)` contains neither functions nor objects; `[]` may be filled later.
                (elts.is_empty() || !parts.is_empty()).then(|| self.display(parts))
            }
            Expr::Dict(dict) => {
                let mut parts = Vec::new();
                for item in &dict.items {
                    let value = self.value(&item.value);
                    match &item.key {
                        Some(key) => {
                            let own = self.value(key);
                            self.operate(own, Operation::Hash, key.range());
                            parts.extend(value.map(|value| (part_of(key), value)));
                        }
                        None => {
                            let all = self.element(value, Part::Any, item.value.range());
                            parts.extend(all.map(|value| (Part::Any, value)));
                        }
                    }
                }
                (dict.items.is_empty() || !parts.is_empty()).then(|| self.display(parts))
            }
            Expr::ListComp(node) => self.comprehension(&node.generators, &[&node.elt]),
            Expr::SetComp(node) => self.comprehension(&node.generators, &[&node.elt]),
            Expr::Generator(node) => self.comprehension(&node.generators, &[&node.elt]),
            Expr::DictComp(node) => {
                let parts: Vec<&Expr> = node.key.as_deref().into_iter().chain([&*node.value]).collect();
                self.comprehension(&node.generators, &parts)
            }
            Expr::Yield(node) => {
                let value = node.value.as_deref().and_then(|value| self.value(value));
                self.yields(value);
                None
            }
            Expr::YieldFrom(node) => {
                let value = self.value(&node.value);
                let element = self.element(value, Part::Any, node.range());
                self.yields(element);
                None
            }
            Expr::BinOp(node) => self.operation(node),
            Expr::UnaryOp(node) => {
                let operand = self.value(&node.operand);
                match node.op {
                    ast::UnaryOp::USub => self.operate(operand, Operation::Negate, node.range()),
                    ast::UnaryOp::Not => {
                        self.operate(operand, Operation::Truth, node.range());
                        None
                    }
                    _ => None,
                }
            }
            Expr::Compare(node) => {
                let left = self.value(&node.left);
                for (operator, right) in node.ops.iter().zip(&node.comparators) {
                    let right_node = self.value(right);
                    match operator {
                        ast::CmpOp::Eq | ast::CmpOp::NotEq if !right.is_literal_expr() => {
                            self.operate(left, Operation::Equality, node.range());
                        }
                        ast::CmpOp::In | ast::CmpOp::NotIn => {
                            self.operate(right_node, Operation::Contains, node.range());
                            self.operate(left, Operation::Hash, node.range());
                        }
                        ast::CmpOp::Lt | ast::CmpOp::LtE | ast::CmpOp::Gt | ast::CmpOp::GtE => {
                            self.operate(left, Operation::Order, node.range());
                        }
                        _ => {}
                    }
                }
                None
            }
            Expr::FString(node) => {
                for element in node.value.elements() {
                    if let Some(interpolation) = element.as_interpolation() {
                        let value = self.value(&interpolation.expression);
                        self.operate(value, Operation::Text, interpolation.range());
                    }
                }
                None
            }
            Expr::Slice(node) => {
                for bound in [&node.lower, &node.upper, &node.step].into_iter().flatten() {
                    self.value(bound);
                }
                None
            }
            _ => None,
        }
    }

    fn either(&mut self, values: &[Option<Node>]) -> Option<Node> {
        if values.iter().all(Option::is_none) {
            return None;
        }
        let to = self.node();
        values.iter().for_each(|value| self.copy(*value, to));
        Some(to)
    }

    fn yields(&mut self, value: Option<Node>) {
        if let (Some(value), Some(function)) = (value, self.function()) {
            let generator = self.display(vec![(Part::Any, value)]);
            let result = self.flow.code.results[function];
            self.copy(Some(generator), result);
        }
    }

    fn operation(&mut self, node: &'a ast::ExprBinOp) -> Option<Node> {
        let (left, right) = (self.value(&node.left), self.value(&node.right));
        let (own, reflected) = match node.op {
            ast::Operator::Add => (Operation::Add, Operation::ReflectedAdd),
            ast::Operator::Sub => (Operation::Subtract, Operation::ReflectedSubtract),
            ast::Operator::Mult => (Operation::Multiply, Operation::ReflectedMultiply),
            ast::Operator::Div => (Operation::Divide, Operation::ReflectedDivide),
            ast::Operator::MatMult => (Operation::Matmul, Operation::ReflectedMatmul),
            ast::Operator::Pow => (Operation::Power, Operation::ReflectedPower),
            ast::Operator::BitOr => (Operation::Or, Operation::ReflectedOr),
            ast::Operator::BitAnd => (Operation::And, Operation::ReflectedAnd),
            _ => return None,
        };
        // `inputs + (last,)`: the positions of the elements of the second tuple are not known.
        let joined = match (node.op, &*node.right) {
            (ast::Operator::Add, Expr::Tuple(_) | Expr::List(_)) => {
                let element = self.element(right, Part::Any, node.right.range());
                element.map(|element| self.display(vec![(Part::Any, element)]))
            }
            _ => None,
        };
        let results = [
            joined,
            self.operate(left, own, node.range()),
            self.operate(right, reflected, node.range()),
            // `layers + [last]`, `defaults | options`
            left.filter(|_| matches!(node.op, ast::Operator::Add | ast::Operator::BitOr)),
            right.filter(|_| matches!(node.op, ast::Operator::Add | ast::Operator::BitOr)),
        ];
        self.either(&results)
    }

    fn comprehension(&mut self, generators: &'a [ast::Comprehension], elements: &[&'a Expr]) -> Option<Node> {
        let mut entered = 0;
        for generator in generators {
            let iterable = self.value(&generator.iter);
            let element = self.element(iterable, Part::Any, generator.iter.range());
            let mut frame = Frame::default();
            let mut targets = vec![&generator.target];
            while let Some(target) = targets.pop() {
                match target {
                    Expr::Name(name) => {
                        let node = self.node();
                        frame.names.insert(name.id.as_str(), Some(node));
                    }
                    Expr::Tuple(tuple) => targets.extend(&tuple.elts),
                    Expr::Starred(starred) => targets.push(&starred.value),
                    _ => {}
                }
            }
            self.scopes.push(frame);
            entered += 1;
            self.bind(&generator.target, element);
            generator.ifs.iter().for_each(|test| self.condition(test));
        }
        let values: Vec<_> = elements.iter().map(|element| self.value(element)).collect();
        for _ in 0..entered {
            self.leave();
        }
        let parts = values.into_iter().flatten().map(|value| (Part::Any, value)).collect();
        Some(self.display(parts))
    }

    fn attribute(&mut self, expression: &'a Expr, attribute: &'a ast::ExprAttribute) -> Option<Node> {
        if let Some(dotted) = self.index.imports.resolve(expression)
            && let Some(root) = root_name(expression)
            && self.index.imports.alternatives(root).next().is_none()
            && self.local(root).is_none_or(|node| self.flow.code.globals.get(root) == Some(&node))
        {
            return Some(self.import(dotted));
        }
        let name = &attribute.attr.id;
        // `super().name`
        if let Expr::Call(call) = &*attribute.value
            && call.func.as_name_expr().is_some_and(|name| name.id == "super")
        {
            let function = self.function()?;
            let class = self.index.definitions.functions[function].class?;
            let base = self.flow.code.parameters[function].first().copied()?;
            let to = self.node();
            let site = self.site(attribute.range());
            self.add(Constraint::Super { base, class, name: name.clone(), to, site });
            return Some(to);
        }
        let base = self.value(&attribute.value)?;
        let to = self.node();
        let site = self.site(attribute.range());
        self.add(Constraint::Load { base, name: name.clone(), to, site });
        Some(to)
    }

    fn call(&mut self, call: &'a ast::ExprCall) -> Option<Node> {
        self.declare_tested(call);
        let callee = self.value(&call.func);
        let mut positional = Vec::new();
        let mut starred = None;
        for (position, argument) in (0..).zip(&call.arguments.args) {
            let value = self.value(argument);
            match argument {
                Expr::Starred(_) => {
                    let element = self.element(value, Part::Any, argument.range());
                    starred = starred.or(element.map(|element| (position, element)));
                    positional.push(None);
                }
                _ => positional.push(value),
            }
        }
        let mut keywords = Vec::new();
        let mut mappings = Vec::new();
        for keyword in &call.arguments.keywords {
            let Some(value) = self.value(&keyword.value) else { continue };
            match &keyword.arg {
                Some(name) => keywords.push((name.id.clone(), value)),
                None => mappings.push(value),
            }
        }
        let callee = callee?;
        self.forward(call, positional.first().copied().flatten());
        let result = self.node();
        let site = self.site(call.range());
        let attribute = call.arguments.args.get(1).and_then(Expr::as_string_literal_expr);
        let attribute = attribute.map(|literal| Name::new(literal.value.to_str()));
        self.flow.code.calls.push(Arc::new(Call {
            site,
            callee,
            positional,
            starred,
            keywords,
            mappings,
            result,
            attribute,
            expects_exception: self.expecting > 0,
            decorates_class: false,
        }));
        Some(result)
    }

    /// Records `getattr(base, name)` in a method `__getattr__(self, name)`.
    fn forward(&mut self, call: &'a ast::ExprCall, base: Option<Node>) {
        if let (Expr::Name(called), [_, Expr::Name(name), ..]) = (&*call.func, &*call.arguments.args)
            && called.id == "getattr"
            && let Some(base) = base
            && let Some(function) = self.function()
            && self.index.short_name(function) == "__getattr__"
            && self.local(&name.id) == self.flow.code.parameters[function].get(1).copied()
        {
            self.flow.code.forwards.entry(function).or_default().push(base);
        }
    }

    fn lambda(&mut self, lambda: &'a ast::ExprLambda) -> Node {
        let mut frame = Frame::default();
        let mut parameters = Vec::new();
        let mut variadic = None;
        if let Some(list) = &lambda.parameters {
            for parameter in list.iter_non_variadic_params() {
                let node = self.node();
                let default = parameter.default().and_then(|default| self.value(default));
                self.copy(default, node);
                let name = &parameter.parameter.name.id;
                frame.names.insert(name.as_str(), Some(node));
                parameters.push((name.clone(), node));
            }
            for parameter in list.vararg.iter().chain(&list.kwarg) {
                let node = self.display(Vec::new());
                frame.names.insert(parameter.name.id.as_str(), Some(node));
                variadic = variadic.or(Some(node));
            }
        }
        let result = self.node();
        let index =
            self.flow.code.lambdas.push(LambdaFlow { parameters, variadic, result, around: self.owner });
        let outer = std::mem::replace(&mut self.owner, Owner::Lambda(index));
        self.scopes.push(frame);
        let value = self.value(&lambda.body);
        self.copy(value, result);
        self.leave();
        self.owner = outer;
        let to = self.node();
        self.add(Constraint::Lambda { lambda: index, to });
        to
    }
}

/// `a` of `a.b.c`
fn root_name(mut expression: &Expr) -> Option<&Name> {
    loop {
        match expression {
            Expr::Attribute(attribute) => expression = &attribute.value,
            Expr::Name(name) => return Some(&name.id),
            _ => return None,
        }
    }
}
