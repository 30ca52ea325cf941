//! Liveness of names.

use super::*;

#[test]
fn a_name_is_live_until_its_last_read() {
    let snippet = snippet(
        "
        def f(a, b):
            x = a
            y = b
            return x
    ",
    );
    assert_eq!(snippet.live_before("x = a"), "a, b");
    assert_eq!(snippet.live_after("x = a"), "b, x");
    assert_eq!(snippet.live_after("y = b"), "x");
    assert_eq!(snippet.live_after("return x"), "");
}

#[test]
fn names_read_after_a_compound_statement_are_live_after_it() {
    let snippet = snippet(
        "
        def f(c):
            if c:
                x = 1
                t = x
            else:
                x = 2
            return x
    ",
    );
    assert_eq!(snippet.live_after("if c"), "x");
    assert_eq!(snippet.live_before("if c"), "c");
    assert_eq!(snippet.live_after("t = x"), "x");
}

#[test]
fn names_read_in_the_next_iteration_are_live_in_a_loop() {
    let snippet = snippet(
        "
        def f(n, xs):
            s = 0
            for x in xs:
                s = s + x
                t = x
            while n > 0:
                n = n - 1
            return s
    ",
    );
    assert_eq!(snippet.live_before("for x"), "n, s, xs");
    // The iterable is evaluated once.
    assert_eq!(snippet.live_after("t = x"), "n, s");
    assert_eq!(snippet.live_before("while"), "n, s");
    assert_eq!(snippet.live_after("n = n - 1"), "n, s");
}

#[test]
fn a_loop_target_is_bound_before_the_body() {
    let snippet = snippet(
        "
        def f(xs):
            i = 0
            for i in xs:
                use(i)
            return i
    ",
    );
    assert_eq!(snippet.live_after("i = 0"), "i, use, xs");
    assert_eq!(snippet.live_after("use(i)"), "i, use");
}

#[test]
fn a_read_of_an_attribute_makes_its_object_live() {
    let snippet = snippet(
        "
        def f(a, b):
            one = 1
            a = b
            two = 2
            return a.x
    ",
    );
    assert_eq!(snippet.live_before("one"), "b");
    assert_eq!(snippet.live_before("two"), "a, a.x");
}

#[test]
fn binding_an_attribute_keeps_the_object_live() {
    let snippet = snippet(
        "
        def f(a):
            start()
            a.x = 1
            return a.x
    ",
    );
    assert_eq!(snippet.live_after("start()"), "a");
}

#[test]
fn names_captured_by_a_reaching_function_are_live() {
    let snippet = snippet(
        "
        def f(c):
            x = 1
            def g():
                return x
            x = 2
            x = 3
            return g()
    ",
    );
    assert_eq!(snippet.live_after("x = 2"), "g, x");
    let snippet = super::snippet(
        "
        def f(c):
            x = 1
            h = lambda: x
            x = 2
            return h
    ",
    );
    assert_eq!(snippet.live_after("x = 2"), "h, x");
}

#[test]
fn a_lambda_argument_reads_where_it_is_evaluated() {
    let snippet = snippet(
        "
        def f(x):
            y = g(lambda: x)
            x = 2
            return y
    ",
    );
    assert_eq!(snippet.live_after("x = 2"), "y");
}

#[test]
fn only_global_and_nonlocal_names_are_live_at_the_end() {
    let snippet = snippet(
        "
        def f(a):
            global counter
            nonlocal seen
            counter = a
            a = seen = 1
    ",
    );
    assert_eq!(snippet.live_after("counter = a"), "counter, seen");
    assert_eq!(snippet.live_after("a = seen"), "counter, seen");
}

#[test]
fn names_before_the_raising_step_are_live_for_its_handler() {
    let snippet = snippet(
        "
        def f():
            x = 0
            try:
                x = g()
            except E:
                return x
            return 1
    ",
    );
    assert_eq!(snippet.live_after("x = 0"), "E, g, x");
}

#[test]
fn a_break_continues_after_the_loop() {
    let snippet = snippet(
        "
        def f(xs, a, b):
            for x in xs:
                if x:
                    break
            else:
                return a
            return b
    ",
    );
    assert_eq!(snippet.live_after("break"), "b");
    assert_eq!(snippet.live_after("if x"), "a, b");
}
