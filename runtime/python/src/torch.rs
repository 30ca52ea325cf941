//! Converts between torch's constants and data of a graph. Torch has one object for each dtype, layout and memory
//! format, so a constant is found by the identity of its object.

use std::collections::HashMap;

use ag_graph::ir::{DType, Device, Layout, MemoryFormat, Operand};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::GILOnceCell;
use pyo3::types::PyDict;

/// The objects of the module `torch`, collected when the first of them is needed.
pub(super) struct Torch {
    /// The operands by the addresses of the objects, which live as long as the module.
    operands: HashMap<usize, Operand>,
    /// The dtypes, in the order of `DType::ALL`.
    dtypes: Vec<PyObject>,
    /// The layouts, in the order of `Layout::ALL`.
    layouts: Vec<PyObject>,
    /// The memory formats, in the order of `MemoryFormat::ALL`.
    memory_formats: Vec<PyObject>,
    /// The class `torch.device`.
    device: PyObject,
    cpu: PyObject,
}

static TORCH: GILOnceCell<Torch> = GILOnceCell::new();

impl Torch {
    pub(super) fn get(py: Python<'_>) -> PyResult<&'static Self> {
        TORCH.get_or_try_init(py, || Self::import(py))
    }

    fn import(py: Python<'_>) -> PyResult<Self> {
        let torch = py.import("torch")?;
        let mut operands = HashMap::new();
        let mut constants = |named: &mut dyn Iterator<Item = (&str, Operand)>| {
            named
                .map(|(name, operand)| {
                    let object = torch.getattr(name)?;
                    operands.insert(object.as_ptr().addr(), operand);
                    Ok(object.unbind())
                })
                .collect::<PyResult<Vec<_>>>()
        };
        let dtypes = constants(&mut DType::ALL.iter().map(|it| (it.torch(), Operand::DType(*it))))?;
        let layouts = constants(&mut Layout::ALL.iter().map(|it| (it.name(), Operand::Layout(*it))))?;
        let memory_formats =
            constants(&mut MemoryFormat::ALL.iter().map(|it| (it.name(), Operand::MemoryFormat(*it))))?;
        let device = torch.getattr("device")?;
        let cpu = device.call1(("cpu",))?.unbind();
        Ok(Self { operands, dtypes, layouts, memory_formats, device: device.unbind(), cpu })
    }

    /// Returns the operand for a dtype, layout or memory format that graphs support.
    pub(super) fn constant(&self, object: &Bound<'_, PyAny>) -> Option<&Operand> {
        self.operands.get(&object.as_ptr().addr())
    }

    pub(super) fn dtype(&self, object: &Bound<'_, PyAny>) -> PyResult<DType> {
        match self.constant(object) {
            Some(Operand::DType(dtype)) => Ok(*dtype),
            _ => Err(unsupported("dtype", object)),
        }
    }

    pub(super) fn is_device(&self, object: &Bound<'_, PyAny>) -> bool {
        object.get_type().is(&self.device)
    }

    pub(super) fn device(&self, object: &Bound<'_, PyAny>) -> PyResult<Device> {
        let py = object.py();
        if object.is(&self.cpu) {
            return Ok(Device::Cpu);
        }
        let kind = object.getattr(intern!(py, "type"))?;
        let index: Option<u8> = object.getattr(intern!(py, "index"))?.extract()?;
        if kind.eq(intern!(py, "cpu"))? {
            Ok(Device::Cpu)
        } else if kind.eq(intern!(py, "cuda"))? {
            Ok(Device::Cuda(index.unwrap_or(0)))
        } else if kind.eq(intern!(py, "meta"))? {
            Ok(Device::Meta)
        } else {
            Err(unsupported("device", object))
        }
    }

    pub(super) fn dtype_object(&self, py: Python<'_>, dtype: DType) -> PyObject {
        self.dtypes[dtype as usize].clone_ref(py)
    }

    pub(super) fn layout_object(&self, py: Python<'_>, layout: Layout) -> PyObject {
        self.layouts[layout as usize].clone_ref(py)
    }

    pub(super) fn memory_format_object(&self, py: Python<'_>, format: MemoryFormat) -> PyObject {
        self.memory_formats[format as usize].clone_ref(py)
    }

    pub(super) fn device_object(&self, py: Python<'_>, device: Device) -> PyResult<PyObject> {
        match device {
            Device::Cpu => Ok(self.cpu.clone_ref(py)),
            Device::Cuda(index) => self.device.call1(py, ("cuda", index)),
            Device::Meta => self.device.call1(py, ("meta",)),
        }
    }
}

pub(super) fn unsupported(class: &str, object: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!("unsupported {class}: {object}"))
}

/// Returns the settings of torch on this thread that influence what an operator computes or records, as one number. An
/// odd number means that modes, transforms or autocast are active; the number does not describe their state. Bit 1 is set
/// if only libtorch's kernels may be used: then graphs have no batched loops.
#[pyfunction]
pub(super) fn ambient() -> u64 {
    ag_exec::aten::ambient() | u64::from(ag_exec::tier() == ag_exec::Tier::Torch) << 1
}

/// Returns the names of dtypes in the text of graphs: `torch.float32` is `f32`.
#[pyfunction]
pub(super) fn dtype_names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (torch, names) = (Torch::get(py)?, PyDict::new(py));
    for dtype in DType::ALL {
        names.set_item(torch.dtype_object(py, *dtype), dtype.text())?;
    }
    Ok(names)
}
