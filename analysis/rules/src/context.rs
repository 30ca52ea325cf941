//! The input of rules: one staged function with its facts, or one file with its imports.
//!
//! Ranges in a [`FunctionContext`] are relative to the function's `def`. Findings are converted to positions in the
//! file later.

use std::cell::{OnceCell, RefCell};
use std::sync::{Arc, LazyLock};

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, ModModule};
use ruff_python_parser::Parsed;
use ruff_text_size::{Ranged, TextRange};

use super::evaluation::{self, Faults, Reach, Traced};
use super::program::Program;
use super::sources::Sources;
use super::{Rule, classes};
use ag_db::Db;
use ag_db::Document;
use ag_db::diagnostic::{Anchor, Applicability, Diagnostic, Edit, Fix, Label, Span, Step, Why};
use ag_flow::{BlockVariables, Def, DefKind, Flow};
use ag_index::assumptions::{Parameter, Source, Stage};
use ag_index::definitions::ClassEntry;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::{Binding, Fact, Library};
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_staging::construct::{Construct, ConstructKind, ConstructNode};
use ag_staging::{decisions, queries};

use ag_index::answers::{Facts, ScopeTypes};
use ag_index::modules::module_name;
use ag_staging::why::Reasons;
use ag_syntax::expressions;
use ag_syntax::functions::{FunctionAst, FunctionPath};
use ag_syntax::imports::Imports;
use ag_syntax::statements;

static UNKNOWN: LazyLock<Fact> = LazyLock::new(Fact::unknown);
static TRACER: LazyLock<Fact> = LazyLock::new(|| Fact::of_tensor(Library::Jax));
static SYMBOLIC: LazyLock<Fact> = LazyLock::new(|| Fact::of_tensor(Library::Tensorflow));
static NOTHING: LazyLock<Traced> = LazyLock::new(Traced::default);
static FAULTLESS: LazyLock<Faults> = LazyLock::new(Faults::default);

/// A staged function: a root, or a function that is reached from one.
pub struct FunctionContext<'a> {
    pub db: &'a dyn Db,
    pub document: Document,
    pub path: FunctionPath,
    pub ast: &'a FunctionAst,
    pub flow: &'a Flow,
    /// How it is staged, and the assumed types of its parameters.
    pub stage: &'a Stage,
    pub constructs: &'a [Construct],
    /// The syntax nodes of `constructs`, in the same order.
    pub nodes: Vec<ConstructNode<'a>>,
    pub facts: &'a Facts,
    /// The inferred types, without the transfer functions of staging.
    pub types: &'a ScopeTypes,
    /// The expressions that are traced arrays, whatever their types are (`evaluation/observed.rs`).
    traced: &'a Traced,
    pub imports: &'a Imports,
    pub diagnostics: RefCell<Vec<Diagnostic>>,
}

impl<'a> FunctionContext<'a> {
    /// Returns the context of a function; `None` unless it is staged.
    pub fn of(db: &'a dyn Db, function: FunctionId<'a>) -> Option<Self> {
        let document = function.document(db);
        let ast = function_ast(db, function).as_ref()?;
        let stage = queries::stage(db, function).as_ref()?;
        Some(Self {
            db,
            document,
            path: function.path(db).clone(),
            ast,
            flow: queries::flow(db, function).as_ref()?,
            stage,
            traced: match stage.dialect {
                Dialect::Jax | Dialect::Tensorflow => evaluation::traced_in(db, function),
                _ => &NOTHING,
            },
            constructs: queries::constructs(db, function),
            nodes: decisions::nodes(ast.def()).into_iter().map(|(node, _)| node).collect(),
            facts: queries::facts(db, function),
            types: queries::types(db, function),
            imports: queries::imports(db, document),
            diagnostics: RefCell::default(),
        })
    }

