//! Calls ATen operators by name through c10's dispatcher. A call of any operator of the loaded libraries is prepared
//! once and run many times. This is the only module that calls C++.

#![allow(unsafe_code)]

mod raw;

use std::ffi::CString;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use ag_graph::ir::{DType, Device, Layout, MemoryFormat};
use tch::Tensor;

/// A failed operator call, with a message of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtenError {
    pub kind: ErrorKind,
    pub message: String,
}

/// The Python exception class that corresponds to a libtorch error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Runtime,
    Index,
    Type,
    Value,
    NotImplemented,
    OutOfMemory,
}

/// A node of an argument tree: a literal, a borrowed tensor, or the length of a list whose items follow.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Argument<'a> {
    raw: raw::Value,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    pub const NONE: Self = Self::integer(raw::Tag::None, 0);
    /// An argument that each `Call::run` supplies.
    pub const HOLE: Self = Self::integer(raw::Tag::Hole, 0);

    const fn new(tag: raw::Tag, length: u64, payload: raw::Payload) -> Self {
        let raw = raw::Value { tag: tag as i32, index: 0, length, payload };
        Self { raw, borrowed: PhantomData }
    }

    const fn integer(tag: raw::Tag, integer: i64) -> Self {
        Self::new(tag, 0, raw::Payload { integer })
    }

    pub fn tensor(tensor: &'a Tensor) -> Self {
        Self::new(raw::Tag::Tensor, 0, raw::Payload { tensor: tensor.as_ptr().cast_mut() })
    }

    pub const fn int(value: i64) -> Self {
        Self::integer(raw::Tag::Int, value)
    }

    pub const fn float(real: f64) -> Self {
        Self::new(raw::Tag::Float, 0, raw::Payload { real })
    }

    pub const fn bool(value: bool) -> Self {
        Self::integer(raw::Tag::Bool, value as i64)
    }

    pub const fn str(text: &'a str) -> Self {
        Self::new(raw::Tag::String, text.len() as u64, raw::Payload { text: text.as_ptr().cast() })
    }

    /// Returns a list whose items are the trees that follow.
    pub const fn list(length: usize) -> Self {
        Self::new(raw::Tag::List, length as u64, raw::Payload { integer: 0 })
    }

    pub fn dtype(dtype: DType) -> Self {
        Self::integer(raw::Tag::DType, dtype_number(dtype))
    }

    pub fn device(device: Device) -> Self {
        // Constants from `c10/core/DeviceType.h`.
        let (number, index) = match device {
            Device::Cpu => (0, -1),
            Device::Cuda(index) => (1, i32::from(index)),
            Device::Meta => (14, -1),
        };
        let mut device = Self::integer(raw::Tag::Device, number);
        device.raw.index = index;
        device
    }

    pub fn layout(layout: Layout) -> Self {
        // Constants from `c10/core/Layout.h`.
        let number = match layout {
            Layout::Strided => 0,
            Layout::SparseCoo => 1,
            Layout::SparseCsr => 2,
            Layout::Mkldnn => 3,
            Layout::SparseCsc => 4,
            Layout::SparseBsr => 5,
            Layout::SparseBsc => 6,
            Layout::Jagged => 7,
        };
        Self::integer(raw::Tag::Layout, number)
    }

    pub fn memory_format(format: MemoryFormat) -> Self {
        // Constants from `c10/core/MemoryFormat.h`.
        let number = match format {
            MemoryFormat::Contiguous => 0,
            MemoryFormat::Preserve => 1,
            MemoryFormat::ChannelsLast => 2,
            MemoryFormat::ChannelsLast3d => 3,
        };
        Self::integer(raw::Tag::MemoryFormat, number)
    }
}

/// Constants from `c10/core/ScalarType.h`.
fn dtype_number(dtype: DType) -> i64 {
    match dtype {
        DType::U8 => 0,
        DType::I8 => 1,
        DType::I16 => 2,
        DType::I32 => 3,
        DType::I64 => 4,
        DType::F16 => 5,
        DType::F32 => 6,
        DType::F64 => 7,
        DType::C32 => 8,
        DType::C64 => 9,
        DType::C128 => 10,
        DType::Bool => 11,
        DType::BF16 => 15,
        DType::F8E5M2 => 23,
        DType::F8E4M3 => 24,
        DType::F8E5M2Z => 25,
        DType::F8E4M3Z => 26,
        DType::U16 => 27,
        DType::U32 => 28,
        DType::U64 => 29,
    }
}

