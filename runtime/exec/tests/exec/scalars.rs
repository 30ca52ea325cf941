//! Scalars have Python semantics. The expected results were computed by CPython.

use super::{run, shown};

#[test]
fn arithmetic_has_python_semantics() {
    for (expression, wanted) in [
        ("int = scalar.floordiv(-7, 2)", "-4"),
        ("int = scalar.floordiv(7, -2)", "-4"),
        ("int = scalar.floordiv(-7, -2)", "3"),
        ("int = scalar.mod(-7, 2)", "1"),
        ("int = scalar.mod(7, -2)", "-1"),
        ("int = scalar.mod(-9223372036854775808, -1)", "0"),
        ("float = scalar.floordiv(-7.5, 2)", "-4.0"),
        ("float = scalar.mod(-7.5, 2)", "0.5"),
        ("float = scalar.mod(5.0, -3.0)", "-1.0"),
        ("float = scalar.truediv(7, 2)", "3.5"),
        ("float = scalar.add(1, 0.5)", "1.5"),
        ("float = scalar.mul(true, 2.5)", "2.5"),
        ("int = scalar.add(true, true)", "2"),
        ("int = scalar.neg(true)", "-1"),
        ("int = scalar.pow(-3, 3)", "-27"),
        ("float = scalar.pow(2, -1)", "0.5"),
        ("float = scalar.pow(2.0, 0.5)", "1.4142135623730951"),
        ("int = scalar.abs(-3)", "3"),
        ("int = scalar.min(3, -2)", "-2"),
        ("float = scalar.max(1.5, 1)", "1.5"),
        ("bool = scalar.lt(1, 1.5)", "True"),
        ("bool = scalar.eq(nan, nan)", "False"),
        ("bool = scalar.ne(nan, nan)", "True"),
        ("bool = scalar.and(true, false)", "False"),
        ("int = scalar.or(0, 5)", "5"),
        ("bool = scalar.not(0.0)", "True"),
        ("int = scalar.int(-2.9)", "-2"),
        ("int = scalar.round(2.5)", "2"),
        ("int = scalar.round(3.5)", "4"),
        ("int = scalar.floor(-0.5)", "-1"),
        ("int = scalar.ceil(-0.5)", "0"),
        ("float = scalar.float(3)", "3.0"),
        ("bool = scalar.bool(0.0)", "False"),
        ("float = scalar.exp(0)", "1.0"),
        ("float = scalar.log(1)", "0.0"),
        ("int = scalar.select(true, 1, 2)", "1"),
        ("float = scalar.select(false, 1, 2.5)", "2.5"),
    ] {
        let (ty, _) = expression.split_once(' ').unwrap();
        let program = format!("func @main() -> ({ty}) {{\n  %0: {expression}\n  return %0\n}}");
        assert_eq!(shown(&program, vec![]), wanted, "{expression}");
    }
}

#[test]
fn arithmetic_errors_are_those_of_python() {
    for (expression, class, message) in [
        ("int = scalar.floordiv(1, 0)", "ZeroDivisionError", "integer division or modulo by zero"),
        ("int = scalar.mod(1, 0)", "ZeroDivisionError", "integer modulo by zero"),
        ("float = scalar.truediv(1, 0)", "ZeroDivisionError", "division by zero"),
        ("float = scalar.pow(0.0, -1)", "ZeroDivisionError", "zero to a negative power"),
        ("int = scalar.add(9223372036854775807, 1)", "OverflowError", "does not fit in 64 bits"),
        ("int = scalar.floordiv(-9223372036854775808, -1)", "OverflowError", "does not fit in 64 bits"),
        ("int = scalar.neg(-9223372036854775808)", "OverflowError", "does not fit in 64 bits"),
        ("int = scalar.pow(10, 30)", "OverflowError", "does not fit in 64 bits"),
        ("float = scalar.exp(1000)", "OverflowError", "math range error"),
        ("int = scalar.int(nan)", "ValueError", "cannot convert float NaN to integer"),
        ("int = scalar.int(inf)", "OverflowError", "cannot convert float infinity to integer"),
        ("float = scalar.sqrt(-1)", "ValueError", "math domain error"),
        ("float = scalar.log(0)", "ValueError", "math domain error"),
    ] {
        let program = format!("func @main() -> () {{\n  %0: {expression}\n  return\n}}");
        let error = run(&program, vec![]).unwrap_err();
        assert_eq!(error.fault.class(), class, "{expression}");
        assert!(error.fault.to_string().contains(message), "{expression}: {error}");
    }
}
