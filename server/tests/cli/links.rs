//! Relative links in the repository's Markdown files lead to files that exist.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn documents() -> Vec<PathBuf> {
    let is_git = |name: &std::ffi::OsStr| name == ".git";
    let walk = WalkBuilder::new(REPOSITORY)
        .hidden(false)
        .filter_entry(move |entry| !is_git(entry.file_name()))
        .build();
    let paths = walk.map(|entry| entry.expect("the repository can be read").into_path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Returns the targets of `[text](target)` outside of fenced code; links to other hosts and within the page are
/// omitted.
fn targets(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let links =
        prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split([')', '#']).next());
    links.filter(|target| !target.is_empty() && !target.contains(':')).collect()
}

fn broken(document: &Path, text: &str) -> Vec<String> {
    let folder = document.parent().expect("a document is in a folder");
    let missing = targets(text).into_iter().filter(|target| !folder.join(target).exists());
    missing.map(|target| format!("{}: {target}", document.display())).collect()
}

#[test]
fn relative_links_exist() {
    let documents = documents();
    assert!(documents.iter().any(|path| path.ends_with("runtime/README.md")), "{documents:?}");
    let read = |path: &PathBuf| fs::read_to_string(path).expect("documents are UTF-8");
    let broken: Vec<String> = documents.iter().flat_map(|path| broken(path, &read(path))).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_missing_target_is_found() {
    let document = Path::new(REPOSITORY).join("README.md");
    let text = "[a](runtime/README.md#what-is-staged) [b](https://x.org/) [c](#d) [e](runtime/none/README.md)\n```\nf[i](x)\n```";
    assert_eq!(broken(&document, text), [format!("{}: runtime/none/README.md", document.display())]);
}
