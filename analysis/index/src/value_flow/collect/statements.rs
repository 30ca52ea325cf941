//! The constraints of statements, of the definitions of functions and classes, and of assignments.

use std::sync::Arc;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::{Collector, Frame, part_of};
use crate::expected::expects_exception;
use crate::ids::{Code, FunctionIndex};
use crate::index::last_name;
use crate::value_flow::scopes::Bound;
use crate::value_flow::{Call, Constraint, Node, Operation, Owner, Part, Returned};

/// Decorators that Python itself interprets. The name still refers to the decorated function.
const OBJECT_MODEL_DECORATORS: [&str; 9] = [
    "property",
    "cached_property",
    "staticmethod",
    "classmethod",
    "abstractmethod",
    "abstractproperty",
    "override",
    "overload",
    "setter",
];

impl<'a> Collector<'a> {
    pub(super) fn body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => self.def(def),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Return(node) => {
                let value = node.value.as_deref().and_then(|value| self.value(value));
                if let Some(frame) = self.scopes.iter_mut().rev().find(|frame| frame.function.is_some()) {
                    frame.returns.extend(value);
                }
            }
            Stmt::Assign(node) => {
                let value = self.value(&node.value);
                node.targets.iter().for_each(|target| self.bind(target, value));
            }
            Stmt::AnnAssign(node) => {
                let value = node.value.as_deref().and_then(|value| self.value(value));
                self.bind(&node.target, value);
                if let Expr::Name(name) = &*node.target
                    && self.function().is_some()
                {
                    let to = self.lookup(&name.id);
                    self.declare(&node.annotation, to);
                }
            }
            Stmt::AugAssign(node) => {
                let value = self.value(&node.value);
                let target = self.value(&node.target);
                self.operate(target, Operation::InPlace, statement.range());
                if let (Expr::Name(_), Some(target)) = (&*node.target, target) {
                    self.copy(value, target);
                }
            }
            Stmt::For(node) => {
                let iterable = self.value(&node.iter);
                let element = self.element(iterable, Part::Any, node.iter.range());
                self.bind(&node.target, element);
                self.body(&node.body);
                self.body(&node.orelse);
            }
            Stmt::While(node) => {
                self.condition(&node.test);
                self.body(&node.body);
                self.body(&node.orelse);
            }
            Stmt::If(node) => {
                self.condition(&node.test);
                self.body(&node.body);
                for clause in &node.elif_else_clauses {
                    clause.test.iter().for_each(|test| self.condition(test));
                    self.body(&clause.body);
                }
            }
            Stmt::With(node) => {
                for item in &node.items {
                    let value = self.value(&item.context_expr);
                    let entered = self.operate(value, Operation::Context, item.context_expr.range());
                    if let Some(target) = &item.optional_vars {
                        if let Some(entered) = entered {
                            self.copy(value, entered);
                        }
                        self.bind(target, entered);
                    }
                }
                let expects = expects_exception(node);
                self.expecting += usize::from(expects);
                self.body(&node.body);
                self.expecting -= usize::from(expects);
            }
            Stmt::Try(node) => {
                self.body(&node.body);
                for handler in &node.handlers {
                    let ast::ExceptHandler::ExceptHandler(handler) = handler;
                    self.body(&handler.body);
                }
                self.body(&node.orelse);
                self.body(&node.finalbody);
            }
            Stmt::Match(node) => {
                self.value(&node.subject);
                for case in &node.cases {
                    case.guard.iter().for_each(|guard| self.evaluate(guard));
                    self.body(&case.body);
                }
            }
            Stmt::Expr(node) => self.evaluate(&node.value),
            Stmt::Assert(node) => self.condition(&node.test),
            Stmt::Raise(node) => node.exc.iter().for_each(|exception| self.evaluate(exception)),
            _ => {}
        }
    }

    fn def(&mut self, def: &'a ast::StmtFunctionDef) {
        let Some(function) = self.functions.get(&def.name.start()).copied() else { return };
        let mut value = self.node();
        self.add(Constraint::Function { function, to: value });
        for decorator in def.decorator_list.iter().rev() {
            value = self.decorated(&decorator.expression, function, value);
        }
        self.bind_name(&def.name.id, Some(value));
        let mut frame = Frame { function: Some(function), ..Frame::default() };
        for parameter in &def.parameters {
            let node = self.node();
            frame.names.insert(parameter.name().id.as_str(), Some(node));
            let default = parameter.default().and_then(|default| self.value(default));
            self.copy(default, node);
            // The annotation of `*args` is that of its elements.
            if let Some(annotation) = parameter.annotation().filter(|_| !parameter.is_variadic()) {
                self.declare(annotation, node);
            }
        }
        // `*args` and `**kwargs` are containers.
        for variadic in def.parameters.vararg.iter().chain(&def.parameters.kwarg) {
            if let Some(to) = frame.names.get(variadic.name.id.as_str()).copied().flatten() {
                self.add(Constraint::Display { to, open: false });
            }
        }
        let signature = self.index.signatures.get(function);
        let names = signature.into_iter().flat_map(|signature| &signature.parameters);
        let parameters: Vec<Node> = names
            .filter_map(|parameter| frame.names.get(parameter.name.as_str()).copied().flatten())
            .collect();
        if let Some(class) = self.index.definitions.functions[function].class
            && let Some(first) = parameters.first().copied()
            && signature.is_some_and(|signature| !signature.is_static)
        {
            let is_class_method =
                matches!(def.name.as_str(), "__new__" | "__init_subclass__" | "__class_getitem__")
                    || signature.is_some_and(|signature| {
                        signature.decorators.iter().any(|name| name == "classmethod")
                    });
            self.add(match is_class_method {
                true => Constraint::Type { class, to: first },
                false => Constraint::Instance { class, to: first },
            });
        }
        let bound = Bound::of(&def.body);
        // Parameters that the body does not assign hold the arguments throughout.
        let kept = def.parameters.iter_non_variadic_params().map(|parameter| &parameter.parameter.name.id);
        let kept = kept.filter(|name| !bound.names.contains(name));
        let kept: Vec<Node> =
            kept.filter_map(|name| frame.names.get(name.as_str()).copied().flatten()).collect();
        self.flow.code.parameters[function] = parameters;
        let outer = std::mem::replace(&mut self.owner, Owner::Code(Code::Function(function)));
        self.enter(frame, bound);
        self.body(&def.body);
        let returns = self.scopes.pop().map(|frame| frame.returns).unwrap_or_default();
        self.returns(function, returns, &kept);
        self.owner = outer;
    }

    /// Records what a function returns. `kept`: the parameters that it does not assign.
    fn returns(&mut self, function: FunctionIndex, returns: Vec<Node>, kept: &[Node]) {
        let result = self.flow.code.results[function];
        let (parameters, others): (Vec<Node>, Vec<Node>) =
            returns.into_iter().partition(|node| kept.contains(node));
        if parameters.is_empty() {
            return others.into_iter().for_each(|from| self.copy(Some(from), result));
        }
        let known = &self.flow.code.parameters[function];
        let mut positions: Vec<u32> =
            (0..).zip(known).filter(|(_, node)| parameters.contains(node)).map(|(at, _)| at).collect();
        positions.dedup();
        let to = self.node();
        others.into_iter().for_each(|from| self.copy(Some(from), to));
        for from in parameters.into_iter().chain([to]) {
            self.copy(Some(from), result);
        }
        self.flow.code.returned.insert(function, Returned { parameters: positions, others: to });
    }

    /// Applies a decorator to a function. Returns the resulting value.
    fn decorated(&mut self, decorator: &'a Expr, function: FunctionIndex, value: Node) -> Node {
        let named = match decorator {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        if last_name(named).is_some_and(|name| OBJECT_MODEL_DECORATORS.contains(&name.as_str())) {
            return value;
        }
        if let Expr::Attribute(attribute) = named
            && attribute.attr.as_str() == "register"
            && let Some(base) = self.value(&attribute.value)
        {
            self.add(Constraint::Register { base, from: value });
        }
        if let Expr::Call(call) = decorator {
            // `@parametrize("opt, rate", [(sgd, 0.1)])`
            let names = match &*call.arguments.args {
                [Expr::StringLiteral(names), _, ..] => Some(Name::new(names.value.to_str())),
                _ => None,
            };
            for argument in &call.arguments.args {
                if let Some(from) = self.value(argument) {
                    self.add(Constraint::TestArgument { function, name: names.clone(), from });
                }
            }
            for keyword in &call.arguments.keywords {
                if let Some(from) = self.value(&keyword.value) {
                    let name = keyword.arg.as_ref().map(|name| name.id.clone());
                    self.add(Constraint::TestArgument { function, name, from });
                }
            }
        }
        let Some(callee) = self.value(decorator) else { return value };
        let result = self.node();
        let site = self.site(decorator.range());
        self.flow.code.decorators.push(self.flow.code.calls.len() as u32);
        self.flow.code.calls.push(Arc::new(Call {
            site,
            callee,
            positional: vec![Some(value)],
            starred: None,
            keywords: Vec::new(),
            mappings: Vec::new(),
            result,
            attribute: None,
            expects_exception: self.index.expected_to_fail.contains(&function),
            decorates_class: false,
        }));
        result
    }

    fn class(&mut self, class: &'a ast::StmtClassDef) {
        let Some(index) = self.classes.get(&class.name.start()).copied() else { return };
        let to = self.node();
        self.add(Constraint::Class { class: index, to });
        self.bind_name(&class.name.id, Some(to));
        for decorator in class.decorator_list.iter().rev() {
            self.decorate_class(&decorator.expression, to);
        }
        let arguments = class.arguments.as_deref();
        for base in arguments.iter().flat_map(|arguments| &arguments.args) {
            let value = self.value(base);
            self.operate(value, Operation::Subclass, base.range());
        }
        if let Some(keyword) = arguments.and_then(|arguments| arguments.find_keyword("metaclass"))
            && let Some(node) = self.value(&keyword.value)
        {
            self.flow.code.metaclasses.insert(index, node);
        }
        let declared = class.body.iter().filter_map(Stmt::as_ann_assign_stmt);
        let fields = declared.filter_map(|field| Some(field.target.as_name_expr()?.id.clone())).collect();
        self.flow.code.fields.insert(index, fields);
        self.enter(Frame { class: Some(index), ..Frame::default() }, Bound::of(&class.body));
        self.body(&class.body);
        self.leave();
    }

    /// Calls a decorator with a class. The name of the class remains bound to the class itself:
    ///
    /// ```python
    /// def register(cls):
    ///     MODELS[cls.__name__] = cls
    ///     return cls
    ///
    /// @register
    /// class Linear: ...
    /// ```
    fn decorate_class(&mut self, decorator: &'a Expr, class: Node) {
        let Some(callee) = self.value(decorator) else { return };
        let result = self.node();
        let site = self.site(decorator.range());
        self.flow.code.calls.push(Arc::new(Call {
            site,
            callee,
            positional: vec![Some(class)],
            starred: None,
            keywords: Vec::new(),
            mappings: Vec::new(),
            result,
            attribute: None,
            expects_exception: false,
            decorates_class: true,
        }));
    }

    fn bind_name(&mut self, name: &'a Name, value: Option<Node>) {
        if value.is_none() && self.is_local(name) {
            return;
        }
        let node = match self.local(name) {
            Some(node) => node,
            None => self.global(name),
        };
        self.copy(value, node);
    }

    pub(super) fn bind(&mut self, target: &'a Expr, value: Option<Node>) {
        match target {
            Expr::Name(name) => self.bind_name(&name.id, value),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let mut any = false;
                for (position, target) in (0..).zip(elts) {
                    any |= target.is_starred_expr();
                    let part = if any { Part::Any } else { Part::Position(position) };
                    let element = self.element(value, part, target.range());
                    self.bind(target, element);
                }
            }
            Expr::Starred(starred) => {
                let list = value.map(|value| self.display(vec![(Part::Any, value)]));
                self.bind(&starred.value, list);
            }
            Expr::Attribute(attribute) => {
                if let (Some(base), Some(from)) = (self.value(&attribute.value), value) {
                    let site = self.site(attribute.range());
                    self.add(Constraint::Store { base, name: attribute.attr.id.clone(), from, site });
                }
            }
            Expr::Subscript(subscript) => {
                self.value(&subscript.slice);
                let base = self.value(&subscript.value);
                self.operate(base, Operation::SetItem, target.range());
                if let (Some(base), Some(from)) = (base, value) {
                    self.add(Constraint::Put { base, part: part_of(&subscript.slice), from });
                }
            }
            _ => {}
        }
    }
}
