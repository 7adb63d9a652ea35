//! Tests of the use cases, with ports that need no disk; and the same deeds on a real engine.

mod life;
mod observation;
mod world;
