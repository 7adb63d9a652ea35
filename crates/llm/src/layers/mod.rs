//! The layers between a caller and a model, each a [`Model`](crate::Model) around a model, each with one concern.

pub(crate) mod budget;
pub(crate) mod cassette;
pub(crate) mod limiter;
pub(crate) mod retry;
pub(crate) mod seconds;
pub(crate) mod structured;
pub(crate) mod timeouts;

#[cfg(test)]
pub(crate) mod fakes;
