//! Functions that `torch.fx` records as a whole, by a call instead of a decorator:
//!
//! ```python
//! def pad(x, multiple):
//!     ...
//!
//! torch.fx.wrap("pad")
//! ```

use ag_syntax::functions::FunctionPath;
use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, Stmt};

use super::FileIndex;

const WRAP: &str = "wrap";

/// Adds the decorator to the functions that such calls name.
pub(super) fn mark(index: &mut FileIndex, body: &[Stmt]) {
    if !index.calls.contains_key(WRAP) {
        return;
    }
    let calls = body.iter().filter_map(|statement| statement.as_expr_stmt()?.value.as_call_expr());
    for call in calls {
        if index.imports.resolve(&call.func).is_none_or(|name| name != "torch.fx.wrap") {
            continue;
        }
        let qualname = match call.arguments.args.first() {
            Some(Expr::StringLiteral(name)) => Name::new(name.value.to_str()),
            Some(Expr::Name(name)) => name.id.clone(),
            _ => continue,
        };
        if let Some((function, _)) = index.definitions.find(&FunctionPath { qualname, occurrence: 0 })
            && let Some(signature) = index.signatures.get_mut(function)
        {
            signature.decorators.push(Name::new_static(WRAP));
        }
    }
}
