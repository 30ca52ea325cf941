//! AG306: a Tensor where Python needs a bool or an iterable.

use ruff_python_ast::{self as ast, CmpOp, Expr, ExprCall, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::iterated;
use crate::FunctionContext;
use crate::comparisons;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use crate::hashing;
use ag_flow::DefKind;
use ag_index::assumptions::Source;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::{Alternative, Binding, TensorKind};
use ag_staging::construct::{ConstructKind, ConstructNode};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports Tensors that Python itself tests or iterates over: in a comprehension, in `in` and `assert`, in
    /// `a, b = t` and `f(*t)`, and in builtins that AutoGraph does not convert, such as `max`, `any`, `sum`,
    /// `zip`, `enumerate`, `bool`.
    ///
    /// ## Why is this bad?
    /// AutoGraph converts `if`, `while`, `for`, conditional expressions, `and`, `or` and `not`. Everything else
    /// is evaluated by Python while the graph is built, when a Tensor has neither a truth value nor elements.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def positive(x):
    ///     return max(x, 0.0)
    ///
    ///
    /// positive(tf.constant(-1.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def positive(x):
    ///     return tf.maximum(x, 0.0)
    ///
    ///
    /// positive(tf.constant(-1.0))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// OperatorNotAllowedInGraphError: Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.
    /// OperatorNotAllowedInGraphError: Iterating over a symbolic `tf.Tensor` is not allowed.
    /// ```
    pub(crate) static TENSOR_AS_PYTHON_VALUE = {
        code: "AG306", name: "tensor-as-python-value",
        summary: "Python tests a Tensor or iterates over it",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let checker = Checker { ctx };
    // `unconverted-code` reports other decisions in unconverted code.
    if ctx.converts() {
        checker.decisions();
    }
    for expression in ctx.expressions() {
        checker.hashes(expression);
        match expression {
            Expr::Call(call) => checker.call(call),
            Expr::Compare(compare) => checker.compare(compare),
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                for generator in generators {
                    // Python evaluates `range` in a comprehension: AutoGraph does not convert it.
                    let range =
                        generator.iter.as_call_expr().filter(|it| ctx.builtin(&it.func) == Some("range"));
                    let mut bounds = range.into_iter().flat_map(|range| &range.arguments.args);
                    if let Some(bound) = bounds.find(|bound| checker.is_tensor(bound)) {
                        let what = "a bound of `range` in a comprehension";
                        checker.report(bound, generator.iter.range(), what, "a Tensor", "`tf.map_fn`");
                        continue;
                    }
                    checker.iterates(
                        &generator.iter,
                        generator.iter.range(),
                        "a comprehension",
                        "`tf.map_fn`",
                    );
                }
            }
            _ => {}
        }
    }
    for statement in ctx.statements() {
        if let Stmt::Assign(assign) = statement {
            let unpacks = assign.targets.iter().any(|target| target.is_tuple_expr() || target.is_list_expr());
            // Code that unpacks the result of a call relies on the structure that the call returns.
            if unpacks && !assign.value.is_call_expr() && is_library_result(ctx, &assign.value) {
                checker.iterates(&assign.value, assign.value.range(), "an unpacking", "`tf.unstack`");
            }
        }
    }
}

/// Returns whether an operation of a library computes the value. A user's function that is annotated as `Tensor` may
/// return a structure.
fn is_library_result(ctx: &FunctionContext, value: &Expr) -> bool {
    match value {
        Expr::Call(call) => ctx.resolve(&call.func).is_some_and(|name| name.starts_with("tensorflow.")),
        Expr::BinOp(_) | Expr::UnaryOp(_) | Expr::Compare(_) => true,
        Expr::Name(_) => QName::from_expr(value).is_some_and(|name| {
            let definitions = ctx.flow.definitions_of(value.range(), &name);
            !definitions.is_empty()
                && definitions.iter().all(|definition| match definition.kind {
                    // Keras passes structures to `call` unchanged, even if `call(self, inputs: tf.Tensor)` declares a
                    // Tensor.
                    DefKind::Parameter(_) => {
                        ctx.root() != Some(RootKind::KerasMethod) && ctx.dialect() != Dialect::Keras
                    }
                    _ => ctx
                        .value_of(definition)
                        .is_some_and(|value| !value.is_name_expr() && is_library_result(ctx, value)),
                })
        }),
        _ => false,
    }
}

