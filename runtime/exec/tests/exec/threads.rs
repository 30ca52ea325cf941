//! One plan on several threads at the same time.

use super::{numbers, plan, tensor};
use ag_exec::{StandaloneHost, Value};

#[test]
fn threads_share_one_plan() {
    let program = r#"
func @main(%x.0: f32[2] = argument "x", %n.1: int = argument "n") -> (f32[2], list[f32[2]]) {
  %2: list[f32[2]] = list.new()
  %3: f32[2], %4: list[f32[2]] = for(0, %n.1, 1, %x.0, %2)
    body(%i.5: int, %6: f32[2], %7: list[f32[2]]) {
      %8: f32[2] = aten.add.Tensor(%6, 1, 1)
      %9: f32[2], %10: i64[2] = aten.sort.default(%8, 0, true)
      %11: list[f32[2]] = list.append(%7, %9)
      yield %9, %11
    }
  return %3, %4
}"#;
    let plan = plan(program);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4_u8)
            .map(|worker| {
                let plan = &plan;
                scope.spawn(move || {
                    for round in 1..200_u8 {
                        let x = tensor(&[f32::from(worker), f32::from(worker) + 1.0]);
                        let inputs = vec![x, Value::Int(i64::from(round))];
                        let results = plan.run(inputs, &mut StandaloneHost::default()).unwrap();
                        let top = f64::from(worker) + 1.0 + f64::from(round);
                        assert_eq!(numbers(&results[0]), format!("[{top:?}, {:?}]", top - 1.0));
                        let Value::List(items) = &results[1] else { panic!("a list is returned") };
                        assert_eq!(items.len(), usize::from(round));
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
