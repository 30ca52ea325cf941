//! Pass 8: a call becomes `ag__.converted_call`, which converts the called function at run time.
//!
//! ```python
//! f(x, *xs, k=1, **rest)  =>  ag__.converted_call(f, (x, *xs), dict(k=1, **rest), fscope)
//! ```
//!
//! Calls that inspect their own frame (`super()`, `locals()`, `breakpoint()`) are not rewritten, except for `locals()`
//! if the feature `SCOPES` is enabled. `print` is rewritten only if the feature `BUILTIN_FUNCTIONS` is enabled.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::expressions::{self, Rewrite, Walk};
use super::lowering::LoweringContext;
use super::options::{Features, View};
use super::tree::is_synthesized;

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    expressions::rewrite(body, &Calls { ctx });
}

struct Calls<'a> {
    ctx: &'a LoweringContext<'a>,
}

impl Rewrite for Calls<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        let Expr::Call(call) = expression else { return };
        if is_synthesized(call) {
            return;
        }
        match Kind::of(call, self.ctx.options.features) {
            Kind::Super => explicit_super(self.ctx, call),
            Kind::Direct => {}
            Kind::Print if !self.ctx.options.features.builtins => {}
            Kind::Print | Kind::Ordinary => {
                let origin = expression.range();
                let call = std::mem::replace(expression, build::none(origin));
                if let Expr::Call(call) = call {
                    *expression = converted_call(self.ctx, call, walk, origin);
                }
            }
        }
    }
}

enum Kind {
    Ordinary,
    Print,
    /// `super()`
    Super,
    /// A call that inspects its own frame, which is not rewritten.
    Direct,
}

impl Kind {
    fn of(call: &ast::ExprCall, features: Features) -> Self {
        match &*call.func {
            Expr::Name(name) => match name.id.as_str() {
                "locals" | "vars" | "dir" | "eval" | "exec" if features.scopes => Self::Ordinary,
                "super" if call.arguments.is_empty() => Self::Super,
                "super" | "locals" | "globals" | "vars" | "dir" | "eval" | "exec" | "breakpoint" => {
                    Self::Direct
                }
                "print" => Self::Print,
                _ => Self::Ordinary,
            },
            Expr::Attribute(attribute) if attribute.attr.as_str() == "set_trace" => Self::Direct,
            _ => Self::Ordinary,
        }
    }
}

fn converted_call(ctx: &LoweringContext, call: ast::ExprCall, walk: &Walk<'_>, origin: TextRange) -> Expr {
    let function = *call.func;
    let arguments = call.arguments.args.into_vec();
    let keywords: Vec<ast::Keyword> = call.arguments.keywords.into_iter().collect();
    if ctx.options.view == View::Simplified {
        let arguments = std::iter::once(function).chain(arguments).collect();
        let name = build::operator_name("converted_call", origin);
        return build::call_with(name, arguments, keywords, origin);
    }
    let keywords =
        if keywords.is_empty() { build::none(origin) } else { keyword_dict(ctx, keywords, walk, origin) };
    let scope = build::name(&ctx.scope, origin);
    let arguments = vec![function, build::tuple(arguments, origin), keywords, scope];
    build::operator("converted_call", arguments, origin)
}

/// Returns `dict(k=1, **rest)`, which raises an exception for a duplicate keyword. If the file uses the name `dict`,
/// returns `{'k': 1}` or `{}.__class__(k=1, **rest)` instead.
fn keyword_dict(
    ctx: &LoweringContext,
    keywords: Vec<ast::Keyword>,
    walk: &Walk<'_>,
    origin: TextRange,
) -> Expr {
    if ctx.identifiers.contains("dict") {
        let key = |keyword: &ast::Keyword| walk.string(keyword.arg.as_deref()?, origin);
        if let Some(keys) = keywords.iter().map(key).collect::<Option<Vec<Expr>>>() {
            let values = keywords.into_iter().map(|keyword| keyword.value);
            return build::dict(keys.into_iter().map(Some).zip(values).collect(), origin);
        }
    }
    let dict = if ctx.identifiers.contains("dict") {
        build::attribute(build::dict(Vec::new(), origin), "__class__", origin)
    } else {
        build::name("dict", origin)
    };
    build::call_with(dict, Vec::new(), keywords, origin)
}

/// Rewrites `super()` as `super(__class__, self)`. In the function generated for a block, a call without arguments
/// would fail.
fn explicit_super(ctx: &LoweringContext, call: &mut ast::ExprCall) {
    let (Some(_), Some(first)) = (&ctx.class, &ctx.first_parameter) else { return };
    let origin = call.arguments.range;
    call.arguments.args = Box::new([build::name("__class__", origin), build::name(first, origin)]);
    call.node_index = super::tree::synthesized();
}
