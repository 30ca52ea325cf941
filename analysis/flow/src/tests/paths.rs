//! Property tests on small random programs: compares the analyses with an enumeration of all paths.
//!
//! The oracle does not use a graph. It interprets the syntax tree with both outcomes of each decision, and derives
//! the facts from the traces. Loops run for up to three iterations. Every step of a `try` runs with and without an
//! exception. A definition reaches a use if some trace has no other definition between them. A name is live at a step
//! if some trace reads it at this step or later, before binding it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::*;

const NAMES: [&str; 3] = ["x", "y", "z"];

/// A statement. Its line identifies it in the facts of the oracle and of the analyses.
#[derive(Debug)]
enum Step {
    /// `x = y`, or `del x` without a value.
    Assign {
        line: usize,
        target: usize,
        value: Option<usize>,
    },
    If {
        line: usize,
        test: usize,
        body: Vec<Step>,
        orelse: Vec<Step>,
    },
    While {
        line: usize,
        test: usize,
        endless: bool,
        body: Vec<Step>,
        orelse: Vec<Step>,
    },
    For {
        line: usize,
        iter: usize,
        target: usize,
        body: Vec<Step>,
        orelse: Vec<Step>,
    },
    Try {
        body: Vec<Step>,
        handler: Option<Vec<Step>>,
        orelse: Vec<Step>,
        finally: Vec<Step>,
    },
    Jump {
        line: usize,
        kind: Jump,
        value: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Jump {
    Return,
    Raise,
    Break,
    Continue,
}

/// A linear congruential generator. Every run generates the same programs.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn name(&mut self) -> usize {
        self.below(NAMES.len() as u64) as usize
    }
}

/// Generates a program as text and as a tree.
struct Generator {
    random: Random,
    source: String,
    line: usize,
    budget: usize,
    finally: bool,
}

impl Generator {
    fn write(&mut self, depth: usize, text: &str) -> usize {
        writeln!(self.source, "{}{text}", "    ".repeat(depth)).unwrap();
        self.line += 1;
        self.line
    }

    fn block(&mut self, depth: usize, in_loop: bool) -> Vec<Step> {
        let length = 1 + self.random.below(3);
        (0..length).map(|_| self.step(depth, in_loop)).collect()
    }

    /// Generates an optional block after `head`.
    fn clause(&mut self, depth: usize, head: &str, in_loop: bool) -> Vec<Step> {
        if self.random.below(3) > 0 {
            return Vec::new();
        }
        self.write(depth, head);
        self.block(depth + 1, in_loop)
    }

    fn step(&mut self, depth: usize, in_loop: bool) -> Step {
        self.budget = self.budget.saturating_sub(1);
        let (a, b) = (self.random.name(), self.random.name());
        let (x, y) = (NAMES[a], NAMES[b]);
        let compound = self.budget > 0 && depth < 5;
        match self.random.below(if compound { 12 } else { 6 }) {
            0..4 => {
                Step::Assign { line: self.write(depth, &format!("{x} = {y}")), target: a, value: Some(b) }
            }
            4 => Step::Assign { line: self.write(depth, &format!("del {x}")), target: a, value: None },
            5 => {
                let (kind, text) = match self.random.below(if in_loop { 4 } else { 2 }) {
                    0 => (Jump::Return, format!("return {x}")),
                    1 => (Jump::Raise, format!("raise {x}")),
                    2 => (Jump::Break, "break".to_owned()),
                    _ => (Jump::Continue, "continue".to_owned()),
                };
                Step::Jump { line: self.write(depth, &text), kind, value: a }
            }
            6..8 => {
                let line = self.write(depth, &format!("if {x}:"));
                let body = self.block(depth + 1, in_loop);
                Step::If { line, test: a, body, orelse: self.clause(depth, "else:", in_loop) }
            }
            8 => {
                let endless = self.random.below(4) == 0;
                let line = self
                    .write(depth, &if endless { "while True:".to_owned() } else { format!("while {x}:") });
                let body = self.block(depth + 1, true);
                Step::While { line, test: a, endless, body, orelse: self.clause(depth, "else:", in_loop) }
            }
            9 => {
                let line = self.write(depth, &format!("for {x} in {y}:"));
                let body = self.block(depth + 1, true);
                Step::For { line, iter: b, target: a, body, orelse: self.clause(depth, "else:", in_loop) }
            }
            _ => {
                self.write(depth, "try:");
                let body = self.block(depth + 1, in_loop);
                let finally = self.finally && self.random.below(2) == 0;
                let mut handler = None;
                let mut orelse = Vec::new();
                if !finally || self.random.below(2) == 0 {
                    self.write(depth, "except:");
                    handler = Some(self.block(depth + 1, in_loop));
                    orelse = self.clause(depth, "else:", in_loop);
                }
                let mut last = Vec::new();
                if finally {
                    self.write(depth, "finally:");
                    last = self.block(depth + 1, in_loop);
                }
                Step::Try { body, handler, orelse, finally: last }
            }
        }
    }
}

