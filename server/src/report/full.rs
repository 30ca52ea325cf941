//! The source with the finding underlined, its why-chain, the help, and the fix as a diff.

use ag_db::diagnostic::{Applicability, Severity};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};
use ruff_text_size::{TextRange, TextSize};

use super::{Fix, Place, Report, Violation};

/// Lines shown around a finding.
const CONTEXT: usize = 2;
/// In a longer snippet, the lines between the annotations are folded.
const MAX_UNFOLDED: usize = 10;
/// A label that is more lines away becomes a note instead of an annotation in the snippet.
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
    let place = &violation.place;
    let near = |remark: &&super::Remark| remark.place.as_ref().is_some_and(|label| is_near(place, label));
    let (labels, far): (Vec<_>, Vec<_>) = violation.labels.iter().partition(near);

    let mut group = if place.source.text().is_empty() {
        title.element(Origin::path(place.source.shown.as_str()))
    } else {
        let label_places =
            labels.iter().filter_map(|label| Some((label.place.as_ref()?, label.message.as_str())));
        let labels: Vec<_> = label_places.collect();
        let covered = labels.iter().fold(place.range, |covered, (label, _)| covered.cover(label.range));
        let window = place.source.window(covered, CONTEXT);
        let primary = AnnotationKind::Primary.span(span(place, window));
        let others = labels.iter().map(|(label, message)| context(label, message, window));
        title.element(snippet(place, window).annotation(primary).annotations(others))
    };
    for remark in far.into_iter().chain(&violation.why) {
        group = group.element(Level::NOTE.message(remark.sentence()));
    }
    if let Some(help) = &violation.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut groups = vec![group];
    groups.extend(violation.fix.as_ref().and_then(patch));
    groups
}

fn is_near(place: &Place, label: &Place) -> bool {
    let distance = place.start().row.abs_diff(label.start().row);
    label.is_in(&place.source) && label.cell() == place.cell() && distance <= NEAR
}

fn context<'a>(label: &Place, message: &'a str, window: TextRange) -> Annotation<'a> {
    AnnotationKind::Context.span(span(label, window)).label(message)
}

fn snippet<'a, T: Clone>(place: &'a Place, window: TextRange) -> Snippet<'a, T> {
    let text = &place.source.text()[window];
    Snippet::source(text)
        .fold(text.lines().count() > MAX_UNFOLDED)
        .path(place.file())
        .line_start(place.source.position(window.start()).row)
}

/// The range of a place within the window; an empty range points at the next character.
fn span(place: &Place, window: TextRange) -> std::ops::Range<usize> {
    let start = place.range.start().clamp(window.start(), window.end()) - window.start();
    let end = place.range.end().clamp(window.start(), window.end()) - window.start();
    start.to_usize()..end.to_usize()
}

fn patch(fix: &Fix) -> Option<Group<'_>> {
    let (first, _) = fix.edits.first()?;
    let note = match fix.applicability {
        Applicability::Safe => "",
        Applicability::Unsafe => " (applied with `--unsafe-fixes`)",
        Applicability::Display => " (needs your decision)",
    };
    let covered = fix.edits.iter().fold(first.range, |covered, (place, _)| covered.cover(place.range));
    // The deletion of a newline joins the next line.
    let covered = TextRange::new(covered.start(), covered.end().min(TextSize::of(first.source.text())));
    // An insertion is shown with the lines around it, a replacement or deletion without.
    let inserts = fix.edits.iter().all(|(place, _)| place.range.is_empty());
    let window = first.source.window(covered, usize::from(inserts));
    let patches = fix.edits.iter().map(|(place, text)| Patch::new(span(place, window), text.as_str()));
    let title = Level::HELP.secondary_title(format!("{}{note}", fix.message));
    Some(title.element(snippet(first, window).patches(patches)))
}
