//! The tree as a list that windows are cut from. Read once per change, not once per window.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use application::list_nodes::{RowView, list_nodes};
use application::{Failure, Workspace};
use domain::ids::Principal;
use domain::operation::Channel;
use serde::{Deserialize, Serialize};

/// An edited file is no operation before someone looks at it: a list this old is looked at again.
pub(crate) const FRESH: Duration = Duration::from_secs(2);
/// So many rows are given at once at most.
const MOST_ROWS: usize = 500;
const USUAL_ROWS: usize = 100;

/// The list as it was when last looked at.
pub(crate) struct Rows {
    workspace: Arc<dyn Workspace>,
    known: Mutex<Option<Known>>,
}

#[derive(Clone)]
struct Known {
    head: u64,
    read_at: Instant,
    rows: Arc<Vec<RowView>>,
}

/// Which part of the tree is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    pub(crate) text: String,
    pub(crate) status: String,
    pub(crate) phase: String,
    pub(crate) offset: usize,
    pub(crate) limit: Option<usize>,
}

impl Wanted {
    fn fits(&self, row: &RowView, text: &str) -> bool {
        let has = |it: &str| it.to_lowercase().contains(text);
        (text.is_empty() || has(&row.path) || row.title.as_deref().is_some_and(has))
            && (self.status.is_empty() || row.status.word() == self.status)
            && (self.phase.is_empty() || row.phase.as_deref() == Some(&self.phase))
    }

    pub(crate) fn is_filtered(&self) -> bool {
        !(self.text.trim().is_empty() && self.status.is_empty() && self.phase.is_empty())
    }
}

/// A part of the tree.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Window {
    /// The last operation this is the state after.
    pub(crate) head: u64,
    /// How many fit what was asked for.
    pub(crate) total: usize,
    pub(crate) offset: usize,
    pub(crate) rows: Vec<RowView>,
    /// The phases there are to filter by.
    pub(crate) phases: Vec<String>,
}

impl Rows {
    pub(crate) fn of(workspace: Arc<dyn Workspace>) -> Self {
        Self { workspace, known: Mutex::default() }
    }

    /// Returns the list, looked at again where it may be another one. Waits for a disk.
    pub(crate) fn now(&self) -> Result<(u64, Arc<Vec<RowView>>), Failure> {
        // Held while it is read: those who ask at the same moment wait for one reading, and do not all read.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let head = self.workspace.head()?;
        if let Some(known) = known.as_ref().filter(|known| known.head == head && known.read_at.elapsed() < FRESH) {
            return Ok((head, known.rows.clone()));
        }
        let rows = Arc::new(self.workspace.ask(Channel::Web, &Principal::System, &mut list_nodes)?);
        // What the look noticed may be an operation.
        let head = self.workspace.head()?;
        *known = Some(Known { head, read_at: Instant::now(), rows: rows.clone() });
        Ok((head, rows))
    }

    /// Cuts a window from it. Waits for a disk.
    pub(crate) fn window(&self, wanted: &Wanted) -> Result<Window, Failure> {
        let (head, rows) = self.now()?;
        let text = wanted.text.trim().to_lowercase();
        let limit = wanted.limit.unwrap_or(USUAL_ROWS).clamp(1, MOST_ROWS);
        let mut fitting = Vec::new();
        let mut total = 0;
        for row in rows.iter().filter(|row| wanted.fits(row, &text)) {
            if total >= wanted.offset && fitting.len() < limit {
                fitting.push(row.clone());
            }
            total += 1;
        }
        let mut phases: Vec<&String> = rows.iter().filter_map(|row| row.phase.as_ref()).collect();
        phases.sort_unstable();
        phases.dedup();
        let phases = phases.into_iter().cloned().collect();
        Ok(Window { head, total, offset: wanted.offset, rows: fitting, phases })
    }
}