/// How a builtin uses its arguments.
enum Use {
    /// The first argument is iterated over.
    Iterates,
    /// All arguments from this position on are iterated over.
    IteratesFrom(usize),
    /// The first argument is iterated over and its elements are tested.
    Tests,
    /// The elements are compared, or several arguments with each other.
    Compares,
    /// The elements of a list are compared. For a Tensor, AutoGraph converts the call.
    Sorts,
    Bool,
}

fn builtin_use(name: &str) -> Option<(Use, &'static str)> {
    Some(match name {
        "any" => (Use::Tests, "`tf.reduce_any`"),
        "all" => (Use::Tests, "`tf.reduce_all`"),
        "max" => (Use::Compares, "`tf.maximum` or `tf.reduce_max`"),
        "min" => (Use::Compares, "`tf.minimum` or `tf.reduce_min`"),
        "sorted" => (Use::Sorts, "`tf.sort`"),
        "sum" => (Use::Iterates, "`tf.reduce_sum`"),
        "enumerate" => (Use::Iterates, "`for i in tf.range(len(x))`"),
        "zip" => (Use::IteratesFrom(0), "`for i in tf.range(len(x))`"),
        "map" => (Use::IteratesFrom(1), "`tf.map_fn`"),
        "filter" => (Use::IteratesFrom(1), "`tf.boolean_mask`"),
        "list" | "tuple" | "iter" => (Use::Iterates, "`tf.unstack`"),
        "reversed" => (Use::Iterates, "`tf.reverse`"),
        "bool" => (Use::Bool, "the Tensor itself, or `tf.cast`"),
        _ => return None,
    })
}

struct Checker<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
}

