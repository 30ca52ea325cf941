//! The salsa database of ruff's files and of the queries of this workspace's crates.
//!
//! Cloning a [`Database`] gives a snapshot that another thread may query. Setting an input waits until every snapshot
//! is dropped or has unwound. So the thread that sets inputs must not keep a snapshot.

use std::panic::RefUnwindSafe;
use std::sync::{Arc, LazyLock};

use ruff_db::files::Files;
use ruff_db::system::System;
use ruff_db::vendored::VendoredFileSystem;

/// The payload with which a query unwinds if an input is set while the query runs.
pub use salsa::Cancelled;

/// A file system that snapshots may share.
pub type SharedSystem = Arc<dyn System + Send + Sync + RefUnwindSafe>;

/// Called for every query that is executed. It is not called for a query whose result is reused. Tests of
/// incrementality use it.
pub type QueryListener = Box<dyn Fn(&salsa::Event) + Send + Sync>;

/// The database on which the queries of this workspace run.
#[salsa::db]
pub trait Db: ruff_db::Db {}

#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    files: Files,
    system: SharedSystem,
}

impl Database {
    pub fn new(system: SharedSystem, listener: Option<QueryListener>) -> Self {
        let listener = listener.map(|listener| -> Box<dyn Fn(salsa::Event) + Send + Sync> {
            Box::new(move |event| listener(&event))
        });
        Self { storage: salsa::Storage::new(listener), files: Files::default(), system }
    }

    /// Returns the file system, so that another database can share it.
    pub fn shared_system(&self) -> SharedSystem {
        Arc::clone(&self.system)
    }
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl ruff_db::Db for Database {
    /// The user's database has no bundled files.
    fn vendored(&self) -> &VendoredFileSystem {
        static NONE: LazyLock<VendoredFileSystem> = LazyLock::new(VendoredFileSystem::default);
        &NONE
    }

    fn system(&self) -> &dyn System {
        &*self.system
    }

    fn files(&self) -> &Files {
        &self.files
    }
}

#[salsa::db]
impl Db for Database {}
