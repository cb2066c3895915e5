//! Benchmarks of the core on real shapes: `cargo bench`.

use criterion::{Criterion, criterion_group, criterion_main};

mod bytes;

fn benchmarks(criterion: &mut Criterion) {
    bytes::benchmarks(criterion);
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
