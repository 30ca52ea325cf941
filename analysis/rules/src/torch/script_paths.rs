//! Determines which part of a function TorchScript compiles.
//!
//! The compiler reads the source text. It compiles both branches of an `if`, unless it can decide the test:
//!
//! ```python
//! if torch.jit.is_scripting(): …      # `x is None`, `isinstance`, `hasattr`, `True`, an attribute that is `Final`
//! if self.flag: …                     # both branches: the value of an attribute may change
//! if mode == "fast": …                # both branches, even if `mode` is `Final`
//! ```
//!
//! Code after a `return` or `raise` is not compiled.

use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::script_class::{self, ModuleClass};
use super::script_types::ScriptType;
use ag_flow::{Def, DefKind};
use ag_index::assumptions::Source;
use ag_syntax::qname::QName;

/// The value of a test, if the compiler knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The test is evaluated at run time, so both branches are compiled.
    No,
    Value(bool),
    /// The compiler may be able to decide the test, but this analysis cannot.
    Maybe,
}

/// The code of a function that is certainly compiled: everything that is not in `left_out`.
pub(super) struct Compiled {
    /// The ranges that are not compiled, or may not be compiled.
    left_out: Vec<TextRange>,
    /// Whether the value of some test is `Known::Maybe`.
    pub is_uncertain: bool,
}

impl Compiled {
    pub(super) fn of(ctx: &FunctionContext) -> Self {
        let mut walk = Walk { ctx, class: script_class::of_method(ctx), found: Vec::new(), uncertain: false };
        walk.body(&ctx.def().body);
        for expression in ctx.expressions() {
            if let Expr::If(conditional) = expression {
                let test = walk.known(&conditional.test);
                walk.uncertain |= test == Known::Maybe;
                if test != Known::No && test != Known::Value(true) {
                    walk.found.push(conditional.body.range());
                }
                if test != Known::No && test != Known::Value(false) {
                    walk.found.push(conditional.orelse.range());
                }
            }
        }
        Self { left_out: walk.found, is_uncertain: walk.uncertain }
    }

    /// Returns whether every branch is compiled.
    pub(super) fn compiles_every_branch(&self) -> bool {
        self.left_out.is_empty() && !self.is_uncertain
    }

    pub(super) fn contains(&self, range: TextRange) -> bool {
        !self.left_out.iter().any(|left_out| left_out.contains_range(range))
    }
}

/// Returns the value of a test of this function, if the compiler knows it.
pub(super) fn known(ctx: &FunctionContext, test: &Expr) -> Known {
    let walk = Walk { ctx, class: script_class::of_method(ctx), found: Vec::new(), uncertain: false };
    walk.known(test)
}

struct Walk<'a, 'c> {
    ctx: &'c FunctionContext<'a>,
    class: Option<&'a ModuleClass>,
    found: Vec<TextRange>,
    uncertain: bool,
}

impl Walk<'_, '_> {
    /// Returns whether control never reaches the end of the body, according to the compiler. The result is `Maybe` if
    /// that depends on a test.
    fn body(&mut self, body: &[Stmt]) -> Known {
        let mut exits = Known::Value(false);
        for statement in body {
            if exits != Known::Value(false) {
                self.found.push(statement.range());
                continue;
            }
            exits = match statement {
                Stmt::Return(_) | Stmt::Raise(_) => Known::Value(true),
                Stmt::If(conditional) => self.conditional(conditional),
                Stmt::For(node) => {
                    self.body(&node.body);
                    Known::Value(false)
                }
                Stmt::While(node) => {
                    self.body(&node.body);
                    Known::Value(false)
                }
                Stmt::With(node) => self.body(&node.body),
                Stmt::Assert(assert) if is_false(&assert.test) => Known::Value(true),
                _ => Known::Value(false),
            };
        }
        exits
    }

    fn conditional(&mut self, conditional: &ast::StmtIf) -> Known {
        let clauses = std::iter::once((Some(&*conditional.test), &conditional.body))
            .chain(conditional.elif_else_clauses.iter().map(|clause| (clause.test.as_ref(), &clause.body)));
        let mut all_exit = true;
        let mut may_exit = false;
        let (mut has_else, mut decided) = (false, false);
        // Whether the current clause is certainly compiled.
        let mut certain = true;
        for (test, body) in clauses {
            let known = if decided {
                Known::Value(false)
            } else {
                test.map_or(Known::Value(true), |it| self.known(it))
            };
            if decided {
                self.found.extend(test.map(Ranged::range));
            }
            self.uncertain |= known == Known::Maybe;
            let exits = self.body(body);
            let left_out = match known {
                Known::No => !certain,
                Known::Value(taken) => !taken || !certain,
                Known::Maybe => true,
            };
            if left_out {
                self.found.extend(body.iter().map(Ranged::range));
            }
            if known != Known::Value(false) {
                all_exit &= exits == Known::Value(true);
                may_exit |= exits != Known::Value(false)
                    && (known == Known::Maybe || !certain || exits == Known::Maybe);
            }
            match known {
                Known::Value(true) => {
                    has_else = true;
                    decided = true;
                }
                Known::Maybe => certain = false,
                _ => {}
            }
        }
        match (all_exit && has_else, may_exit) {
            (true, _) => Known::Value(true),
            (false, true) => Known::Maybe,
            (false, false) => Known::Value(false),
        }
    }

