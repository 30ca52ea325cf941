//! Class hierarchies and functions as values across files: Keras base classes of both Keras versions, imports, overriding
//! methods, decorators. Calls into the framework itself are not followed.

mod support;

use ag_db::diagnostic::Severity;
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_project::config::Settings;
use ag_staging::staged::StagedFunction;
use support::analyzed;

/// Returns the staged functions of a project with these files.
fn stages(files: &[(&str, &str)]) -> Vec<StagedFunction> {
    let engine = analyzed(files, Settings::default());
    engine.documents().into_iter().flat_map(|document| engine.stages(document)).collect()
}

/// Returns the codes and severities of the findings in a project with these files.
fn findings(files: &[(&str, &str)]) -> Vec<(&'static str, Severity)> {
    let engine = analyzed(files, Settings::default());
    let findings = engine.documents().into_iter().flat_map(|document| engine.findings(document));
    findings.map(|finding| (finding.code, finding.severity)).collect()
}

/// Returns the names of the staged functions, each with its root kind if it is a root.
fn staged(files: &[(&str, &str)]) -> Vec<(String, Option<RootKind>)> {
    let functions = stages(files).into_iter();
    functions.map(|function| (function.qualname.to_string(), function.stage.root)).collect()
}

fn converts(files: &[(&str, &str)], name: &str) -> bool {
    stages(files).iter().any(|function| function.qualname == name && function.stage.converts)
}

#[test]
fn an_indirect_subclass_of_a_keras_layer_is_a_keras_layer() {
    let base = "import tf_keras\n\nclass Base(tf_keras.layers.Layer):\n    pass\n";
    let package = "from .base import Base\n";
    let net = "\
from layers import Base

class Block(Base):
    def call(self, x):
        return x

class Plain:
    def call(self, x):
        return x
";
    let files = [("layers/base.py", base), ("layers/__init__.py", package), ("net.py", net)];
    assert_eq!(staged(&files), [("Block.call".to_owned(), Some(RootKind::KerasMethod))]);
}

/// `from module import *` imports classes, functions and frameworks, also through other modules.
#[test]
fn names_are_imported_by_star() {
    let common = "import jax\nimport tf_keras\n";
    let base = "from .common import *\n\nclass Base(tf_keras.layers.Layer):\n    pass\n\ndef double(x):\n    return 2 * x\n";
    let net = "\
from lib import *

class Block(Base):
    def call(self, x):
        return x

FUNCTIONS = {'double': double}

@jax.jit
def run(x):
    return FUNCTIONS['double'](x)
";
    let package = "from .base import *\n";
    let files =
        [("lib/common.py", common), ("lib/base.py", base), ("lib/__init__.py", package), ("net.py", net)];
    let mut names: Vec<_> = staged(&files).into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["Block.call", "double", "run"]);
}

/// Test modules import modules of their own folder without a package (`from helpers import Base`), even if `setup.py`
/// makes the root of the project an import root.
#[test]
fn a_module_has_a_name_for_every_import_root() {
    let helpers = "import tf_keras\n\nclass Base(tf_keras.layers.Layer):\n    pass\n";
    let layers = "from helpers import Base\n\nclass Block(Base):\n    def call(self, x):\n        return x\n";
    let tools =
        "from tests.helpers import Base\n\nclass Tool(Base):\n    def call(self, x):\n        return x\n";
    let files = [
        ("setup.py", "NAME = 'pkg'\n"),
        ("tests/helpers.py", helpers),
        ("tests/test_layers.py", layers),
        ("tools/run.py", tools),
    ];
    let expected = ["Block.call", "Tool.call"].map(|name| (name.to_owned(), Some(RootKind::KerasMethod)));
    assert_eq!(staged(&files), expected);
}

