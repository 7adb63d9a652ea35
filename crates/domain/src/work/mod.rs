//! Work on nodes: focus, claims, TDD cycles, uncommitted lines, work levels, triage and evidence.

pub mod blocked_reason;
pub mod claim;
pub mod completion;
pub mod evidence;
pub mod file_moves;
pub mod focus;
pub mod guides;
pub mod history;
pub mod issue_file;
pub mod overlap;
pub mod phase_order;
pub mod removed_scenario;
pub mod scenarios;
pub mod stated_completion;
pub mod tdd;
pub mod test_report;
pub mod test_runner;
pub mod ticket_title;
pub mod triage;
pub mod uncommitted;
pub mod work_level;
