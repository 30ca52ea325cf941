//! The functions to which an expression may evaluate if its type does not determine them: values of containers, fields
//! of objects, results of functions that return functions. They are found from syntax:
//!
//! ```python
//! STEPS = {"plain": step}
//! STEPS["plain"]                  # step
//!
//! def make(rate):
//!     def init(params): ...
//!     def update(grads, state): ...
//!     return Transform(init, update)
//!
//! transform = make(0.1)
//! transform.update                # update
//! ```

use ruff_db::parsed::parsed_module;
use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::{Inference, locate};
use ag_index::answers::Target;
use ag_index::roots;

/// The maximum number of steps through names, containers and calls.
const MAX_STEPS: u8 = 8;
/// The maximum number of functions. A container with more functions is a registry: it is unknown which of them a call
/// reaches.
const MAX_FUNCTIONS: usize = 8;
/// The maximum number of expressions that are visited. If a name has many bindings (`x, x, x = x`), the number of paths
/// through them grows exponentially with their length.
const MAX_VISITED: usize = 512;

/// The functions that have been found, and the number of expressions that have been visited.
#[derive(Default)]
struct Search {
    functions: Vec<Target>,
    visited: usize,
}

impl Search {
    /// Counts an expression. Returns whether it may be visited.
    fn visit(&mut self) -> bool {
        self.visited += 1;
        !self.has_failed()
    }

    /// Returns whether too much was found, so it is unknown which function a call reaches.
    fn has_failed(&self) -> bool {
        self.visited > MAX_VISITED || self.functions.len() > MAX_FUNCTIONS
    }
}

/// A part that is taken from a value.
#[derive(Clone)]
enum Part {
    /// `transform.update`
    Field(Name),
    /// `pair[1]`, `init, update = pair`
    Position(usize),
    /// `steps["plain"]`
    Key(Name),
    /// `steps[name]`, `for step in steps`
    Any,
}

/// The values to which a name is bound. The name gets the whole value, or the given part of it.
type Bound<'a> = Vec<(&'a Expr, Option<Part>)>;