/// TorchScript code does not call functions that are values: `value.div_` is the method of Tensor, although a caller
/// also passes a `Timer`.
#[test]
fn torchscript_does_not_call_functions_that_are_values() {
    let script = "\
import torch

class Timer:
    def div_(self, scale):
        try:
            return scale
        finally:
            pass

class Block(torch.nn.Module):
    def forward(self, x):
        return x

def run(values: list, scale: int):
    return scaled(values, scale)

@torch.jit.script
def scaled(values: list[torch.Tensor], scale: int):
    for value in values:
        value.div_(scale)

run([Timer(), torch.ones(3)], 2)
scaled([Timer()], 2)
";
    let names: Vec<String> = staged(&[("scales.py", script)]).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["scaled"]);
}

#[test]
fn a_call_on_self_stages_overriding_methods_in_other_files() {
    let trainer = "\
import tensorflow as tf

class Trainer:
    @tf.function
    def train(self, x):
        return self.step(x)

    def step(self, x):
        raise NotImplementedError
";
    let scaled = "\
import trainer

class Scaled(trainer.Trainer):
    def step(self, x):
        return x * 2

    def report(self):
        return self
";
    let found = staged(&[("trainer.py", trainer), ("scaled.py", scaled)]);
    assert!(found.contains(&("Scaled.step".to_owned(), None)), "{found:?}");
    assert!(!found.iter().any(|(name, _)| name == "Scaled.report"), "{found:?}");
}

/// Since TensorFlow 2.16, `tf.keras` is Keras 3. A project that uses names that only Keras 2 has targets Keras 2.
#[test]
fn the_keras_version_is_inferred_from_the_project() {
    let layer = "\
import tensorflow as tf

class Gate(tf.keras.layers.Layer):
    def call(self, x):
        return x
";
    let training = "\
import tensorflow as tf

def optimizer():
    return tf.keras.optimizers.legacy.SGD()
";
    assert!(!converts(&[("layer.py", layer)], "Gate.call"));
    assert!(converts(&[("layer.py", layer), ("training.py", training)], "Gate.call"));
    let phase =
        "from tensorflow.keras import backend as K\n\ndef noisy(x):\n    return K.in_train_phase(x, x)\n";
    assert!(converts(&[("layer.py", layer), ("phase.py", phase)], "Gate.call"));
    let name = "from tensorflow.keras.backend import in_train_phase\n";
    assert!(converts(&[("layer.py", layer), ("phase.py", name)], "Gate.call"));
    let addons = "import tensorflow_addons as tfa\n";
    assert!(converts(&[("layer.py", layer), ("addons.py", addons)], "Gate.call"));
    let kept = "from tensorflow.keras import backend as K\n\ndef shown(x):\n    return K.int_shape(x)\n";
    assert!(!converts(&[("layer.py", layer), ("kept.py", kept)], "Gate.call"));
}

/// The requirements of the closest folder decide, unless the file itself needs another version.
#[test]
fn the_keras_version_is_read_from_the_requirements() {
    let layer = "\
import tensorflow as tf

class Gate(tf.keras.layers.Layer):
    def call(self, x):
        return x if tf.reduce_sum(x) > 0.0 else -x
";
    let converts =
        |files: &[(&str, &str)]| converts(&[&[("package/layer.py", layer)], files].concat(), "Gate.call");
    let project = "[project]\nname = 'package'\ndependencies = ['tensorflow<2.16']\n";
    assert!(!converts(&[]));
    assert!(converts(&[("pyproject.toml", project)]));
    assert!(converts(&[(
        "setup.py",
        "import setuptools\nsetuptools.setup(install_requires=['keras==2.*'])\n"
    )]));
    assert!(converts(&[("setup.cfg", "[options]\ninstall_requires =\n    tensorflow-cpu==2.10.1\n")]));
    assert!(converts(&[("requirements.txt", "tensorflow<2.16\n")]));
    assert!(!converts(&[("requirements.txt", "tensorflow>=2.4\n")]));
    assert!(!converts(&[
        ("requirements.txt", "tensorflow<2.16\n"),
        ("requirements-new.txt", "tensorflow>=2.16\n")
    ]));
    assert!(!converts(&[("pyproject.toml", project), ("package/requirements.txt", "keras>=3\n")]));
    let legacy = "import tensorflow as tf\n\ndef optimizer():\n    return tf.keras.optimizers.legacy.SGD()\n";
    assert!(converts(&[("package/optimizer.py", legacy)]));
    assert!(!converts(&[("package/optimizer.py", legacy), ("requirements.txt", "keras>=3\n")]));
}

