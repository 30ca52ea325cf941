//! `ag-run`: a saved model, run without Python.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ag_exec::saved::Saved;
use ag_exec::{Alone, Value, set_threads};
use ag_graph::ir::{Device, Outcome, Type};
use anyhow::{Context, Result, bail};
use clap::Parser;
use tch::Tensor;

/// Runs a saved model.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The folder that `Function.save` has written
    model: PathBuf,
    /// An argument, in their order or as NAME=...: a file (.npy; .safetensors with several by their names), or a number
    #[arg(long, value_name = "[NAME=]FILE|NUMBER")]
    input: Vec<String>,
    /// Where the results go: .npy for one tensor, .safetensors for several, under their numbers. Else they are printed
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu", value_parser = device)]
    device: Device,
    /// How many threads one operator may use
    #[arg(long, default_value_t = 1)]
    threads: i32,
}

fn device(text: &str) -> Result<Device, String> {
    Device::from_text(text).ok_or_else(|| "there are cpu, cuda and cuda:N".into())
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    set_threads(arguments.threads);
    let saved = Saved::load(&arguments.model)?.on(arguments.device)?;
    let plan = saved.plan()?;
    let inputs = saved.inputs(inputs(&saved, &arguments.input)?)?;
    let results = plan.run(inputs, &mut Alone::default())?;
    // New values of captures are nobody's to keep here.
    let returned: Vec<Value> = results
        .into_iter()
        .zip(&saved.graph.outcomes)
        .filter(|(_, outcome)| **outcome == Outcome::Return)
        .map(|(result, _)| result)
        .collect();
    match &arguments.output {
        None => returned.iter().for_each(|result| println!("{result}")),
        Some(file) => write(file, &returned).with_context(|| file.display().to_string())?,
    }
    Ok(())
}

/// The arguments in the order of the graph.
fn inputs(saved: &Saved, given: &[String]) -> Result<Vec<Value>> {
    let wanted = saved.arguments();
    let mut values: Vec<Option<Value>> = wanted.iter().map(|_| None).collect();
    for text in given {
        let named = text
            .split_once('=')
            .and_then(|(name, rest)| Some((wanted.iter().position(|(known, _)| *known == name)?, rest)));
        let (at, text) = match named {
            Some((at, rest)) => (at, rest),
            None if text.ends_with(".safetensors") => {
                for (name, tensor) in Tensor::read_safetensors(text)? {
                    let at = wanted.iter().position(|(known, _)| *known == name);
                    let at = at.with_context(|| format!("{text}: the model has no argument {name:?}"))?;
                    values[at] = Some(tensor.into());
                }
                continue;
            }
            None => {
                let next = values.iter().position(Option::is_none);
                (
                    next.with_context(|| format!("{text}: the model takes {} arguments", wanted.len()))?,
                    &**text,
                )
            }
        };
        values[at] = Some(read(text, wanted[at].1).with_context(|| text.to_owned())?);
    }
    let missing = |(value, (name, ty)): (Option<Value>, &(&str, &Type))| {
        value.with_context(|| format!("argument {name:?} is missing: {ty}"))
    };
    values.into_iter().zip(&wanted).map(missing).collect()
}

fn read(text: &str, ty: &Type) -> Result<Value> {
    Ok(match ty {
        Type::Int => Value::Int(text.parse()?),
        Type::Float => Value::Float(text.parse()?),
        Type::Bool => Value::Bool(text.parse()?),
        Type::Str => Value::str(text),
        Type::Tensor(_) if text.ends_with(".safetensors") => {
            let mut tensors = Tensor::read_safetensors(text)?;
            match (tensors.pop(), tensors.is_empty()) {
                (Some((_, tensor)), true) => tensor.into(),
                _ => bail!("there is not exactly one tensor in it"),
            }
        }
        Type::Tensor(_) => Tensor::read_npy(text)?.into(),
        ty => bail!("{ty} cannot be given on the command line"),
    })
}

fn write(file: &Path, results: &[Value]) -> Result<()> {
    let tensors = results
        .iter()
        .enumerate()
        .map(|(index, result)| {
            let tensor = result.tensor().with_context(|| format!("result {index} is {}", result.kind()))?;
            Ok((index.to_string(), tensor.to_device(tch::Device::Cpu).contiguous()))
        })
        .collect::<Result<Vec<_>>>()?;
    match (&tensors[..], file.extension().and_then(|extension| extension.to_str())) {
        ([(_, tensor)], Some("npy")) => tensor.write_npy(file)?,
        (tensors, Some("npy")) => bail!("a .npy holds one tensor, and there are {}", tensors.len()),
        (tensors, Some("safetensors")) => Tensor::write_safetensors(tensors, file)?,
        _ => bail!("results are written as .npy or .safetensors"),
    }
    Ok(())
}
