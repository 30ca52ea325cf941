//! Runs graphs on libtorch. Only this room knows `tch`.

/// The release of torch that this crate is made for.
pub const TORCH_VERSION: &str = "2.11.0";

/// How many threads one operator may use.
pub fn threads() -> i32 {
    tch::get_num_threads()
}