/// All rules have the same answer to the question which version of Keras a file uses.
#[test]
fn findings_depend_on_the_required_keras_version() {
    let layer = "\
import tensorflow as tf

class Gate(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__(dynamic=False)

    def call(self, x):
        return x if tf.reduce_sum(x) > 0.0 else -x

inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, tf.math.abs(Gate()(tf.math.exp(inputs))))
";
    let required = |requirement| findings(&[("layer.py", layer), ("requirements.txt", requirement)]);
    let (call, layer, graph) = ("AG014", "AG417", "AG412");
    assert_eq!(required("tensorflow<2.16"), []);
    let either = required("tensorflow");
    assert_eq!(either, [(layer, Severity::Info), (call, Severity::Warning), (graph, Severity::Warning)]);
    let keras3 = required("tensorflow>=2.16");
    assert_eq!(keras3, [(layer, Severity::Warning), (call, Severity::Error), (graph, Severity::Warning)]);
}

#[test]
fn framework_functions_called_by_staged_code_are_not_staged() {
    let serialization = "def save(obj, file):\n    pass\n";
    let program = "\
import torch
from torch.serialization import save
from tools import double

@torch.jit.script
def keep(x: torch.Tensor, name: str):
    save(double(x), name)
";
    let files = [
        ("torch/__init__.py", ""),
        ("torch/serialization.py", serialization),
        ("tools.py", "def double(x):\n    return x * 2\n"),
        ("program.py", program),
    ];
    let mut names: Vec<_> = staged(&files).into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["double", "keep"]);
}

/// In a project of this size, the analysis limits exclude functions that are not staged, such as `over`. But `over` is
/// analyzed, because it binds an argument of the root with `partial`.
#[test]
fn arguments_of_partial_are_known_in_a_large_project() {
    let step = "\
import jax
from functools import partial

def over(names):
    def call(*args, names):
        return {name: args[0] for name in names}

    return partial(call, names=names)

step = over([\"a\", \"b\"])
step = jax.jit(step)
";
    let mut jitted = "import jax\n".to_owned();
    let mut callers = String::new();
    for function in 0..20 {
        jitted.push_str(&format!("\n@jax.jit\ndef run_{function}(x):\n    return x\n"));
        for caller in 0..20 {
            callers.push_str(&format!("\ndef call_{function}_{caller}(x):\n    return run_{function}(x)\n"));
        }
    }
    let others: Vec<String> = (0..70).map(|other| format!("a_{other}.py")).collect();
    let mut files: Vec<(&str, &str)> = others.iter().map(|name| (name.as_str(), "")).collect();
    let callers = format!("from b import *\n{callers}");
    files.extend([("b.py", jitted.as_str()), ("c.py", callers.as_str()), ("step.py", step)]);
    let functions = stages(&files);
    let call = functions.iter().find(|function| function.qualname == "over.call").expect("it is staged");
    let names = call.stage.parameters.iter().find(|parameter| parameter.name == "names");
    assert_ne!(names.expect("it is a parameter").source, Source::Assumption);
}

/// With many derived classes, a call on `self` is little evidence for each of them, but it may still call their methods.
#[test]
fn a_call_on_self_may_call_methods_of_many_derived_classes() {
    let mut text = "\
import jax

class Distribution:
    def mean(self, x):
        return self._mean(x)

    def _mean(self, x):
        raise NotImplementedError

class Normal(Distribution):
    def _mean(self, x):
        return x

@jax.jit
def run(x):
    return Distribution().mean(x)
"
    .to_owned();
    for class in 0..80 {
        text.push_str(&format!("\nclass Other{class}(Distribution):\n    pass\n"));
    }
    let names: Vec<_> = staged(&[("net.py", &text)]).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"Normal._mean".to_owned()), "{names:?}");
}

