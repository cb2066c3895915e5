//! The core's own tests, run by `cargo test` with no Python.

// Helpers of tests may panic as tests do; clippy's own exception covers only `#[test]` functions.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod media;
mod metrics;
mod parquet;
mod text;
mod zip;
