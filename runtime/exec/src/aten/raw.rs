//! The C interface of `dispatch.cpp`.

use std::ffi::{c_char, c_void};

use torch_sys::C_tensor;

/// The same constants as in `dispatch.cpp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Tag {
    None,
    Tensor,
    Int,
    Float,
    Bool,
    String,
    DType,
    Device,
    Layout,
    MemoryFormat,
    List,
    Hole,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Payload {
    pub(super) integer: i64,
    pub(super) real: f64,
    pub(super) text: *const c_char,
    pub(super) tensor: *mut C_tensor,
    pub(super) items: *mut Value,
}

/// A node of an argument tree. Trees are stored in preorder.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Value {
    pub(super) tag: i32,
    pub(super) index: i32,
    pub(super) length: u64,
    pub(super) payload: Payload,
}

#[repr(C)]
pub(super) struct Failure {
    pub(super) kind: i32,
    pub(super) text: *mut c_char,
}

#[repr(C)]
pub(super) struct Call {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(super) struct Mode {
    _opaque: [u8; 0],
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Form {
    dtype: i32,
    device: i32,
    index: i32,
    requires_grad: bool,
}

impl Form {
    pub(super) fn requires_grad(self) -> bool {
        self.requires_grad
    }
}

unsafe extern "C" {
    pub(super) fn ag_call_prepare(
        name: *const c_char,
        overload: *const c_char,
        nodes: *const Value,
        count: usize,
        failure: *mut Failure,
    ) -> *mut Call;
    pub(super) fn ag_call_free(call: *mut Call);
    pub(super) fn ag_call_returns(call: *const Call) -> usize;
    pub(super) fn ag_call_run(
        call: *const Call,
        fillings: *const Value,
        results: *mut Value,
        failure: *mut Failure,
    ) -> bool;
    pub(super) fn ag_items_free(items: *mut Value);
    pub(super) fn ag_text_free(text: *mut c_char);
    pub(super) fn ag_ambient() -> u64;
    pub(super) fn ag_changes(tensor: *const C_tensor) -> i64;
    pub(super) fn ag_grad_is_enabled() -> bool;
    pub(super) fn ag_uses_onednn() -> bool;
    pub(super) fn ag_version() -> *const c_char;
    pub(super) fn ag_mode_enter() -> *mut Mode;
    pub(super) fn ag_mode_leave(mode: *mut Mode);
    pub(super) fn ag_item(tensor: *const C_tensor, out: *mut Value, failure: *mut Failure) -> bool;
    pub(super) fn ag_number(number: *const Value, other_dtype: i32, failure: *mut Failure) -> *mut C_tensor;
    pub(super) fn ag_size(
        tensor: *const C_tensor,
        dimension: i64,
        out: *mut i64,
        failure: *mut Failure,
    ) -> bool;
    pub(super) fn ag_is_uniquely_owned(tensor: *const C_tensor) -> bool;
    pub(super) fn ag_same_type_and_shape(a: *const C_tensor, b: *const C_tensor) -> bool;
    pub(super) fn ag_form(tensor: *const C_tensor, out: *mut Form) -> bool;
    pub(super) fn ag_has_form(
        tensor: *const C_tensor,
        form: *const Form,
        sizes: *const i64,
        strides: *const i64,
        rank: usize,
    ) -> bool;
    pub(super) fn ag_share_storage(tensors: *const *const C_tensor, count: usize) -> bool;
    pub(super) fn ag_write(
        targets: *const *const C_tensor,
        values: *const *const C_tensor,
        count: usize,
        failure: *mut Failure,
    ) -> bool;
    pub(super) fn ag_address(
        tensor: *const C_tensor,
        dtype: i32,
        sizes: *const i64,
        strides: *const i64,
        rank: usize,
    ) -> *const c_void;
    pub(super) fn ag_new(
        dtype: i32,
        sizes: *const i64,
        strides: *const i64,
        rank: usize,
        address: *mut *mut c_void,
    ) -> *mut C_tensor;
    pub(super) fn ag_view(
        tensor: *const C_tensor,
        sizes: *const i64,
        strides: *const i64,
        rank: usize,
        offset: i64,
    ) -> *mut C_tensor;
    pub(super) fn ag_load_cuda() -> bool;
}
