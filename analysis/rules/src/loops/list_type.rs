//! AG216: a staged list whose element type is unknown.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, ExprCall, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::DefKind;
use ag_index::facts::TensorKind;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// In functions with the optional feature `LISTS`, reports operations on an empty list that require the
    /// type of its elements, and removals that staged lists do not support.
    ///
    /// ## Why is this bad?
    /// With this feature an empty list becomes a Tensor, and its element type must be known. TensorFlow 2.21
    /// has no public function to declare it.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    /// def pair(x):
    ///     items = []
    ///     items.append(x)
    ///     items.append(x + 1)
    ///     return tf.stack(items)
    ///
    ///
    /// pair(tf.constant(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    /// def pair(x):
    ///     items = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    ///     items = items.write(0, x)
    ///     items = items.write(1, x + 1)
    ///     return items.stack()
    ///
    ///
    /// pair(tf.constant(3))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// ValueError: Trying to push to list with wrong element dtype. List has type INVALID but trying to push element with type int32
    /// ValueError: cannot pop from a list without knowing its element type; use set_element_type to annotate it
    /// NotImplementedError: tensor lists only support removing from the end
    /// ValueError: TensorArray does not support item removal
    /// ```
    pub(crate) static LIST_TYPE = {
        code: "AG216", name: "list-type",
        summary: "a staged list has an unknown element type",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let lists = ctx.stage.options.features.iter().any(|feature| matches!(feature.as_str(), "LISTS" | "ALL"));
    if lists && ctx.converts() {
        let mut operations = Operations { ctx, reported: Vec::new() };
        operations.visit_body(&ctx.def().body);
    }
}

struct Operations<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    /// The lists that have been reported. TensorFlow stops at the first error.
    reported: Vec<TextRange>,
}

impl<'a> Operations<'_, 'a> {
    /// Returns the definition of `receiver` if it is certainly an empty list.
    fn empty_list(&self, receiver: &Expr) -> Option<TextRange> {
        let ctx = self.ctx;
        let name = QName::from_expr(receiver).filter(QName::is_simple)?;
        let definitions = ctx.flow.definitions_of(receiver.range(), &name);
        let [definition] = definitions.as_slice() else { return None };
        let list = ctx.value_of(definition)?.as_list_expr()?;
        (definition.kind == DefKind::Assign && list.elts.is_empty()).then_some(definition.range)
    }

    fn method(&mut self, call: &'a ExprCall) {
        let ctx = self.ctx;
        let Some(method) = call.func.as_attribute_expr() else { return };
        let name = ctx.text(&*method.value);
        let arguments = call.arguments.len();
        if method.attr.as_str() == "pop"
            && ctx.python_fact(&method.value).tensor_kind() == Some(TensorKind::TensorArray)
        {
            ctx.report(
                &LIST_TYPE,
                call,
                format!("`{name}` is a TensorArray, which does not support removing elements"),
            )
            .help("store the number of elements in a variable, and read the last element")
            .emit();
            return;
        }
        let message = match (method.attr.as_str(), arguments) {
            ("append", 1) => {
                format!("`{name}` starts empty: cannot append to a staged list of unknown element type")
            }
            ("pop", 0) => {
                format!("`{name}` starts empty: cannot pop from a staged list of unknown element type")
            }
            ("pop", _) => format!("`{name}` is a staged list: only the last element can be removed"),
            _ => return,
        };
        self.report(&method.value, call.range(), message);
    }

    fn report(&mut self, receiver: &Expr, range: TextRange, message: String) {
        let Some(list) = self.empty_list(receiver).filter(|list| !self.reported.contains(list)) else {
            return;
        };
        self.reported.push(list);
        self.ctx
            .report(&LIST_TYPE, range, message)
            .label(self.ctx.span(list), "the feature `LISTS` stages this list")
            .help("use a `tf.TensorArray`, which has a dtype")
            .emit();
    }
}

impl<'a> SourceOrderVisitor<'a> for Operations<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        source_order::walk_expr(self, expression);
        match expression {
            Expr::Call(call) => self.method(call),
            Expr::Subscript(item) if item.ctx.is_load() && !item.slice.is_slice_expr() => {
                let name = self.ctx.text(&*item.value);
                let message =
                    format!("`{name}` starts empty: cannot index a staged list of unknown element type");
                self.report(&item.value, item.range(), message);
            }
            _ => {}
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
