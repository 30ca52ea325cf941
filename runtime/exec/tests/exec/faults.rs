//! Failing runs: the exception class, one line of message, and the source location.

use std::cell::RefCell;
use std::rc::Rc;

use super::{plan, run, tensor};
use ag_exec::{Fault, Host, Plan, StandaloneHost, Value};
use ag_graph::ir::text::parse;

#[test]
fn operator_error_names_the_source_line() {
    let program = r#"
func @main(%x.0: f32[*] = argument "x", %y.1: f32[*] = argument "y") -> (f32[*]) {
  %2: f32[*] = call @inner(%x.0, %y.1) at 0:9:11-9:22
  return %2
}
func @inner(%x.0: f32[*], %y.1: f32[*]) -> (f32[*]) {
  %2: f32[*] = aten.mm.default(%x.0, %y.1) at 0:4:8-4:13
  return %2
}"#;
    let ones = |shape: [i64; 2]| Value::from(tch::Tensor::ones(shape, (tch::Kind::Float, tch::Device::Cpu)));
    let error = run(program, vec![ones([2, 3]), ones([2, 3])]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)\n  \
         model.py:4:9: aten.mm.default in @inner\n  \
         model.py:9:12: call @inner in @main"
    );
    assert_eq!(error.trace.len(), 2);
}

#[test]
fn dispatcher_errors_have_python_classes() {
    let program = r#"
func @main(%x.0: f32[*] = argument "x", %i.1: i64[*] = argument "i") -> (f32[*]) {
  %2: f32[*] = aten.index.Tensor(%x.0, [%i.1])
  return %2
}"#;
    let error =
        run(program, vec![tensor(&[1.0, 2.0]), tch::Tensor::from_slice(&[5_i64]).into()]).unwrap_err();
    assert_eq!(error.fault.class(), "IndexError");
    assert_eq!(error.fault.to_string(), "index 5 is out of bounds for dimension 0 with size 2");
}

#[test]
fn mismatched_inputs_are_rejected() {
    let program = r#"
func @main(%x.0: f32[?,3] = argument "x") -> (f32[?,3]) {
  return %x.0
}"#;
    let message = |value: Value| run(program, vec![value]).unwrap_err().to_string();
    let of = |shape: &[i64], kind| Value::from(tch::Tensor::ones(shape, (kind, tch::Device::Cpu)));
    assert_eq!(message(of(&[2, 3], tch::Kind::Double)), "TypeError: `x` is float64, expected float32");
    assert_eq!(
        message(of(&[2, 4], tch::Kind::Float)),
        "TypeError: `x` has shape [2, 4], which does not match f32[?,3]"
    );
    assert_eq!(message(Value::Int(3)), "TypeError: `x` must be a Tensor, not int");
    assert!(run(program, vec![]).unwrap_err().to_string().contains("expected 1 inputs, found 0"));
}

#[test]
fn uncompilable_graphs_are_rejected() {
    for (line, message) in [
        ("aten.no_such.default(%0)", "aten.no_such.default: torch has no operator aten::no_such"),
        ("aten.add_.Tensor(%0, %0, 1)", "aten.add_.Tensor: aten::add_ modifies its operands"),
        ("aten.sum.dim_IntList(%0, [\"a\"], false, none)", "`dim`: expected int, found a string"),
        ("aten.sum.default(%0, none, 1, 2)", "too many arguments: the schema has 2"),
        ("aten.add.Tensor()", "`self` is missing"),
        ("aten.sort.default(%0)", "aten.sort.default returns 2 results"),
    ] {
        let text = format!(
            "graph 1\nfunc @main(%0: f32[2] = argument \"x\") -> (f32[2]) {{\n  %1: f32[2] = {line}\n  return %1\n}}"
        );
        let error = Plan::compile(&parse(&text).unwrap()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(message), "{line}: {error}");
    }
}

/// The plan is compiled although `x` is not a list. The type is checked when the operator is called.
#[test]
fn wrong_type_is_rejected_at_run_time() {
    let program = r#"
func @main(%x.0: f32[2] = argument "x") -> (f32[*]) {
  %1: f32[*] = aten.stack.default(%x.0, 0)
  return %1
}"#;
    let error = run(program, vec![tensor(&[1.0, 2.0])]).unwrap_err();
    assert!(error.to_string().starts_with("TypeError: expected Tensor[], found a tensor"), "{error}");
}

