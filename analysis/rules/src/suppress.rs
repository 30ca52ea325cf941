//! Suppression comments: `# ag: ignore[undefined-branch, AG102]`, `# ag: ignore`, and for a file
//! `# ag: ignore-file`, `# ag: ignore-file[AG303]`.
//!
//! A comment suppresses a finding if it is on the first or last line of the finding, or on the first or last line of
//! the logical line in which the finding starts. An `ignore-file` comment must be on its own line before the first
//! statement (a docstring may precede it). Findings of the engine itself (AG9xx) can be configured, but not suppressed.

mod directive;
mod lines;

use std::collections::{BTreeMap, BTreeSet};

use ruff_db::files::File;
use ruff_python_ast::{ModModule, PySourceType};
use ruff_python_parser::{Parsed, parse_unchecked_source};
use ruff_text_size::{TextRange, TextSize};

use crate::selection::RuleTable;
use crate::{Check, Rule, registry};
use ag_db::diagnostic::{Applicability, Edit};
use ag_db::finding::{Finding, FindingFix, Location};
use ag_syntax::nesting;
use directive::{Directive, DirectiveError, Scope};
use lines::Lines;

/// Removes the findings that comments suppress, and adds a finding for each comment that suppresses nothing
/// (AG902) or is invalid (AG905). `findings` and `text` belong to `file`.
pub fn apply(
    findings: Vec<Finding>,
    file: File,
    text: &str,
    parsed: &Parsed<ModModule>,
    rules: &RuleTable,
) -> Vec<Finding> {
    if memchr::memmem::find(text.as_bytes(), b"ag:").is_none() {
        return findings;
    }
    let lines = Lines::new(text, parsed.tokens());
    let directives = directive::collect(text, parsed, &lines);
    if directives.is_empty() {
        return findings;
    }
    // For each directive, the rules whose findings it suppressed.
    let mut used: Vec<BTreeSet<&'static str>> = vec![BTreeSet::new(); directives.len()];
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        let mut suppressed = false;
        if !is_engine(finding.code) {
            let anchors = lines.anchors(finding.location.range);
            for (directive, used) in directives.iter().zip(&mut used) {
                let near = match directive.scope {
                    Scope::File => true,
                    Scope::Line(line) => anchors.contains(&line),
                };
                if near && directive.covers(finding.code) {
                    used.insert(finding.code);
                    suppressed = true;
                }
            }
        }
        if !suppressed {
            kept.push(finding);
        }
    }
    for (directive, used) in directives.iter().zip(&used) {
        kept.extend(directive.errors.iter().filter_map(|error| invalid(error, file, rules)));
        kept.extend(unused(directive, used, file, text, rules));
    }
    kept.sort_by_key(|finding| (finding.location.range.start(), finding.code));
    kept
}

/// Returns the edits that add a suppression comment for each of the findings. All findings are in `text`.
pub fn additions(findings: &[Finding], text: &str, source_type: PySourceType) -> Vec<Edit> {
    if nesting::is_too_deep(text) {
        return Vec::new();
    }
    let parsed = parse_unchecked_source(text, source_type);
    let lines = Lines::new(text, parsed.tokens());
    let directives = directive::collect(text, &parsed, &lines);
    let mut codes: BTreeMap<TextSize, BTreeSet<&'static str>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| !is_engine(finding.code)) {
        if let Some(line) = lines.logical(finding.location.range.start()) {
            codes.entry(line.end()).or_default().insert(finding.code);
        }
    }
    let comment = |(end, codes): (TextSize, BTreeSet<&'static str>)| {
        let codes = codes.into_iter().collect::<Vec<_>>().join(", ");
        let line = lines.physical(end);
        let existing = directives.iter().find(|directive| directive.scope == Scope::Line(line));
        match existing.and_then(|directive| directive.list.as_ref()) {
            // `ignore[AG101]` -> `ignore[AG101, AG102]`
            Some(list) => {
                let last = list.codes.last().map_or(list.range.start(), |code| code.range.end());
                let comma = if list.codes.is_empty() { "" } else { ", " };
                Edit::insert(last, format!("{comma}{codes}"))
            }
            None => {
                let before = &text[..usize::from(end)];
                let at = TextSize::of(before.trim_end_matches([' ', '\t']));
                Edit::replace(TextRange::new(at, end), format!("  # ag: ignore[{codes}]"))
            }
        }
    };
    codes.into_iter().map(comment).collect()
}

/// Returns whether a comment can suppress findings of this code.
pub fn is_suppressible(code: &str) -> bool {
    !is_engine(code)
}

