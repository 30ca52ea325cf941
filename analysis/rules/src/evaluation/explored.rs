//! Code of PyTorch that no program with known values reaches: compiled functions that nobody calls, and code behind
//! conditions that are not known.
//!
//! ```python
//! def build_head(kind, width):            # nobody calls it, and `kind` is not known
//!     return torch.compile(HEADS[kind](width), fullgraph=True)
//! ```
//!
//! The sizes of Tensors and the values of arguments are not known here, so only findings count that do not depend on
//! them.

use ag_index::assumptions::Stage;
use ag_index::dialect::RootKind;
use ag_index::index::last_name;
use ruff_python_ast::helpers::map_subscript;
use ruff_python_ast::{self as ast};
use ruff_text_size::Ranged;

use super::kinds::{Found, Kind};
use super::traced::Mode;
use super::values::{Flow, Function, Value};
use super::{Evaluated, Evaluation, Frame, Framework};
use crate::FileContext;
use crate::sources::Contexts;

/// The maximum number of nested objects that annotations declare.
const MOST_DECLARED: usize = 4;

/// Adds what torch rejects in the code that a program with unknown values reaches.
pub(super) fn extend<'a>(found: &mut Vec<Found>, ctx: &FileContext<'a>, contexts: &Contexts<'a>) {
    let mut evaluation = Evaluation::new(ctx, contexts, Framework::Torch);
    evaluation.is_exploring = true;
    let frame = Frame { scope: evaluation.module.clone(), receiver: None };
    let _: Evaluated<()> = evaluation.load_imports();
    let _: Evaluated<Flow> = evaluation.block(ctx.parsed.suite(), &frame);
    evaluation.entries(ctx, &frame);
    for module in evaluation.modules.clone().into_iter().skip(1) {
        evaluation.entries(module.ctx, &Frame { scope: module.scope, receiver: None });
    }
    for new in evaluation.found {
        let is_same = |known: &Found| {
            known.document == new.document
                && known.range == new.range
                && std::mem::discriminant(&known.kind) == std::mem::discriminant(&new.kind)
        };
        if is_independent(new.kind) && !found.iter().any(is_same) {
            found.push(new);
        }
    }
    found.sort_by_key(|found| found.range.start());
}

/// Returns whether code may compile, export or trace something.
pub(super) fn compiles(text: &str) -> bool {
    const CALLS: [&str; 10] = [
        "torch.compile",
        ".compile(",
        "import compile",
        "export.export",
        "import export",
        "jit.script",
        "import script",
        "jit.trace",
        "import trace",
        "symbolic_trace",
    ];
    CALLS.iter().any(|call| text.contains(call))
}

/// Returns whether a finding depends neither on sizes nor on the values of arguments.
fn is_independent(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Decision(_)
            | Kind::Conversion
            | Kind::Call { .. }
            | Kind::Order { .. }
            | Kind::Number
            | Kind::Symbol
            | Kind::Frozen
            | Kind::Count
            | Kind::Derivative
            | Kind::Global
    )
}

/// Returns how torch traces a function that is evaluated on its own.
pub(super) fn mode_of(stage: &Stage) -> Option<Mode> {
    match stage.mode {
        RootKind::TorchCompile => {
            Some(Mode::Compile { full_graph: stage.options.full_graph, is_static: false })
        }
        RootKind::TorchExport => Some(Mode::Export),
        RootKind::TorchScript => Some(Mode::Script),
        RootKind::TorchTrace => Some(Mode::Trace),
        _ => None,
    }
}

/// Returns whether the default of a parameter is probably what calls pass: a number, a text, a function. A flag or `None`
/// selects between branches.
pub(super) fn has_usual_value(parameter: &ast::ParameterWithDefault) -> bool {
    let default = parameter.default.as_deref();
    default.is_some_and(|it| !it.is_boolean_literal_expr() && !it.is_none_literal_expr())
}

