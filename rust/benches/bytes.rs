//! Opening a large archive, and making a data URI of a large image.

use std::hint::black_box;

use _core::media;
use _core::zip::Opening;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use criterion::{Criterion, Throughput};

/// The directory of so many members, as it follows 150,000 empty ones, and its end record.
fn directory(members: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for number in 0..members {
        let name = format!("images/PMC{:07}_Fig1_{number:06}.jpg", number.wrapping_mul(7919));
        out.extend(b"PK\x01\x02\x14\x00\x14\x00");
        out.extend([0; 20]);
        out.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
        out.extend([0; 16]);
        out.extend(name.as_bytes());
    }
    let length = u64::try_from(out.len()).unwrap_or(0).to_le_bytes();
    let count = u64::from(members).to_le_bytes();
    for part in [&b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0"[..], &[0; 8], &count, &count] {
        out.extend(part);
    }
    out.extend(length);
    out.extend([0; 8]);
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend(length);
    out.extend(b"\x01\0\0\0PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
    out
}

fn open(bytes: &[u8]) -> usize {
    let mut opening = Opening::new("bench.zip", bytes.len() as u64);
    loop {
        let need = opening.need();
        let range =
            usize::try_from(need.start).unwrap_or(0)..usize::try_from(need.end).unwrap_or(0);
        let fed = bytes.get(range).unwrap_or_default().to_vec();
        match opening.feed(fed) {
            Ok(None) => {}
            Ok(Some(directory)) => return directory.len(),
            Err(_) => return 0,
        }
    }
}

pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let archive = directory(150_000);
    assert_eq!(open(&archive), 150_000);
    criterion.bench_function("zip: directory of 150,000 members", |bencher| {
        bencher.iter(|| open(black_box(&archive)));
    });

    let image: Vec<u8> =
        (0..5_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let uri = media::data_uri("image/jpeg", &image);
    assert!(media::decode_base64(&uri).is_ok_and(|decoded| decoded == image));
    let mut group = criterion.benchmark_group("data URI of 5 MB");
    group.throughput(Throughput::Bytes(image.len() as u64));
    group.bench_function("ours", |bencher| {
        bencher.iter(|| media::data_uri("image/jpeg", black_box(&image)));
    });
    group.bench_function("copy", |bencher| bencher.iter(|| black_box(&image).clone()));
    group.bench_function("scalar engine", |bencher| {
        bencher.iter(|| STANDARD.encode(black_box(&image)));
    });
    group.bench_function("decode", |bencher| {
        bencher.iter(|| media::decode_base64(black_box(&uri)));
    });
    group.finish();
}