fn program(seed: u64, finally: bool) -> (String, Vec<Step>) {
    let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut generator = Generator { random, source: "def f(x):\n".to_owned(), line: 0, budget: 7, finally };
    let body = (0..3).map(|_| generator.step(1, false)).collect();
    (generator.source, body)
}

/// One step of a trace: an optional read, then an optional binding.
#[derive(Clone, Copy)]
struct Event {
    line: usize,
    read: Option<usize>,
    bound: Option<usize>,
    /// Whether an earlier step belongs to the same line: true for the `Next` and `Target` steps of a `for`.
    is_continuation: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Normal,
    Jumped(Jump),
    /// Aborted after too many iterations or decisions.
    Stopped,
}

/// One run, which takes the given decisions. If it needs more, they are `false` and are appended.
struct Run<'a> {
    decisions: &'a mut Vec<bool>,
    next: usize,
    trace: Vec<Event>,
    guarded: usize,
    /// Whether the run exceeded `MAX_DECISIONS`.
    truncated: bool,
}

const MAX_DECISIONS: usize = 30;
const MAX_PATHS: usize = 1_000;

impl Run<'_> {
    fn decide(&mut self) -> bool {
        if self.next == self.decisions.len() {
            self.decisions.push(false);
        }
        self.next += 1;
        self.decisions[self.next - 1]
    }

    /// Performs a step and returns whether it completed. In a `try`, a step may raise before or after it binds
    /// its name.
    fn perform(&mut self, event: Event) -> bool {
        if self.guarded == 0 || !self.decide() {
            self.trace.push(event);
            return true;
        }
        let binds = event.bound.is_some() && self.decide();
        self.trace.push(Event { bound: event.bound.filter(|_| binds), ..event });
        false
    }

    fn block(&mut self, steps: &[Step]) -> Outcome {
        for step in steps {
            let outcome = self.step(step);
            if outcome != Outcome::Normal {
                return outcome;
            }
        }
        Outcome::Normal
    }

    fn step(&mut self, step: &Step) -> Outcome {
        if self.next > MAX_DECISIONS {
            self.truncated = true;
            return Outcome::Stopped;
        }
        let raised = Outcome::Jumped(Jump::Raise);
        let reads = |line, name| Event { line, read: Some(name), bound: None, is_continuation: false };
        match *step {
            Step::Assign { line, target, value } => {
                let event = Event { line, read: value, bound: Some(target), is_continuation: false };
                if self.perform(event) { Outcome::Normal } else { raised }
            }
            Step::Jump { line, kind, value } => {
                let is_read = matches!(kind, Jump::Return | Jump::Raise);
                let event = Event {
                    line,
                    read: Some(value).filter(|_| is_read),
                    bound: None,
                    is_continuation: false,
                };
                if !is_read {
                    self.trace.push(event);
                } else if !self.perform(event) {
                    return raised;
                }
                Outcome::Jumped(kind)
            }
            Step::If { line, test, ref body, ref orelse } => {
                if !self.perform(reads(line, test)) {
                    return raised;
                }
                if self.decide() { self.block(body) } else { self.block(orelse) }
            }
            Step::While { line, test, endless, ref body, ref orelse } => {
                for _ in 0..4 {
                    let event = Event { read: Some(test).filter(|_| !endless), ..reads(line, test) };
                    if !self.perform(event) {
                        return raised;
                    }
                    if !endless && !self.decide() {
                        return self.block(orelse);
                    }
                    match self.block(body) {
                        Outcome::Normal | Outcome::Jumped(Jump::Continue) => {}
                        Outcome::Jumped(Jump::Break) => return Outcome::Normal,
                        outcome => return outcome,
                    }
                }
                Outcome::Stopped
            }
            Step::For { line, iter, target, ref body, ref orelse } => {
                if !self.perform(reads(line, iter)) {
                    return raised;
                }
                for _ in 0..4 {
                    let next = Event { line, read: None, bound: None, is_continuation: true };
                    if !self.perform(next) {
                        return raised;
                    }
                    if !self.decide() {
                        return self.block(orelse);
                    }
                    if !self.perform(Event { bound: Some(target), ..next }) {
                        return raised;
                    }
                    match self.block(body) {
                        Outcome::Normal | Outcome::Jumped(Jump::Continue) => {}
                        Outcome::Jumped(Jump::Break) => return Outcome::Normal,
                        outcome => return outcome,
                    }
                }
                Outcome::Stopped
            }
            Step::Try { ref body, ref handler, ref orelse, ref finally } => {
                let outer = usize::from(!finally.is_empty());
                let inner = outer + usize::from(handler.is_some());
                self.guarded += inner;
                let mut outcome = self.block(body);
                self.guarded -= inner;
                self.guarded += outer;
                match (outcome, handler) {
                    (Outcome::Normal, _) => outcome = self.block(orelse),
                    (Outcome::Jumped(Jump::Raise), Some(handler)) => outcome = self.block(handler),
                    _ => {}
                }
                self.guarded -= outer;
                if outcome == Outcome::Stopped {
                    return outcome;
                }
                match self.block(finally) {
                    Outcome::Normal => outcome,
                    other => other,
                }
            }
        }
    }
}

