//! `ag-run`: runs a saved model without Python.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ag_exec::saved::SavedModel;
use ag_exec::{StandaloneHost, Value, set_threads};
use ag_graph::ir::{Device, Outcome, Type};
use anyhow::{Context, Result, bail};
use clap::Parser;
use tch::Tensor;

/// Run a saved model
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Folder written by `Function.save`
    model: PathBuf,
    /// Argument, by position or as NAME=...: a .npy file, a .safetensors file with one tensor per argument
    /// name, or a number
    #[arg(long, value_name = "[NAME=]FILE|NUMBER")]
    input: Vec<String>,
    /// Write the results to this file: .npy for one tensor, .safetensors for several (named by index); by
    /// default they are printed
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Device: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu", value_parser = device)]
    device: Device,
    /// Number of threads that one operator may use
    #[arg(long, default_value_t = 1)]
    threads: i32,
}

fn device(text: &str) -> Result<Device, String> {
    Device::from_text(text).ok_or_else(|| "expected cpu, cuda or cuda:N".into())
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

/// Runs a saved function on the given inputs, and writes or prints its results.
fn run(arguments: &Arguments) -> Result<()> {
    set_threads(arguments.threads);
    let saved = SavedModel::load(&arguments.model)?.on(arguments.device)?;
    let plan = saved.plan()?;
    let inputs = saved.inputs(inputs(&saved, &arguments.input)?)?;
    let results = plan.run(inputs, &mut StandaloneHost::default())?;
    // New values of captures are discarded.
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

/// Returns the arguments in the order of the graph.
fn inputs(saved: &SavedModel, given: &[String]) -> Result<Vec<Value>> {
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
                _ => bail!("the file must hold exactly one tensor"),
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
            let tensor = result
                .tensor()
                .with_context(|| format!("result {index} is not a tensor but {}", result.kind()))?;
            Ok((index.to_string(), tensor.to_device(tch::Device::Cpu).contiguous()))
        })
        .collect::<Result<Vec<_>>>()?;
    match (&tensors[..], file.extension().and_then(|extension| extension.to_str())) {
        ([(_, tensor)], Some("npy")) => tensor.write_npy(file)?,
        (tensors, Some("npy")) => {
            bail!("a .npy file holds one tensor, but there are {} results", tensors.len())
        }
        (tensors, Some("safetensors")) => Tensor::write_safetensors(tensors, file)?,
        _ => bail!("the output file must be .npy or .safetensors"),
    }
    Ok(())
}
