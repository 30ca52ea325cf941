//! Every input produces a result: deep nesting, invalid syntax, empty names.

use super::*;

/// Builds the flow on a stack as small as that of a thread in a thread pool.
fn build(source: String) -> Flow {
    let work = move || {
        let parsed = parse(&source);
        let flow = Flow::build(function(&parsed));
        // Dropping the syntax tree is recursive, and would overflow the small stack.
        std::mem::forget(parsed);
        flow
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().expect("no overflow")
}

fn nested_ifs(depth: usize) -> String {
    let mut source = "def f():\n".to_owned();
    for level in 1..=depth {
        source.push_str(&format!("{}if a:\n", " ".repeat(level)));
    }
    source + &" ".repeat(depth + 1) + "x = 1\n"
}

#[test]
fn blocks_are_analyzed_up_to_the_nesting_limit_of_python() {
    let flow = build(nested_ifs(100));
    assert!(!flow.is_opaque());
    assert_eq!(flow.cfg.statements().count(), 101);
    let flow = build(nested_ifs(3_000));
    assert!(flow.is_opaque());
    assert_eq!(flow.cfg.statements().count(), 0);
}

#[test]
fn expression_depth_is_unlimited() {
    let depth = 3_000;
    let chains = [
        format!("{}b{}", "(a + ".repeat(depth), ")".repeat(depth)),
        format!("b{}", " + a".repeat(depth)),
        format!("b{}", ".a".repeat(depth)),
        format!("b{}", "(a)".repeat(depth)),
        format!("{}b", "not ".repeat(depth)),
        format!("{}b{}", "[".repeat(depth), "]".repeat(depth)),
    ];
    for chain in chains {
        let flow = build(format!("def f():\n    return {chain}\n"));
        assert!(!flow.is_opaque());
        assert!(flow.scope().free.contains("b"));
    }
}

#[test]
fn scopes_are_analyzed_up_to_a_depth_limit() {
    let lambdas = |depth| format!("def f(b):\n    return {}b\n", "lambda: ".repeat(depth));
    let flow = build(lambdas(60));
    assert!(!flow.is_opaque());
    assert_eq!(flow.live_in(Cfg::ENTRY).to_string(), "b");
    assert!(build(lambdas(3_000)).is_opaque());
    assert!(
        build(format!("def f():\n    return {}1{}\n", "[".repeat(500), " for x in y]".repeat(500)))
            .is_opaque()
    );
}

#[test]
fn long_elif_chains_are_not_nested() {
    let clauses: String = (0..5_000).map(|i| format!("    elif a == {i}:\n        x = {i}\n")).collect();
    let flow = build(format!("def f(a):\n    if a:\n        pass\n{clauses}    return x\n"));
    assert!(!flow.is_opaque());
    assert_eq!(flow.cfg.statements().count(), 10_003);
}

#[test]
fn nested_finally_bodies_have_a_bounded_number_of_copies() {
    let mut source = "def f():\n".to_owned();
    for level in 0..40 {
        let indent = " ".repeat(level + 1);
        source.push_str(&format!("{indent}try:\n{indent} g()\n{indent}finally:\n"));
    }
    source.push_str(&format!("{}x = 1\n", " ".repeat(41)));
    let flow = build(source);
    assert!(!flow.is_opaque());
    assert!(flow.cfg.node_count() < 2_000);
}

#[test]
fn attributes_share_the_definitions_of_their_root_in_large_functions() {
    let pairs: String = (0..1_500).map(|i| format!("    a.b{i} = 1\n    a = g(a)\n")).collect();
    let source = format!("def f(a):\n{pairs}    return a.b0\n");
    let flow = build(source.clone());
    assert!(!flow.is_opaque());
    let offset = TextSize::try_from(source.len() - 5).unwrap();
    let parsed = ruff_python_parser::parse_expression("a.b0").unwrap();
    let name = QName::from_expr(parsed.expr()).unwrap();
    let definitions = flow.definitions_of(TextRange::empty(offset), &name);
    assert_eq!(definitions.iter().map(|def| def.name.to_string()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn functions_above_the_size_limit_are_opaque() {
    let lines: String = (0..30_000).map(|i| format!("    v{i} = 1\n")).collect();
    assert!(build(format!("def f():\n{lines}")).is_opaque());
}

#[test]
fn invalid_code_has_a_flow() {
    let sources = [
        "def f(",
        "def f(x, x, *, **):\n    x.\n",
        "def f():\n    if\n    elif:\n        x =\n    else\n",
        "def f():\n    for in :\n        break\n    with :\n    try:\n    return\n",
        "def f():\n    break\n    continue\n    x. = 1\n    d[] = 2\n    f() = 3\n    del\n",
        "def f():\n    match :\n        case :\n        case {**}: pass\n        case [*]: pass\n",
        "def f():\n    (x := )\n    [for in]\n    lambda x, : \n    import\n    from . import (\n    nonlocal\n",
        "def f():\n    try: pass\n    except as e: pass\n    except : \n    finally\n",
        "def f():\n    if a: x\n    else: y\n    elif b: z\n    else: w\n",
        "async def f():\n    async for x in\n    async with a as\n    await\n",
    ];
    for source in sources {
        let flow = build(source.to_owned());
        for (stmt, _) in flow.cfg.statements() {
            flow.live_before(stmt);
            flow.live_after(stmt);
            flow.block_variables(stmt);
        }
        for (node, step) in flow.cfg.nodes() {
            flow.cfg.node_at(step.range);
            for name in flow.activity.reads(node).iter() {
                assert!(!name.root().is_empty(), "{source}");
                flow.definitions_at(node, name);
            }
        }
    }
}

#[test]
fn equal_functions_have_equal_flows() {
    let source = "def f(x):\n    while x:\n        x = g(x)\n    return x\n";
    assert_eq!(build(source.to_owned()), build(source.to_owned()));
}
