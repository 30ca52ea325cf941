//! The numbers in traced pytrees. JAX replaces all leaves of the arguments of a jitted function, and of the values that
//! `lax.while_loop` and its relatives carry, by tracers. Annotations may still call them numbers:
//!
//! ```python
//! class State(NamedTuple):
//!     x: jax.Array
//!     count: int
//!
//! @jax.jit
//! def step(state: State):
//!     if state.count > 3: …            # `state.count` is a tracer
//! ```

use ag_db::diagnostic::Anchor;
use ag_db::{Db, Document};
use ag_flow::{Cfg, DefKind, Flow};
use ag_index::answers::Facts;
use ag_index::assumptions::{Source, Stage};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::{Alternative, Fact, Library, TensorKind};
use ag_index::ids::ParameterIndex;
use ag_index::index::{FunctionId, function_ast, last_name};
use ag_index::modules;
use ag_syntax::expressions::{self, ExprId};
use ag_syntax::imports::Imports;
use ag_syntax::qname::QName;
use ag_syntax::statements;
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::pytrees::{leaves_of_library_class, pytree_classes};
use crate::queries;

/// The maximum number of assignments, attributes and items from a value back to the tree.
const MAX_STEPS: usize = 8;
/// The maximum number of calls from a root to a function whose parameters are traced trees.
const MAX_CALLS: usize = 6;
/// The maximum number of passes over a function: a loop may use a value before the code that computes it.
const MAX_PASSES: usize = 3;

/// The functions whose results are traced, leaf by leaf.
const CONTROL_FLOW: [&str; 7] = [
    "jax.lax.while_loop",
    "jax.lax.fori_loop",
    "jax.lax.scan",
    "jax.lax.cond",
    "jax.lax.switch",
    "jax.lax.map",
    "jax.lax.associative_scan",
];

/// The wrappers that call a function with the arguments that they receive: `jax.grad(loss)(params, state)`.
const WRAPPERS: [&str; 5] = ["jax.grad", "jax.value_and_grad", "jax.checkpoint", "jax.remat", "jax.vmap"];

/// Returns `facts` with the numbers in traced trees, and the results of operations on them, as arrays.
pub(crate) fn apply<'db>(db: &'db dyn Db, function: FunctionId<'db>, facts: &Facts) -> Option<Facts> {
    let def = function_ast(db, function).as_ref()?.def();
    let stage = queries::stage(db, function).as_ref().filter(|stage| stage.dialect == Dialect::Jax)?;
    if !contains_candidate(def, facts) {
        return None;
    }
    let trees = Trees::of(db, function, traced_parameters(db, function, stage, MAX_CALLS))?;
    let mut leaves = Leaves { trees: &trees, checked: checked(def), found: FxHashSet::default() };
    for _ in 0..MAX_PASSES {
        let before = leaves.found.len();
        leaves.visit_body(&def.body);
        if leaves.found.len() == before {
            break;
        }
    }
    let array = Fact {
        alternatives: vec![Alternative::Tensor {
            kind: TensorKind::Tensor,
            dtype: None,
            library: Library::Jax,
        }],
        shown: Name::new_static("Array"),
        ..Fact::default()
    };
    (!leaves.found.is_empty()).then(|| facts.with(&leaves.found, array))
}

/// Returns whether a function reads a number from a parameter, attribute or item, or calls a function of
/// [`CONTROL_FLOW`]. This test is cheap.
fn contains_candidate(def: &ast::StmtFunctionDef, facts: &Facts) -> bool {
    struct Candidates<'a> {
        facts: &'a Facts,
        parameters: &'a ast::Parameters,
        found: bool,
    }
    impl<'a> SourceOrderVisitor<'a> for Candidates<'_> {
        fn visit_expr(&mut self, expression: &'a Expr) {
            let is_number = || {
                let fact = expressions::id(expression).and_then(|id| self.facts.get(id));
                fact.is_some_and(is_number)
            };
            self.found |= match expression {
                Expr::Attribute(_) | Expr::Subscript(_) => is_number(),
                Expr::Name(name) => self.parameters.includes(&name.id) && is_number(),
                Expr::Call(call) => last_name(&call.func).is_some_and(|name| {
                    CONTROL_FLOW.iter().any(|function| function.ends_with(name.as_str()))
                }),
                _ => false,
            };
            source_order::walk_expr(self, expression);
        }
    }
    let mut candidates = Candidates { facts, parameters: &def.parameters, found: false };
    candidates.visit_body(&def.body);
    candidates.found
}