/// Returns the suppression comment at an offset, and the rules that it names there. There are none if it applies to all
/// rules.
pub fn directive_at(
    text: &str,
    source_type: PySourceType,
    offset: TextSize,
) -> Option<(TextRange, Vec<&'static Rule>)> {
    if nesting::is_too_deep(text) {
        return None;
    }
    let parsed = parse_unchecked_source(text, source_type);
    let lines = Lines::new(text, parsed.tokens());
    let directives = directive::collect(text, &parsed, &lines);
    let directive = directives.iter().find(|directive| directive.range.contains_inclusive(offset))?;
    let codes = directive.list.as_ref().map_or(&[][..], |list| &list.codes);
    match codes.iter().find(|code| code.range.contains_inclusive(offset)) {
        Some(code) => Some((code.range, code.rule.into_iter().collect())),
        None => Some((directive.range, codes.iter().filter_map(|code| code.rule).collect())),
    }
}

fn is_engine(code: &str) -> bool {
    registry::find(code).is_some_and(|rule| matches!(rule.check, Check::Engine))
}

fn invalid(error: &DirectiveError, file: File, rules: &RuleTable) -> Option<Finding> {
    finding("AG905", file, error.range, error.message.clone(), None, rules)
}

/// Reports the unused codes of a directive. A code is unused only if its rule ran: `ignore[AG303]` is not reported with
/// `--select AG1,AG9`.
fn unused(
    directive: &Directive,
    used: &BTreeSet<&'static str>,
    file: File,
    text: &str,
    rules: &RuleTable,
) -> Option<Finding> {
    let Some(list) = &directive.list else {
        let is_unused = used.is_empty() && directive.errors.is_empty();
        let fix = removal(directive, text);
        let message = "this comment suppresses nothing".to_owned();
        return is_unused
            .then(|| finding("AG902", file, directive.range, message, Some(fix), rules))
            .flatten();
    };
    let is_unused = |rule: &Rule| !used.contains(rule.code) && rules.enabled(rule.code).is_some();
    let (unused_codes, used_codes): (Vec<_>, Vec<_>) =
        list.codes.iter().partition(|code| code.rule.is_some_and(is_unused));
    let (first, last) = (unused_codes.first()?, unused_codes.last()?);
    let names =
        unused_codes.iter().map(|code| format!("`{}`", &text[code.range])).collect::<Vec<_>>().join(", ");
    let (range, fix) = if used_codes.is_empty() {
        (directive.range, removal(directive, text))
    } else {
        let used_codes = used_codes.iter().map(|code| &text[code.range]).collect::<Vec<_>>().join(", ");
        (first.range.cover(last.range), Edit::replace(list.range, used_codes))
    };
    finding("AG902", file, range, format!("no finding of {names} to suppress here"), Some(fix), rules)
}

/// Returns the edit that deletes the directive with the text after it, and the whole line if nothing else is on it.
fn removal(directive: &Directive, text: &str) -> Edit {
    let start = text[..directive.range.start().to_usize()].trim_end_matches([' ', '\t']).len();
    let rest = &text[directive.range.end().to_usize()..];
    let stop = rest.find(['#', '\r', '\n']).unwrap_or(rest.len());
    let mut end = directive.range.end().to_usize() + stop;
    if text[end..].starts_with('#') {
        return Edit::delete(TextRange::new(directive.range.start(), offset(end)));
    }
    let own_line = start == 0 || text[..start].ends_with(['\r', '\n']);
    if own_line {
        let newline = &text[end..];
        end += if newline.starts_with("\r\n") { 2 } else { usize::from(!newline.is_empty()) };
    }
    Edit::delete(TextRange::new(offset(start), offset(end)))
}

/// Parsed texts are shorter than 4 GiB.
fn offset(index: usize) -> TextSize {
    TextSize::try_from(index).unwrap_or_default()
}

fn finding(
    code: &str,
    file: File,
    range: TextRange,
    message: String,
    fix: Option<Edit>,
    rules: &RuleTable,
) -> Option<Finding> {
    let rule = registry::find(code)?;
    Some(Finding {
        code: rule.code,
        name: rule.name,
        severity: rules.enabled(code)?,
        message,
        location: Location { file, range },
        labels: Vec::new(),
        why: Vec::new(),
        help: None,
        fix: fix.map(|edit| FindingFix {
            message: "Remove the unused suppression".to_owned(),
            applicability: Applicability::Safe,
            edits: vec![edit],
        }),
    })
}
