//! Classes to which a decorator adds a method `replace`, which the type engine does not know:
//!
//! ```python
//! @flax.struct.dataclass
//! class State:
//!     step: jax.Array
//!
//! state = state.replace(step=state.step + 1)            # a `State`
//! ```

use ruff_python_ast::helpers::map_callable;
use ruff_python_ast::{self as ast, Stmt};

use ag_syntax::imports::Imports;

const DECORATORS: [&str; 2] = ["flax.struct.dataclass", "chex.dataclass"];

/// Returns whether a decorator adds `replace` to a class, which does not define this method itself.
pub(super) fn has_replace(imports: &Imports, class: &ast::StmtClassDef) -> bool {
    let adds_replace = |decorator: &ast::Decorator| {
        let function = map_callable(&decorator.expression);
        imports.resolve(function).is_some_and(|name| DECORATORS.contains(&name.as_str()))
    };
    let defines = || {
        let mut methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        methods.any(|method| method.name.as_str() == "replace")
    };
    class.decorator_list.iter().any(adds_replace) && !defines()
}
