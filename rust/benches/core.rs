//! Benchmarks of the core on real shapes: `cargo bench`.

mod metrics;

use criterion::{Criterion, criterion_group, criterion_main};

fn benchmarks(criterion: &mut Criterion) {
    metrics::benchmarks(criterion);
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
