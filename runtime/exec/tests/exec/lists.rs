//! Lists are values with Python semantics, and are modified in place when they have one owner.

use super::{run, shown};
use ag_exec::Value;

fn list(operations: &str) -> String {
    shown(
        &format!(
            "func @main(%0: list[int] = argument \"l\") -> (list[int], list[int]) {{\n{operations}\n  return %0, %1\n}}"
        ),
        vec![Value::list((1..=5).map(Value::Int).collect())],
    )
}

#[test]
fn list_operations_do_not_modify_their_operand() {
    let kept = "[1, 2, 3, 4, 5]";
    for (operation, wanted) in [
        ("list.append(%0, 6)", "[1, 2, 3, 4, 5, 6]"),
        ("list.set(%0, -1, 9)", "[1, 2, 3, 4, 9]"),
        ("list.insert(%0, -1, 9)", "[1, 2, 3, 4, 9, 5]"),
        ("list.insert(%0, 100, 9)", "[1, 2, 3, 4, 5, 9]"),
        ("list.insert(%0, -100, 9)", "[9, 1, 2, 3, 4, 5]"),
        ("list.concat(%0, %0)", "[1, 2, 3, 4, 5, 1, 2, 3, 4, 5]"),
        ("list.slice(%0, 1, -1, none)", "[2, 3, 4]"),
        ("list.slice(%0, none, none, -2)", "[5, 3, 1]"),
        ("list.slice(%0, -2, none, none)", "[4, 5]"),
        ("list.slice(%0, 3, 1, -1)", "[4, 3]"),
        ("list.slice(%0, 9, 12, none)", "[]"),
        ("list.filled(3, 7)", "[7, 7, 7]"),
        ("list.filled(-3, 7)", "[]"),
        ("list.new(4, 2)", "[4, 2]"),
    ] {
        assert_eq!(
            list(&format!("  %1: list[int] = {operation}")),
            format!("{kept}, {wanted}"),
            "{operation}"
        );
    }
}

#[test]
fn get_and_pop() {
    let program = r#"
func @main(%l.0: list[int] = argument "l") -> (int, int, int, list[int]) {
  %1: int = list.get(%l.0, -2)
  %2: int = list.len(%l.0)
  %3: list[int], %4: int = list.pop(%l.0, 1)
  return %1, %2, %4, %3
}"#;
    let numbers = Value::list((1..=5).map(Value::Int).collect());
    assert_eq!(shown(program, vec![numbers]), "4, 5, 2, [1, 3, 4, 5]");
}

#[test]
fn an_index_out_of_range_raises_as_in_python() {
    for (operation, class, message) in [
        ("%1: int = list.get(%l.0, 5)", "IndexError", "list index out of range"),
        ("%1: int = list.get(%l.0, -6)", "IndexError", "list index out of range"),
        ("%1: list[int] = list.set(%l.0, 5, 0)", "IndexError", "list assignment index out of range"),
        ("%1: list[int], %2: int = list.pop(%l.0, 7)", "IndexError", "pop index out of range"),
        ("%1: list[int] = list.slice(%l.0, none, none, 0)", "ValueError", "slice step cannot be zero"),
        ("%1: list[int] = list.filled(9223372036854775807, 0)", "ValueError", "is too long"),
    ] {
        let program =
            format!("func @main(%l.0: list[int] = argument \"l\") -> () {{\n  {operation}\n  return\n}}");
        let error = run(&program, vec![Value::list((1..=5).map(Value::Int).collect())]).unwrap_err();
        assert_eq!(error.fault.class(), class, "{operation}");
        assert!(error.fault.to_string().contains(message), "{operation}: {error}");
    }
}

/// Copying the list for each of the 100,000 appends would take 10^10 moves.
#[test]
fn appending_in_a_loop_is_linear() {
    let program = r#"
func @main(%n.0: int = argument "n") -> (int, int) {
  %1: list[int] = list.new()
  %2: list[int] = for(0, %n.0, 1, %1)
    body(%i.3: int, %4: list[int]) {
      %5: int = scalar.mod(%i.3, 3)
      %6: bool = scalar.eq(%5, 0)
      %7: list[int] = if(%6)
        then() {
          %8: list[int] = list.append(%4, %i.3)
          yield %8
        }
        else() {
          %9: list[int] = list.append(%4, 0)
          yield %9
        }
      yield %7
    }
  %10: int = list.len(%2)
  %11: int = list.get(%2, 99999)
  return %10, %11
}"#;
    assert_eq!(shown(program, vec![Value::Int(100_000)]), "100000, 99999");
}

#[test]
fn tuples_and_lists_of_lists() {
    let program = r#"
func @main(%n.0: int = argument "n") -> (tuple[int, str], str, list[list[int]]) {
  %1: tuple[int, str] = tuple.new(%n.0, "name")
  %2: str = tuple.get 1(%1)
  %3: list[list[int]] = list.new([1, %n.0], [%n.0])
  return %1, %2, %3
}"#;
    assert_eq!(shown(program, vec![Value::Int(7)]), "(7, 'name'), name, [[1, 7], [7]]");
}
