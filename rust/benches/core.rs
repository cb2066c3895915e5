//! Benchmarks of the core on real shapes: `cargo bench`.

mod bytes;
mod metrics;
mod parquet;
mod text;

use criterion::{Criterion, criterion_group, criterion_main};

fn benchmarks(criterion: &mut Criterion) {
    bytes::benchmarks(criterion);
    metrics::benchmarks(criterion);
    parquet::benchmarks(criterion);
    text::benchmarks(criterion);
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