/// Returns whether the default of a parameter is a text, such as the name of a function in a dictionary.
pub(super) fn has_text(parameter: &ast::ParameterWithDefault) -> bool {
    parameter.default.as_deref().is_some_and(ast::Expr::is_string_literal_expr)
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns a value of the type that an annotation declares: `torch.Tensor`, `dict[str, Tensor]`, a class of the
    /// project.
    pub(super) fn declared_value(&mut self, annotation: &'a ast::Expr) -> Value<'a> {
        if !self.is_exploring || self.constructed.len() > MOST_DECLARED {
            return Value::Unknown;
        }
        let resolved = self.ctx.resolve(map_subscript(annotation));
        if resolved.as_deref() == Some("torch.Tensor") {
            return Value::unshaped();
        }
        if let ast::Expr::Subscript(subscript) = annotation {
            let name = resolved.as_deref().and_then(|name| name.rsplit('.').next());
            let name =
                name.or(subscript.value.as_name_expr().map(|name| name.id.as_str())).unwrap_or_default();
            return match (name, &*subscript.slice) {
                ("list" | "List" | "Sequence" | "Iterable" | "deque", element) => {
                    Value::many(self.declared_value(element))
                }
                ("dict" | "Dict" | "Mapping", ast::Expr::Tuple(pair)) => match pair.elts.as_slice() {
                    [_, value] => Value::table(self.declared_value(value)),
                    _ => Value::Unknown,
                },
                ("tuple" | "Tuple", ast::Expr::Tuple(types)) => match types.elts.as_slice() {
                    [element, ast::Expr::EllipsisLiteral(_)] => Value::many(self.declared_value(element)),
                    types => Value::tuple(types.iter().map(|it| self.declared_value(it)).collect()),
                },
                _ => Value::Unknown,
            };
        }
        self.annotated(annotation, resolved.as_deref()).map_or(Value::Unknown, |class| self.construct(class))
    }

    /// Returns the class of the program that an annotation names.
    pub(super) fn annotated(
        &mut self,
        annotation: &'a ast::Expr,
        resolved: Option<&str>,
    ) -> Option<&'a ast::StmtClassDef> {
        let class = match (annotation, resolved) {
            (_, Some(name)) => self.imported(name)?,
            (ast::Expr::Name(name), None) => self.module.get(&name.id),
            _ => return None,
        };
        if let Value::Class(class) = class { Some(class) } else { None }
    }

    /// Returns an object of a class, created with arguments of which only the types are known.
    pub(super) fn construct(&mut self, class: &'a ast::StmtClassDef) -> Value<'a> {
        if self.constructed.iter().any(|known| std::ptr::eq(*known, class)) {
            return Value::Unknown;
        }
        self.constructed.push(class);
        let scope = self.module_of(class).scope;
        let object = self.within(&scope, |it| it.representative(class));
        self.constructed.pop();
        object.map_or(Value::Unknown, |(object, _)| Value::Object(object))
    }

    /// Returns the result of a function that tells how code is traced: `torch.compiler.is_compiling()`. Torch has moved
    /// these functions between modules, and packages wrap them.
    pub(super) fn asks_for_mode(&self, function: &ast::Expr) -> Option<Value<'a>> {
        let mode = self.traced.first().filter(|_| self.is_exploring)?;
        let is = match last_name(function)?.trim_start_matches('_') {
            "is_compiling" => matches!(mode, Mode::Compile { .. } | Mode::Export),
            "is_dynamo_compiling" => matches!(mode, Mode::Compile { .. }),
            "is_exporting" => *mode == Mode::Export,
            "is_scripting" => *mode == Mode::Script,
            "is_tracing" => *mode == Mode::Trace,
            _ => return None,
        };
        Some(Value::Bool(is))
    }

    /// Returns whether a function is evaluated on its own. In code of PyTorch, it is traced, or it may compile something.
    pub(super) fn is_entry(&self, def: &ast::StmtFunctionDef) -> bool {
        if !self.is_exploring {
            return true;
        }
        if let Some(stage) = self.stage_of(def) {
            return stage.root.is_some() && !stage.uncertain && !stage.by_value;
        }
        let is_own = self.modules.first().is_some_and(|module| module.ctx.document == self.ctx.document);
        let compiles = compiles(&self.ctx.text[def.range()]);
        is_own && (def.parameters.is_empty() || compiles || self.compiled_as_global(def).is_some())
    }

    /// Returns how a decorator of the project compiles a function: `strict = partial(torch.compile, fullgraph=True)`.
    pub(super) fn compiled_as(&self, function: &Function) -> Option<Mode> {
        if self.is_exploring { self.compiled_as_global(function.def) } else { None }
    }

    fn compiled_as_global(&self, def: &ast::StmtFunctionDef) -> Option<Mode> {
        match self.module.bound.borrow().get(def.name.as_str()) {
            Some(Value::Compiled(compiled)) => match &compiled.function {
                Value::Function(function) if std::ptr::eq(function.def, def) => Some(compiled.mode),
                _ => None,
            },
            _ => None,
        }
    }
}
