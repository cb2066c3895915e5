//! Benchmarks of the core on real shapes: `cargo bench`.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod parquet;

use criterion::{Criterion, criterion_group, criterion_main};

fn benchmarks(criterion: &mut Criterion) {
    parquet::benchmarks(criterion);
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
