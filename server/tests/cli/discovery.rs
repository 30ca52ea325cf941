//! File discovery.

use crate::project::Project;

const FAULTY: &str = "x = (\n";

fn files(project: &Project, arguments: &[&str]) -> Vec<String> {
    let mut files: Vec<String> = project
        .findings(arguments)
        .iter()
        .filter_map(|finding| Some(finding.split_once(':')?.0.to_owned()))
        .collect();
    files.dedup();
    files
}

#[test]
fn python_files_are_found() {
    let project =
        Project::new(&[("b/m.py", FAULTY), ("a/s.pyi", FAULTY), ("t.txt", FAULTY), ("script", FAULTY)]);
    assert_eq!(files(&project, &[]), ["s.pyi", "m.py"]);
    assert_eq!(files(&project, &["script"]), ["script"]);
    assert_eq!(files(&project, &["b", "b/m.py", "./b"]), ["m.py"]);
}

#[test]
fn excluded_files_are_skipped() {
    let project = Project::new(&[
        ("a.py", FAULTY),
        (".gitignore", "generated.py\n"),
        ("generated.py", FAULTY),
        (".hidden/h.py", FAULTY),
        ("venv/lib/v.py", FAULTY),
        ("pkg/node_modules/n.py", FAULTY),
        ("build/b.py", FAULTY),
    ]);
    assert_eq!(files(&project, &[]), ["a.py"]);
    assert_eq!(
        files(&project, &["generated.py", "build/b.py", ".hidden/h.py"]),
        ["h.py", "b.py", "generated.py"]
    );
    assert_eq!(files(&project, &["build"]), ["b.py"]);
}

#[test]
fn a_folder_without_python_files_is_a_warning() {
    let answer = Project::new(&[("readme.md", "")]).run(&["check"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "All checks passed!\n"));
    assert_eq!(answer.stderr, "warning: no Python files found\n");
}