/// `fit` and calls in staged code trace a model. A call in eager code does not.
#[test]
fn a_model_that_only_eager_code_calls_may_not_be_traced() {
    let model = "\
import keras

class Net(keras.Model):
    def call(self, x):
        return self.scaled(x)

    def scaled(self, x):
        return x
";
    let calls = "from model import Net\n\nnet = Net()\nprint(net([1.0]))\n";
    let fits = "from model import Net\n\nnet = Net()\nnet.fit([1.0])\n";
    let stages_call = "\
import tensorflow as tf
from model import Net

net = Net()

@tf.function
def step(x):
    return net(x)
";
    let uncertain = |files: &[(&str, &str)]| {
        let functions = stages(files).into_iter().filter(|function| function.qualname.starts_with("Net."));
        functions.map(|function| function.stage.uncertain).collect::<Vec<_>>()
    };
    assert_eq!(uncertain(&[("model.py", model), ("main.py", calls)]), [true, true]);
    assert_eq!(uncertain(&[("model.py", model), ("main.py", fits)]), [false, false]);
    assert_eq!(uncertain(&[("model.py", model), ("main.py", stages_call)]), [false, false]);
    assert_eq!(uncertain(&[("model.py", model)]), [false, false]);
    let with = |lines: &str| uncertain(&[("model.py", model), ("main.py", &format!("{calls}{lines}"))]);
    let imports = "import numpy as np\nfrom sklearn import decomposition\nfrom sklearn.svm import SVC\n";
    let others =
        "np.save('x', [1])\npca = decomposition.PCA(n_components=2)\npca.fit([[1.0]])\nSVC().fit([], [])\n";
    assert_eq!(with(&format!("{imports}{others}")), [true, true]);
    assert_eq!(with(&format!("{imports}search = SVC(net)\nsearch.fit([], [])\n")), [false, false]);
    assert_eq!(with(&format!("{imports}{others}for pca in [net]:\n    pca.fit([])\n")), [false, false]);
    assert_eq!(with("def train(net):\n    net.fit([1.0])\n"), [false, false]);
    let own = "import tools\n\ntrainer = tools.Trainer()\ntrainer.fit([1.0])\n";
    let tools = "class Trainer:\n    def fit(self, x):\n        pass\n";
    let files = |main| [("model.py", model), ("main.py", main), ("tools.py", tools)];
    assert_eq!(uncertain(&files(&format!("{calls}{own}"))), [false, false]);
}

