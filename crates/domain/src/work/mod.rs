//! Work on nodes: where a session stands, who holds what, how far a cycle is, what proves that something is done.

pub mod claim;
pub mod evidence;
pub mod focus;
pub mod guides;
pub mod scenarios;
pub mod tdd;
pub mod uncommitted;
pub mod work_level;
