//! [`Session`]: appends to one session's log.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use tokio::sync::Mutex;

use super::{
    SessionStore, StoreError,
    append::{self, ToMake},
    finishing::Finishing,
    row::StepRow,
};
use crate::session::{SessionId, Step};

/// Appends to a session. Clones append to the same log, one after the other.
#[derive(Debug, Clone)]
pub struct Session {
    id: SessionId,
    kept: Kept,
}

#[derive(Debug, Clone)]
enum Kept {
    Stored {
        store: SessionStore,
        position: Arc<Mutex<Position>>,
    },
    /// Only counted.
    Unsaved(Arc<AtomicU64>),
}

#[derive(Debug)]
struct Position {
    /// What the first write has to make.
    make: Option<ToMake>,
    next: u64,
}

impl Session {
    pub(super) fn new(store: SessionStore, id: SessionId, make: ToMake) -> Self {
        Self::at(store, id, Position { make: Some(make), next: 1 })
    }

    pub(super) fn existing(store: SessionStore, id: SessionId, last_seq: u64) -> Self {
        Self::at(store, id, Position { make: None, next: last_seq + 1 })
    }

    fn at(store: SessionStore, id: SessionId, position: Position) -> Self {
        Self { id, kept: Kept::Stored { store, position: Arc::new(Mutex::new(position)) } }
    }

    /// A session that is kept nowhere: its steps are numbered and forgotten.
    pub fn unsaved() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let id = SessionId::numbered("unsaved", i64::try_from(number).unwrap_or(i64::MAX));
        Self { id, kept: Kept::Unsaved(Arc::default()) }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Whether it is kept.
    pub fn is_saved(&self) -> bool {
        matches!(self.kept, Kept::Stored { .. })
    }

    /// Appends a step and gives its number. It is committed when this returns: it survives the end of the process.
    /// A future that is dropped before does not take the step back; it is stored or not, as a whole, and the steps
    /// that follow come after it.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionBusy`] where someone else has appended since this was opened, and whatever goes wrong with
    /// the disk. The step is then not stored, and may be appended again.
    pub async fn append(&self, step: &Step) -> Result<u64, StoreError> {
        self.append_all(std::slice::from_ref(step)).await
    }

    /// Appends several steps, all or none, and gives the number of the last.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub async fn append_all(&self, steps: &[Step]) -> Result<u64, StoreError> {
        let (store, position) = match &self.kept {
            Kept::Stored { store, position } => (store.clone(), Arc::clone(position)),
            Kept::Unsaved(last) => {
                let more = steps.len() as u64;
                return Ok(last.fetch_add(more, Ordering::Relaxed) + more);
            }
        };
        let now = Timestamp::now();
        let rows: Vec<StepRow> =
            steps.iter().map(|step| StepRow::new(step, now)).collect::<Result<_, _>>()?;
        let id = self.id.clone();
        Finishing::new(write(position, store, id, rows)).await
    }

    /// Brings everything that was appended onto the disk, which takes as long as the disk needs, and makes it
    /// searchable. For the end of a reply; nobody has to wait for it.
    ///
    /// # Errors
    ///
    /// Where the disk fails.
    pub async fn sync(&self) -> Result<(), StoreError> {
        let Kept::Stored { store, .. } = &self.kept else { return Ok(()) };
        store.sync().await?;
        store.index(&self.id).await
    }
}

async fn write(
    position: Arc<Mutex<Position>>,
    store: SessionStore,
    id: SessionId,
    rows: Vec<StepRow>,
) -> Result<u64, StoreError> {
    let mut position = position.lock().await;
    let more = rows.len() as u64;
    if more > 0 {
        append::append(store.database(), &id, position.make.as_ref(), position.next, rows).await?;
        position.make = None;
        position.next += more;
    }
    Ok(position.next - 1)
}
