//! Tools for work with phases: tickets, focus, claims, evidence.

mod claim;
mod evidence;
mod focus;
mod overlap;
mod release;
mod scenarios;
mod ticket;

pub(super) use claim::Claim;
pub(super) use evidence::Evidence;
pub(super) use focus::Focus;
pub(super) use overlap::Overlap;
pub(super) use release::Release;
pub(super) use scenarios::Scenarios;
pub(super) use ticket::Ticket;