impl<'a> Checker<'_, 'a> {
    fn decisions(&self) {
        let ctx = self.ctx;
        let asserts = ctx
            .stage
            .options
            .features
            .iter()
            .any(|feature| feature == "ASSERT_STATEMENTS" || feature == "ALL");
        for (construct, node) in ctx.decisions().filter(|(construct, _)| construct.binding == Binding::Staged)
        {
            let Some(test) = node.test() else { continue };
            match construct.kind {
                ConstructKind::ComprehensionIf => {
                    self.report(
                        test,
                        construct.test_range,
                        "the condition of a comprehension",
                        "a Tensor",
                        "`tf.boolean_mask`",
                    );
                }
                ConstructKind::Assert if !asserts => {
                    self.report(
                        test,
                        construct.range,
                        "the condition of an `assert`",
                        "a Tensor",
                        "`tf.debugging.assert_equal` or another assertion of `tf.debugging`",
                    );
                }
                // `for a, b in pairs`: the item of an iteration is a Tensor, which Python unpacks.
                ConstructKind::For => {
                    let ConstructNode::For(statement) = node else { continue };
                    let plain =
                        matches!(ctx.python_fact(&statement.iter).tensor_kind(), Some(TensorKind::Tensor));
                    if plain
                        && (statement.target.is_tuple_expr() || statement.target.is_list_expr())
                        && ctx.converts()
                    {
                        let head = construct.head();
                        self.report(
                            test,
                            head,
                            "the loop item, unpacked in the loop target,",
                            "a Tensor",
                            "`tf.unstack` of the item",
                        );
                    }
                }
                _ => {}
            }
        }
    }

    fn call(&self, call: &'a ExprCall) {
        let ctx = self.ctx;
        for argument in &call.arguments.args {
            if let Expr::Starred(starred) = argument {
                self.iterates(&starred.value, starred.range(), "`*` in a call", "`tf.unstack`");
            }
        }
        if let Some((method, tensor)) = comparisons::searched(ctx, call).filter(|it| self.is_tensor(it.1)) {
            let what = format!("the argument of `.{method}()`");
            self.report(tensor, call.range(), &what, "a Tensor", "`tf.where(values == x)`");
            return;
        }
        if let Some((function, tensor)) = comparisons::pushed(ctx, call, &|value| self.is_tensor(value)) {
            let what = format!("the element that `heapq.{function}` compares");
            self.report(tensor, call.range(), &what, "a Tensor", "`tf.math.top_k`");
            return;
        }
        let Some((name, (how, instead))) =
            ctx.builtin(&call.func).and_then(|name| Some((name, builtin_use(name)?)))
        else {
            return;
        };
        let arguments = &call.arguments.args;
        let Some(first) = arguments.first() else { return };
        let what = format!("an argument of `{name}`");
        let keyed = call.arguments.find_keyword("key").is_some();
        if let Some(key) = comparisons::key(call).filter(|key| self.is_tensor(key))
            && matches!(how, Use::Compares | Use::Sorts)
        {
            let what = format!("the key by which `{name}` compares");
            self.report(key, call.range(), &what, "a Tensor", "`tf.argmax`, `tf.argmin` or `tf.argsort`");
            return;
        }
        if let Some((_, values)) = comparisons::compared_values(ctx, call) {
            self.report(values, call.range(), &what, "a dictionary of Tensors", "`tf.argmax` or `tf.argmin`");
            return;
        }
        match how {
            Use::Bool if self.is_tensor(first) => {
                self.report(first, call.range(), &what, "a Tensor", instead)
            }
            Use::Bool => {}
            Use::Compares if arguments.len() > 1 => {
                let tensor = arguments.iter().find(|argument| self.is_tensor(argument));
                if let Some(tensor) = tensor.filter(|_| !keyed) {
                    self.report(tensor, call.range(), &what, "a Tensor", instead);
                }
            }
            Use::Compares | Use::Sorts | Use::Tests
                if !keyed && self.holds_tensors(first, !matches!(how, Use::Tests)) =>
            {
                self.report(first, call.range(), &what, "a list of Tensors", instead);
            }
            Use::Sorts => {}
            Use::Iterates | Use::Tests | Use::Compares => {
                self.iterates(first, call.range(), &format!("`{name}`"), instead)
            }
            Use::IteratesFrom(from) => {
                let iterated =
                    arguments.iter().skip(from).find(|argument| iterated::is_tensor(self.ctx, argument));
                match (iterated, first) {
                    (Some(tensor), _) => self.iterates(tensor, call.range(), &format!("`{name}`"), instead),
                    (None, Expr::Lambda(test))
                        if name == "filter" && self.compares_tensors(test, arguments.get(1)) =>
                    {
                        self.report(&test.body, call.range(), "the test of `filter`", "a Tensor", instead);
                    }
                    _ => {}
                }
            }
        }
    }

    fn compare(&self, compare: &'a ast::ExprCompare) {
        let ctx = self.ctx;
        let ([op], [right]) = (&*compare.ops, &*compare.comparators) else { return };
        if matches!(op, CmpOp::In | CmpOp::NotIn) {
            if self.is_tensor(&compare.left) && self.is_container(right) {
                self.report(
                    &compare.left,
                    compare.range(),
                    "the left operand of `in`",
                    "a Tensor",
                    "`tf.reduce_any(x == values)`",
                );
            } else if self.is_tensor(right) && !(self.is_key(&compare.left) && self.is_assumed(right)) {
                self.report(
                    right,
                    compare.range(),
                    "the right operand of `in`",
                    "a Tensor",
                    "`tf.reduce_any(values == x)`",
                );
            }
        } else if matches!(op, CmpOp::Eq | CmpOp::NotEq)
            && let Some(operand) =
                [&*compare.left, right].into_iter().find(|operand| self.is_text_of_tensor(operand))
        {
            ctx.report(
                &TENSOR_AS_PYTHON_VALUE,
                compare,
                format!(
                    "`{}` is the text of the symbolic Tensor itself, not of its value",
                    ctx.text(operand)
                ),
            )
            .severity(ag_db::diagnostic::Severity::Warning)
            .help("compare the Tensors, or convert the value with `tf.strings.as_string`")
            .emit();
        }
    }

    /// Reports a Tensor as an element of a set or a key of a dictionary.
    /// Reports a key of a dictionary or an element of a set.
    fn hashes(&self, expression: &'a Expr) {
        // AG211 reports `rates[n]`, AG307 reports `hash(n)`, and `compare` reports `n in rates`.
        let is_reported = match expression {
            Expr::Call(call) => self.ctx.builtin(&call.func) == Some("hash"),
            Expr::Subscript(item) => !item.slice.is_tuple_expr(),
            Expr::Compare(compare) => self.is_tensor(&compare.left),
            _ => false,
        };
        if is_reported {
            return;
        }
        // An argument that is only assumed to be a Tensor may be the key of a new dictionary, but not of a search.
        let is_search = expression.is_call_expr();
        let is_tensor = |value: &Expr| {
            self.is_tensor(value)
                && (is_search || self.ctx.fact(value).tensor_kind() == Some(TensorKind::Tensor))
        };
        if let Some(hashed) = hashing::hashed(self.ctx, expression, &is_tensor) {
            let instead = "`tf.lookup.StaticHashTable` or `tf.gather`, or `x.ref()` to identify the object";
            self.report(hashed.value, expression.range(), &hashed.what, "a Tensor", instead);
        }
    }

    /// Reports an iteration over a Tensor. `construct` describes what iterates.
    fn iterates(&self, iterated: &'a Expr, range: TextRange, construct: &str, instead: &str) {
        if iterated::is_tensor(self.ctx, iterated) {
            self.report(iterated, range, &format!("the iterable of {construct}"), "a Tensor", instead);
        }
    }

    /// Reports `cause`, the expression whose value Python needs.
    fn report(&self, cause: &Expr, range: TextRange, what: &str, is: &str, instead: &str) {
        let ctx = self.ctx;
        if is_guarded(ctx, range) {
            return;
        }
        let message = format!("{what} is {is}, but Python needs its value while the graph is built");
        ctx.report(&TENSOR_AS_PYTHON_VALUE, range, message)
            .why(ctx.why(cause))
            .help(format!("use {instead}"))
            .emit();
    }

    /// Returns whether a test compares Tensors: `lambda x: x > 0` over a list of Tensors.
    fn compares_tensors(&self, test: &'a ast::ExprLambda, list: Option<&'a Expr>) -> bool {
        let parameter = test.parameters.as_ref().and_then(|parameters| parameters.args.first());
        let is_element = |operand: &Expr| {
            let name = operand.as_name_expr().map(|name| &name.id);
            name.is_some() && name == parameter.map(|parameter| &parameter.parameter.name.id)
        };
        let compares = test.body.as_compare_expr().is_some_and(|compare| {
            let by_value = |op: &CmpOp| !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn);
            compare.ops.iter().all(by_value) && is_element(&compare.left)
        });
        compares && list.is_some_and(|list| self.holds_tensors(list, false))
    }

    fn is_tensor(&self, expression: &Expr) -> bool {
        self.ctx.binding(expression) == Binding::Staged && !self.ctx.fact(expression).unknown
    }

    /// Returns whether the value is only assumed to be a Tensor: it is a parameter without an annotation, or does not
    /// come from an operation. If the code searches such a value for a string, it is a dictionary:
    /// `if "mask" in inputs:`.
    fn is_assumed(&self, expression: &Expr) -> bool {
        let parameter = expression.as_name_expr().and_then(|name| self.ctx.parameter(&name.id));
        parameter.is_some_and(|parameter| parameter.source != Source::Annotation)
            || !is_library_result(self.ctx, expression)
    }

    fn is_key(&self, expression: &Expr) -> bool {
        let fact = self.ctx.python_fact(expression);
        let is_text = |alternative: &Alternative| matches!(alternative, Alternative::Str(_));
        !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_text)
    }

    fn is_container(&self, expression: &Expr) -> bool {
        let fact = self.ctx.python_fact(expression);
        let is = |alternative: &Alternative| matches!(alternative, Alternative::Container { .. });
        !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is)
    }

    /// Returns whether the value is a list of Tensors. With `several`, it must have at least two.
    fn holds_tensors(&self, expression: &Expr, several: bool) -> bool {
        match expression {
            Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                elts.iter().any(|element| self.is_tensor(element)) && elts.len() > usize::from(several)
            }
            Expr::ListComp(ast::ExprListComp { elt, .. })
            | Expr::Generator(ast::ExprGenerator { elt, .. }) => self.is_tensor(elt),
            _ => {
                let fact = self.ctx.python_fact(expression);
                let shown = fact.shown.as_str();
                let element = shown.strip_prefix("list[").and_then(|rest| rest.strip_suffix(']'));
                element.is_some_and(|element| element.starts_with("Tensor[") && !element.contains('|'))
            }
        }
    }

    /// Returns whether the expression is a string that contains a Tensor, `f"{x}"`, or a name that is bound to such a
    /// string.
    fn is_text_of_tensor(&self, expression: &'a Expr) -> bool {
        match expression {
            Expr::FString(text) => text
                .value
                .elements()
                .filter_map(ast::InterpolatedStringElement::as_interpolation)
                .any(|interpolation| self.is_tensor(&interpolation.expression)),
            Expr::Name(_) => {
                let Some(name) = QName::from_expr(expression) else { return false };
                let definitions = self.ctx.flow.definitions_of(expression.range(), &name);
                let [definition] = definitions.as_slice() else { return false };
                let value = self.ctx.value_of(definition).filter(|_| definition.kind == DefKind::Assign);
                value.is_some_and(|value| value.is_f_string_expr() && self.is_text_of_tensor(value))
            }
            _ => false,
        }
    }
}