/// Returns whether a value is certainly a Python number, as far as its type shows, or a number or an array.
fn is_number(fact: &Fact) -> bool {
    use Alternative::{Bool, Float, Int, Tensor};
    let is_number = |alternative: &Alternative| matches!(alternative, Bool(_) | Int(_) | Float);
    !fact.unknown
        && !fact.never
        && fact.alternatives.iter().any(is_number)
        && fact.alternatives.iter().all(|it| is_number(it) || matches!(it, Tensor { .. }))
}

/// Returns the parameters that receive traced trees. A function that is not a root receives one if the call by which it
/// is reached passes one.
fn traced_parameters(db: &dyn Db, function: FunctionId, stage: &Stage, calls: usize) -> Vec<ParameterIndex> {
    let positions = || stage.parameters.iter_enumerated();
    if let Some(root) = stage.root {
        let is_traced = match root {
            RootKind::JaxJit => stage.options.all_arguments && !stage.static_parameters.more,
            RootKind::ControlFlowBody => true,
            _ => false,
        };
        // JAX does not trace the default of an argument that the call omits.
        let ast = function_ast(db, function).as_ref();
        let has_default = |position: ParameterIndex| {
            let parameter = ast.and_then(|ast| ast.def().parameters.iter().nth(position.as_usize()));
            parameter.is_none_or(|parameter| parameter.default().is_some())
        };
        let traced = positions().filter(|(position, parameter)| {
            is_traced
                && parameter.source != Source::Receiver
                && !parameter.bound
                && !has_default(*position)
                && !stage.static_parameters.contains(*position)
        });
        return traced.map(|(position, _)| position).collect();
    }
    let passed = || -> Option<Vec<ParameterIndex>> {
        let span = stage.cause.as_ref().filter(|_| calls > 0)?;
        let Anchor::Function(path) = &span.anchor else { return None };
        let caller = FunctionId::new(db, span.document, path.clone());
        let caller_stage = queries::stage(db, caller).as_ref()?;
        let parameters = traced_parameters(db, caller, caller_stage, calls - 1);
        let trees = Trees::of(db, caller, parameters)?;
        let call = expressions::at(function_ast(db, caller).as_ref()?.def(), span.range)?.as_call_expr()?;
        // `schedule(step)` runs `Schedule.__call__`.
        let name = function.path(db).name();
        if name != "__call__" && last_name(trees.called(&call.func)?)? != name {
            return None;
        }
        let skipped = usize::from(positions().next().is_some_and(|(_, it)| it.source == Source::Receiver));
        let traced = positions().filter(|(position, parameter)| {
            let index = position.as_usize().checked_sub(skipped);
            let by_position = || {
                let given = call.arguments.args.get(..=index?)?;
                (!given.iter().any(Expr::is_starred_expr)).then(|| given.last()).flatten()
            };
            let by_name = call.arguments.find_keyword(&parameter.name).map(|keyword| &keyword.value);
            by_name.or_else(by_position).is_some_and(|value| trees.is_tree(value, MAX_STEPS))
        });
        Some(traced.map(|(position, _)| position).collect())
    };
    passed().unwrap_or_default()
}

