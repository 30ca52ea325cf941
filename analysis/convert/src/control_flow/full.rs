//! The calling convention of TensorFlow 2's operators.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::build;
use super::super::notes::Note;
use super::super::state::Variable;
use super::{Emitter, StatementInfo, non_empty, not_stopped, orelse};

/// References to the generated functions `get_state` and `set_state`, and the names in the state.
struct StateAccessors {
    get_state: Expr,
    set_state: Expr,
    /// The names in the state: `('x', 'self.n')`.
    symbols: Expr,
}

fn state_accessors(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    out: &mut ast::Suite,
) -> StateAccessors {
    let origin = info.origin;
    let names = emitter.ctx.names;
    let (get, set) = (names.fresh("get_state"), names.fresh("set_state"));
    let state = &info.facts.state;

    let values = state.iter().map(|variable| value(variable, origin)).collect();
    let body = [build::returned(build::tuple(values, origin), origin)].into_iter().collect();
    out.push(build::function(&get, &[], body, origin));

    let mut body = ast::Suite::new();
    let parameter = values_parameter(emitter);
    if !state.is_empty() {
        let simple = state.iter().filter(|variable| variable.path.is_none());
        let simple: Vec<_> = simple.map(|variable| variable.name.clone()).collect();
        emitter.declare(&simple, &mut body);
        let targets = state.iter().map(|variable| match &variable.path {
            Some(path) => path.clone(),
            None => build::name(&variable.name, origin),
        });
        let mut target = build::tuple(targets.collect(), origin);
        if let Expr::Tuple(tuple) = &mut target {
            tuple.parenthesized = false;
        }
        body.push(build::assign_to(target, build::name(&parameter, origin), origin));
    }
    out.push(build::function(&set, &[&parameter], non_empty(body), origin));

    let symbols = state.iter().map(|variable| build::string(&variable.name, origin)).collect();
    StateAccessors {
        get_state: build::name(&get, origin),
        set_state: build::name(&set, origin),
        symbols: build::tuple(symbols, origin),
    }
}

fn values_parameter(emitter: &Emitter<'_, '_>) -> ast::name::Name {
    let mut name = "vars_".to_owned();
    while emitter.ctx.identifiers.contains(&name) {
        name.push('_');
    }
    ast::name::Name::new(name)
}

/// Returns `x` or, where `x` may be unbound, `ag__.ldu(lambda: x, 'x')`.
fn value(variable: &Variable, origin: TextRange) -> Expr {
    let load = match &variable.path {
        Some(path) => path.clone(),
        None => build::name(&variable.name, origin),
    };
    if !variable.maybe_undefined {
        return load;
    }
    let mut thunk = build::thunk(load);
    if let Expr::Lambda(lambda) = &mut thunk {
        lambda.range = origin;
    }
    build::operator("ldu", vec![thunk, build::string(&variable.name, origin)], origin)
}

pub(super) fn if_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    mut node: ast::StmtIf,
    out: &mut ast::Suite,
) {
    let accessors = state_accessors(emitter, info, out);
    let otherwise = orelse(&mut node);
    let names = emitter.ctx.names;
    let [in_body, in_else] = &info.facts.bound;
    let body = emitter.function(names.fresh("if_body"), &[], in_body, node.body, info, out);
    let orelse = emitter.function(names.fresh("else_body"), &[], in_else, otherwise, info, out);
    let arguments = vec![
        *node.test,
        body,
        orelse,
        accessors.get_state,
        accessors.set_state,
        accessors.symbols,
        build::integer(info.facts.outputs, info.origin),
    ];
    out.push(call("if_stmt", arguments, info));
}

pub(super) fn while_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    node: ast::StmtWhile,
    note: Note,
    out: &mut ast::Suite,
) {
    let accessors = state_accessors(emitter, info, out);
    let names = emitter.ctx.names;
    let body = emitter.function(names.fresh("loop_body"), &[], &info.facts.bound[0], node.body, info, out);
    // The test binds no names: see `binding_tests`.
    let origin = node.test.range();
    let test = [build::returned(*node.test, origin)];
    let test = emitter.function(names.fresh("loop_test"), &[], &[], test, info, out);
    let arguments = vec![
        test,
        body,
        accessors.get_state,
        accessors.set_state,
        accessors.symbols,
        options(note, None, info.origin),
    ];
    out.push(call("while_stmt", arguments, info));
}

pub(super) fn for_stmt(
    emitter: &Emitter<'_, '_>,
    info: &StatementInfo<'_>,
    node: ast::StmtFor,
    note: Note,
    out: &mut ast::Suite,
) {
    let accessors = state_accessors(emitter, info, out);
    let names = emitter.ctx.names;
    let (name, item) = (names.fresh("loop_body"), names.fresh("itr"));
    let text = &emitter.ctx.source[node.target.range()];
    let body = emitter.loop_function(name, &item, (*node.target, node.body), info, out);
    let extra_test = match not_stopped(&note.stop_flags, info.origin.start()) {
        None => build::none(info.origin),
        Some(test) => {
            let test = [build::returned(test, info.origin)];
            emitter.function(names.fresh("extra_test"), &[], &[], test, info, out)
        }
    };
    let arguments = vec![
        *node.iter,
        extra_test,
        body,
        accessors.get_state,
        accessors.set_state,
        accessors.symbols,
        options(note, Some(text), info.origin),
    ];
    out.push(call("for_stmt", arguments, info));
}

/// Returns the options of a loop: `{'maximum_iterations': 10, 'iterate_names': 'i'}`.
fn options(note: Note, target: Option<&str>, origin: TextRange) -> Expr {
    let given = note.loop_options.into_iter().filter_map(|keyword| {
        let key = keyword.arg.map(|arg| build::string(&arg.id, origin));
        Some((Some(key?), keyword.value))
    });
    let names =
        target.map(|text| (Some(build::string("iterate_names", origin)), build::string(text, origin)));
    build::dict(given.chain(names).collect(), origin)
}

fn call(operator: &str, arguments: Vec<Expr>, info: &StatementInfo<'_>) -> Stmt {
    build::expression(build::operator(operator, arguments, info.head), info.head)
}
