//! What a plan asks of the program around it.

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

    /// A call back into Python, by the number that the graph has for it.
    fn call(&mut self, callback: u32, arguments: Vec<Value>) -> Result<Vec<Value>, Fault> {
        let _ = arguments;
        Err(Fault::Type(format!("callback {callback} is a Python function, and there is no Python here")))
    }

    /// Asked about every twentieth of a second while a loop or a recursion runs.
    fn poll(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// A host without Python, which another thread may tell to stop.
#[derive(Debug, Clone, Default)]
pub struct Alone {
    pub interrupt: Arc<AtomicBool>,
}

impl Host for Alone {
    fn poll(&mut self) -> Result<(), Fault> {
        if self.interrupt.load(Ordering::Relaxed) { Err(Fault::Interrupted) } else { Ok(()) }
    }
}