    fn known(&self, test: &Expr) -> Known {
        match test {
            Expr::BooleanLiteral(literal) => Known::Value(literal.value),
            Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::Not => {
                match self.known(&operation.operand) {
                    Known::Value(value) => Known::Value(!value),
                    other => other,
                }
            }
            Expr::BoolOp(operation) => {
                let ends = operation.op == ast::BoolOp::Or;
                let operands: Vec<_> = operation.values.iter().map(|value| self.known(value)).collect();
                if operands.contains(&Known::Value(ends)) {
                    Known::Value(ends)
                } else if operands.contains(&Known::Maybe) {
                    Known::Maybe
                } else if operands.contains(&Known::No) {
                    Known::No
                } else {
                    Known::Value(!ends)
                }
            }
            Expr::Compare(compare) => {
                let identity = compare.ops.iter().any(|op| matches!(op, CmpOp::Is | CmpOp::IsNot));
                if identity { self.identity(compare) } else { Known::No }
            }
            Expr::Call(call) => self.call(call),
            Expr::Attribute(_) => self.attribute(test),
            _ => Known::No,
        }
    }

    /// Returns the value of `x is None`. The test is evaluated at run time if `x` is declared `Optional`.
    fn identity(&self, compare: &ast::ExprCompare) -> Known {
        let [op] = &*compare.ops else { return Known::Maybe };
        if script_class::is_optional_attribute(self.ctx, &compare.left) {
            return Known::No;
        }
        let fact = self.ctx.fact(&compare.left);
        if !compare.comparators.iter().all(Expr::is_none_literal_expr) {
            return Known::Maybe;
        }
        if has_type_none(self.ctx, &compare.left) {
            return Known::Value(*op == CmpOp::Is);
        }
        if fact.unknown || fact.never {
            return Known::Maybe;
        }
        match &*compare.left {
            Expr::Name(name) => {
                let parameter = self.ctx.parameter(&name.id);
                let annotated = parameter.is_some_and(|it| it.source == Source::Annotation);
                // A local variable that is declared `Optional` may be bound to a value whose type is not `Optional`.
                if annotated && fact.may_be_none() && fact.alternatives.len() > 1 {
                    Known::No
                } else {
                    Known::Maybe
                }
            }
            other => match script_class::attribute_of_self(self.ctx, other)
                .and_then(|name| self.class?.attributes.get(name))
            {
                Some(attribute) if attribute.is_optional() && !attribute.is_constant => Known::No,
                Some(attribute)
                    if self.class.is_some_and(|class| class.is_complete)
                        && attribute.annotation.is_none()
                        && !attribute.is_constant
                        && attribute.initial == [script_class::Initial::None]
                        && attribute.mentioned_by.iter().all(|method| *method == self.ctx.def().name.id) =>
                {
                    Known::Value(*op == CmpOp::Is)
                }
                _ => Known::Maybe,
            },
        }
    }

    fn call(&self, call: &ast::ExprCall) -> Known {
        if let Some(name) = self.ctx.resolve(&call.func) {
            return match name.as_str() {
                "torch.jit.is_scripting" => Known::Value(true),
                "torch.jit.is_tracing" => Known::No,
                _ if name.starts_with("torch.jit.") || name.ends_with("ing") => Known::Maybe,
                _ => Known::No,
            };
        }
        let name = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return Known::Maybe,
        };
        match name {
            "isinstance" | "hasattr" | "getattr" => Known::Maybe,
            _ if name.contains("is_scripting") => Known::Value(true),
            _ if name.ends_with("ing") => Known::Maybe,
            _ => Known::No,
        }
    }

    fn attribute(&self, expression: &Expr) -> Known {
        let Some(name) = script_class::attribute_of_self(self.ctx, expression) else {
            // `x.is_cuda` is evaluated at run time.
            let is_tensor = expression
                .as_attribute_expr()
                .is_some_and(|attribute| self.ctx.fact(&attribute.value).is_tensor());
            return if is_tensor { Known::No } else { Known::Maybe };
        };
        let Some(class) = self.class else { return Known::Maybe };
        let attribute = class.attributes.get(name);
        if attribute.is_some_and(|attribute| attribute.is_constant) {
            return Known::Maybe;
        }
        match attribute {
            _ if name == "training" => Known::No,
            Some(attribute) if class.is_complete && !attribute.initial.is_empty() => Known::No,
            _ => Known::Maybe,
        }
    }
}

/// Returns whether a variable has the type `None`, because all assignments before its use are `x = None`. In a loop, it
/// has this type in every iteration.
pub(super) fn has_type_none(ctx: &FunctionContext, value: &Expr) -> bool {
    let Expr::Name(name) = value else { return false };
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    let mut earlier = definitions.iter().filter(|it| it.range.start() < name.start()).peekable();
    let is_none = |definition: &Def| {
        let value = definition.value.and_then(|range| ctx.expression_at(range));
        definition.kind == DefKind::Assign
            && value.is_some_and(Expr::is_none_literal_expr)
            && ScriptType::is_plain_binding(ctx, definition)
    };
    earlier.peek().is_some() && earlier.all(|definition| is_none(definition))
}

fn is_false(test: &Expr) -> bool {
    test.as_boolean_literal_expr().is_some_and(|literal| !literal.value)
}
