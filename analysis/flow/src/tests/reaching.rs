//! Reaching definitions of uses.

use super::*;

#[test]
fn both_branches_reach_the_join() {
    let snippet = snippet(
        "
        def f(c, x):
            if c:
                x = 1
            use(x)
    ",
    );
    assert_eq!(snippet.definitions("use(x)", "x"), ["Parameter(1)", "Assign 1"]);
    assert_eq!(snippet.definitions("use(x)", "use"), ["Outer"]);
}

#[test]
fn a_name_bound_on_one_branch_may_be_undefined() {
    let snippet = snippet(
        "
        def f(c):
            if c:
                x = 1
                inside(x)
            outside(x)
    ",
    );
    assert_eq!(snippet.defined("inside(x)", "x"), Definedness::Always);
    assert_eq!(snippet.defined("outside(x)", "x"), Definedness::Maybe);
    assert_eq!(snippet.flow.defined_before(snippet.stmt("if c"), &snippet.name("x")), Definedness::Never);
}

#[test]
fn a_loop_that_may_not_run_leaves_its_target_undefined() {
    let snippet = snippet(
        "
        def f(xs):
            for i, x in xs:
                body(i)
            after(i)
    ",
    );
    assert_eq!(snippet.definitions("body(i)", "i"), ["ForTarget xs"]);
    assert_eq!(snippet.definitions("after(i)", "i"), ["Undefined", "ForTarget xs"]);
}

#[test]
fn an_infinite_loop_exits_only_by_break() {
    let snippet = snippet(
        "
        def f():
            while True:
                x = 1
                if x:
                    break
            after(x)
    ",
    );
    assert_eq!(snippet.defined("after(x)", "x"), Definedness::Always);
}

#[test]
fn values_are_matched_with_their_targets() {
    let snippet = snippet(
        "
        def f(p):
            a, (b, c) = 1, (2, 3)
            d, *e = 4, 5
            g = h = 6
            with p as w, p.q as (u, v):
                use(a, b, c)
    ",
    );
    let value = |name| snippet.definitions("use(a", name).join(" | ");
    assert_eq!(value("a"), "Assign 1");
    assert_eq!(value("b"), "Assign 2");
    assert_eq!(value("c"), "Assign 3");
    // Names that are never read have definitions too.
    assert_eq!(value("d"), "Assign");
    assert_eq!(value("e"), "Assign");
    assert_eq!(value("h"), "Assign 6");
    assert_eq!(value("w"), "With p");
    assert_eq!(value("v"), "With p.q");
}

#[test]
fn definitions_have_the_kind_of_their_binding() {
    let snippet = snippet(
        "
        def f(s):
            import m
            def g(): pass
            class C: pass
            x += 1
            type T = int
            match s:
                case {'k': v, **rest}: pass
            if (n := 3): pass
            end()
    ",
    );
    for (name, expected) in [
        ("m", "Import"),
        ("g", "Function"),
        ("C", "Class"),
        ("x", "AugAssign 1"),
        ("T", "TypeAlias"),
        ("n", "Walrus 3"),
    ] {
        assert_eq!(snippet.definitions("end()", name), [expected]);
    }
    assert_eq!(snippet.definitions("end()", "rest"), ["Undefined", "MatchCapture s"]);
    assert_eq!(snippet.definitions("end()", "v"), ["Undefined", "MatchCapture s"]);
}

#[test]
fn a_deleted_name_is_undefined() {
    let snippet = snippet(
        "
        def f(x, c):
            if c:
                del x
            one(x)
            del x
            two(x)
    ",
    );
    assert_eq!(snippet.defined("one(x)", "x"), Definedness::Maybe);
    assert_eq!(snippet.defined("two(x)", "x"), Definedness::Never);
    assert_eq!(snippet.definitions("one(x)", "x"), ["Parameter(0)", "Delete"]);
}

#[test]
fn the_name_of_a_handler_is_deleted_after_it() {
    let snippet = snippet(
        "
        def f():
            e = 1
            try:
                g()
            except E as e:
                inside(e)
            after(e)
    ",
    );
    assert_eq!(snippet.definitions("inside(e)", "e"), ["Except"]);
    assert_eq!(snippet.definitions("after(e)", "e"), ["Assign 1", "Delete"]);
}

#[test]
fn an_exception_may_occur_before_or_after_a_binding() {
    let snippet = snippet(
        "
        def f():
            try:
                x = g()
            except E:
                failed(x)
                return
            finally:
                always(x)
            done(x)
    ",
    );
    assert_eq!(snippet.defined("failed(x)", "x"), Definedness::Maybe);
    assert_eq!(snippet.defined("done(x)", "x"), Definedness::Always);
    // The `finally` block exists once for each kind of exit; this is the copy for normal completion.
    assert_eq!(snippet.defined("always(x)", "x"), Definedness::Always);
}

#[test]
fn binding_an_object_binds_its_attributes_and_items() {
    let snippet = snippet(
        "
        def f(a, d, i):
            a.b = 1
            one(a.b)
            a = g()
            two(a.b)
            d[i] = 2
            three(d[i])
            i = 3
            four(d[i])
    ",
    );
    assert_eq!(snippet.definitions("one(", "a.b"), ["Assign 1"]);
    assert_eq!(snippet.definitions("two(", "a.b"), ["Assign g()"]);
    assert_eq!(snippet.definitions("three(", "d[i]"), ["Assign 2"]);
    assert_eq!(snippet.definitions("four(", "d[i]"), ["Assign 3"]);
}

#[test]
fn an_item_may_be_bound_under_another_key() {
    let snippet = snippet(
        "
        def f(d, i):
            d[0] = 1
            d[1] = 2
            d[i] = 3
            d[i + 1] = 4
            use(d[0], d['k'])
    ",
    );
    assert_eq!(snippet.definitions("use(", "d[0]"), ["Assign 1", "Item", "Item"]);
    assert_eq!(snippet.definitions("use(", "d['k']"), ["Parameter(0)", "Item", "Item"]);
}

#[test]
fn a_nested_function_may_bind_at_any_time_after_its_definition() {
    let snippet = snippet(
        "
        def f():
            x = 1
            before(x)
            def g():
                nonlocal x
                x = 2
            x = 3
            g()
            after(x)
    ",
    );
    assert_eq!(snippet.definitions("before(x)", "x"), ["Assign 1"]);
    assert_eq!(snippet.definitions("after(x)", "x"), ["Closure 2", "Assign 3"]);
}

#[test]
fn a_conditional_walrus_keeps_earlier_definitions() {
    let snippet = snippet(
        "
        def f(c):
            n = 1
            c and (n := 2)
            use(n)
    ",
    );
    assert_eq!(snippet.definitions("use(n)", "n"), ["Assign 1", "Walrus 2"]);
}

#[test]
fn nothing_reaches_dead_code() {
    let snippet = snippet(
        "
        def f(x):
            return
            use(x)
    ",
    );
    assert!(snippet.definitions("use(x)", "x").is_empty());
    assert_eq!(snippet.defined("use(x)", "x"), Definedness::Always);
    assert!(!snippet.flow.maybe_defined(snippet.node("use(x)"), &snippet.name("x")));
}
