//! Catches panics, so that an internal error in one file does not lose the results for the others.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Message and location of this thread's last panic; the payload has no location.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records panic messages for [`catch`] instead of printing them; with `RUST_BACKTRACE` they are printed too.
pub(crate) fn record() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        LAST.set(Some(panic.to_string()));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            print(panic);
        }
    }));
}

/// Runs `action`; a panic becomes a message of one line.
pub(crate) fn catch<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(action)).map_err(|_| {
        let message = LAST.take().unwrap_or_default();
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("internal error: {message}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        record();
        assert_eq!(catch(|| 1), Ok(1));
        let message = catch(|| -> u8 { panic!("no\nluck") }).unwrap_err();
        assert!(message.starts_with("internal error: panicked at server/src/panics.rs:"), "{message}");
        assert!(message.ends_with(" no luck"), "{message}");
    }
}