/// Returns the values whose class the function tests: `isinstance(state.step, int)`. The type engine narrows their types,
/// although JAX never runs that branch.
fn checked(def: &ast::StmtFunctionDef) -> FxHashSet<QName> {
    struct Tests(FxHashSet<QName>);
    impl<'a> SourceOrderVisitor<'a> for Tests {
        fn visit_expr(&mut self, expression: &'a Expr) {
            if let Expr::Call(call) = expression
                && call.func.as_name_expr().is_some_and(|name| name.id == "isinstance")
            {
                self.0.extend(call.arguments.args.first().and_then(QName::from_expr));
            }
            source_order::walk_expr(self, expression);
        }
    }
    let mut tests = Tests(FxHashSet::default());
    tests.visit_body(&def.body);
    tests.0
}

/// What a function knows about traced trees.
struct Trees<'a> {
    db: &'a dyn Db,
    document: Document,
    imports: &'a Imports,
    flow: &'a Flow,
    facts: &'a Facts,
    /// The parameters that receive traced trees.
    parameters: Vec<ParameterIndex>,
    /// The value of each name that an assignment binds. In `a, b = f()`, each name has the whole value.
    values: FxHashMap<TextRange, &'a Expr>,
}

impl<'a> Trees<'a> {
    fn of(db: &'a dyn Db, function: FunctionId<'a>, parameters: Vec<ParameterIndex>) -> Option<Self> {
        let def = function_ast(db, function).as_ref()?.def();
        let document = function.document(db);
        let mut values = FxHashMap::default();
        for statement in statements::of_function(def) {
            let (targets, value) = match statement {
                Stmt::Assign(assign) => (assign.targets.as_slice(), &*assign.value),
                Stmt::AnnAssign(assign) => match &assign.value {
                    Some(value) => (std::slice::from_ref(&*assign.target), &**value),
                    None => continue,
                },
                _ => continue,
            };
            for target in targets {
                match expressions::sequence(target) {
                    Some(targets) if expressions::sequence(value).is_none() => {
                        values.extend(targets.iter().map(|target| (target.range(), value)));
                    }
                    Some(_) => {}
                    None => drop(values.insert(target.range(), value)),
                }
            }
        }
        let facts = &queries::types(db, function).facts;
        let flow = queries::flow(db, function).as_ref()?;
        Some(Self { db, document, imports: queries::imports(db, document), flow, facts, parameters, values })
    }

    fn fact(&self, expression: &Expr) -> Option<&'a Fact> {
        self.facts.get(expressions::id(expression)?)
    }

    /// Returns whether a value is certainly traced in all its leaves: it is a part of a parameter, or of the result of
    /// `lax.while_loop`.
    fn is_tree(&self, expression: &Expr, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        match expression {
            Expr::Name(name) => {
                let definitions = self.flow.definitions_of(name.range, &QName::from(&name.id));
                !definitions.is_empty()
                    && definitions.iter().all(|definition| match definition.kind {
                        DefKind::Parameter(position) => self.parameters.contains(&position.into()),
                        _ => {
                            self.values.get(&definition.range).is_some_and(|value| self.is_tree(value, steps))
                        }
                    })
            }
            Expr::Attribute(attribute) => {
                self.is_tree(&attribute.value, steps)
                    && self.fact(&attribute.value).is_some_and(|fact| self.is_leaf(fact, &attribute.attr))
                    && !self.is_assigned(expression)
            }
            Expr::Subscript(subscript) => {
                self.is_tree(&subscript.value, steps)
                    && self.fact(&subscript.value).is_some_and(|fact| self.has_items(fact))
                    && !self.is_assigned(expression)
            }
            Expr::Call(call) => {
                self.imports.resolve(&call.func).is_some_and(|name| CONTROL_FLOW.contains(&name.as_str()))
            }
            // `state.step + 1`
            Expr::BinOp(operation) => {
                self.fact(expression).is_some_and(is_number)
                    && (self.is_tree(&operation.left, steps) || self.is_tree(&operation.right, steps))
            }
            _ => false,
        }
    }

    /// Returns whether the function itself assigns the attribute or item: `state.count = 0`.
    fn is_assigned(&self, expression: &Expr) -> bool {
        let Some(name) = QName::from_expr(expression) else { return false };
        let definitions = self.flow.definitions_of(expression.range(), &name);
        definitions.iter().any(|definition| definition.node != Cfg::ENTRY && definition.name == name)
    }

    /// Returns whether all alternatives of a type are pytrees with this leaf.
    fn is_leaf(&self, fact: &Fact, field: &str) -> bool {
        self.all_classes(fact, &mut |leaves| leaves.iter().any(|leaf| leaf == field))
    }

    /// Returns whether a type is a tuple, list or dictionary.
    fn has_items(&self, fact: &Fact) -> bool {
        let is_container = |alternative: &Alternative| {
            matches!(alternative, Alternative::Container { class, .. }
                if matches!(class.as_str(), "tuple" | "list" | "dict"))
        };
        !fact.unknown && (fact.alternatives.iter().all(is_container) || self.all_classes(fact, &mut |_| true))
    }

    fn all_classes(&self, fact: &Fact, test: &mut dyn FnMut(&[Name]) -> bool) -> bool {
        let mut of_class = |alternative: &Alternative| {
            let Alternative::Instance { module, class } = alternative else { return false };
            let of_library =
                module.as_deref().map_or(&[][..], |module| leaves_of_library_class(module, class));
            if !of_library.is_empty() {
                let leaves: Vec<Name> = of_library.iter().map(|leaf| Name::new_static(leaf)).collect();
                return test(&leaves);
            }
            let Some(document) = modules::document_of(self.db, self.document, module.as_deref()) else {
                return false;
            };
            let classes = pytree_classes(self.db, document);
            classes.iter().find(|it| it.name == *class).is_some_and(|class| test(&class.leaves))
        };
        !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(&mut of_class)
    }

    /// Returns the function that a call runs: `loss` in `loss(x)` and in `jax.grad(loss)(x)`.
    fn called<'e>(&self, callee: &'e Expr) -> Option<&'e Expr> {
        let Expr::Call(wrapper) = callee else { return Some(callee) };
        let name = self.imports.resolve(&wrapper.func)?;
        WRAPPERS.contains(&name.as_str()).then(|| wrapper.arguments.args.first()).flatten()
    }
}

