//! Benchmarks of the core on real shapes: `cargo bench`.

use criterion::{Criterion, criterion_group, criterion_main};

fn benchmarks(_criterion: &mut Criterion) {}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
