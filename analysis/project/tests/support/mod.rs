//! Shared by the tests of rules: checks Python code blocks of Markdown texts in memory.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses its part")]

use ag_db::finding::Finding;
use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ag_rules::selection::RuleTable;
use ag_staging::staged::StagedConstruct;
use ruff_db::system::{InMemorySystem, MemoryFileSystem, SystemPath, SystemPathBuf};
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

/// Checks (title, text) pairs with all rules.
pub fn check(files: impl IntoIterator<Item = (String, String)>) -> Vec<Checked> {
    let root = SystemPath::new("/project");
    let memory = MemoryFileSystem::with_current_directory(root);
    let mut paths = Vec::new();
    for (number, (title, text)) in files.into_iter().enumerate() {
        let path = root.join(format!("block_{number}.py"));
        memory.write_file_all(&path, &text).expect("memory is writable");
        paths.push((path, title, text));
    }
    let settings = Settings { rules: RuleTable::all(), ..Settings::default() };
    let system = InMemorySystem::from_memory_fs(memory);
    let mut engine = Engine::open(system, root, settings, Environment::default()).expect("opens");
    engine.add_files(paths.iter().map(|(path, ..)| SystemPathBuf::clone(path))).expect("readable");
    engine.analyze(&|_, _| {});
    let checked = paths.into_iter().map(|(path, title, text)| {
        let document = engine.document(&path).expect("was added");
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
