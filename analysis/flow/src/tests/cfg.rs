//! The edges of the control flow graph.

use super::*;

/// Lists the nodes by their text, each with its successors.
fn edges(source: &str) -> String {
    let snippet = snippet(source);
    let cfg = &snippet.flow.cfg;
    let show = |node: NodeId| {
        let node = cfg.node(node).unwrap();
        let text = snippet.source[node.range].lines().next().unwrap_or("").to_owned();
        match node.kind {
            NodeKind::Statement | NodeKind::Test | NodeKind::WithItem(_) => text,
            NodeKind::Entry | NodeKind::Exit => format!("{:?}", node.kind),
            kind => format!("{kind:?} `{text}`"),
        }
    };
    let mut lines = Vec::new();
    for &node in cfg.reverse_post_order() {
        let targets: Vec<_> = cfg
            .successors(node)
            .iter()
            .map(|edge| match edge.kind {
                EdgeKind::Normal => show(edge.to),
                kind => format!("{kind:?}: {}", show(edge.to)),
            })
            .collect();
        let dead = if cfg.is_reachable(node) { "" } else { "dead " };
        if !targets.is_empty() {
            lines.push(format!("{dead}{} -> {}", show(node), targets.join(" | ")));
        }
    }
    lines.join("\n")
}

#[test]
fn an_elif_is_an_if_within_the_else() {
    insta::assert_snapshot!(edges("
        def f(a, b):
            if a:
                x = 1
            elif b:
                x = 2
            return x
    "), @r"
    Entry -> a
    a -> True: x = 1 | False: b
    b -> True: x = 2 | False: Join `if a:`
    x = 2 -> Join `if a:`
    x = 1 -> Join `if a:`
    Join `if a:` -> return x
    return x -> Return: Exit
    ");
    let snippet = snippet(
        "
        def f(a, b):
            if a:
                x = 1
            elif b:
                x = 2
            else:
                x = 3
            return x
    ",
    );
    let (outer, elif) = (snippet.stmt("if a"), snippet.stmt("elif b"));
    let cfg = &snippet.flow.cfg;
    assert_eq!(cfg.statement(elif).unwrap().parent, Some(outer));
    assert!(cfg.block(outer, BlockKind::Else).unwrap().contains(elif));
    assert!(cfg.block(elif, BlockKind::Else).unwrap().contains(snippet.stmt("x = 3")));
    assert_eq!(cfg.extent(outer).end, snippet.stmt("return"));
}

#[test]
fn break_skips_the_else_of_a_loop() {
    insta::assert_snapshot!(edges("
        def f(xs):
            for x in xs:
                if x:
                    break
                continue
            else:
                none()
            while True:
                pass
            dead
    "), @r"
    Entry -> Iter `xs`
    Iter `xs` -> Next `for x in xs:`
    Next `for x in xs:` -> True: Target `x` | False: none()
    none() -> Join `for x in xs:`
    Target `x` -> x
    x -> True: break | False: Join `if x:`
    Join `if x:` -> continue
    continue -> Back: Next `for x in xs:`
    break -> Break: Join `for x in xs:`
    Join `for x in xs:` -> True
    True -> True: pass
    pass -> Back: True
    dead Join `while True:` -> dead
    dead dead -> Exit
    ");
}

#[test]
fn steps_of_a_try_may_raise_into_the_handlers_in_order() {
    insta::assert_snapshot!(edges("
        def f():
            try:
                g()
            except A as e:
                h()
            except:
                raise
            else:
                ok()
    "), @r"
    Entry -> Enter `try:`
    Enter `try:` -> g()
    g() -> Exception: Dispatch `try:` | ok()
    ok() -> Join `try:`
    Dispatch `try:` -> Handler(0) `A`
    Handler(0) `A` -> True: HandlerName(0) `e` | False: Handler(1) `except:`
    Handler(1) `except:` -> True: raise
    raise -> Exception: Exit
    HandlerName(0) `e` -> h()
    h() -> Unbind(0) `e`
    Unbind(0) `e` -> Join `try:`
    Join `try:` -> Exit
    ");
}

#[test]
fn a_finally_body_has_copies_for_normal_completion_and_for_other_exits() {
    insta::assert_snapshot!(edges("
        def f():
            while g():
                try:
                    if h():
                        return
                    break
                finally:
                    close()
    "), @r"
    Entry -> g()
    g() -> True: Enter `try:` | False: Join `while g():`
    Enter `try:` -> h()
    h() -> True: return | False: Join `if h():` | Exception: close()
    Join `if h():` -> break
    break -> Break: close()
    return -> Exception: close() | Return: close()
    close() -> Exception: Exit | Return: Exit | Break: Join `while g():`
    Join `while g():` -> Exit
    dead Join `try:` -> Back: g()
    ");
    let snippet = snippet(
        "
        def f():
            try:
                g()
            finally:
                close()
            return 1
    ",
    );
    assert_eq!(snippet.flow.cfg.points(snippet.stmt("close()")).count(), 2);
    assert_eq!(snippet.flow.cfg.statements().count(), 4);
}

#[test]
fn a_pattern_captures_only_when_it_matches() {
    insta::assert_snapshot!(edges("
        def f(s):
            match s:
                case [a] if a:
                    one()
                case _:
                    other()
    "), @r"
    Entry -> Subject `s`
    Subject `s` -> Pattern(0) `[a]`
    Pattern(0) `[a]` -> True: Capture(0) `[a]` | False: Pattern(1) `_`
    Capture(0) `[a]` -> Guard(0) `a`
    Guard(0) `a` -> True: one() | False: Pattern(1) `_`
    Pattern(1) `_` -> True: Capture(1) `_`
    Capture(1) `_` -> other()
    other() -> Join `match s:`
    one() -> Join `match s:`
    Join `match s:` -> Exit
    ");
}

#[test]
fn with_items_are_entered_in_order() {
    insta::assert_snapshot!(edges("
        def f():
            with a() as x, b(x):
                g()
    "), @r"
    Entry -> a() as x
    a() as x -> b(x)
    b(x) -> g()
    g() -> Join `with a() as x, b(x):`
    Join `with a() as x, b(x):` -> Exit
    ");
}

#[test]
fn statements_after_a_jump_are_unreachable() {
    insta::assert_snapshot!(edges("
        def f():
            return 1
            g()
    "), @r"
    Entry -> return 1
    return 1 -> Return: Exit
    dead g() -> Exit
    ");
}

#[test]
fn an_expression_belongs_to_the_step_that_evaluates_it() {
    let snippet = snippet(
        "
        def f(xs, c):
            for item in g(xs):
                if c and h(item):
                    y = k(item)
    ",
    );
    let kind = |text| snippet.flow.cfg.node(snippet.node(text)).unwrap().kind;
    assert_eq!(kind("g(xs)"), NodeKind::Iter);
    assert_eq!(kind("item"), NodeKind::Target);
    assert_eq!(kind("h(item)"), NodeKind::Test);
    assert_eq!(kind("k(item)"), NodeKind::Statement);
}
