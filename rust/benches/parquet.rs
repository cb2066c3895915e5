//! Parquet: rows of text, and large values out of one page that holds them all.

// A bench may panic as a test does.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use _core::parquet::{ParquetFile, Value};
use criterion::{Criterion, Throughput};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const ROWS: usize = 10_000;
const IMAGES: usize = 100;
const IMAGE_BYTES: usize = 500_000;

/// Ten thousand rows of two texts, and a hundred images in one snappy page.
pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parquet");
    let texts = write("texts", ROWS, |number| {
        format!("How many circles are in picture {number}?").into_bytes().into()
    });
    let file = Arc::new(ParquetFile::open(&texts).unwrap());
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("rows", |bencher| {
        bencher.iter(|| {
            let mut rows = file.rows(|_| true, |_| false).unwrap();
            let count = std::iter::from_fn(|| rows.next_row().unwrap()).count();
            assert_eq!(count, ROWS);
        });
    });

    let images = write("images", IMAGES, noise);
    let file = ParquetFile::open(&images).unwrap();
    group.throughput(Throughput::Bytes((IMAGES * IMAGE_BYTES) as u64));
    group.bench_function("images in order", |bencher| {
        bencher.iter(|| (0..IMAGES as u64).for_each(|row| check(&file, row)));
    });
    group.bench_function("images backwards", |bencher| {
        bencher.iter(|| (0..IMAGES as u64).rev().for_each(|row| check(&file, row)));
    });
    group.finish();
    let _ = std::fs::remove_file(texts);
    let _ = std::fs::remove_file(images);
}

fn check(file: &ParquetFile, row: u64) {
    let Value::Bytes(bytes) = file.cell(0, row, 0).unwrap() else { panic!("row {row}") };
    assert_eq!(black_box(bytes).len(), IMAGE_BYTES);
}

fn noise(number: usize) -> ByteArray {
    let mut state = number as u64 + 1;
    let bytes = (0..IMAGE_BYTES).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    });
    bytes.collect::<Vec<u8>>().into()
}

/// Two columns of the same values in one row group; the second is small text.
fn write(name: &str, count: usize, value: impl Fn(usize) -> ByteArray) -> PathBuf {
    let path = std::env::temp_dir().join(format!("mmscore-bench-{}-{name}", std::process::id()));
    let schema = "message m { REQUIRED BYTE_ARRAY value; REQUIRED BYTE_ARRAY path (UTF8); }";
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(1 << 30)
        .set_data_page_size_limit(1 << 30);
    let mut writer = SerializedFileWriter::new(
        File::create(Path::new(&path)).unwrap(),
        Arc::new(parse_message_type(schema).unwrap()),
        Arc::new(properties.build()),
    )
    .unwrap();
    let mut group = writer.next_row_group().unwrap();
    let paths = |number: usize| ByteArray::from(format!("{number}.png").into_bytes());
    for values in
        [(0..count).map(value).collect::<Vec<_>>(), (0..count).map(paths).collect::<Vec<_>>()]
    {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    path
}
