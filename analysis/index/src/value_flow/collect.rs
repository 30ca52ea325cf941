//! The walk over a file's tree that collects its constraints.

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;

use super::scopes::Bound;
use super::{Call, Constraint, FileFlow, LambdaFlow, Node, Operation, Owner, Part, SiteIndex};
use crate::ids::{ClassIndex, Code, FunctionIndex};
use crate::index::FileIndex;

/// Decorators that Python's object model interprets; the name refers to the function itself.
const OF_PYTHON: [&str; 9] = [
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

pub(super) fn collect(index: &FileIndex, body: &[Stmt]) -> FileFlow {
    let functions = index.definitions.functions.iter_enumerated();
    let classes = index.definitions.classes.iter_enumerated();
    let mut collector = Collector {
        index,
        functions: functions.map(|(function, entry)| (entry.name_range.start(), function)).collect(),
        classes: classes.map(|(class, entry)| (entry.name_range.start(), class)).collect(),
        flow: FileFlow::default(),
        imported: FxHashMap::default(),
        scopes: Vec::new(),
        owner: Owner::Code(Code::Module),
    };
    for _ in &index.definitions.functions {
        let result = collector.node();
        collector.flow.code.results.push(result);
    }
    collector.flow.code.parameters = IndexVec::from_raw(vec![Vec::new(); index.definitions.functions.len()]);
    collector.enter(Frame::default(), Bound::of(body));
    collector.body(body);
    collector.leave();
    let mut flow = collector.flow;
    flow.code.constraints.shrink_to_fit();
    flow.code.calls.shrink_to_fit();
    flow
}

/// The names of a scope.
#[derive(Default)]
struct Frame<'a> {
    names: FxHashMap<&'a str, Node>,
    /// The names of a class are not visible in its methods.
    class: Option<ClassIndex>,
    /// The function itself, not a comprehension in it.
    function: Option<FunctionIndex>,
}

struct Collector<'a> {
    index: &'a FileIndex,
    functions: FxHashMap<TextSize, FunctionIndex>,
    classes: FxHashMap<TextSize, ClassIndex>,
    flow: FileFlow,
    imported: FxHashMap<Name, Node>,
    scopes: Vec<Frame<'a>>,
    owner: Owner,
}

impl<'a> Collector<'a> {
    fn node(&mut self) -> Node {
        self.flow.code.nodes += 1;
        Node::from_u32(self.flow.code.nodes - 1)
    }

    fn site(&mut self, range: TextRange) -> SiteIndex {
        self.flow.code.owners.push(self.owner);
        self.flow.ranges.push(range)
    }

    fn add(&mut self, constraint: Constraint) {
        self.flow.code.constraints.push(constraint);
    }

    fn copy(&mut self, from: Option<Node>, to: Node) {
        if let Some(from) = from {
            self.add(Constraint::Copy { from, to });
        }
    }

    fn enter(&mut self, mut frame: Frame<'a>, bound: Bound<'a>) {
        for name in bound.globals {
            let node = self.global(name);
            frame.names.insert(name.as_str(), node);
        }
        for name in bound.names {
            if frame.names.contains_key(name.as_str()) {
                continue;
            }
            let node = match (self.scopes.is_empty(), frame.class) {
                (true, _) => self.global(name),
                (false, Some(class)) => {
                    let node = self.node();
                    self.flow.code.attributes.insert((class, name.clone()), node);
                    node
                }
                (false, None) => self.node(),
            };
            frame.names.insert(name.as_str(), node);
        }
        self.scopes.push(frame);
    }

    fn leave(&mut self) {
        self.scopes.pop();
    }

    /// A variable of the module, or a name that is imported or built in.
    fn global(&mut self, name: &Name) -> Node {
        if let Some(node) = self.flow.code.globals.get(name) {
            return *node;
        }
        let node = self.node();
        self.flow.code.globals.insert(name.clone(), node);
        if let Some(dotted) = self.index.imports.get(name) {
            self.add(Constraint::Import { name: dotted.clone(), to: node });
        }
        node
    }

    fn lookup(&mut self, name: &'a Name) -> Node {
        let local = self.local(name);
        if let Some(node) = local {
            return node;
        }
        let is_known = self.index.imports.get(name).is_some() || self.flow.code.globals.contains_key(name);
        match is_known {
            true => self.global(name),
            false => self.import(Name::new(format!("builtins.{name}"))),
        }
    }

    fn local(&self, name: &Name) -> Option<Node> {
        let mut frames = self.scopes.iter().rev();
        let innermost = frames.next().and_then(|frame| frame.names.get(name.as_str()));
        let node = innermost.or_else(|| {
            frames.filter(|frame| frame.class.is_none()).find_map(|frame| frame.names.get(name.as_str()))
        });
        node.copied()
    }

    fn import(&mut self, name: Name) -> Node {
        if let Some(node) = self.imported.get(&name) {
            return *node;
        }
        let node = self.node();
        self.imported.insert(name.clone(), node);
        self.add(Constraint::Import { name, to: node });
        node
    }

    /// The function around, lambdas and comprehensions left out.
    fn function(&self) -> Option<FunctionIndex> {
        self.scopes.iter().rev().find_map(|frame| frame.function)
    }

