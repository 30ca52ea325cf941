//! The interface between a plan and the program that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::Fault;
use super::value::Value;

pub trait Host {
    fn print(&mut self, parts: &[Value]) -> Result<(), Fault> {
        let parts: Vec<String> = parts.iter().map(Value::to_string).collect();
        println!("{}", parts.join(" "));
        Ok(())
    }

    /// Calls the Python function with this index.
    fn call(&mut self, callback: u32, arguments: Vec<Value>) -> Result<Vec<Value>, Fault> {
        let _ = arguments;
        Err(Fault::Type(format!(
            "callback {callback} is a Python function, which cannot be called without Python"
        )))
    }

    /// Called about every 50 ms while a loop or a recursion runs.
    fn poll(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// A host without Python. Another thread may interrupt it.
#[derive(Debug, Clone, Default)]
pub struct StandaloneHost {
    pub interrupt: Arc<AtomicBool>,
}

impl Host for StandaloneHost {
    fn poll(&mut self) -> Result<(), Fault> {
        if self.interrupt.load(Ordering::Relaxed) { Err(Fault::Interrupted) } else { Ok(()) }
    }
}