/// The facts at each line: reaching definitions as pairs of name and line (0 for the function entry), and
/// live names.
#[derive(Default)]
struct Facts {
    reaching: BTreeMap<usize, BTreeSet<(usize, usize)>>,
    live: BTreeMap<usize, BTreeSet<usize>>,
}

impl Facts {
    fn add_trace(&mut self, trace: &[Event]) {
        let mut last = [0; NAMES.len()];
        for event in trace {
            if !event.is_continuation {
                self.reaching.entry(event.line).or_default().extend(last.iter().copied().enumerate());
            }
            if let Some(name) = event.bound {
                last[name] = event.line;
            }
        }
        let mut live = BTreeSet::new();
        for event in trace.iter().rev() {
            if let Some(name) = event.bound {
                live.remove(&name);
            }
            live.extend(event.read);
            self.live.entry(event.line).or_default().extend(&live);
        }
    }
}

/// Returns the facts of all traces, and whether the enumeration stayed within `MAX_DECISIONS` and `MAX_PATHS`.
fn enumerate(steps: &[Step]) -> (Facts, bool) {
    let mut facts = Facts::default();
    let mut decisions = Vec::new();
    let mut complete = true;
    for _ in 0..MAX_PATHS {
        let mut run =
            Run { decisions: &mut decisions, next: 0, trace: Vec::new(), guarded: 0, truncated: false };
        run.block(steps);
        complete &= !run.truncated;
        let (taken, trace) = (run.next, run.trace);
        facts.add_trace(&trace);
        decisions.truncate(taken);
        while decisions.last() == Some(&true) {
            decisions.pop();
        }
        match decisions.last_mut() {
            Some(decision) => *decision = true,
            None => return (facts, complete),
        }
    }
    (facts, false)
}

fn line_of(source: &str, offset: TextSize) -> usize {
    source[..usize::from(offset)].matches('\n').count()
}

/// Returns the facts of the analyses: reaching definitions for the first step of each line, live names for
/// all of its steps.
fn analyze(source: &str, flow: &Flow) -> Facts {
    let mut facts = Facts::default();
    let line = |node: NodeId| line_of(source, flow.cfg.node(node).unwrap().range.start());
    for (node, step) in flow.cfg.nodes() {
        let own_text = step.stmt.is_some()
            && !matches!(
                step.kind,
                NodeKind::Join | NodeKind::Enter | NodeKind::Dispatch | NodeKind::Handler(_)
            );
        if !own_text || !flow.cfg.is_reachable(node) {
            continue;
        }
        for (index, name) in NAMES.iter().enumerate() {
            let name = QName::simple(*name);
            if flow.live_in(node).contains(&name) {
                facts.live.entry(line(node)).or_default().insert(index);
            }
            if matches!(step.kind, NodeKind::Next | NodeKind::Target) {
                continue;
            }
            let found = flow.definitions_at(node, &name);
            let found =
                found.iter().map(|def| (index, if def.node == Cfg::ENTRY { 0 } else { line(def.node) }));
            facts.reaching.entry(line(node)).or_default().extend(found);
        }
        facts.live.entry(line(node)).or_default();
    }
    facts
}

/// Asserts that the analyses agree with the enumeration for one program. Returns whether all paths were enumerated.
fn compare(seed: u64, finally: bool) -> bool {
    let (source, steps) = program(seed, finally);
    let parsed = parse(&source);
    assert!(parsed.errors().is_empty(), "{source}");
    let flow = Flow::build(function(&parsed));
    let found = analyze(&source, &flow);
    let (expected, complete) = enumerate(&steps);
    let known = |index: usize| flow.activity.names.id(&QName::simple(NAMES[index])).is_some();
    for (line, expected) in &expected.reaching {
        let found = found.reaching.get(line).cloned().unwrap_or_default();
        let expected: BTreeSet<_> = expected.iter().copied().filter(|(name, _)| known(*name)).collect();
        assert!(
            expected.is_subset(&found),
            "seed {seed}, line {line}: expected at least the definitions {expected:?}, found {found:?}\n{source}"
        );
        assert!(
            finally || !complete || found == expected,
            "seed {seed}, line {line}: expected the definitions {expected:?}, found {found:?}\n{source}"
        );
    }
    for (line, expected) in &expected.live {
        let found = found.live.get(line).cloned().unwrap_or_default();
        assert!(
            expected.is_subset(&found),
            "seed {seed}, line {line}: expected at least the live names {expected:?}, found {found:?}\n{source}"
        );
        assert!(
            finally || !complete || found == *expected,
            "seed {seed}, line {line}: expected the live names {expected:?}, found {found:?}\n{source}"
        );
    }
    complete
}

#[test]
fn the_analyses_are_exact_without_finally() {
    let complete = (0..150).filter(|&seed| compare(seed, false)).count();
    assert!(complete > 80, "the enumeration is complete for only {complete} programs");
}

#[test]
fn the_analyses_are_sound_with_finally() {
    let complete = (0..150).filter(|&seed| compare(seed, true)).count();
    assert!(complete > 80, "the enumeration is complete for only {complete} programs");
}
