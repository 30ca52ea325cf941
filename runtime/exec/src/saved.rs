//! Saved models. A model is a folder with two files: `graph.txt` contains the text of a graph, with the version of the
//! format, and `captures.safetensors` contains a tensor for each capture, named by the number of the capture. Both files
//! are untrusted.

use std::path::Path;
use std::{fs, io};

use ag_graph::ir::text::{ParseError, parse, print};
use ag_graph::ir::{Device, Graph, Node, Operand, Origin, Region, Type};
use tch::Tensor;
use thiserror::Error;

use crate::aten::Shared;
use crate::{CompileError, Plan, Value};

const GRAPH: &str = "graph.txt";
const CAPTURES: &str = "captures.safetensors";

/// Why a model cannot be loaded or saved.
#[derive(Debug, Error)]
pub enum SavedError {
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    #[error("{GRAPH}: {0}")]
    Text(ParseError),
    #[error("{GRAPH}: {0}")]
    Graph(#[from] CompileError),
    #[error("{CAPTURES}: {0}")]
    Captures(String),
    #[error("{0}")]
    Device(String),
}

/// A graph with its captured tensors.
#[derive(Debug)]
pub struct SavedModel {
    pub graph: Graph,
    /// Capture numbers and tensors.
    captures: Vec<(u32, Shared)>,
    device: Device,
}

impl SavedModel {
    /// Returns a model. Every capture of the graph must have a tensor.
    pub fn new(graph: Graph, captures: Vec<(u32, Tensor)>) -> Result<Self, SavedError> {
        let refused = |message| Err(SavedError::Captures(message));
        let entry = graph.entry().map(|entry| (entry.params(), &entry.values));
        for (origin, param) in graph.origins.iter().zip(entry.map_or(&[][..], |(params, _)| params)) {
            let Origin::Capture(number) = origin else { continue };
            let ty = entry.and_then(|(_, values)| values.get(param.index())).map(|info| &info.ty);
            if !matches!(ty, Some(Type::Tensor(_))) {
                return refused(format!("capture {number} is not a tensor and cannot be saved"));
            }
            if !captures.iter().any(|(known, _)| known == number) {
                return refused(format!("capture {number} is missing"));
            }
        }
        let captures = captures.into_iter().map(|(number, tensor)| (number, tensor.into())).collect();
        Ok(Self { graph, captures, device: Device::Cpu })
    }

    pub fn load(folder: &Path) -> Result<Self, SavedError> {
        let file = folder.join(GRAPH);
        let text =
            fs::read_to_string(&file).map_err(|error| SavedError::Io(file.display().to_string(), error))?;
        let graph = parse(&text).map_err(SavedError::Text)?;
        let tensors = Tensor::read_safetensors(folder.join(CAPTURES))
            .map_err(|error| SavedError::Captures(error.to_string()))?;
        let captures = tensors
            .into_iter()
            .map(|(name, tensor)| match name.parse() {
                Ok(number) => Ok((number, tensor)),
                Err(_) => Err(SavedError::Captures(format!("{name:?} is not the number of a capture"))),
            })
            .collect::<Result<_, _>>()?;
        Self::new(graph, captures)
    }

    pub fn save(&self, folder: &Path) -> Result<(), SavedError> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error| SavedError::Io(path, error)
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let tensors: Vec<(String, Tensor)> = self
            .captures
            .iter()
            .map(|(number, tensor)| {
                let tensor = tensor.detach().to_device(tch::Device::Cpu).contiguous();
                (number.to_string(), tensor)
            })
            .collect();
        Tensor::write_safetensors(&tensors, folder.join(CAPTURES))
            .map_err(|error| SavedError::Captures(error.to_string()))?;
        let file = folder.join(GRAPH);
        fs::write(&file, print(&self.graph)).map_err(failed(&file))
    }

    /// Moves captures, and all devices named in the graph, to `device`.
    pub fn on(mut self, device: Device) -> Result<Self, SavedError> {
        let tch = tch_device(device)?;
        for function in &mut self.graph.functions {
            move_region(&mut function.body, device);
        }
        for (_, tensor) in &mut self.captures {
            *tensor = moved(tensor, tch)?.into();
        }
        self.device = device;
        Ok(self)
    }

    pub fn plan(&self) -> Result<Plan, SavedError> {
        Ok(Plan::compile(&self.graph)?)
    }

    /// Returns the path and the type of each argument, in order.
    pub fn arguments(&self) -> Vec<(&str, &Type)> {
        let Some(entry) = self.graph.entry() else { return Vec::new() };
        let params = self.graph.origins.iter().zip(entry.params());
        params
            .filter_map(|(origin, param)| match origin {
                Origin::Argument(path) => Some((&**path, entry.ty(*param))),
                Origin::Capture(_) => None,
            })
            .collect()
    }

    /// Returns the inputs of the plan, in order: the captures and these arguments.
    pub fn inputs(&self, arguments: Vec<Value>) -> Result<Vec<Value>, SavedError> {
        let device = tch_device(self.device)?;
        let mut arguments = arguments.into_iter();
        let mut inputs = Vec::with_capacity(self.graph.origins.len());
        for origin in &self.graph.origins {
            inputs.push(match origin {
                Origin::Capture(number) => {
                    let capture = self.captures.iter().find(|(known, _)| known == number);
                    capture.map_or(Value::None, |(_, tensor)| tensor.shallow_clone().into())
                }
                Origin::Argument(_) => match arguments.next() {
                    Some(Value::Tensor(tensor)) => moved(&tensor, device)?.into(),
                    other => other.unwrap_or_default(),
                },
            });
        }
        Ok(inputs)
    }
}

fn moved(tensor: &Tensor, device: tch::Device) -> Result<Tensor, SavedError> {
    tensor.f_to(device).map_err(|error| {
        let text = error.to_string();
        SavedError::Device(text.lines().next().unwrap_or_default().to_owned())
    })
}

fn tch_device(device: Device) -> Result<tch::Device, SavedError> {
    match device {
        Device::Cpu => Ok(tch::Device::Cpu),
        Device::Cuda(index) => {
            crate::aten::load_cuda();
            if i64::from(index) < tch::Cuda::device_count() {
                Ok(tch::Device::Cuda(usize::from(index)))
            } else {
                Err(SavedError::Device(format!("device {device} is not available")))
            }
        }
        Device::Meta => Err(SavedError::Device("graphs cannot run on the meta device".into())),
    }
}

fn move_region(region: &mut Region, device: Device) {
    for node in &mut region.nodes {
        let Node { operands, regions, .. } = node;
        operands.iter_mut().for_each(|operand| move_operand(operand, device));
        regions.iter_mut().for_each(|region| move_region(region, device));
    }
}

fn move_operand(operand: &mut Operand, to: Device) {
    match operand {
        Operand::Device(device) => *device = to,
        Operand::List(items) => items.iter_mut().for_each(|item| move_operand(item, to)),
        _ => {}
    }
}
