//! Faults that show only when functions and classes of several modules are evaluated together.

mod support;

use ag_project::config::Settings;
use support::analyzed;

/// Returns the codes of the findings in a project with these files.
fn findings(files: &[(&str, &str)]) -> Vec<&'static str> {
    let engine = analyzed(files, Settings::default());
    let findings = engine.documents().into_iter().flat_map(|document| engine.findings(document));
    findings.map(|finding| finding.code).collect()
}

/// A module with the state of a loop. An iteration adds `change` to the count.
fn state(change: &str) -> String {
    let text = "\
from typing import NamedTuple

import jax.numpy as jnp


class State(NamedTuple):
    total: object
    count: object


def start(x):
    return State(jnp.zeros_like(x), count=jnp.zeros((), jnp.int32))


def advance(state, x):
    count = state.count + $change
    return State(state.total + x, count)
";
    text.replace("$change", change)
}

const SCAN: &str = "\
import jax
from parts import advance, start

@jax.jit
def total(xs):
    def body(state, x):
        state = advance(state, x)
        return state, state.total

    return jax.lax.scan(body, start(xs[0]), xs)
";

#[test]
fn a_carry_changes_its_dtype_in_another_module() {
    let package = ("parts/__init__.py", "from state import advance, start\n");
    let found = |change: &str| {
        let state = state(change);
        findings(&[("state.py", state.as_str()), package, ("main.py", SCAN)])
    };
    assert_eq!(found("jnp.mean(x)"), ["AG544"]);
    assert_eq!(found("0.5"), ["AG544"]);
    assert_eq!(found("1"), [""; 0]);
    assert_eq!(found("jnp.int32(x > 0)"), [""; 0]);
}

#[test]
fn branches_of_another_module_return_different_trees() {
    let branches = "\
def keep(state, x):
    return {'x': x, 'count': state['count']}

def drop(state, x):
    return {'x': x}

def again(state, x):
    return {'count': state['count'] + 1, 'x': -x}
";
    let main = |branch: &str| {
        format!(
            "import jax\nimport branches\n\n@jax.jit\ndef step(state, x):\n    return jax.lax.cond(x > 0, branches.keep, branches.{branch}, state, x)\n"
        )
    };
    assert_eq!(findings(&[("branches.py", branches), ("main.py", &main("drop"))]), ["AG544"]);
    assert_eq!(findings(&[("branches.py", branches), ("main.py", &main("again"))]), [""; 0]);
}

#[test]
fn an_array_in_a_dataclass_grows_in_another_module() {
    let text = "\
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclass
class Text:
    tokens: jax.Array
    done: jax.Array


def extend(text, token):
    return replace(text, tokens=jnp.concatenate([text.tokens, token[None]]))


def overwrite(text, token):
    return replace(text, tokens=text.tokens.at[0].set(token), done=token == 0)
";
    let main = |function: &str| {
        format!(
            "import jax\nimport jax.numpy as jnp\nfrom text import Text, {function} as change\n\n@jax.jit\ndef decode(tokens):\n    text = Text(tokens, jnp.array(False))\n    return jax.lax.while_loop(lambda t: ~t.done, lambda t: change(t, t.tokens[0]), text)\n"
        )
    };
    assert_eq!(findings(&[("text.py", text), ("main.py", &main("extend"))]), ["AG544"]);
    assert_eq!(findings(&[("text.py", text), ("main.py", &main("overwrite"))]), [""; 0]);
}

/// The class of an object decides which method a call reaches.
#[test]
fn methods_of_an_object_of_another_module_are_evaluated() {
    let rules = "\
class Rule:
    def __init__(self, rate):
        self.rate = rate

    def advance(self, x):
        raise NotImplementedError

    def __call__(self, x, y):
        return self.advance(x), y

class Decay(Rule):
    def advance(self, x):
        return x * self.rate

class Count(Rule):
    def advance(self, x):
        return x + 1
";
    let main = |class: &str| {
        format!(
            "import jax\nimport jax.numpy as jnp\nfrom rules import {class}\n\nrule = {class}(0.5)\n\n@jax.jit\ndef run(xs):\n    return jax.lax.scan(rule, jnp.int32(0), xs)\n"
        )
    };
    assert_eq!(findings(&[("rules.py", rules), ("main.py", &main("Decay"))]), ["AG544"]);
    assert_eq!(findings(&[("rules.py", rules), ("main.py", &main("Count"))]), [""; 0]);
}

/// Names that another module binds twice, or that are not in the project, are unknown.
#[test]
fn unknown_names_of_other_modules_are_not_evaluated() {
    let parts = "\
import os

if os.environ.get('FAST'):
    def step(carry, x):
        return carry + 0.5, x
else:
    def step(carry, x):
        return carry + 1, x
";
    let main = "\
import jax
import jax.numpy as jnp
from parts import step
from stubs import constant
from elsewhere import other

@jax.jit
def run(xs):
    carry, _ = jax.lax.scan(step, jnp.int32(0), xs)
    return jax.lax.scan(other, carry, xs), jax.lax.scan(constant, carry, xs)
";
    let stubs = "def constant(carry, x): ...\n";
    assert_eq!(findings(&[("parts.py", parts), ("stubs.py", stubs), ("main.py", main)]), [""; 0]);
}

#[test]
fn a_loss_of_another_module_is_no_scalar() {
    let losses = |axis: &str| {
        format!(
            "import jax.numpy as jnp\n\n\ndef kl(mean):\n    return jnp.sum(1 - mean**2, axis={axis})\n\n\ndef elbo(decoded, x, mean):\n    return jnp.sum((decoded - x) ** 2, axis={axis}) + kl(mean)\n"
        )
    };
    let main = "\
import jax
import jax.numpy as jnp
from losses import elbo

def loss(params, x):
    mean = jnp.tanh(x @ params['encoder'])
    return elbo(mean @ params['decoder'], x, mean)

params = {'encoder': jnp.ones((6, 2)), 'decoder': jnp.ones((2, 6))}
print(jax.grad(loss)(params, jnp.ones((4, 6))))
";
    assert_eq!(findings(&[("losses.py", &losses("-1")), ("main.py", main)]), ["AG547"]);
    assert_eq!(findings(&[("losses.py", &losses("None")), ("main.py", main)]), [""; 0]);
}

#[test]
fn decorators_of_another_module_keep_the_type_of_a_function() {
    let marks = "\
NAMES = []

def public(function):
    NAMES.append(function.__name__)
    return function

def since(version):
    def mark(function):
        function.__since__ = version
        return function
    return mark

def constant(function):
    def inner(*args):
        function(*args)
        return 1.0
    return inner
";
    let main = |decorator: &str| {
        format!(
            "\
import torch
import marks
from marks import public

@{decorator}
def margin(x):
    return x * 2

@torch.compile
def step(x):
    return x if margin(x).sum() > 0 else -x
"
        )
    };
    let found = |decorator: &str| findings(&[("marks.py", marks), ("main.py", &main(decorator))]);
    assert_eq!(found("public"), ["AG511"]);
    assert_eq!(found("marks.since('1.2')"), ["AG511"]);
    assert_eq!(found("marks.constant"), [""; 0]);
}
