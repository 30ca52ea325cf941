//! Converts single functions in the form that TensorFlow loads: without decorators and annotations, and with `None` as
//! the defaults. The runtime copies the defaults from the original function.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::Converter;
use super::build;
use super::entry::{self, Entry, FunctionInfo, Node};
use super::functions;
use super::lowering::{Context, LoweringContext};
use super::map::SourceMap;
use super::names::Namer;
use super::notes::Notes;
use super::pipeline;
use super::printer::{Printed, Printer};
use super::reason::Reason;
use super::tree::synthesized;

/// A function, converted if possible.
#[derive(Clone, Debug)]
pub struct Function {
    pub info: FunctionInfo,
    /// Why the function is not converted. In this case, `text` is the original text.
    pub reason: Option<Reason>,
    pub text: String,
    pub map: SourceMap,
}

impl Converter<'_> {
    /// Returns every function, method and lambda of the source, converted separately, in order of their start.
    pub fn functions(&self) -> Vec<Function> {
        let entries = entry::collect(self.text, self.parsed.suite());
        entries.iter().map(|entry| self.function(entry)).collect()
    }

    fn function(&self, entry: &Entry<'_>) -> Function {
        let reason = self.reason(entry);
        let printed = if reason.is_some() {
            Printer::new(&self.source).source_text(entry.info.range)
        } else {
            match entry.node {
                Node::Function(def) => self.standalone_function(def, entry),
                Node::Lambda(lambda) => self.standalone_lambda(lambda, entry),
            }
        };
        Function { info: entry.info.clone(), reason, text: printed.text, map: printed.map }
    }

    fn standalone_function(&self, def: &ast::StmtFunctionDef, entry: &Entry<'_>) -> Printed {
        let mut def = def.clone();
        convert(&self.context(), &mut def, entry, false);
        def.decorator_list = ast::DecoratorList::new();
        def.returns = None;
        def.type_params = None;
        strip_parameters(&mut def.parameters);
        def.name = build::identifier(&format!("tf__{}", def.name.id));
        def.node_index = synthesized();
        let printer = Printer::new(&self.source).outside_of(entry.class.as_deref());
        printer.statements(&[Stmt::FunctionDef(def)], "")
    }

    fn standalone_lambda(&self, lambda: &ast::ExprLambda, entry: &Entry<'_>) -> Printed {
        let mut lambda = lambda.clone();
        convert_lambda(&self.context(), &mut lambda, entry, false);
        if let Some(parameters) = &mut lambda.parameters {
            strip_parameters(parameters);
        }
        lambda.node_index = synthesized();
        let lambda = Expr::Lambda(lambda);
        Printer::new(&self.source).outside_of(entry.class.as_deref()).assignment("tf__lam", &lambda)
    }
}

/// Converts an outermost function. `is_nested`: whether it is converted together with its module.
pub(super) fn convert(
    context: &Context<'_>,
    def: &mut ast::StmtFunctionDef,
    entry: &Entry<'_>,
    is_nested: bool,
) {
    let names = Namer::new(context.identifiers);
    let notes = Notes::default();
    let ctx = LoweringContext {
        is_nested,
        is_async: def.is_async,
        class: entry.class.clone(),
        ..LoweringContext::outermost(
            context,
            &names,
            &notes,
            def.name.id.clone(),
            "fscope",
            Some(&def.parameters),
            pipeline::convert,
        )
    };
    pipeline::convert(&ctx, def);
}

/// Converts a lambda: `lambda x: body` becomes `lambda x: ag__.with_function_scope(lambda lscope: body, 'lscope', …)`.
pub(super) fn convert_lambda(
    context: &Context<'_>,
    lambda: &mut ast::ExprLambda,
    entry: &Entry<'_>,
    is_nested: bool,
) {
    let names = Namer::new(context.identifiers);
    let notes = Notes::default();
    let parameters = lambda.parameters.as_deref();
    let name = Name::new_static("lambda");
    let ctx = LoweringContext {
        is_nested,
        class: entry.class.clone(),
        ..LoweringContext::outermost(context, &names, &notes, name, "lscope", parameters, pipeline::convert)
    };
    let origin = lambda.body.range();
    let body = std::mem::replace(&mut *lambda.body, build::none(origin));
    let body = pipeline::convert_expression(&ctx, body);
    *lambda.body = if context.options.has_scopes() {
        let scope = &ctx.scope;
        let options = functions::conversion_options(&ctx, TextRange::empty(origin.end()));
        let thunk = build::lambda(&[scope], body);
        build::operator("with_function_scope", vec![thunk, build::string(scope, origin), options], origin)
    } else {
        body
    };
}

/// Removes annotations from parameters and replaces the defaults by `None`.
fn strip_parameters(parameters: &mut ast::Parameters) {
    let origin = TextRange::empty(TextSize::default());
    let lists = [&mut parameters.posonlyargs, &mut parameters.args, &mut parameters.kwonlyargs];
    for parameter in lists.into_iter().flatten() {
        parameter.parameter.annotation = None;
        if let Some(default) = &mut parameter.default {
            **default = build::none(origin);
        }
    }
}