impl Inference<'_> {
    /// Adds the functions to which `expression` may evaluate.
    pub(super) fn add_values(&self, expression: &Expr, targets: &mut Vec<Target>) {
        let module = parsed_module(self.db, self.model.python_file()).load(self.db);
        let mut found = Search::default();
        self.follow(module.suite(), expression, &mut Vec::new(), MAX_STEPS, &mut found);
        if !found.has_failed() {
            for target in found.functions {
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
        }
    }

    /// Returns how the arguments of a call of `callee` differ from those of the function that finally runs. Returns the
    /// number of arguments that were bound earlier (`partial(f, 3)`), and the number of leading arguments that are not
    /// passed on (`net.apply(params, key, x)`).
    pub(super) fn argument_offsets(&self, callee: &Expr) -> (usize, usize) {
        let module = parsed_module(self.db, self.model.python_file()).load(self.db);
        let imports = &self.source.index.imports;
        let mut bound = 0;
        let mut method = None;
        let mut wrappers: Vec<Name> = Vec::new();
        let mut expression = callee;
        for _ in 0..MAX_STEPS {
            expression = match expression {
                Expr::Attribute(attribute) if method.is_none() => {
                    method = Some(&attribute.attr.id);
                    &attribute.value
                }
                Expr::Name(name) => match bound_to(module.suite(), &name.id, name.range()).as_slice() {
                    [(value, None)] => value,
                    _ => break,
                },
                Expr::Call(call) if roots::wraps(imports, &call.func) => {
                    let name = imports.resolve(&call.func);
                    if name.as_ref().is_some_and(|name| name == "functools.partial") {
                        bound += call.arguments.args.len().saturating_sub(1);
                    }
                    wrappers.extend(name);
                    let Some(inner) = call.arguments.args.first() else { break };
                    inner
                }
                _ => break,
            };
        }
        let wrapped = |name: &str| usize::from(wrappers.iter().any(|wrapper| wrapper == name));
        let skipped = match method.map(Name::as_str) {
            Some("apply") if wrapped("haiku.transform") + wrapped("haiku.transform_with_state") > 0 => {
                2 + wrapped("haiku.transform_with_state") - wrapped("haiku.without_apply_rng")
            }
            Some("apply" | "init" | "init_with_output" | "lazy_init") => 1,
            _ => 0,
        };
        (bound, skipped)
    }

    /// Takes `parts` from the value of `expression`, the last part first, and adds the functions that the resulting
    /// value may be.
    fn follow(
        &self,
        module: &[Stmt],
        expression: &Expr,
        parts: &mut Vec<Part>,
        steps: u8,
        found: &mut Search,
    ) {
        let Some(steps) = steps.checked_sub(1) else { return };
        if !found.visit() {
            return;
        }
        if parts.is_empty() && steps + 1 < MAX_STEPS {
            let before = found.functions.len();
            self.add_known(expression, &mut found.functions);
            if found.functions.len() > before {
                return;
            }
        }
        let imports = &self.source.index.imports;
        match expression {
            Expr::Name(name) => {
                for (value, part) in bound_to(module, &name.id, name.range()) {
                    let mut parts = parts.clone();
                    parts.extend(part);
                    self.follow(module, value, &mut parts, steps, found);
                }
            }
            Expr::Subscript(subscript) => {
                parts.push(part_of(&subscript.slice));
                self.follow(module, &subscript.value, parts, steps, found);
            }
            Expr::Attribute(attribute) => {
                // `hk.transform(f).apply`, `jax.jit(f).lower`
                if parts.is_empty()
                    && matches!(attribute.attr.as_str(), "apply" | "init" | "lower" | "trace" | "__wrapped__")
                {
                    self.follow(module, &attribute.value, parts, steps, found);
                }
                parts.push(Part::Field(attribute.attr.id.clone()));
                self.follow(module, &attribute.value, parts, steps, found);
            }
            Expr::If(conditional) => {
                self.follow(module, &conditional.body, &mut parts.clone(), steps, found);
                self.follow(module, &conditional.orelse, parts, steps, found);
            }
            Expr::Named(named) => self.follow(module, &named.value, parts, steps, found),
            Expr::Call(call) => {
                if roots::wraps(imports, &call.func) {
                    // `init, apply = hk.transform(f)`
                    if let Some(inner) = call.arguments.args.first()
                        && parts.iter().all(|part| matches!(part, Part::Position(_)))
                    {
                        self.follow(module, inner, &mut Vec::new(), steps, found);
                    }
                    return;
                }
                if let Some(class) = self.type_of(&call.func).and_then(|ty| self.class_of(ty)) {
                    let Some(part) = parts.pop() else { return };
                    let file = class.file();
                    let python_file = self.db.program_file(file).python_file(self.db);
                    let source = parsed_module(self.db, python_file).load(self.db);
                    let fields = locate::class(&source, class.range()).map(fields_of).unwrap_or_default();
                    if let Some(value) = field(&call.arguments, &fields, &part) {
                        self.follow(module, value, parts, steps, found);
                    }
                    return;
                }
                let mut functions = Vec::new();
                self.add_known(&call.func, &mut functions);
                for function in functions {
                    self.returned(&function, parts, steps, found);
                }
            }
            _ => {
                if let Some(part) = parts.pop() {
                    for value in elements(expression, &part) {
                        self.follow(module, value, &mut parts.clone(), steps, found);
                    }
                }
            }
        }
    }

    /// Adds the functions that a function of the project returns, as its `return` statements name them.
    fn returned(&self, function: &Target, parts: &[Part], steps: u8, found: &mut Search) {
        let Some(own) = self.workspace.document_of(self.file) else { return };
        let Some((document, source)) = self.workspace.find(function.document, own) else { return };
        let Some(file) = self.workspace.file(document) else { return };
        let python_file = self.db.program_file(file).python_file(self.db);
        let module = parsed_module(self.db, python_file).load(self.db);
        let Some(def) = locate::function(self.db, file, &module, &function.path) else { return };
        let definitions = &source.index.definitions;
        let Some((maker, _)) = definitions.find(&function.path) else { return };
        let names = &mut |name: &str| {
            let mut nested = definitions.functions.iter().rev();
            let entry = nested.find(|entry| entry.parent == Some(maker) && entry.path.name() == name)?;
            Some(Target { document: function.document, path: entry.path.clone(), bound: false })
        };
        for value in returns(def) {
            let value = roots::innermost(&source.index.imports, value);
            follow_plain(module.suite(), value, &mut parts.to_vec(), steps, names, found);
        }
    }
}

/// Adds the nested functions in the value of a `return` statement: the value itself, elements of containers, fields.
fn follow_plain(
    module: &[Stmt],
    value: &Expr,
    parts: &mut Vec<Part>,
    steps: u8,
    names: &mut dyn FnMut(&str) -> Option<Target>,
    found: &mut Search,
) {
    let Some(steps) = steps.checked_sub(1) else { return };
    if !found.visit() {
        return;
    }
    match (value, parts.pop()) {
        (Expr::Name(name), None) => found.functions.extend(names(&name.id)),
        (Expr::Call(call), Some(part)) => {
            let class = call.func.as_name_expr().and_then(|name| {
                module.iter().filter_map(Stmt::as_class_def_stmt).find(|class| class.name.id == name.id)
            });
            let fields = class.map(fields_of).unwrap_or_default();
            if let Some(value) = field(&call.arguments, &fields, &part) {
                follow_plain(module, value, parts, steps, names, found);
            }
        }
        (_, Some(part)) => {
            for value in elements(value, &part) {
                follow_plain(module, value, &mut parts.clone(), steps, names, found);
            }
        }
        _ => {}
    }
}

fn part_of(slice: &Expr) -> Part {
    match slice {
        Expr::StringLiteral(literal) => Part::Key(Name::new(literal.value.to_str())),
        Expr::NumberLiteral(literal) => {
            literal.value.as_int().and_then(ast::Int::as_usize).map_or(Part::Any, Part::Position)
        }
        _ => Part::Any,
    }
}

