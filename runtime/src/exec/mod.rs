//! Runs graphs on libtorch. Only this room knows `tch`.

pub mod aten;

/// How many threads one operator may use.
pub fn threads() -> i32 {
    tch::get_num_threads()
}
