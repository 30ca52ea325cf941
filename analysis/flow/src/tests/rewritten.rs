//! Analyses of a tree rewritten by a conversion pass: statement ids, loop conditions, unreachable statements.

use super::*;

#[track_caller]
fn with_input(source: &str, check: impl FnOnce(Input<'_>)) {
    let parsed = parse(source);
    assert!(parsed.errors().is_empty(), "{source}");
    let def = function(&parsed);
    check(Input::variables(&def.parameters, &def.body));
}

#[test]
fn only_variables_are_tracked() {
    with_input("def f(a):\n    a.b = 1\n    return a.b\n", |input| {
        let flow = Flow::of(&input);
        assert_eq!(flow.live_after(StmtId(0)).to_string(), "a");
        assert_eq!(flow.bound_in(flow.cfg.body()).to_string(), "");
    });
}

#[test]
fn a_loop_condition_is_read_before_each_iteration() {
    let source = "def f(xs):\n    stop = False\n    for x in xs:\n        stop = True\n";
    with_input(source, |input| {
        let stop = ast::name::Name::new("stop");
        let flow = Flow::of(&Input { loop_conditions: &|_| vec![stop.clone()], ..input });
        assert_eq!(flow.live_after(StmtId(0)).to_string(), "stop, xs");
        assert_eq!(flow.live_after(StmtId(2)).to_string(), "stop");
        let flow = Flow::of(&input);
        assert_eq!(flow.live_after(StmtId(2)).to_string(), "");
    });
}

#[test]
fn bindings_of_unreached_statements_are_local_and_reach_nothing() {
    with_input("def f():\n    return x\n    x = 1\n", |input| {
        let (body, unreached) = input.body.split_at(1);
        let flow = Flow::of(&Input { body, unreached, ..input });
        assert!(flow.scope().is_local("x"));
        assert_eq!(flow.unbound_reads(StmtId(0)).to_string(), "x");
        assert_eq!(flow.bound_in(flow.cfg.unreached()).to_string(), "x");
    });
}

#[test]
fn a_name_deleted_in_a_block_may_be_undefined() {
    let source = "def f(c):\n    x = y = 1\n    if c:\n        del x\n        y = 2\n    return x, y\n";
    with_input(source, |input| {
        assert_eq!(Flow::of(&input).maybe_undefined(StmtId(1)).to_string(), "x");
    });
}

#[test]
fn a_global_may_be_undefined() {
    let source = "def f(c):\n    global x\n    if c:\n        x = 2\n";
    with_input(source, |input| {
        assert_eq!(Flow::of(&input).maybe_undefined(StmtId(1)).to_string(), "x");
    });
}

#[test]
fn a_with_may_suppress_exceptions() {
    let source = "def f(a):\n    x = 1\n    with a:\n        raise E\n    return x\n";
    with_input(source, |input| {
        assert_eq!(Flow::of(&input).live_after(StmtId(0)).to_string(), "E, a, x");
        let flow = Flow::of(&Input { with_may_suppress: false, ..input });
        assert_eq!(flow.live_after(StmtId(0)).to_string(), "E, a");
    });
}

#[test]
fn a_deleted_nonlocal_is_not_an_unbound_local() {
    let source = "def f(xs):\n    nonlocal n\n    y = 1\n    for x in xs:\n        del n, y\n";
    with_input(source, |input| {
        assert_eq!(Flow::of(&input).unbound_reads(StmtId(3)).to_string(), "y");
    });
}
