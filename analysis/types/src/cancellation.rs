//! Cancellation of type inference from another thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use salsa::{CancellationToken, Database as _};

use crate::database::Database;

/// Cancels all questions of one run. Inference that is cancelled unwinds with [`salsa::Cancelled`].
#[derive(Clone, Default)]
pub struct Cancellation(Arc<Mutex<State>>);

/// A clone of a database for another thread. Queries on it and on its clones can be cancelled.
pub(crate) struct Cancellable {
    pub(crate) db: Database,
    cancellation: Cancellation,
}

impl Cancellable {
    pub(crate) fn new(db: &Database, cancellation: &Cancellation) -> Self {
        let db = db.clone();
        cancellation.register(&db);
        Self { db, cancellation: cancellation.clone() }
    }
}

impl Clone for Cancellable {
    fn clone(&self) -> Self {
        let db = self.db.clone();
        self.cancellation.register(&db);
        Self { db, cancellation: self.cancellation.clone() }
    }
}

#[derive(Default)]
struct State {
    is_cancelled: bool,
    /// The tokens that cancel queries, for each registered clone of the database.
    tokens: Vec<CancellationToken>,
}

impl Cancellation {
    /// Cancels running questions, and all later ones.
    pub fn cancel(&self) {
        let mut state = self.lock();
        state.is_cancelled = true;
        state.tokens.drain(..).for_each(|token| token.cancel());
    }

    fn register(&self, db: &Database) {
        let mut state = self.lock();
        match state.is_cancelled {
            true => db.cancellation_token().cancel(),
            false => state.tokens.push(db.cancellation_token()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
