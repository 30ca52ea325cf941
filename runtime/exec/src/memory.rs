//! Keeps freed memory in the process, so that tensors of a run reuse the memory of earlier tensors.
//!
//! glibc returns memory to the system when more than twice the size of the largest freed block is free at the end of
//! the heap. A training step frees about that much memory, so each step gets all its memory again from the system,
//! which clears every page. For a small convolutional network, this takes a third of the time.
#![allow(unsafe_code, reason = "a call of the C library")]

/// The free memory at the end of the heap that is kept, in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: i32 = 1 << 27;

/// Blocks that are larger than this are always requested from the system, and returned to it. This is the largest value
/// that glibc allows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGEST: i32 = 1 << 25;

/// Sets the limits of glibc's allocator for the process, once, unless the user has set one of them in the environment.
pub(super) fn keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        static SET: std::sync::Once = std::sync::Once::new();
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        SET.call_once(|| {
            let settings = ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"];
            if !settings.into_iter().any(is_set) {
                // SAFETY: the function only sets limits, under a lock of the allocator.
                unsafe {
                    libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
                    libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
                }
            }
        });
    }
}
