//! Programs for torch in several files: the evaluation of `main.py` finds what torch rejects in the files that it
//! imports.

mod support;

use ag_db::diagnostic::Severity;
use ag_project::config::Settings;
use support::analyzed;

const SERVER: &str = "\
import torch

class Server:
    def __init__(self, strategy):
        self.aggregate = torch.compile(strategy.aggregate, fullgraph=True)

    def round(self, updates):
        return self.aggregate(updates)
";

const REGISTRY: &str = "\
STRATEGIES = {}

def register(name):
    def decorate(cls):
        STRATEGIES[name] = cls
        return cls

    return decorate
";

const STRATEGIES: &str = "\
import torch
from registry import register

@register('mean')
class Mean:
    def weight(self, update):
        return 1.0

    def aggregate(self, updates):
        return sum(self.weight(update) * update for update in updates)

@register('robust')
class Robust(Mean):
    def weight(self, update):
        norm = update.norm()
        return 1.0 if norm < 2.0 else 2.0 / norm
";

/// Returns the codes and severities of the findings in a project whose program uses a strategy with this name.
fn findings(strategy: &str) -> Vec<(&'static str, Severity)> {
    let main = format!(
        "\
import torch
import strategies
from registry import STRATEGIES
from server import Server

def main():
    server = Server(STRATEGIES['{strategy}']())
    server.round([torch.randn(3) for _ in range(2)])

if __name__ == '__main__':
    main()
"
    );
    let files = [
        ("main.py", main.as_str()),
        ("registry.py", REGISTRY),
        ("server.py", SERVER),
        ("strategies.py", STRATEGIES),
    ];
    let engine = analyzed(&files, Settings::default());
    let findings = engine.documents().into_iter().flat_map(|document| engine.findings(document));
    findings.map(|finding| (finding.code, finding.severity)).collect()
}

#[test]
fn a_decision_in_the_strategy_of_the_program_is_certain() {
    assert_eq!(findings("robust"), [("AG511", Severity::Error)]);
}

#[test]
fn a_decision_in_another_strategy_is_not_certain() {
    assert!(findings("mean").iter().all(|(_, severity)| *severity == Severity::Info));
}
