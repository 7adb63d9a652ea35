//! Recordings of requests and answers, without secrets, for tests, audits and free re-runs.
//!
//! Two levels: `wire_tape` stores HTTP exchanges byte by byte, the `cassette` layer stores requests
//! and answers. Both are readable JSON Lines files, and on a miss both show the diff to the most
//! similar recorded request.

pub(crate) mod json_lines;
pub(crate) mod request_diff;
pub(crate) mod scrub;
pub(crate) mod wire_tape;
