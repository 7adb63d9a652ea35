//! An empty process: what starting and ending one costs, with the same profile as the program.

fn main() {}