    /// Returns the function.
    pub fn id(&self) -> FunctionId<'a> {
        FunctionId::new(self.db, self.document, self.path.clone())
    }

    /// Returns what the evaluation of the program finds in the function.
    pub(crate) fn faults(&self) -> &'a Faults {
        match self.stage.dialect {
            Dialect::Jax | Dialect::Tensorflow => evaluation::faults_in(self.db, self.id()),
            _ => &FAULTLESS,
        }
    }

    pub fn def(&self) -> &'a ast::StmtFunctionDef {
        self.ast.def()
    }

    /// Returns the source text of a node.
    pub fn text(&self, node: impl Ranged) -> &'a str {
        &self.ast.text[node.range()]
    }

    pub fn dialect(&self) -> Dialect {
        self.stage.dialect
    }

    /// Returns the kind of root; `None` if the function is not itself a root.
    pub fn root(&self) -> Option<RootKind> {
        self.stage.root
    }

    /// Returns whether AutoGraph converts this function: staged `if`, `while`, `for` become graph operations.
    pub fn converts(&self) -> bool {
        self.stage.converts
    }

    /// Returns whether the function runs once to create objects: `__init__`, `build`, or a function called from one of
    /// them.
    pub fn creates_objects(&self) -> bool {
        let is_constructor = |name: &str| matches!(name, "__init__" | "__post_init__" | "build");
        let caller = self.stage.cause.as_ref().and_then(|cause| match &cause.anchor {
            Anchor::Function(path) => path.qualname.rsplit('.').next(),
            Anchor::Statement(_) | Anchor::File => None,
        });
        is_constructor(&self.def().name) || self.root().is_none() && caller.is_some_and(is_constructor)
    }

    /// Returns whether a name that the function uses is a variable of the module. Returns false in a nested function,
    /// because the name may belong to the enclosing function.
    pub fn is_module_variable(&self, name: &str) -> bool {
        let index = file_index(self.db, self.document);
        let own = index.definitions.find(&self.path);
        !self.flow.scope().is_local(name) && own.is_some_and(|(_, entry)| entry.parent.is_none())
    }

    /// Returns whether an expression is the receiver of the method: `self`.
    pub fn is_receiver(&self, expression: &Expr) -> bool {
        let first = self.stage.parameters.first().filter(|first| first.source == Source::Receiver);
        first.zip(expression.as_name_expr()).is_some_and(|(receiver, name)| receiver.name == name.id)
    }

    /// Returns the class around the function.
    pub fn class(&self) -> Option<&'a ClassEntry> {
        let index = file_index(self.db, self.document);
        let (own, _) = index.definitions.find(&self.path)?;
        index.definitions.classes.get(index.class_around(own.into())?)
    }

    pub fn parameter(&self, name: &str) -> Option<&'a Parameter> {
        self.stage.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Returns the fact about an expression of this function. The expression must not be in a nested `def`.
    pub fn fact(&self, expression: &Expr) -> &'a Fact {
        let fact = expressions::id(expression).and_then(|id| self.facts.get(id)).unwrap_or(&UNKNOWN);
        if !fact.is_tensor() && self.is_traced_value(expression) {
            return if self.dialect() == Dialect::Jax { &TRACER } else { &SYMBOLIC };
        }
        fact
    }

    /// Returns whether an expression is a traced array wherever the evaluation of the program reaches it.
    pub(crate) fn is_traced_value(&self, expression: &Expr) -> bool {
        self.traced.contains_key(&expression.range())
    }

    /// Returns whether an expression is a traced array, and staged code certainly reaches it.
    pub(crate) fn is_certainly_traced(&self, expression: &Expr) -> bool {
        self.traced.get(&expression.range()).is_some_and(|reach| *reach > Reach::Possible)
    }

    /// Returns whether an expression is a traced array, and staged code reaches it whatever its inputs are.
    pub(crate) fn is_unconditionally_traced(&self, expression: &Expr) -> bool {
        self.traced.get(&expression.range()) == Some(&Reach::Certain)
    }

    /// Returns whether an expression is a traced array, although its type does not say so.
    pub(crate) fn is_only_evaluated(&self, expression: &Expr) -> bool {
        if let Expr::UnaryOp(operation) = expression
            && operation.op == ast::UnaryOp::Not
        {
            return self.is_only_evaluated(&operation.operand);
        }
        let fact = expressions::id(expression).and_then(|id| self.facts.get(id));
        self.is_traced_value(expression) && !fact.is_some_and(Fact::is_tensor)
    }

    /// Returns the fact about an expression without the transfer functions: `count += 1` is an `int` even in a staged
    /// loop.
    pub fn python_fact(&self, expression: &Expr) -> &'a Fact {
        expressions::id(expression).and_then(|id| self.types.facts.get(id)).unwrap_or(&UNKNOWN)
    }

    /// Returns the fact about the value that a definition binds, without the transfer functions of staging. It is
    /// unknown for `x += e`.
    pub fn fact_of(&self, definition: &Def) -> &'a Fact {
        let fact = match definition.kind {
            DefKind::Parameter(position) => self.types.parameters.get(position.into()),
            DefKind::AugAssign | DefKind::Undefined | DefKind::Delete => None,
            _ => expressions::at(self.def(), definition.range).map(|bound| self.python_fact(bound)),
        };
        fact.unwrap_or(&UNKNOWN)
    }

    /// Returns the right side if the definition is an assignment.
    pub fn value_of(&self, definition: &Def) -> Option<&'a Expr> {
        let assigns = matches!(definition.kind, DefKind::Assign | DefKind::AugAssign | DefKind::Walrus);
        expressions::at(self.def(), definition.value.filter(|_| assigns)?)
    }

    /// Returns the value that a definition binds, or the value that it unpacks: `a, b = pair`. For the target of a loop,
    /// it is the iterable.
    pub fn bound_value(&self, definition: &Def) -> Option<&'a Expr> {
        if let Some(value) = definition.value {
            return expressions::at(self.def(), value);
        }
        let mut assignments = self.statements().into_iter().filter_map(ast::Stmt::as_assign_stmt);
        let binds = |assign: &&ast::StmtAssign| {
            assign.targets.iter().any(|target| target.range().contains_range(definition.range))
        };
        assignments.find(binds).map(|assign| &*assign.value)
    }

    /// Returns whether `tests` holds for the result of a call of a staged function of the project that has one `return`.
    /// If `definition` unpacks the result, as in `a, b = f(x)`, tests the part that it binds.
    pub fn result_of_call(
        &self,
        call: &ast::ExprCall,
        definition: Option<&Def>,
        tests: &dyn Fn(&FunctionContext<'a>, &'a Expr) -> bool,
    ) -> bool {
        let Some((callee, _)) = self.callee_context(call) else { return false };
        let mut returned = callee.statements().into_iter().filter_map(ast::Stmt::as_return_stmt);
        let (Some(only), None) = (returned.next(), returned.next()) else { return false };
        let Some(value) = only.value.as_deref() else { return false };
        let Some(definition) = definition else { return tests(&callee, value) };
        let part = self.statements().into_iter().find_map(|statement| {
            let targets = statement.as_assign_stmt()?.targets.iter();
            let mut tuples = targets.filter_map(Expr::as_tuple_expr);
            tuples.find_map(|tuple| tuple.elts.iter().position(|element| element.range() == definition.range))
        });
        let parts = value.as_tuple_expr().map(|tuple| tuple.elts.as_slice());
        part.zip(parts).and_then(|(part, parts)| parts.get(part)).is_some_and(|part| tests(&callee, part))
    }

    /// Returns whether instances of a class are certainly neither Tensors nor structures of Tensors. This is so for a
    /// class of this file that has no base classes from other files.
    pub fn is_plain_class(&self, module: Option<&str>, class: &str) -> bool {
        classes::plain_classes(self.db, self.document).iter().any(|plain| plain == class)
            && module_name(self.db, self.document).as_deref().is_none_or(|own| Some(own) == module)
    }

    /// Returns the function of the project that a call resolves to, if there is exactly one.
    pub fn callee(&self, call: &ast::ExprCall) -> Option<&'a FunctionAst> {
        let site =
            self.types.calls.iter().find(|site| site.location.range == call.range() && !site.implicit)?;
        let [target] = site.targets.as_slice() else { return None };
        let function = FunctionId::new(self.db, target.document, target.path.clone());
        function_ast(self.db, function).as_ref()
    }

    /// Returns the function that a call resolves to, like [`Self::callee`], and whether the call passes a receiver for
    /// its first parameter.
    pub fn callee_and_receiver(&self, call: &ast::ExprCall) -> Option<(&'a FunctionAst, bool)> {
        let (function, bound) = self.callee_id(call)?;
        Some((function_ast(self.db, function).as_ref()?, bound))
    }

    /// Returns the context of the function that a call resolves to, like [`Self::callee_and_receiver`]; `None` unless it
    /// is staged.
    pub fn callee_context(&self, call: &ast::ExprCall) -> Option<(FunctionContext<'a>, bool)> {
        let (function, bound) = self.callee_id(call)?;
        Some((FunctionContext::of(self.db, function)?, bound))
    }

    fn callee_id(&self, call: &ast::ExprCall) -> Option<(FunctionId<'a>, bool)> {
        let mut sites = self.types.calls.iter();
        let site =
            sites.find(|site| site.location.range == call.range() && !site.implicit && !site.partial)?;
        let [target] = site.targets.as_slice() else { return None };
        let (_, entry) = file_index(self.db, target.document).definitions.find(&target.path)?;
        if entry.replaced {
            return None;
        }
        Some((FunctionId::new(self.db, target.document, target.path.clone()), target.bound))
    }

    /// Returns the binding time of an expression. For `not`, `and`, `or` and comparisons, it follows from the operands,
    /// as in AutoGraph.
    pub fn binding(&self, expression: &Expr) -> Binding {
        ag_staging::binding::of_test(expression, &|expression| Some(self.fact(expression)))
    }

    /// Returns the why-chain of the binding time of an expression.
    pub fn why(&self, expression: &Expr) -> Why {
        let reasons = Reasons {
            document: self.document,
            path: &self.path,
            ast: self.ast,
            flow: self.flow,
            stage: self.stage,
            lookup: &|expression| Some(self.fact(expression)),
        };
        reasons.of_expression(expression)
    }

    /// Returns the qualified name of an imported name: `tensorflow.print` for `tf.print`, `jax.jit` for `jit`. `None`
    /// if a parameter or variable of this function hides the import.
    pub fn resolve(&self, expression: &Expr) -> Option<Name> {
        let mut root = expression;
        while let Expr::Attribute(attribute) = root {
            root = &attribute.value;
        }
        let name = &root.as_name_expr()?.id;
        (!self.hides_import(name)).then(|| self.imports.resolve(expression))?
    }

    /// Returns whether this function binds `name` other than by an import.
    fn hides_import(&self, name: &str) -> bool {
        let binds = |alias: &ast::Alias| {
            let bound = alias.asname.as_ref().unwrap_or(&alias.name);
            bound.split('.').next() == Some(name)
        };
        self.flow.scope().is_local(name)
            && !self.statements().into_iter().any(|statement| match statement {
                ast::Stmt::Import(import) => import.names.iter().any(binds),
                ast::Stmt::ImportFrom(import) => import.names.iter().any(binds),
                _ => false,
            })
    }

    /// Resolves the callee of a call: `resolve_call(call) == Some("tensorflow.range")`.
    pub fn resolve_call(&self, expression: &Expr) -> Option<Name> {
        self.resolve(&expression.as_call_expr()?.func)
    }

    /// Returns the builtin function or class that a name refers to: `bool`, `range`.
    pub fn builtin(&self, expression: &'a Expr) -> Option<&'a str> {
        let name = expression.as_name_expr()?;
        let shadowed = self.flow.scope().is_local(&name.id) || self.imports.get(&name.id).is_some();
        let module = self.fact(expression).callee().and_then(|callee| callee.module.as_deref());
        let elsewhere = module.is_some_and(|module| !matches!(module, "builtins" | "__builtins__"));
        (!shadowed && !elsewhere).then_some(name.id.as_str())
    }

    /// Returns every expression of this function, also those in lambdas and comprehensions.
    pub fn expressions(&self) -> Vec<&'a Expr> {
        expressions::of_function(self.def())
    }

    /// Returns every statement, also those in compound statements, but not those in nested functions.
    pub fn statements(&self) -> Vec<&'a ast::Stmt> {
        statements::of_function(self.def())
    }

    /// Returns the outermost expression with exactly this range.
    pub fn expression_at(&self, range: TextRange) -> Option<&'a Expr> {
        expressions::at(self.def(), range)
    }

    /// Returns the expressions of faults at which nothing has been reported yet.
    pub(crate) fn unreported(&self, faults: &[(TextRange, Reach)]) -> Vec<&'a Expr> {
        let diagnostics = self.diagnostics.borrow();
        let is_known = |range: TextRange| diagnostics.iter().any(|it| it.span.range == range);
        let ranges = faults.iter().map(|(range, _)| *range).filter(|range| !is_known(*range));
        ranges.filter_map(|range| self.expression_at(range)).collect()
    }

    /// Returns all decisions with their syntax nodes.
    pub fn decisions(&self) -> impl Iterator<Item = (&'a Construct, ConstructNode<'a>)> + '_ {
        self.constructs.iter().zip(self.nodes.iter().copied())
    }

    /// Returns the decisions that are certainly staged.
    pub fn staged(&self) -> impl Iterator<Item = (&'a Construct, ConstructNode<'a>)> + '_ {
        self.decisions().filter(|(construct, _)| construct.binding == Binding::Staged)
    }

    /// Returns the staged `if` and `elif` statements. The number is the index of the clause: 0 for the `if`.
    pub fn staged_ifs(&self) -> impl Iterator<Item = (&'a Construct, &'a ast::StmtIf, usize)> + '_ {
        self.staged().filter_map(|(construct, node)| match node {
            ConstructNode::If(statement, clause) => Some((construct, statement, clause)),
            _ => None,
        })
    }

    /// Returns the staged `while` and `for` statements.
    pub fn staged_loops(&self) -> impl Iterator<Item = (&'a Construct, ConstructNode<'a>)> + '_ {
        self.staged().filter(|(construct, _)| construct.kind.is_loop())
    }

    /// Returns the innermost staged `if`, `while` or `for` that has `range` in its body.
    pub fn staged_region(&self, range: TextRange) -> Option<&'a Construct> {
        self.enclosing(range).find(|construct| construct.binding == Binding::Staged)
    }

    /// Returns the innermost staged loop whose body contains `range`.
    pub fn staged_loop(&self, range: TextRange) -> Option<&'a Construct> {
        self.enclosing(range)
            .find(|construct| construct.binding == Binding::Staged && construct.kind.is_loop())
    }

    /// Returns the statement constructs (`if`, `while`, `for`) around `range`, innermost first. A test is not inside
    /// its own construct.
    pub fn enclosing(&self, range: TextRange) -> impl Iterator<Item = &'a Construct> + '_ {
        self.constructs.iter().rev().filter(move |construct| {
            matches!(construct.kind, ConstructKind::If | ConstructKind::While | ConstructKind::For)
                && construct.range.contains_range(range)
                && construct.range != range
                && !construct.test_range.contains_range(range)
                && construct.test_range.end() <= range.start()
        })
    }

    /// Returns the variables of an `if` or a loop.
    pub fn variables(&self, construct: &Construct) -> Option<BlockVariables> {
        self.flow.block_variables(self.flow.cfg.statement_at(construct.range.start())?)
    }

    /// Returns a span in this function.
    pub fn span(&self, range: TextRange) -> Span {
        Span { document: self.document, anchor: Anchor::Function(self.path.clone()), range }
    }

    /// Starts a finding at `node`. The methods of [`Report`] complete it.
    pub fn report(&self, rule: &'static Rule, node: impl Ranged, message: impl Into<String>) -> Report<'_> {
        self.report_at(rule, self.span(node.range()), message)
    }

    /// Starts a finding in other code of the same file, such as a call of the function.
    pub fn report_at(&self, rule: &'static Rule, span: Span, message: impl Into<String>) -> Report<'_> {
        Report { sink: &self.diagnostics, diagnostic: Some(diagnostic(rule, span, message.into())) }
    }
}

/// A file that contains a root or a reached function: its text, syntax and imports.
pub struct FileContext<'a> {
    pub db: &'a dyn Db,
    pub document: Document,
    pub text: &'a str,
    pub parsed: &'a Parsed<ModModule>,
    pub imports: &'a Imports,
    pub diagnostics: RefCell<Vec<Diagnostic>>,
    /// See [`FileContext::program`].
    program: OnceCell<Program<'a>>,
    pub(crate) sources: &'a Sources,
}

