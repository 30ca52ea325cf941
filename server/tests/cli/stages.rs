//! Tests of `ag-lsp stages`.

use serde_json::{Value, json};

use crate::project::Project;

const STEP: &str = "\
import tensorflow as tf


@tf.function
def step(x: tf.Tensor, flag: bool):
    'größe'; y = x if x > 0 else -x
    if flag:
        y += 1
    return y
";

fn stages(project: &Project, arguments: &[&str]) -> Value {
    let answer = project.run(&[&["stages"], arguments].concat());
    assert_eq!(answer.code, Some(0), "{answer:?}");
    serde_json::from_str(&answer.stdout).unwrap()
}

/// Returns the constructs with binding and position, without why-chains.
fn bindings(function: &Value) -> Vec<Value> {
    let constructs = function["constructs"].as_array().unwrap();
    let binding = |construct: &Value| {
        json!([
            construct["kind"],
            construct["text"],
            construct["binding"],
            construct["line"],
            construct["column"],
            construct["end_line"],
            construct["end_column"]
        ])
    };
    constructs.iter().map(binding).collect()
}

#[test]
fn the_decisions_of_a_root_are_listed() {
    let project = Project::new(&[("step.py", STEP)]);
    let stages = stages(&project, &["step.py"]);
    assert_eq!(stages[0]["file"], "step.py");
    let function = &stages[0]["functions"][0];
    assert_eq!(function["qualname"], "step");
    assert_eq!(function["line"], 5);
    assert_eq!(function["root"], true);
    assert_eq!(function["dialect"], "tensorflow");
    let parameters = function["parameters"].as_array().unwrap();
    let parameter_bindings: Vec<_> =
        parameters.iter().map(|parameter| (&parameter["name"], &parameter["binding"])).collect();
    assert_eq!(parameter_bindings, [(&json!("x"), &json!("staged")), (&json!("flag"), &json!("python"))]);
    assert_eq!(
        bindings(function),
        [json!(["ifexp", "x > 0", "staged", 6, 18, 6, 36]), json!(["if", "flag", "python", 7, 5, 8, 15])]
    );
    for construct in function["constructs"].as_array().unwrap() {
        let why = construct["why"].as_array().unwrap();
        assert!(why.iter().any(|step| step.as_str().unwrap().contains(" at step.py:")), "{why:?}");
    }
}

/// `check` does not follow functions as values in a project of this size, because it takes too long.
#[test]
fn functions_are_followed_as_values_in_a_large_project() {
    const STEPS: &str = "\
import jax


def shift(x):
    return x + 1


STEPS = {'shift': shift}


@jax.jit
def run(x, names):
    for name in names:
        x = STEPS[name](x)
    return x
";
    let many = "def f():\n    pass\n".repeat(40);
    let others: Vec<String> = (0..260).map(|number| format!("other/m{number}.py")).collect();
    let others = others.iter().map(|path| (path.as_str(), many.as_str()));
    let files: Vec<_> = std::iter::once(("steps.py", STEPS)).chain(others).collect();
    let project = Project::new(&files);
    let stages = stages(&project, &["."]);
    let functions = stages.as_array().unwrap().iter().flat_map(|file| file["functions"].as_array().unwrap());
    let functions: Vec<_> = functions.map(|function| function["qualname"].as_str().unwrap()).collect();
    assert_eq!(functions, ["shift", "run"]);
}

#[test]
fn files_are_named_as_given() {
    let project = Project::new(&[("pkg/a.py", STEP), ("pkg/sub/b.py", "x = 1\n")]);
    let files = |arguments: &[&str]| -> Vec<String> {
        let stages = stages(&project, arguments);
        stages.as_array().unwrap().iter().map(|item| item["file"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(files(&["./pkg/a.py"]), ["./pkg/a.py"]);
    assert_eq!(files(&["pkg"]), ["pkg/a.py", "pkg/sub/b.py"]);
    assert_eq!(files(&["."]), ["pkg/a.py", "pkg/sub/b.py"]);
    let absolute = project.path("pkg/a.py");
    assert_eq!(files(&[absolute.to_str().unwrap()]).len(), 1);
}

#[test]
fn roots_all_makes_every_function_a_root() {
    let project = Project::new(&[("a.py", "def f(x):\n    return x\n")]);
    assert_eq!(stages(&project, &["a.py"])[0]["functions"], json!([]));
    let all = stages(&project, &["a.py", "--roots", "all", "--dialect", "tensorflow"]);
    assert_eq!(all[0]["functions"][0]["qualname"], "f");
}

#[test]
fn the_text_format_lists_decisions() {
    let project = Project::new(&[("step.py", STEP)]);
    let answer = project.run(&["stages", "step.py", "--output-format", "text"]);
    assert!(answer.stdout.starts_with("step.py:5: step (tensorflow, root)\n"), "{}", answer.stdout);
    assert!(answer.stdout.contains("\n  staged   6: ifexp x > 0\n"), "{}", answer.stdout);
    assert!(answer.stdout.contains("\n  python   7: if flag\n"), "{}", answer.stdout);
}

#[test]
fn a_missing_file_is_reported() {
    let answer = Project::new(&[("a.py", STEP)]).run(&["stages", "gone.py", "a.py"]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.stderr.contains("gone.py"), "{}", answer.stderr);
    assert!(answer.stdout.contains("\"step\""), "the other files are still shown");
}

/// With an error, nothing is printed on standard output, not even an empty list.
#[test]
fn an_error_prints_nothing_on_standard_output() {
    let answer = Project::new(&[]).run(&["stages", "gone.py"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""));
    assert!(answer.stderr.contains("gone.py"), "{}", answer.stderr);
}

#[test]
fn standard_input_is_analyzed() {
    let project = Project::new(&[]);
    for (arguments, file) in [
        (&["stages", "-"][..], "stdin.py"),
        (&["stages", "-", "--stdin-filename", "pkg/new.py"], "pkg/new.py"),
        (&["stages", "--stdin-filename", "pkg/new.py"], "pkg/new.py"),
    ] {
        let answer = project.run_with_input(arguments, STEP.as_bytes());
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        let stages: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!((&stages[0]["file"], &stages[0]["functions"][0]["line"]), (&json!(file), &json!(5)));
    }
    assert_eq!(project.run(&["stages"]).code, Some(2));
    let joined = project.run_with_input(&["stages", "-", "a.py"], STEP.as_bytes());
    assert_eq!((joined.code, joined.stdout.as_str()), (Some(2), ""));
    let broken = project.run_with_input(&["stages", "-"], b"\xff\xfe");
    assert_eq!((broken.code, broken.stdout.as_str()), (Some(2), ""));
}