/// Collects the numbers that are leaves of traced trees, and those that are computed from them.
struct Leaves<'t, 'a> {
    trees: &'t Trees<'a>,
    checked: FxHashSet<QName>,
    found: FxHashSet<ExprId>,
}

impl Leaves<'_, '_> {
    fn is_found(&self, expression: &Expr) -> bool {
        expressions::id(expression).is_some_and(|id| self.found.contains(&id))
    }

    /// Returns whether all definitions of a name are numbers that were found.
    fn is_bound(&self, name: &ast::ExprName) -> bool {
        let definitions = self.trees.flow.definitions_of(name.range, &QName::from(&name.id));
        !definitions.is_empty()
            && definitions.iter().all(|definition| {
                self.trees.values.get(&definition.range).is_some_and(|value| self.is_found(value))
            })
    }
}

impl<'a> SourceOrderVisitor<'a> for Leaves<'_, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        source_order::walk_expr(self, expression);
        let Some(id) = expressions::id(expression) else { return };
        if !self.trees.fact(expression).is_some_and(is_number) {
            return;
        }
        let is_leaf = match expression {
            Expr::Name(name) => self.is_bound(name) || self.trees.is_tree(expression, MAX_STEPS),
            Expr::Attribute(_) | Expr::Subscript(_) => {
                self.trees.is_tree(expression, MAX_STEPS)
                    && !QName::from_expr(expression).is_some_and(|name| self.checked.contains(&name))
            }
            Expr::BinOp(operation) => self.is_found(&operation.left) || self.is_found(&operation.right),
            Expr::UnaryOp(operation) => {
                operation.op != ast::UnaryOp::Not && self.is_found(&operation.operand)
            }
            Expr::Compare(compare) => {
                let computes =
                    |op: &CmpOp| !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn);
                compare.ops.iter().all(computes)
                    && (self.is_found(&compare.left)
                        || compare.comparators.iter().any(|it| self.is_found(it)))
            }
            _ => false,
        };
        if is_leaf {
            self.found.insert(id);
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
