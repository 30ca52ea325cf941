//! Shared by the tests: projects in memory, and the Python code blocks of Markdown texts, checked with all rules.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses its part")]

use ag_db::finding::Finding;
use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ag_rules::selection::RuleTable;
use ag_staging::staged::StagedConstruct;
use ruff_db::system::{InMemorySystem, MemoryFileSystem, SystemPath};
use ruff_source_file::LineIndex;

/// A Python code block, checked as a separate file.
pub struct Checked {
    pub title: String,
    pub text: String,
    /// Each finding with its 1-based line in the block.
    pub findings: Vec<(usize, Finding)>,
    pub constructs: Vec<(usize, StagedConstruct)>,
}

/// A ```` ```python ```` block in a Markdown text.
pub struct Block {
    /// The heading above the block.
    pub heading: String,
    /// The 1-based line number of the first line of code.
    pub line: usize,
    pub text: String,
}

pub fn python_blocks(markdown: &str) -> Vec<Block> {
    let (mut blocks, mut heading) = (Vec::new(), String::new());
    let mut open: Option<Block> = None;
    for (index, line) in markdown.lines().enumerate() {
        match &mut open {
            Some(_) if line.trim() == "```" => blocks.extend(open.take()),
            Some(block) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            None if line.trim() == "```python" => {
                open = Some(Block { heading: heading.clone(), line: index + 2, text: String::new() });
            }
            None if line.starts_with('#') => heading = line.trim_start_matches('#').trim().to_owned(),
            None => {}
        }
    }
    assert!(open.is_none(), "unclosed code block under {heading:?}");
    blocks
}

/// Returns the analyzed project with these files, each with its path. Only Python files are checked.
pub fn analyzed(files: &[(&str, &str)], settings: Settings) -> Engine {
    let root = SystemPath::new("/project");
    let memory = MemoryFileSystem::with_current_directory(root);
    for (path, text) in files {
        memory.write_file_all(root.join(path), text).expect("memory is writable");
    }
    let system = InMemorySystem::from_memory_fs(memory);
    let mut engine = Engine::open(system, root, settings, Environment::default()).expect("the engine opens");
    let programs = files.iter().filter(|(path, _)| path.ends_with(".py"));
    engine.add_files(programs.map(|(path, _)| root.join(path))).expect("the files are readable");
    engine.analyze(&|_, _| {});
    engine
}

/// Checks (title, text) pairs with all rules.
pub fn check(files: impl IntoIterator<Item = (String, String)>) -> Vec<Checked> {
    let blocks: Vec<_> = (0..).map(|number| format!("block_{number}.py")).zip(files).collect();
    let files: Vec<_> = blocks.iter().map(|(path, (_, text))| (path.as_str(), text.as_str())).collect();
    let engine = analyzed(&files, Settings { rules: RuleTable::all(), ..Settings::default() });
    let checked = blocks.into_iter().map(|(path, (title, text))| {
        let document = engine.document(&SystemPath::new("/project").join(path)).expect("was added");
        let lines = LineIndex::from_source_text(&text);
        let line = |offset| lines.line_index(offset).get();
        let findings = engine.findings(document).into_iter();
        let constructs = engine.stages(document).into_iter().flat_map(|function| function.constructs);
        Checked {
            title,
            findings: findings.map(|finding| (line(finding.location.range.start()), finding)).collect(),
            constructs: constructs.map(|construct| (line(construct.range.start()), construct)).collect(),
            text,
        }
    });
    checked.collect()
}
