//! Tests of `ag-lsp convert`.

use serde_json::Value;

use crate::project::Project;

const MODEL: &str = "\
class Model:
    def call(self, x, scale=2.0):
        if x > 0:
            x = x * scale
        return x

    def batches(self):
        yield from self.data


pick = lambda a, b: a or b
größe = 1; twice = lambda a: [a for _ in (1, 2) if a]
";

fn entries(answer: &str) -> Vec<Value> {
    serde_json::from_str(answer).unwrap()
}

#[test]
fn a_file_is_converted_in_place() {
    let project = Project::new(&[("model.py", MODEL)]);
    let answer = project.run(&["convert", "model.py", "--operators", "my.operators"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    insta::assert_snapshot!(answer.stdout);
    insta::assert_snapshot!(answer.stderr, @"warning: model.py:7: `Model.batches` is not converted: generators are not supported");
}

#[test]
fn every_function_method_and_lambda_has_an_entry() {
    let project = Project::new(&[("model.py", MODEL)]);
    let answer = project.run(&["convert", "model.py", "--output-format", "json"]);
    let entries = entries(&answer.stdout);
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| {
            let field = |name: &str| entry[name].to_string().replace('"', "");
            [field("qualname"), field("kind"), field("line"), field("column"), field("converted")].join(" ")
        })
        .collect();
    assert_eq!(
        shown,
        [
            "Model.call method 2 4 true",
            "Model.batches method 7 4 false",
            "<lambda> lambda 11 7 true",
            "<lambda> lambda 12 19 true"
        ]
    );
    let text = entries[0]["text"].as_str().unwrap();
    assert!(text.starts_with("def tf__call(self, x, scale=None):\n"), "{text}");
    assert_eq!(entries[1]["reason"], "generators are not supported");
    assert!(entries[1]["text"].as_str().unwrap().starts_with("def batches(self):"));
}

/// Offsets count characters, not bytes.
#[test]
fn the_source_map_refers_to_the_file() {
    let project = Project::new(&[("model.py", MODEL)]);
    let answer = project.run(&["convert", "model.py", "--output-format", "json"]);
    let (source, mut copied) = (MODEL.chars().collect::<Vec<_>>(), 0);
    for entry in entries(&answer.stdout) {
        let text: Vec<char> = entry["text"].as_str().unwrap().chars().collect();
        for span in entry["map"].as_array().unwrap() {
            let side = |side: &str| {
                let bounds = span[side].as_array().unwrap();
                bounds[0].as_u64().unwrap() as usize..bounds[1].as_u64().unwrap() as usize
            };
            if span["kind"] != "synthesized" {
                assert_eq!(text[side("generated")], source[side("original")]);
                copied += 1;
            }
        }
    }
    assert!(copied > 6, "{copied}");
}

#[test]
fn a_function_is_selected_by_its_qualified_name() {
    let project = Project::new(&[("model.py", MODEL)]);
    let answer = project.run(&["convert", "model.py::Model.call", "--view", "simplified"]);
    insta::assert_snapshot!(answer.stdout, @r"
    def call(self, x, scale=2.0):
        def if_body():
            x = x * scale
            return x
        def else_body():
            return x
        x = ag__.if_stmt(x > 0, if_body, else_body)
        return x
    ");
    let answer = project.run(&["convert", "model.py::call"]);
    assert_eq!(answer.code, Some(2));
    insta::assert_snapshot!(answer.stderr, @"error: model.py: no function `call`; name a method as `Class.method`");
}

#[test]
fn side_by_side_output_has_both_texts() {
    let project = Project::new(&[("f.py", "def f(x):\n    if x:\n        x = g(x)\n    return x\n")]);
    let answer = project.run(&["convert", "f.py", "--output-format", "side-by-side", "--view", "simplified"]);
    insta::assert_snapshot!(answer.stdout);
}

#[test]
fn a_source_map_of_version_3_is_written() {
    let project = Project::new(&[("f.py", "def f(x):\n    return g(x)\n")]);
    let answer = project.run(&["convert", "f.py", "--source-map", "f.map", "-o", "out/f.py"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let map: Value = serde_json::from_str(&project.read("f.map")).unwrap();
    assert_eq!(map["version"], 3);
    assert_eq!(map["sources"], serde_json::json!(["f.py"]));
    assert_eq!(map["sourcesContent"], serde_json::json!(["def f(x):\n    return g(x)\n"]));
    assert!(project.read("out/f.py").contains("ag__.converted_call(g, (x,), None, fscope)"));
}

#[test]
fn a_folder_is_converted_into_a_folder() {
    let project = Project::new(&[("src/a.py", "def a(): f()\n"), ("src/b/c.py", "x = 1\n")]);
    let answer = project.run(&["convert", "src", "--output", "out"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(project.read("out/src/a.py").contains("converted_call"));
    assert_eq!(project.read("out/src/b/c.py"), "x = 1\n");
}

#[test]
fn files_with_syntax_errors_are_not_converted() {
    let broken = "def f(x:\n    return x\n\ndef g(y):\n    return h(y)\n";
    let project = Project::new(&[]);
    let answer = project.run_with_input(&["convert", "-"], broken.as_bytes());
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("def f(x:\n"), "{answer:?}");
    assert!(answer.stderr.contains("syntax error"), "{answer:?}");
}

#[test]
fn invalid_arguments_are_errors() {
    let project = Project::new(&[("f.py", "x = 1\n")]);
    project.write("g.py", [0xff]);
    for arguments in [
        ["convert", "missing.py", "--view", "full"],
        ["convert", "f.py", "--features", "TYPOS"],
        ["convert", "f.py", "--pass", "typos"],
        ["convert", "g.py", "--view", "full"],
    ] {
        let answer = project.run(&arguments);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(answer.stderr.starts_with("error: "), "{answer:?}");
    }
}

/// Outside its class, a function must contain the mangled form of private names such as `__limit`.
#[test]
fn private_names_are_spelled_out_for_a_function_alone() {
    let text = "\
class Gate:
    def open(self, xs, __limit=1):
        if xs:
            __n = __limit  # __n
        def __inner(): return __n
        return self.__last(__a=__n) + __inner()
";
    let project = Project::new(&[("gate.py", text)]);
    let answer = project.run(&["convert", "gate.py", "--output-format", "json"]);
    let text = entries(&answer.stdout)[0]["text"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(text);
}

#[test]
fn the_snek_dialect_uses_only_its_own_operators() {
    let project = Project::new(&[("f.py", "pick = lambda a, b: a or b\ndef f(x):\n    return x\n")]);
    let answer = project.run(&["convert", "f.py", "--dialect", "snek"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(!answer.stdout.contains("ag__"), "{}", answer.stdout);
}
