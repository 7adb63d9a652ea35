//! Work on nodes: focus, claims, TDD cycles, uncommitted lines, work levels and evidence.

pub mod claim;
pub mod evidence;
pub mod file_moves;
pub mod focus;
pub mod guides;
pub mod history;
pub mod overlap;
pub mod scenarios;
pub mod tdd;
pub mod uncommitted;
pub mod work_level;
