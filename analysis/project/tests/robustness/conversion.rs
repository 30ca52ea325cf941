//! Converts the same texts: no panics, all spans are inside the texts, and converted valid code is valid.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ag_convert::{Converter, Features, OperatorSet, Options, Pass, SourceMap, View};
use fastrand::Rng;
use ruff_python_ast::PySourceType;
use ruff_text_size::{TextRange, TextSize};

const SECONDS: u64 = 8;
const STACK: usize = 256 * 1024 * 1024;

#[test]
fn every_text_can_be_converted() {
    let seed = super::variable("AG_FUZZ_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let time = Duration::from_secs(super::variable("AG_FUZZ_SECONDS").unwrap_or(SECONDS));
    println!("AG_FUZZ_SEED={seed}");
    let run = move || {
        let texts = super::programs();
        let mut rng = Rng::with_seed(seed);
        let start = Instant::now();
        let mut cases = 0;
        while start.elapsed() < time {
            // Every second text is valid Python, so its converted code must parse.
            let text = match cases % 2 {
                0 => super::mutated(&texts, &mut rng),
                _ => texts[rng.usize(..texts.len())].clone(),
            };
            let options = options(&mut rng);
            let outcome = catch_unwind(AssertUnwindSafe(|| convert(&text, &options)));
            let problem = outcome.unwrap_or_else(|_| Err("it panics".to_owned()));
            if let Err(problem) = problem {
                panic!("AG_FUZZ_SEED={seed}, case {cases}: {problem}, with {options:?}\n{text}");
            }
            cases += 1;
        }
        println!("{cases} cases");
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn options(rng: &mut Rng) -> Options {
    Options {
        view: if rng.bool() { View::Full } else { View::Simplified },
        operator_set: if rng.u8(..4) == 0 { OperatorSet::Snek } else { OperatorSet::TensorFlow },
        features: if rng.bool() { Features::ALL } else { Features::default() },
        until: (rng.u8(..4) == 0).then(|| Pass::ALL[rng.usize(..Pass::ALL.len())]),
        ..Options::default()
    }
}

fn convert(text: &str, options: &Options) -> Result<(), String> {
    let Ok(converter) = Converter::new(text, PySourceType::Python, options) else { return Ok(()) };
    let module = converter.module();
    within(&module.map, &module.text, text)?;
    for function in converter.functions() {
        within(&function.map, &function.text, text)?;
    }
    if converter.errors().next().is_none() {
        let again = Converter::new(&module.text, PySourceType::Python, options);
        if let Some((range, error)) = again.iter().flat_map(Converter::errors).next() {
            return Err(format!("{error} at {range:?} in\n{}\n--- made of", module.text));
        }
    }
    Ok(())
}

fn within(map: &SourceMap, generated: &str, original: &str) -> Result<(), String> {
    let holds = |range: TextRange, text: &str| range.end() <= TextSize::of(text);
    match map.spans().iter().find(|span| !holds(span.generated, generated) || !holds(span.original, original))
    {
        Some(span) => Err(format!("{span:?} is outside")),
        None => Ok(()),
    }
}
