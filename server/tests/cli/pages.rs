//! The documents are up to date: the README has the findings of the binary and every rule, and CONTRIBUTING.md names
//! files that exist.

use std::fmt::Write;
use std::path::Path;

use crate::project::Project;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const SOURCE: &str = "```python\n";
const FINDINGS: &str = "```text\n";
const END: &str = "```\n";

fn readme() -> String {
    std::fs::read_to_string(README).expect("the README")
}

/// Returns the findings of a program, a line for each, without the summary.
fn findings(name: &str, source: &str) -> String {
    let answer = Project::new(&[(name, source)]).run(&["check", "--output-format", "concise", name]);
    answer
        .stdout
        .lines()
        .filter(|line| line.starts_with(name))
        .fold(String::new(), |text, line| text + line + "\n")
}

/// Each Python block is followed by a block with its findings, which starts with the name of the file.
#[test]
fn findings_are_those_of_the_binary() {
    let readme = readme();
    let mut written = String::new();
    let mut rest = readme.as_str();
    let mut programs = 0;
    while let Some((before, after)) = rest.split_once(SOURCE) {
        let (source, after) = after.split_once(END).expect("the end of the program");
        let (between, after) = after.split_once(FINDINGS).expect("the findings of the program");
        let (listed, after) = after.split_once(END).expect("the end of the findings");
        let (name, _) = listed.split_once(':').expect("the name of the program");
        let found = findings(name, source);
        assert!(!found.is_empty(), "nothing is found in {name}");
        let _ = write!(written, "{before}{SOURCE}{source}{END}{between}{FINDINGS}{found}{END}");
        programs += 1;
        rest = after;
    }
    written.push_str(rest);
    assert!(programs > 0, "the README shows no program");
    if std::env::var_os("AG_BLESS").is_some() {
        std::fs::write(README, &written).expect("the README can be written");
    } else {
        assert_eq!(readme, written, "run with AG_BLESS=1 and read what has changed");
    }
}

/// A row of the table of rules: framework, first and last code, count.
struct Row<'a> {
    frameworks: &'a str,
    codes: [&'a str; 2],
    count: usize,
}

fn row(line: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let (first, last) = cells.get(2)?.split_once('–')?;
    Some(Row { frameworks: cells[1], codes: [first, last], count: cells[3].parse().ok()? })
}

/// How the table names a dialect.
const FRAMEWORKS: [(&str, &[&str]); 3] = [
    ("tensorflow", &["TensorFlow", "all"]),
    ("torch", &["`torch.compile`", "`torch.export`", "TorchScript", "all"]),
    ("jax", &["JAX", "all"]),
];

#[test]
fn every_rule_is_in_the_table() {
    let readme = readme();
    let rows: Vec<Row> = readme.lines().filter_map(row).collect();
    let answer = Project::new(&[]).run(&["explain", "--output-format", "json"]);
    let rules: Vec<serde_json::Value> = serde_json::from_str(&answer.stdout).expect("JSON");
    let mut counts = vec![0; rows.len()];
    for rule in &rules {
        let code = rule["code"].as_str().expect("a code");
        let within = |row: &Row| (row.codes[0]..=row.codes[1]).contains(&code);
        let indices: Vec<usize> = (0..rows.len()).filter(|index| within(&rows[*index])).collect();
        assert_eq!(indices.len(), 1, "{code} must be in one row of the README's table of rules");
        counts[indices[0]] += 1;
        let dialects = rule["dialects"].as_array().expect("dialects");
        for (dialect, frameworks) in FRAMEWORKS {
            let listed = frameworks.iter().any(|name| rows[indices[0]].frameworks.contains(name));
            assert_eq!(dialects.iter().any(|known| known == dialect), listed, "{code}: {dialect}");
        }
    }
    for (row, count) in rows.iter().zip(counts) {
        assert_eq!(row.count, count, "the number of rules {}–{}", row.codes[0], row.codes[1]);
        for code in row.codes {
            assert!(rules.iter().any(|rule| rule["code"] == code), "{code} is no rule");
        }
    }
}

/// Paths are the texts in backticks that contain a `/`. Of a path with a placeholder, such as `<rule>.rs`, only the
/// folder before it is checked.
#[test]
fn recipes_name_files_that_exist() {
    let page = std::fs::read_to_string(format!("{REPOSITORY}/CONTRIBUTING.md")).expect("the page");
    let code = page.split('`').skip(1).step_by(2);
    let is_path = |code: &&str| code.contains('/') && !code.starts_with('/') && !code.contains([' ', '\n']);
    let paths: Vec<&str> = code.filter(is_path).collect();
    assert!(paths.len() > 20, "{paths:?}");
    for path in paths.iter().filter(|path| !path.starts_with("target/")) {
        let folder = path.split('<').next().unwrap_or(path);
        assert!(
            Path::new(REPOSITORY).join(folder).exists(),
            "CONTRIBUTING.md names `{path}`, which is not there"
        );
    }
}