impl<'a> FileContext<'a> {
    pub(crate) fn new(
        db: &'a dyn Db,
        document: Document,
        text: &'a str,
        parsed: &'a Parsed<ModModule>,
        imports: &'a Imports,
        sources: &'a Sources,
    ) -> Self {
        let (diagnostics, program) = (RefCell::default(), OnceCell::new());
        Self { db, document, text, parsed, imports, diagnostics, program, sources }
    }

    /// Returns the scopes and calls of the file, for rules that look up the bindings of names.
    pub(crate) fn program(&self) -> &Program<'a> {
        self.program.get_or_init(|| Program::of(self))
    }

    /// Returns the code of the module, and the bodies of all functions.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &'a [ast::Stmt]> {
        let functions = self.program().functions.iter().map(|(def, _)| def.body.as_slice());
        std::iter::once(self.parsed.suite().as_slice()).chain(functions)
    }

    pub fn text(&self, node: impl Ranged) -> &str {
        &self.text[node.range()]
    }

    pub fn resolve(&self, expression: &Expr) -> Option<Name> {
        self.imports.resolve(expression)
    }

    pub fn span(&self, range: TextRange) -> Span {
        Span { document: self.document, anchor: Anchor::File, range }
    }

    pub fn report(&self, rule: &'static Rule, node: impl Ranged, message: impl Into<String>) -> Report<'_> {
        Report {
            sink: &self.diagnostics,
            diagnostic: Some(diagnostic(rule, self.span(node.range()), message.into())),
        }
    }
}

