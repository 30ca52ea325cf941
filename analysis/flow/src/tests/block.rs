//! The variables of `if`, `while` and `for`.

use super::*;

/// Returns the name and the role of each variable.
fn roles(snippet: &Snippet, text: &str) -> String {
    let variables = snippet.flow.block_variables(snippet.stmt(text)).unwrap();
    let show = |variable: &BlockVariable| format!("{}: {:?}", variable.name, variable.role);
    variables.variables.iter().map(show).collect::<Vec<_>>().join(", ")
}

#[test]
fn variables_read_after_an_if_are_outputs() {
    let snippet = snippet(
        "
        def f(c, x, z):
            if c:
                t = x + 1
                y = t
                z = z + 1
                print(z)
            else:
                y = x
            return y
    ",
    );
    assert_eq!(roles(&snippet, "if c"), "t: Local, y: Output, z: Input");
    let variables = snippet.flow.block_variables(snippet.stmt("if c")).unwrap();
    let undefined: Vec<_> = variables.undefined().map(|variable| variable.name.to_string()).collect();
    assert_eq!(undefined, ["t", "y"]);
    let state: Vec<_> = variables.state().map(|variable| variable.name.to_string()).collect();
    assert_eq!(state, ["y", "z"]);
}

#[test]
fn definedness_is_computed_per_branch() {
    let snippet = snippet(
        "
        def f(c, d):
            if c:
                x = y = 1
            elif d:
                y = 2
            return x, y
    ",
    );
    let of = |text: &str, name: &str| {
        let variables = snippet.flow.block_variables(snippet.stmt(text)).unwrap();
        let variable = variables.get(&snippet.name(name)).cloned().unwrap();
        (variable.before, variable.after_body, variable.after_orelse)
    };
    use Definedness::{Always, Maybe, Never};
    assert_eq!(of("if c", "x"), (Never, Always, Never));
    assert_eq!(of("if c", "y"), (Never, Always, Maybe));
    assert_eq!(of("elif d", "y"), (Never, Always, Never));
}

#[test]
fn a_branch_that_never_completes_defines_every_variable() {
    let snippet = snippet(
        "
        def f(c):
            if c:
                x = 1
            else:
                raise ValueError
            return x
    ",
    );
    let variables = snippet.flow.block_variables(snippet.stmt("if c")).unwrap();
    assert_eq!(variables.variables[0].after_orelse, Definedness::Always);
    assert_eq!(variables.orelse, Exits { raises: true, ..Exits::default() });
    assert_eq!(variables.body, Exits { completes: true, ..Exits::default() });
}

#[test]
fn loop_variables_include_the_target_and_bindings_of_the_body() {
    let snippet = snippet(
        "
        def f(xs, s):
            for i, x in xs:
                s = s + x
                t = s
            return t
    ",
    );
    assert_eq!(roles(&snippet, "for i"), "i: Local, s: Input, t: Output, x: Local");
    let variables = snippet.flow.block_variables(snippet.stmt("for i")).unwrap();
    let t = variables.get(&snippet.name("t")).unwrap();
    assert_eq!(
        (t.before, t.after_body, t.after_orelse),
        (Definedness::Never, Definedness::Always, Definedness::Maybe)
    );
    assert!(t.undefined);
}

#[test]
fn definitions_before_a_while_exclude_those_of_its_iterations() {
    let snippet = snippet(
        "
        def f(x):
            s = 0
            while x:
                x = s
                s = x
                y = s
            return y
    ",
    );
    let stmt = snippet.stmt("while x");
    let variables = snippet.flow.block_variables(stmt).unwrap();
    assert_eq!(variables.get(&snippet.name("y")).unwrap().before, Definedness::Never);
    let s = snippet.name("s");
    let text = |definitions: Vec<&Def>| -> Vec<&str> {
        definitions.iter().filter_map(|def| def.value).map(|range| &snippet.source[range]).collect()
    };
    assert_eq!(text(snippet.flow.definitions_before(stmt, &s)), ["0"]);
    assert_eq!(text(snippet.flow.definitions_after_body(stmt, &s)), ["x"]);
}

#[test]
fn attributes_and_items_of_outer_objects_are_state() {
    let snippet = snippet(
        "
        def f(self, c, d, k):
            while c:
                self.n = 1
                d['k'] = 2
                d[k] = 3
                own = make()
                own.x = 4
            return c
    ",
    );
    assert_eq!(
        roles(&snippet, "while c"),
        "d['k']: Output, d[k]: Output, own: Local, own.x: Local, self.n: Output"
    );
}

#[test]
fn global_and_nonlocal_names_are_always_state() {
    let snippet = snippet(
        "
        def f(c):
            nonlocal n
            global g
            if c:
                n = g = 1
    ",
    );
    assert_eq!(roles(&snippet, "if c"), "g: Output, n: Output");
    let variables = snippet.flow.block_variables(snippet.stmt("if c")).unwrap();
    assert_eq!(variables.undefined().count(), 0);
}

#[test]
fn exits_of_a_block() {
    let snippet = snippet(
        "
        def f(c, xs):
            for x in xs:
                if c:
                    return 1
                elif x:
                    break
                else:
                    for y in x:
                        break
                    continue
            if c:
                if x:
                    return 2
                else:
                    return 3
            if x:
                if c:
                    return 4
    ",
    );
    let exits = |text: &str| {
        let variables = snippet.flow.block_variables(snippet.stmt(text)).unwrap();
        (variables.body, variables.orelse)
    };
    let none = Exits::default();
    let (body, orelse) = exits("elif x");
    assert_eq!(body, Exits { breaks: true, ..none });
    assert_eq!(orelse, Exits { continues: true, ..none });
    let (body, orelse) = exits("if c:\n        if x");
    assert!(body.always_returns());
    assert_eq!(orelse, Exits { completes: true, ..none });
    let (body, _) = exits("if x:\n        if c");
    assert_eq!(body, Exits { completes: true, returns: true, ..none });
}

#[test]
fn other_statements_have_no_block_variables() {
    let snippet = snippet(
        "
        def f(a):
            with a:
                x = 1
    ",
    );
    assert_eq!(snippet.flow.block_variables(snippet.stmt("with a")), None);
}