/// Returns the dtype of a tensor; `None` if graphs do not support it.
pub fn dtype(tensor: &Tensor) -> Option<DType> {
    // SAFETY: the tensor is alive.
    let number = i64::from(unsafe { torch_sys::at_scalar_type(tensor.as_ptr().cast_mut()) });
    DType::ALL.iter().copied().find(|dtype| dtype_number(*dtype) == number)
}

/// A result of an operator.
#[derive(Debug)]
pub enum Output {
    /// No value, or an undefined tensor.
    None,
    Tensor(Tensor),
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Output>),
}

/// A prepared operator call, with the arguments known so far. It may run on any thread.
#[derive(Debug)]
pub struct Call {
    raw: NonNull<raw::Call>,
    holes: usize,
    returns: usize,
}

// SAFETY: a call is immutable after `ag_call_prepare`. Running it copies tensor handles, whose reference
// counts are atomic, and only reads their data: operators that modify an operand are rejected.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from `ag_call_prepare` and is freed once.
        unsafe { raw::ag_call_free(self.raw.as_ptr()) }
    }
}

impl Call {
    /// Prepares `aten.add.Tensor` with its argument trees in schema order. Missing trailing arguments take
    /// their defaults.
    pub fn prepare(operator: &str, arguments: &[Argument<'_>]) -> Result<Self, AtenError> {
        let unknown = || AtenError {
            kind: ErrorKind::NotImplemented,
            message: format!("unknown torch operator `{operator}`"),
        };
        let mut parts = operator.splitn(3, '.');
        let (Some(namespace), Some(name)) = (parts.next(), parts.next()) else { return Err(unknown()) };
        let overload = parts.next().filter(|overload| *overload != "default").unwrap_or("");
        let name = CString::new(format!("{namespace}::{name}")).map_err(|_| unknown())?;
        let overload = CString::new(overload).map_err(|_| unknown())?;
        if !are_trees(arguments) {
            return Err(AtenError {
                kind: ErrorKind::Type,
                message: "a list has fewer items than its length".into(),
            });
        }
        let mut failure = raw::Failure { kind: 0, text: ptr::null_mut() };
        // SAFETY: the strings are zero-terminated; `Argument` has the layout of `raw::Value`, and its lists
        // were just checked to be complete. The C++ side copies what it keeps.
        let raw = unsafe {
            raw::ag_call_prepare(
                name.as_ptr(),
                overload.as_ptr(),
                arguments.as_ptr().cast(),
                arguments.len(),
                &raw mut failure,
            )
        };
        let raw = NonNull::new(raw).ok_or_else(|| failed(failure))?;
        let holes = arguments.iter().filter(|argument| argument.raw.tag == raw::Tag::Hole as i32).count();
        // SAFETY: the call was just created.
        let returns = unsafe { raw::ag_call_returns(raw.as_ptr()) };
        Ok(Self { raw, holes, returns })
    }

    /// Returns the number of results.
    pub fn returns(&self) -> usize {
        self.returns
    }

    /// Runs the call with one tree for each hole, and appends the results to `outputs`.
    pub fn run(&self, fillings: &[Argument<'_>], outputs: &mut Vec<Output>) -> Result<(), AtenError> {
        if trees(fillings) != Some(self.holes) {
            return Err(AtenError { kind: ErrorKind::Type, message: "a hole has no value".into() });
        }
        const FEW: usize = 8;
        let none = Argument::NONE.raw;
        let mut few = [none; FEW];
        let mut many = Vec::new();
        let results = if self.returns <= FEW {
            &mut few[..]
        } else {
            many.resize(self.returns, none);
            &mut many[..]
        };
        let mut failure = raw::Failure { kind: 0, text: ptr::null_mut() };
        // SAFETY: there is a complete tree for each hole, whose tensors outlive this call, and room for every
        // result. The results are owned by us.
        unsafe {
            let fillings = fillings.as_ptr().cast();
            if !raw::ag_call_run(self.raw.as_ptr(), fillings, results.as_mut_ptr(), &raw mut failure) {
                return Err(failed(failure));
            }
            outputs.extend(results[..self.returns].iter().map(|result| output(*result)));
        }
        Ok(())
    }
}

/// Returns the number of argument trees. `None` if a list is incomplete, or if there is a hole.
fn trees(nodes: &[Argument<'_>]) -> Option<usize> {
    let (mut trees, mut open) = (0_usize, 0_u64);
    for node in nodes {
        match open.checked_sub(1) {
            Some(rest) => open = rest,
            None => trees += 1,
        }
        if node.raw.tag == raw::Tag::List as i32 {
            open = open.checked_add(node.raw.length)?;
        } else if node.raw.tag == raw::Tag::Hole as i32 {
            return None;
        }
    }
    (open == 0).then_some(trees)
}

fn are_trees(nodes: &[Argument<'_>]) -> bool {
    let closed: Vec<_> = nodes
        .iter()
        .map(|node| if node.raw.tag == raw::Tag::Hole as i32 { Argument::NONE } else { *node })
        .collect();
    trees(&closed).is_some()
}

/// # Safety
/// The value must be a result of `ag_call_run` that has not been converted before.
unsafe fn output(value: raw::Value) -> Output {
    let is = |tag: raw::Tag| value.tag == tag as i32;
    // SAFETY: the tag determines the payload; a tensor and the items of a list are owned by us.
    unsafe {
        if is(raw::Tag::Tensor) {
            Output::Tensor(Tensor::from_ptr(value.payload.tensor))
        } else if is(raw::Tag::Int) {
            Output::Int(value.payload.integer)
        } else if is(raw::Tag::Float) {
            Output::Float(value.payload.real)
        } else if is(raw::Tag::Bool) {
            Output::Bool(value.payload.integer != 0)
        } else if is(raw::Tag::List) {
            let items = value.payload.items;
            let list = (0..value.length as usize).map(|index| output(*items.add(index))).collect();
            raw::ag_items_free(items);
            Output::List(list)
        } else {
            Output::None
        }
    }
}

/// Converts a failure of the C++ code to an error, and frees its message.
fn failed(failure: raw::Failure) -> AtenError {
    let message = match NonNull::new(failure.text) {
        None => String::from("libtorch is out of memory"),
        // SAFETY: the message of a failure is zero-terminated and owned by us.
        Some(text) => unsafe {
            let message = std::ffi::CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned();
            raw::ag_text_free(text.as_ptr());
            message
        },
    };
    let kind = match failure.kind {
        1 => ErrorKind::Index,
        2 => ErrorKind::Type,
        3 => ErrorKind::Value,
        4 => ErrorKind::NotImplemented,
        5 => ErrorKind::OutOfMemory,
        _ => ErrorKind::Runtime,
    };
    AtenError { kind, message }
}

/// Returns the single element of a tensor.
pub fn item(tensor: &Tensor) -> Result<Output, AtenError> {
    let mut value = Argument::NONE.raw;
    let mut failure = raw::Failure { kind: 0, text: ptr::null_mut() };
    // SAFETY: the tensor is alive, and the output is a number.
    unsafe {
        if raw::ag_item(tensor.as_ptr(), &raw mut value, &raw mut failure) {
            Ok(output(value))
        } else {
            Err(failed(failure))
        }
    }
}

/// Returns a number as a tensor that torch promotes like a number ("wrapped number"). `other_dtype` is the dtype of the
/// other operand: with this dtype, the operator need not convert the tensor.
pub fn number(number: Argument<'_>, other_dtype: DType) -> Result<Tensor, AtenError> {
    let mut failure = raw::Failure { kind: 0, text: ptr::null_mut() };
    let other_dtype = i32::try_from(dtype_number(other_dtype)).unwrap_or(-1);
    // SAFETY: `Argument` has the layout of `raw::Value`; the returned tensor is owned by us.
    unsafe {
        let made = raw::ag_number((&raw const number).cast(), other_dtype, &raw mut failure);
        if made.is_null() { Err(failed(failure)) } else { Ok(Tensor::from_ptr(made)) }
    }
}

/// Returns the size of a dimension; negative dimensions count from the last.
pub fn size(tensor: &Tensor, dimension: i64) -> Result<i64, AtenError> {
    let mut size = 0;
    let mut failure = raw::Failure { kind: 0, text: ptr::null_mut() };
    // SAFETY: the tensor is alive.
    if unsafe { raw::ag_size(tensor.as_ptr(), dimension, &raw mut size, &raw mut failure) } {
        Ok(size)
    } else {
        Err(failed(failure))
    }
}

/// Returns whether an in-place write to the tensor is unobservable, because the tensor and its storage have a single
/// owner and torch allocated the storage.
pub fn is_uniquely_owned(tensor: &Tensor) -> bool {
    // SAFETY: the tensor is alive.
    unsafe { raw::ag_is_uniquely_owned(tensor.as_ptr()) }
}

/// Returns whether both tensors have the same dtype, sizes and device.
pub fn same_type_and_shape(a: &Tensor, b: &Tensor) -> bool {
    // SAFETY: the tensors are alive.
    unsafe { raw::ag_same_type_and_shape(a.as_ptr(), b.as_ptr()) }
}

/// The properties of a tensor on which the graph of a call depends: dtype, device, sizes, strides, and whether it
/// requires a gradient.
#[derive(Debug)]
pub struct Form {
    raw: raw::Form,
    sizes: Vec<i64>,
    strides: Vec<i64>,
}

impl Form {
    /// `None` for a tensor that is not strided.
    pub fn of(tensor: &Tensor) -> Option<Self> {
        let mut raw = raw::Form::default();
        // SAFETY: the tensor is alive.
        let is_strided = unsafe { raw::ag_form(tensor.as_ptr(), &raw mut raw) };
        is_strided.then(|| Self { raw, sizes: tensor.size(), strides: tensor.stride() })
    }

    pub fn requires_grad(&self) -> bool {
        self.raw.requires_grad()
    }

    pub fn matches(&self, tensor: &Tensor) -> bool {
        let Self { raw, sizes, strides } = self;
        // SAFETY: the tensor is alive, and there are as many strides as sizes.
        unsafe {
            raw::ag_has_form(tensor.as_ptr(), &raw const *raw, sizes.as_ptr(), strides.as_ptr(), sizes.len())
        }
    }
}

/// Returns whether two of these tensors share a storage. Tensors without elements share nothing.
pub fn share_storage<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> bool {
    let tensors: Vec<_> = tensors.map(Tensor::as_ptr).collect();
    // SAFETY: the tensors are alive.
    unsafe { raw::ag_share_storage(tensors.as_ptr(), tensors.len()) }
}

/// Writes the value of each (tensor, value) to the tensor, in place and without a history, as if all values were read
/// before the first write.
pub fn write(pairs: &[(&Tensor, &Tensor)]) -> Result<(), AtenError> {
    let (targets, values): (Vec<_>, Vec<_>) =
        pairs.iter().map(|(target, value)| (target.as_ptr(), value.as_ptr())).unzip();
    let mut failure = raw::Failure { kind: 0, text: ptr::null_mut() };
    // SAFETY: the tensors are alive.
    let is_done = unsafe { raw::ag_write(targets.as_ptr(), values.as_ptr(), pairs.len(), &raw mut failure) };
    if is_done { Ok(()) } else { Err(failed(failure)) }
}

/// Returns the address of a tensor's elements. `None` if the tensor is not on the CPU, or has another dtype, other sizes
/// or other strides.
pub fn address(tensor: &Tensor, dtype: DType, sizes: &[i64], strides: &[i64]) -> Option<*const u8> {
    let (number, rank) = (dtype_number(dtype) as i32, sizes.len());
    // SAFETY: the tensor is alive, and there are as many strides as sizes.
    let address = unsafe { raw::ag_address(tensor.as_ptr(), number, sizes.as_ptr(), strides.as_ptr(), rank) };
    (!address.is_null()).then_some(address.cast())
}

/// Returns a new tensor on the CPU with undefined elements, and its address.
pub fn uninitialized(dtype: DType, sizes: &[i64], strides: &[i64]) -> Option<(Tensor, *mut u8)> {
    let mut address = ptr::null_mut();
    let number = dtype_number(dtype) as i32;
    // SAFETY: sizes and strides are alive and equally long; the tensor is owned by the caller.
    unsafe {
        let tensor = raw::ag_new(number, sizes.as_ptr(), strides.as_ptr(), sizes.len(), &raw mut address);
        (!tensor.is_null()).then(|| (Tensor::from_ptr(tensor), address.cast()))
    }
}

/// Returns a view of a tensor that starts `offset` elements after its first, as `torch.as_strided`.
pub fn view(tensor: &Tensor, sizes: &[usize], strides: &[usize], offset: usize) -> Option<Tensor> {
    let signed = |sizes: &[usize]| sizes.iter().map(|size| *size as i64).collect::<Vec<_>>();
    let (sizes, strides) = (signed(sizes), signed(strides));
    // SAFETY: the tensor, sizes and strides are alive; the result is owned by the caller.
    unsafe {
        let view =
            raw::ag_view(tensor.as_ptr(), sizes.as_ptr(), strides.as_ptr(), sizes.len(), offset as i64);
        (!view.is_null()).then(|| Tensor::from_ptr(view))
    }
}

/// Loads the CUDA kernels into a program that was not linked with them. Returns `false` if there are none.
pub fn load_cuda() -> bool {
    // SAFETY: loads a library of torch.
    unsafe { raw::ag_load_cuda() }
}

/// Returns the settings of torch on this thread that influence what an operator computes or records, as one number. An
/// odd number means that modes, transforms or autocast are active; the number does not describe their state.
pub fn ambient() -> u64 {
    // SAFETY: reads settings of this thread and of torch.
    unsafe { raw::ag_ambient() }
}

/// Returns the number of in-place changes of a tensor, as `_version`. Returns 0 for an inference tensor.
pub fn changes(tensor: &Tensor) -> i64 {
    // SAFETY: the tensor is alive.
    unsafe { raw::ag_changes(tensor.as_ptr()) }
}

/// Returns whether operators on this thread record gradients.
pub fn grad_is_enabled() -> bool {
    // SAFETY: reads a setting of this thread.
    unsafe { raw::ag_grad_is_enabled() }
}

/// Returns whether libtorch has oneDNN and the user has not disabled it (`torch.backends.mkldnn.enabled`).
pub fn uses_onednn() -> bool {
    // SAFETY: reads a setting of torch.
    unsafe { raw::ag_uses_onednn() }
}

/// Returns the version of libtorch.
pub fn version() -> &'static str {
    // SAFETY: the text is a constant, zero-terminated.
    unsafe { std::ffi::CStr::from_ptr(raw::ag_version()) }.to_str().unwrap_or("unknown")
}

/// While this guard lives, operators on this thread bypass autograd and autocast: a graph computes gradients with its
/// own nodes.
#[derive(Debug)]
pub struct NoAutogradGuard {
    raw: NonNull<raw::Mode>,
    /// The guard belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl NoAutogradGuard {
    pub fn enter() -> Option<Self> {
        // SAFETY: the mode is left on the same thread, because the guard is not `Send`.
        let raw = NonNull::new(unsafe { raw::ag_mode_enter() })?;
        Some(Self { raw, thread: PhantomData })
    }
}

impl Drop for NoAutogradGuard {
    fn drop(&mut self) {
        // SAFETY: the mode comes from `ag_mode_enter` on this thread, and is left once.
        unsafe { raw::ag_mode_leave(self.raw.as_ptr()) }
    }
}

/// A tensor that several threads may hold. It is never modified.
#[derive(Debug)]
pub struct Shared(Tensor);

// SAFETY: reference counts are atomic, and a tensor with two owners is never modified, so that threads may
// read it concurrently.
unsafe impl Sync for Shared {}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self(self.0.shallow_clone())
    }
}

impl From<Tensor> for Shared {
    fn from(tensor: Tensor) -> Self {
        Self(tensor)
    }
}

impl From<Shared> for Tensor {
    fn from(shared: Shared) -> Self {
        shared.0
    }
}

impl std::ops::Deref for Shared {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0
    }
}
