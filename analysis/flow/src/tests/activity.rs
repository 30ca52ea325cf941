//! Activity: the names that each step reads and binds.

use super::*;

/// Returns the reads and bindings of the only statement of a function.
fn statement(source: &str) -> (String, String) {
    let snippet = snippet(&format!("def f():\n    {source}\n"));
    let first = source.lines().next().unwrap();
    (snippet.reads(first), snippet.modifies(first))
}

#[track_caller]
fn check(source: &str, reads: &str, modifies: &str) {
    assert_eq!(statement(source), (reads.to_owned(), modifies.to_owned()), "{source}");
}

#[test]
fn a_read_of_a_path_reads_its_prefixes() {
    check("x.y['k'].z", "x, x.y, x.y['k'], x.y['k'].z", "");
    check("d[i]", "d, d[i], i", "");
    check("d[i + 1].z", "d, i", "");
    check("f(x.y).z", "f, x, x.y", "");
}

#[test]
fn binding_a_path_reads_its_prefixes_and_keys() {
    check("x = a", "a", "x");
    check("x.y = a", "a, x", "x.y");
    check("d['k'] = a", "a, d", "d['k']");
    check("d[i] = a", "a, d, i", "d[i]");
    check("d[i + 1] = a", "a, d, i", "");
    check("a, (b.c, *d) = e", "b, e", "a, b.c, d");
    check("x = y = z", "z", "x, y");
}

#[test]
fn an_augmented_assignment_reads_its_target() {
    check("x += a", "a, x", "x");
    check("x.y += a", "a, x, x.y", "x.y");
}

#[test]
fn annotations_are_not_read_and_bind_nothing_without_a_value() {
    check("x: A", "", "");
    check("x: A = b", "b", "x");
    check("self.x: A", "self", "");
}

#[test]
fn deleting_is_not_binding() {
    let snippet = snippet(
        "
        def f(d):
            del a, d['k']
    ",
    );
    let node = snippet.node("del");
    assert_eq!(snippet.flow.activity.deletes(node).to_string(), "a, d['k']");
    assert_eq!(snippet.flow.activity.modifies(node).to_string(), "");
}

#[test]
fn imports_bind_the_alias_or_the_top_level_package() {
    check("import a.b, c.d as e", "", "a, e");
    check("from m import x, y as z", "", "x, z");
}

#[test]
fn comprehension_targets_are_local_to_the_comprehension() {
    check("[x + a for x in xs if x > b]", "a, b, xs", "");
    check("{k: v for k, v in d.items()}", "d, d.items", "");
    check("[y for x in x for y in x.z]", "x", "");
    check("sum(g.w for g in gs)", "gs, sum", "");
}

#[test]
fn a_walrus_binds_in_the_enclosing_function() {
    check("g((n := h()) + n)", "g, h", "n");
    check("[(last := x) for x in xs]", "xs", "last");
    check("n + (n := 1)", "n", "n");
    check("(c and (n := 1) and n) + d", "c, d", "n");
    // The right operand of `and` may not be evaluated.
    check("(c and (n := 1)) + n", "c, n", "n");
    check("((n := 1) if c else n) + n", "c, n", "n");
}

#[test]
fn nested_functions_read_what_they_capture() {
    check("g = lambda x, y=d: x + a.b", "a, a.b, d", "g");
    check("h(lambda x: x + a)", "a, h", "");
    check(
        "@deco\n    def g(x: A, y=d) -> R:\n        z = x + y + a\n        for i in z: b(i)\n        import m\n        m.f",
        "a, b, d, deco",
        "g",
    );
    check("def g():\n        def h(): return a + b\n        b = 1", "a", "g");
    check("def g():\n        nonlocal_x = 1\n        global q\n        q = q + 1", "", "g");
    check(
        "def g():\n        try: pass\n        except E as e: e\n        match s:\n            case [p]: p",
        "E, s",
        "g",
    );
}

#[test]
fn a_class_body_reads_immediately_and_its_methods_capture() {
    check(
        "class C(B, metaclass=M):\n        x = a\n        y = x\n        def m(self): return x + b",
        "B, M, a, b, x",
        "C",
    );
}

#[test]
fn f_strings_read_their_expressions() {
    check("f'{a!r:>{w}} {b=}'", "a, b, w", "");
}

#[test]
fn a_block_has_the_accesses_of_its_statements_without_handler_names() {
    let snippet = snippet(
        "
        def f(c):
            if c:
                try:
                    x = a.b
                except E as e:
                    log(e.args)
                del y
            else:
                e = 1
    ",
    );
    let Flow { cfg, activity, .. } = &snippet.flow;
    let stmt = snippet.stmt("if c");
    let body = cfg.block(stmt, BlockKind::Body).unwrap();
    assert_eq!(activity.reads_in(cfg, body).to_string(), "E, a, a.b, log");
    assert_eq!(activity.modifies_in(cfg, body).to_string(), "x");
    assert_eq!(activity.deletes_in(cfg, body).to_string(), "y");
    let orelse = cfg.block(stmt, BlockKind::Else).unwrap();
    assert_eq!(activity.modifies_in(cfg, orelse).to_string(), "e");
    // Within the clause, the name is read like any other.
    assert_eq!(snippet.reads("log(e.args)"), "e, e.args, log");
}

#[test]
fn each_name_belongs_to_a_scope() {
    let snippet = snippet(
        "
        def f(p, /, q, *args, k=1, **kw):
            global g
            nonlocal n
            g = n = 1
            x = free(g)
            y = 2
            def inner():
                nonlocal x
                x = y + other
            for i in args: pass
    ",
    );
    let scope = snippet.flow.scope();
    let list = |names: &std::collections::BTreeSet<ast::name::Name>| {
        names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        scope.parameters.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        ["p", "q", "args", "k", "kw"]
    );
    assert_eq!(list(&scope.locals), "args i inner k kw p q x y");
    assert_eq!(list(&scope.globals), "g");
    assert_eq!(list(&scope.nonlocals), "n");
    assert_eq!(list(&scope.free), "free g other");
    assert_eq!(list(&scope.closure_written), "x");
    assert_eq!(list(&scope.captured), "y");
}