/// Returns the elements of a list, tuple or dict display that `part` may select.
fn elements<'a>(container: &'a Expr, part: &Part) -> Vec<&'a Expr> {
    match (container, part) {
        (Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }), part) => {
            match part {
                Part::Position(position) => elts.get(*position).into_iter().collect(),
                Part::Any => elts.iter().collect(),
                _ => Vec::new(),
            }
        }
        (Expr::Dict(dict), Part::Key(key)) => {
            let values = dict.items.iter().filter(|item| {
                item.key
                    .as_ref()
                    .and_then(Expr::as_string_literal_expr)
                    .is_some_and(|own| own.value == *key.as_str())
            });
            values.map(|item| &item.value).collect()
        }
        (Expr::Dict(dict), _) => dict.items.iter().map(|item| &item.value).collect(),
        _ => Vec::new(),
    }
}

/// Returns the argument of a constructor call that becomes the field `part`. It is found by keyword or by the order of
/// the fields. If the class is unknown, it is found by the name of the variable:
/// `GradientTransformation(init_fn, update_fn)`.
fn field<'a>(arguments: &'a ast::Arguments, fields: &[&Name], part: &Part) -> Option<&'a Expr> {
    match part {
        Part::Position(position) => arguments.args.get(*position),
        Part::Field(name) => {
            if let Some(keyword) = arguments.find_keyword(name) {
                return Some(&keyword.value);
            }
            match fields.iter().position(|field| *field == name) {
                Some(position) => arguments.args.get(position),
                None => arguments.args.iter().find(|argument| {
                    argument.as_name_expr().is_some_and(|argument| {
                        argument
                            .id
                            .strip_prefix(name.as_str())
                            .is_some_and(|rest| matches!(rest, "" | "_fn" | "_fun" | "_func"))
                    })
                }),
            }
        }
        _ => None,
    }
}

/// Returns the fields of a NamedTuple or dataclass, in order.
fn fields_of(class: &ast::StmtClassDef) -> Vec<&Name> {
    let declared = class.body.iter().filter_map(Stmt::as_ann_assign_stmt);
    declared.filter_map(|assign| Some(&assign.target.as_name_expr()?.id)).collect()
}

fn returns(def: &ast::StmtFunctionDef) -> Vec<&Expr> {
    struct Returns<'a>(Vec<&'a Expr>);
    impl<'a> StatementVisitor<'a> for Returns<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::Return(node) => self.0.extend(node.value.as_deref()),
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                _ => walk_stmt(self, statement),
            }
        }
    }
    let mut returns = Returns(Vec::new());
    returns.visit_body(&def.body);
    returns.0
}

/// Returns the bindings of a name that is read at `at`, in the innermost scope that binds it.
fn bound_to<'a>(body: &'a [Stmt], name: &Name, at: TextRange) -> Bound<'a> {
    let mut bindings = Bindings { name, at, bound: Vec::new(), inner: None };
    bindings.visit_body(body);
    bindings.inner.unwrap_or(bindings.bound)
}

struct Bindings<'a, 'n> {
    name: &'n Name,
    at: TextRange,
    bound: Bound<'a>,
    /// The bindings of an inner scope that binds the name.
    inner: Option<Bound<'a>>,
}

impl<'a> Bindings<'a, '_> {
    fn bind(&mut self, target: &Expr, value: &'a Expr, part: Option<Part>) {
        match target {
            Expr::Name(name) if name.id == *self.name => self.bound.push((value, part)),
            Expr::Tuple(targets) if part.is_none() => {
                for (position, target) in targets.elts.iter().enumerate() {
                    self.bind(target, value, Some(Part::Position(position)));
                }
            }
            _ => {}
        }
    }
}

impl<'a> StatementVisitor<'a> for Bindings<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                if !def.range().contains_range(self.at) {
                    return;
                }
                let mut bindings = Bindings { name: self.name, at: self.at, bound: Vec::new(), inner: None };
                bindings.visit_body(&def.body);
                let is_parameter = def.parameters.iter().any(|own| own.name().id == *self.name);
                let inner = bindings.inner.take();
                self.inner =
                    inner.or_else(|| (is_parameter || !bindings.bound.is_empty()).then_some(bindings.bound));
            }
            // The names of a class are not visible in its methods.
            Stmt::ClassDef(class) if class.range().contains_range(self.at) => {
                let mut bindings = Bindings { name: self.name, at: self.at, bound: Vec::new(), inner: None };
                bindings.visit_body(&class.body);
                self.inner = bindings.inner;
            }
            Stmt::ClassDef(_) => {}
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.bind(target, &assign.value, None));
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.bind(&assign.target, value, None);
                }
            }
            Stmt::For(node) => {
                self.bind(&node.target, &node.iter, Some(Part::Any));
                walk_stmt(self, statement);
            }
            _ => walk_stmt(self, statement),
        }
    }
}
