//! The code of a compiled function's shared library. `ag-library` makes a copy for each function: it adds the model,
//! stores its position in [`MODEL`], and renames the two exported functions.
#![allow(unsafe_code, reason = "C passes addresses")]

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int, c_void};
use std::slice;
use std::sync::OnceLock;

use ag_native::Memory;
use ag_standalone::{Call, CallError, Model, Program, model};

/// The position of the model, which `ag-library` finds by the mark.
#[repr(C)]
struct Position {
    mark: [u8; 32],
    /// The distance in bytes from this position to the model.
    distance: u64,
    /// The length of the model in bytes.
    length: u64,
}

#[used]
static MODEL: Position = Position { mark: model::MARK, distance: 0, length: 0 };

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
    static ERROR: Cell<Option<CString>> = const { Cell::new(None) };
    static SHOWN: RefCell<CString> = RefCell::default();
}

/// Returns the program, which the first call lowers.
fn program() -> Result<&'static Program<'static>, &'static str> {
    static PROGRAM: OnceLock<Result<Program<'static>, String>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        // The compiler must not assume the values that `ag-library` replaces.
        // SAFETY: the fields are initialized.
        let (distance, length) = unsafe {
            ((&raw const MODEL.distance).read_volatile(), (&raw const MODEL.length).read_volatile())
        };
        // SAFETY: `ag-library` adds a read-only segment with the model at this distance, which is mapped as long as this
        // code.
        let bytes = unsafe {
            let start = (&raw const MODEL).cast::<u8>().wrapping_add(distance as usize);
            slice::from_raw_parts(start, length as usize)
        };
        let model = Model::decode(bytes).map_err(|error| error.to_string())?;
        Program::new(&model).map_err(|error| error.to_string())
    });
    program.as_ref().map_err(|error| &**error)
}

/// Runs the function. Returns 0, or 1 after an error.
///
/// # Safety
/// `arguments` and `results` must have an address for each argument and result, as [`Program::call`] requires.
#[unsafe(export_name = "ag_template_run_________________________________________________")]
pub unsafe extern "C" fn run(arguments: *const *const c_void, results: *const *mut c_void) -> c_int {
    // SAFETY: the caller guarantees the addresses.
    match unsafe { call(arguments, results) } {
        Ok(()) => 0,
        Err(error) => {
            ERROR.set(CString::new(error.replace('\0', " ")).ok());
            1
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn call(arguments: *const *const c_void, results: *const *mut c_void) -> Result<(), String> {
    let program = program()?;
    let (argument_count, result_count) = (program.arguments().len(), program.results().len());
    if arguments.is_null() && argument_count > 0 || results.is_null() && result_count > 0 {
        return Err("a table of addresses is a null pointer".into());
    }
    // SAFETY: the caller guarantees the lengths of the tables. An empty table may be a null pointer.
    let call = unsafe {
        Call {
            arguments: if argument_count == 0 {
                &[]
            } else {
                slice::from_raw_parts(arguments, argument_count)
            },
            results: if result_count == 0 { &[] } else { slice::from_raw_parts(results, result_count) },
        }
    };
    MEMORY.with_borrow_mut(|memory| {
        // SAFETY: the caller guarantees the addresses.
        unsafe { program.call(call, memory) }.map_err(|error: CallError| error.to_string())
    })
}

/// Returns the text of the last error of this thread. It is valid until the next call of this function.
#[unsafe(export_name = "ag_template_error_______________________________________________")]
pub extern "C" fn error() -> *const c_char {
    SHOWN.with_borrow_mut(|shown| {
        if let Some(error) = ERROR.take() {
            *shown = error;
        }
        shown.as_ptr()
    })
}