fn diagnostic(rule: &'static Rule, span: Span, message: String) -> Diagnostic {
    Diagnostic {
        code: rule.code,
        name: rule.name,
        severity: rule.severity,
        message,
        span,
        labels: Vec::new(),
        why: Arc::from([]),
        help: None,
        fix: None,
    }
}

/// A finding under construction. It is recorded when it is dropped.
#[must_use = "ends the statement that reports"]
pub struct Report<'a> {
    sink: &'a RefCell<Vec<Diagnostic>>,
    diagnostic: Option<Diagnostic>,
}

impl Report<'_> {
    fn with(mut self, change: impl FnOnce(&mut Diagnostic)) -> Self {
        if let Some(diagnostic) = &mut self.diagnostic {
            change(diagnostic);
        }
        self
    }

    /// Sets the why-chain, usually to `construct.why.clone()`.
    pub fn why(self, why: Why) -> Self {
        self.with(|diagnostic| diagnostic.why = why)
    }

    /// Adds a step to the why-chain.
    pub fn because(self, step: Step) -> Self {
        self.with(|diagnostic| {
            diagnostic.why = diagnostic.why.iter().cloned().chain([step]).collect();
        })
    }

    /// Adds a secondary location: "`y` is bound here only".
    pub fn label(self, span: Span, message: impl Into<String>) -> Self {
        self.with(|diagnostic| diagnostic.labels.push(Label { message: message.into(), span }))
    }

    /// Sets the remedy: "pass `n` as a tensor".
    pub fn help(self, help: impl Into<String>) -> Self {
        self.with(|diagnostic| diagnostic.help = Some(help.into()))
    }

    /// Replaces the severity of the rule. Rules use this to lower the severity of uncertain findings.
    pub fn severity(self, severity: ag_db::diagnostic::Severity) -> Self {
        self.with(|diagnostic| diagnostic.severity = severity)
    }

    pub fn fix(self, applicability: Applicability, message: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.with(|diagnostic| {
            diagnostic.fix = Some(Fix { message: message.into(), applicability, edits });
        })
    }

    /// Ends the report. Dropping it has the same effect.
    pub fn emit(self) {}
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        if let Some(diagnostic) = self.diagnostic.take() {
            self.sink.borrow_mut().push(diagnostic);
        }
    }
}