    fn body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => self.def(def),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Return(node) => {
                let value = node.value.as_deref().and_then(|value| self.value(value));
                if let Some(function) = self.function() {
                    let result = self.flow.code.results[function];
                    self.copy(value, result);
                }
            }
            Stmt::Assign(node) => {
                let value = self.value(&node.value);
                node.targets.iter().for_each(|target| self.bind(target, value));
            }
            Stmt::AnnAssign(node) => {
                let value = node.value.as_deref().and_then(|value| self.value(value));
                self.bind(&node.target, value);
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
                self.body(&node.body);
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
            frame.names.insert(parameter.name().id.as_str(), node);
            let default = parameter.default().and_then(|default| self.value(default));
            self.copy(default, node);
        }
        // `*args` and `**kwargs` are containers.
        for variadic in def.parameters.vararg.iter().chain(&def.parameters.kwarg) {
            if let Some(to) = frame.names.get(variadic.name.id.as_str()).copied() {
                self.add(Constraint::Display { to, open: false });
            }
        }
        let signature = self.index.signatures.get(function);
        let names = signature.into_iter().flat_map(|signature| &signature.parameters);
        let parameters: Vec<Node> =
            names.filter_map(|parameter| frame.names.get(parameter.name.as_str()).copied()).collect();
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
                true => Constraint::Class { class, to: first },
                false => Constraint::Instance { class, to: first },
            });
        }
        self.flow.code.parameters[function] = parameters;
        let outer = std::mem::replace(&mut self.owner, Owner::Code(Code::Function(function)));
        self.enter(frame, Bound::of(&def.body));
        self.body(&def.body);
        self.leave();
        self.owner = outer;
    }

    /// The value of a function with a decorator.
    fn decorated(&mut self, decorator: &'a Expr, function: FunctionIndex, value: Node) -> Node {
        let name = match decorator {
            Expr::Call(call) => crate::index::last_name(&call.func),
            other => crate::index::last_name(other),
        };
        if name.is_some_and(|name| OF_PYTHON.contains(&name.as_str())) {
            return value;
        }
        let registering = match decorator {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        if let Expr::Attribute(attribute) = registering
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
                    self.add(Constraint::Given { function, name: names.clone(), from });
                }
            }
            for keyword in &call.arguments.keywords {
                if let Some(from) = self.value(&keyword.value) {
                    let name = keyword.arg.as_ref().map(|name| name.id.clone());
                    self.add(Constraint::Given { function, name, from });
                }
            }
        }
        let Some(callee) = self.value(decorator) else { return value };
        let result = self.node();
        let site = self.site(decorator.range());
        self.flow.code.decorators.push(self.flow.code.calls.len() as u32);
        self.flow.code.calls.push(Call {
            site,
            callee,
            positional: vec![Some(value)],
            starred: None,
            keywords: Vec::new(),
            mappings: Vec::new(),
            result,
            attribute: None,
        });
        result
    }

    fn class(&mut self, class: &'a ast::StmtClassDef) {
        let Some(index) = self.classes.get(&class.name.start()).copied() else { return };
        let to = self.node();
        self.add(Constraint::Class { class: index, to });
        self.bind_name(&class.name.id, Some(to));
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

    fn bind_name(&mut self, name: &'a Name, value: Option<Node>) {
        let node = match self.scopes.last().and_then(|frame| frame.names.get(name.as_str())) {
            Some(node) => *node,
            None => match self.local(name) {
                Some(node) => node,
                None => self.global(name),
            },
        };
        self.copy(value, node);
    }

    fn bind(&mut self, target: &'a Expr, value: Option<Node>) {
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

    fn element(&mut self, base: Option<Node>, part: Part, range: TextRange) -> Option<Node> {
        let base = base?;
        let to = self.node();
        let site = self.site(range);
        self.add(Constraint::Element { base, part, to, site });
        Some(to)
    }

    fn operate(&mut self, base: Option<Node>, operation: Operation, range: TextRange) -> Option<Node> {
        let base = base?;
        let to = self.node();
        let site = self.site(range);
        self.add(Constraint::Method { base, operation, to, site });
        Some(to)
    }

    /// A condition: the value of the expression, whose truth decides.
    fn condition(&mut self, test: &'a Expr) {
        let value = self.value(test);
        self.operate(value, Operation::Truth, test.range());
    }

    fn display(&mut self, parts: Vec<(Part, Node)>) -> Node {
        let base = self.node();
        self.add(Constraint::Display { to: base, open: parts.is_empty() });
        for (part, from) in parts {
            self.add(Constraint::Put { base, part, from });
        }
        base
    }

    /// For the calls in an expression whose value does not matter.
    fn evaluate(&mut self, expression: &'a Expr) {
        let _ = self.value(expression);
    }

    /// The node of an expression; `None` if its value is certainly no function and no object of the project.
    fn value(&mut self, expression: &'a Expr) -> Option<Node> {
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
                // `(2, 3)` holds nothing that matters; `[]` may be filled later.
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
        // `inputs + (last,)`: where the elements of the second one are is not known.
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
                        frame.names.insert(name.id.as_str(), node);
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
        let result = self.node();
        let site = self.site(call.range());
        let attribute = call.arguments.args.get(1).and_then(Expr::as_string_literal_expr);
        let attribute = attribute.map(|literal| Name::new(literal.value.to_str()));
        self.flow.code.calls.push(Call {
            site,
            callee,
            positional,
            starred,
            keywords,
            mappings,
            result,
            attribute,
        });
        Some(result)
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
                frame.names.insert(name.as_str(), node);
                parameters.push((name.clone(), node));
            }
            for parameter in list.vararg.iter().chain(&list.kwarg) {
                let node = self.display(Vec::new());
                frame.names.insert(parameter.name.id.as_str(), node);
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

fn part_of(slice: &Expr) -> Part {
    match slice {
        Expr::StringLiteral(literal) => Part::Key(Name::new(literal.value.to_str())),
        Expr::NumberLiteral(literal) => {
            let position =
                literal.value.as_int().and_then(ast::Int::as_usize).and_then(|it| u32::try_from(it).ok());
            position.map_or(Part::Any, Part::Position)
        }
        _ => Part::Any,
    }
}