#[test]
fn assert_and_raise() {
    let program = r#"
func @main(%n.0: int = argument "n") -> () {
  %1: bool = scalar.gt(%n.0, 0)
  assert(%1, "n is", %n.0) at 0:3:4-3:20
  %2: bool = scalar.gt(%n.0, 10)
  if(%2)
    then() {
      raise "KeyError"("too large:", %n.0) at 0:5:8-5:20
      yield
    }
    else() {
      yield
    }
  return
}"#;
    assert!(run(program, vec![Value::Int(5)]).is_ok());
    let failed = run(program, vec![Value::Int(-1)]).unwrap_err();
    assert!(failed.to_string().starts_with("AssertionError: n is -1\n  model.py:3:5: "), "{failed}");
    let raised = run(program, vec![Value::Int(11)]).unwrap_err();
    assert!(raised.to_string().starts_with("KeyError: too large: 11\n  model.py:5:9: "), "{raised}");
    let Fault::Raised(class, parts) = raised.fault else { panic!("it was raised") };
    assert_eq!((&*class, parts.len()), ("KeyError", 2));
}

/// Prints and callbacks happen in program order.
#[test]
fn host_is_called_in_program_order() {
    #[derive(Default)]
    struct Recorder(Rc<RefCell<Vec<String>>>);
    impl Host for Recorder {
        fn print(&mut self, parts: &[Value]) -> Result<(), Fault> {
            let parts: Vec<_> = parts.iter().map(Value::to_string).collect();
            self.0.borrow_mut().push(parts.join(" "));
            Ok(())
        }

        fn call(&mut self, callback: u32, arguments: Vec<Value>) -> Result<Vec<Value>, Fault> {
            self.0.borrow_mut().push(format!("callback {callback} of {}", arguments.len()));
            match arguments.first() {
                Some(Value::Int(2)) => Err(Fault::Host("two is too many".into())),
                _ => Ok(vec![Value::Int(10)]),
            }
        }
    }
    let program = r#"
func @main(%n.0: int = argument "n") -> (int) {
  %1: int = for(0, %n.0, 1, 0)
    body(%i.2: int, %3: int) {
      print("round", %i.2, 0.5, true, none)
      %4: int = python 3(%i.2, %3)
      %5: int = scalar.add(%3, %4)
      yield %5
    }
  return %1
}"#;
    let events = Rc::default();
    let mut host = Recorder(Rc::clone(&events));
    let results = plan(program).run(vec![Value::Int(2)], &mut host).unwrap();
    assert_eq!(results[0].to_string(), "20");
    let wanted = ["round 0 0.5 True None", "callback 3 of 2", "round 1 0.5 True None", "callback 3 of 2"];
    assert_eq!(*events.borrow(), wanted);
    let error = plan(program).run(vec![Value::Int(3)], &mut host).unwrap_err();
    assert_eq!(error.fault.to_string(), "two is too many");
    let error = run(program, vec![Value::Int(1)]).unwrap_err();
    assert!(error.to_string().contains("cannot be called without Python"), "{error}");
}

/// An infinite loop can be interrupted, and the plan can run again.
#[test]
fn an_interrupt_stops_a_loop() {
    let program = r#"
func @main(%go.0: bool = argument "go") -> (int) {
  %1: int = while(0)
    cond(%2: int) {
      yield %go.0
    }
    body(%3: int) {
      %4: int = scalar.add(%3, 1)
      yield %4
    }
  return %1
}"#;
    let plan = plan(program);
    let host = StandaloneHost::default();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| plan.run(vec![Value::Bool(true)], &mut host.clone()).map(|_| ()));
        host.interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
        let stopped = running.join().expect("it does not panic").unwrap_err();
        assert_eq!(stopped.fault.class(), "KeyboardInterrupt");
    });
    assert_eq!(
        plan.run(vec![Value::Bool(false)], &mut StandaloneHost::default()).unwrap()[0].to_string(),
        "0"
    );
}
