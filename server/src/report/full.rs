//! The source with the finding underlined, its why-chain, the help, and the fix as a diff.

use ag_db::diagnostic::{Applicability, Severity};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};
use ruff_text_size::{TextRange, TextSize};

use super::{Fix, Location, Report, Violation};

/// The number of lines shown before and after a finding and its labels.
const CONTEXT: usize = 2;
/// A snippet with more lines than this is folded: lines between its annotations are left out.
const MAX_UNFOLDED: usize = 10;
/// The maximum number of lines between a finding and a label in its snippet. Other labels become notes.
const NEAR: usize = 30;

pub(super) fn render(report: &Report) -> String {
    let renderer = Renderer::styled();
    report.violations.iter().map(|violation| format!("{}\n\n", renderer.render(&groups(violation)))).collect()
}

fn groups(violation: &Violation) -> Vec<Group<'_>> {
    let level = match violation.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let title = level.primary_title(violation.message.as_str()).id(violation.code);
    let location = &violation.location;
    let near = |related: &&super::RelatedMessage| {
        related.location.as_ref().is_some_and(|label| is_near(location, label))
    };
    let (labels, far): (Vec<_>, Vec<_>) = violation.labels.iter().partition(near);

    let mut group = if location.source.text().is_empty() {
        title.element(Origin::path(location.source.display_path.as_str()))
    } else {
        let label_places =
            labels.iter().filter_map(|label| Some((label.location.as_ref()?, label.message.as_str())));
        let labels: Vec<_> = label_places.collect();
        let covered = labels.iter().fold(location.range, |covered, (label, _)| covered.cover(label.range));
        let window = location.source.window(covered, CONTEXT);
        let primary = AnnotationKind::Primary.span(span(location, window));
        let others = labels.iter().map(|(label, message)| context(label, message, window));
        title.element(snippet(location, window).annotation(primary).annotations(others))
    };
    for related in far.into_iter().chain(&violation.why) {
        group = group.element(Level::NOTE.message(related.sentence()));
    }
    if let Some(help) = &violation.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut groups = vec![group];
    groups.extend(violation.fix.as_ref().and_then(patch));
    groups
}

fn is_near(location: &Location, label: &Location) -> bool {
    let distance = location.start().row.abs_diff(label.start().row);
    label.is_in(&location.source) && label.cell() == location.cell() && distance <= NEAR
}

fn context<'a>(label: &Location, message: &'a str, window: TextRange) -> Annotation<'a> {
    AnnotationKind::Context.span(span(label, window)).label(message)
}

fn snippet<'a, T: Clone>(location: &'a Location, window: TextRange) -> Snippet<'a, T> {
    let text = &location.source.text()[window];
    Snippet::source(text)
        .fold(text.lines().count() > MAX_UNFOLDED)
        .path(location.file())
        .line_start(location.source.position(window.start()).row)
}

/// Returns the range of a location within the window; an empty range points at the next character.
fn span(location: &Location, window: TextRange) -> std::ops::Range<usize> {
    let start = location.range.start().clamp(window.start(), window.end()) - window.start();
    let end = location.range.end().clamp(window.start(), window.end()) - window.start();
    start.to_usize()..end.to_usize()
}

fn patch(fix: &Fix) -> Option<Group<'_>> {
    let (first, _) = fix.edits.first()?;
    let note = match fix.applicability {
        Applicability::Safe => "",
        Applicability::Unsafe => " (applied with `--unsafe-fixes`)",
        Applicability::Display => " (needs your decision)",
    };
    let covered = fix.edits.iter().fold(first.range, |covered, (location, _)| covered.cover(location.range));
    // If an edit deletes a newline, the range ends on the next line, which is then shown too.
    let covered = TextRange::new(covered.start(), covered.end().min(TextSize::of(first.source.text())));
    // An insertion is shown with the lines around it, a replacement or deletion without these lines.
    let inserts = fix.edits.iter().all(|(location, _)| location.range.is_empty());
    let window = first.source.window(covered, usize::from(inserts));
    let patches = fix.edits.iter().map(|(location, text)| Patch::new(span(location, window), text.as_str()));
    let title = Level::HELP.secondary_title(format!("{}{note}", fix.message));
    Some(title.element(snippet(first, window).patches(patches)))
}