/// Returns the names of the staged functions, sorted.
fn names(files: &[(&str, &str)]) -> Vec<String> {
    let mut names: Vec<String> = staged(files).into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

/// A package that contains a module `numpy` gets another module of this name by `from .a import *`.
#[test]
fn a_package_binds_the_name_of_its_submodule() {
    let backend = "\
from pkg.config import name

if name() == 'a':
    from pkg.backend.a import *
else:
    from pkg.backend.numpy import *
";
    let main = "\
import jax
from pkg import backend

@jax.jit
def step(x):
    return backend.numpy.total(x)
";
    let files = [
        ("pkg/__init__.py", ""),
        ("pkg/config.py", "def name():\n    return 'a'\n"),
        ("pkg/backend/__init__.py", backend),
        ("pkg/backend/a/__init__.py", "from pkg.backend.a import numpy\n"),
        ("pkg/backend/a/numpy.py", "def total(x):\n    return in_a(x)\n\ndef in_a(x):\n    return x\n"),
        ("pkg/backend/numpy/__init__.py", "from pkg.backend.numpy import numpy\n"),
        (
            "pkg/backend/numpy/numpy.py",
            "def total(x):\n    return in_numpy(x)\n\ndef in_numpy(x):\n    return x\n",
        ),
        ("pkg/main.py", main),
    ];
    let found = names(&files);
    assert!(found.contains(&"in_a".to_owned()), "{found:?}");
    assert!(found.contains(&"in_numpy".to_owned()), "{found:?}");
}

#[test]
fn branches_import_a_name_from_several_modules() {
    let main = "\
import jax
from config import NAME

if NAME == 'a':
    from a import linear
elif NAME == 'b':
    from b import linear
else:
    from c import linear

@jax.jit
def step(x):
    return linear(x)
";
    let module =
        |name: &str| format!("def linear(x):\n    return in_{name}(x)\n\ndef in_{name}(x):\n    return x\n");
    let (a, b, c) = (module("a"), module("b"), module("c"));
    let files = [("main.py", main), ("config.py", "NAME = 'a'\n"), ("a.py", &a), ("b.py", &b), ("c.py", &c)];
    let found = names(&files);
    for name in ["in_a", "in_b", "in_c"] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
}

/// A number of overriding methods or decorated functions that exceeds the number of values that a variable holds.
const MANY: usize = 90;

#[test]
fn all_methods_that_override_a_method_are_reached() {
    let mut text = "\
import jax

class Base:
    @jax.jit
    def mean(self, x):
        return getattr(self, '_mean')(x)

    @classmethod
    def make(cls, x):
        return getattr(cls, '_scale')(x)

@jax.jit
def run(x):
    return Base.make(x)
"
    .to_owned();
    for at in 0..MANY {
        text += &format!(
            "\nclass Derived{at}(Base):\n    def _mean(self, x):\n        return x\n\n    @classmethod\n    def _scale(cls, x):\n        return x\n"
        );
    }
    let found = names(&[("main.py", &text)]);
    let count = |name: &str| found.iter().filter(|own| own.ends_with(name)).count();
    assert_eq!((count("._mean"), count("._scale")), (MANY, MANY), "{found:?}");
}

#[test]
fn decorators_of_many_functions_keep_them_apart() {
    let registry = "\
import functools

class export:
    def __init__(self, name):
        self.name = name

    def __call__(self, symbol):
        self.symbol = symbol
        return symbol

def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper
";
    let mut operations = "from registry import export, logged\n".to_owned();
    for at in 0..MANY {
        operations += &format!("\n@export('o{at}')\ndef exported{at}(x):\n    return x\n");
        operations += &format!("\n@logged\ndef logged{at}(x):\n    return x\n");
    }
    let last = MANY - 1;
    let main = format!(
        "import jax\nimport operations\n\n@jax.jit\ndef step(x):\n    return operations.exported{last}(operations.logged{last}(x))\n"
    );
    let found = names(&[("registry.py", registry), ("operations.py", &operations), ("main.py", &main)]);
    assert!(found.contains(&format!("exported{last}")), "{found:?}");
    assert!(found.contains(&format!("logged{last}")), "{found:?}");
    assert_eq!(found.iter().filter(|name| name.starts_with("exported")).count(), 1, "{found:?}");
}

/// The project may contain only a part of a package.
#[test]
fn a_module_that_is_not_in_the_project_is_a_library() {
    let main = "\
import jax
from pkg.backend import ops

@jax.jit
def step(x):
    def above(x):
        return x > 0

    def halve(x):
        return x / 2

    return ops.while_loop(above, halve, x)
";
    let found = names(&[("pkg/__init__.py", ""), ("main.py", main)]);
    assert_eq!(found, ["step", "step.above", "step.halve"]);
}

/// `__getattr__` looks names up in a module.
#[test]
fn attributes_are_forwarded_to_another_object() {
    let main = "\
import jax
import operations

class Backend:
    def __getattr__(self, name):
        return getattr(operations, name)

class Layer:
    def __init__(self):
        self.backend = Backend()

    @jax.jit
    def run(self, x):
        return self.backend.double(x)
";
    let operations = "def double(x):\n    return 2 * x\n\ndef unused(x):\n    return x\n";
    let found = names(&[("main.py", main), ("operations.py", operations)]);
    assert_eq!(found, ["Backend.__getattr__", "Layer.run", "double"]);
}

/// Nothing is known about the object, but few classes have a method of this name.
#[test]
fn a_method_name_of_few_classes_identifies_them() {
    let main = "\
import jax

class Tracker:
    def flatten_end(self, x):
        return x

class Other:
    def reshape(self, x):
        return x

@jax.jit
def run(context, x):
    for current in context:
        x = current.flatten_end(x)
    return x.reshape(3)
";
    assert_eq!(names(&[("main.py", main)]), ["Tracker.flatten_end", "run"]);
}
