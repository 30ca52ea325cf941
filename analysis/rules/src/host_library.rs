//! Functions of Python's standard library that need the values of their arguments. They reject tracers of JAX and symbolic
//! Tensors of TensorFlow (verified with jax 0.10.1 and tensorflow 2.21, Python 3.11).

use ruff_python_ast::{self as ast, Expr};

/// Which arguments a function needs.
#[derive(Clone, Copy)]
enum Needs {
    /// All arguments.
    Any,
    /// The positional arguments from a position on.
    From(usize),
    /// The elements of the first argument, if it is a display: `statistics.mean([x, y])`.
    Elements,
}

/// The functions, or prefixes of their names that end with `.` or `_`, and whether they are implemented in C. AutoGraph
/// converts the others, so they may accept Tensors there.
const FUNCTIONS: [(&str, Needs, bool); 32] = [
    ("array.array", Needs::Elements, true),
    ("bisect.", Needs::Any, true),
    ("calendar.", Needs::Any, false),
    ("cmath.", Needs::Any, true),
    ("colorsys.", Needs::Any, false),
    ("ctypes.c_", Needs::Any, true),
    ("datetime.date.fromtimestamp", Needs::Any, true),
    ("datetime.datetime.fromtimestamp", Needs::Any, true),
    ("datetime.timedelta", Needs::Any, true),
    ("decimal.Decimal", Needs::Any, true),
    ("fractions.Fraction", Needs::Any, false),
    ("hashlib.", Needs::Any, true),
    ("itertools.combinations", Needs::From(1), true),
    ("itertools.combinations_with_replacement", Needs::From(1), true),
    ("itertools.islice", Needs::From(1), true),
    ("itertools.permutations", Needs::From(1), true),
    ("itertools.repeat", Needs::From(1), true),
    ("math.dist", Needs::Elements, true),
    ("math.isclose", Needs::Any, true),
    ("operator.index", Needs::Any, true),
    ("operator.truth", Needs::Any, true),
    ("statistics.", Needs::Elements, false),
    ("struct.pack", Needs::From(1), true),
    ("textwrap.shorten", Needs::From(1), false),
    ("time.ctime", Needs::Any, true),
    ("time.gmtime", Needs::Any, true),
    ("time.localtime", Needs::Any, true),
    ("time.sleep", Needs::Any, true),
    ("uuid.UUID", Needs::Any, false),
    ("zlib.adler32", Needs::Any, true),
    ("zlib.compress", Needs::Any, true),
    ("zlib.crc32", Needs::Any, true),
];

/// Returns the argument that is a Tensor and whose value the function needs. `converts`: whether AutoGraph converts the
/// functions that are written in Python.
pub(crate) fn needed<'a>(
    call: &'a ast::ExprCall,
    name: &str,
    converts: bool,
    is_tensor: &dyn Fn(&Expr) -> bool,
) -> Option<&'a Expr> {
    let matches = |known: &str| match known.ends_with(['.', '_']) {
        true => name.starts_with(known),
        false => name == known,
    };
    let (_, needs, _) =
        FUNCTIONS.iter().find(|(known, _, native)| matches(known) && (*native || !converts))?;
    let arguments = &call.arguments;
    match needs {
        Needs::Any => arguments.iter_source_order().map(|it| it.value()).find(|value| is_tensor(value)),
        Needs::From(first) => arguments.args.iter().skip(*first).find(|value| is_tensor(value)),
        Needs::Elements => {
            let elements = arguments.args.iter().flat_map(|argument| match argument {
                Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => &**elts,
                _ => &[],
            });
            elements.into_iter().find(|value| is_tensor(value))
        }
    }
}
