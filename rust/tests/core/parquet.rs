//! Parquet: files written here, whole and damaged, read as rows and by the cell.

// Sizes here are small and known.
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use _core::Error;
use _core::parquet::{Fault, ParquetFile, Row, Value};
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const SCHEMA: &str = "message schema {
    OPTIONAL GROUP image { OPTIONAL BYTE_ARRAY bytes; OPTIONAL BYTE_ARRAY path (UTF8); }
    OPTIONAL GROUP questions (LIST) {
        REPEATED GROUP list { OPTIONAL BYTE_ARRAY element (UTF8); }
    }
    OPTIONAL INT64 number;
}";

/// A file of its own for each test, gone when the test ends.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let name = format!("mmscore-{}-{name}.parquet", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Bytes that no codec shrinks, and bytes that all shrink.
fn image(number: usize) -> Vec<u8> {
    let mut state = number as u64 + 1;
    let noise = (0..9_000 + 700 * number).map(move |at| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if at % 5_000 < 1_000 { b'.' } else { state.to_le_bytes()[0] }
    });
    noise.collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn number_of(row: usize) -> Option<i64> {
    (row % 4 != 3).then_some(row as i64 - 3)
}

/// The rows that `write` writes: every fourth without number, every third without image bytes, every seventh without struct.
fn expected(count: usize) -> Vec<Row> {
    let row = |number: usize| {
        let bytes = if number % 3 == 1 { Value::Null } else { Value::Bytes(image(number)) };
        let image =
            vec![("bytes".to_owned(), bytes), ("path".to_owned(), text(&format!("{number}.png")))];
        let image = if number % 7 == 6 { Value::Null } else { Value::Struct(image) };
        let questions = match number % 3 {
            0 => Value::Null,
            1 => Value::List(vec![]),
            _ => Value::List(vec![text("how many?"), Value::Null]),
        };
        vec![
            ("image".into(), image),
            ("questions".into(), questions),
            ("number".into(), number_of(number).map_or(Value::Null, Value::Int)),
        ]
    };
    (0..count).map(row).collect()
}

fn write(path: &Path, count: usize, properties: WriterProperties) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for group in (0..count).collect::<Vec<_>>().chunks(5) {
        let mut columns = writer.next_row_group().unwrap();
        let strings = |values: Vec<Vec<u8>>| -> Vec<ByteArray> {
            values.into_iter().map(ByteArray::from).collect()
        };
        let there = |number: &usize| number % 7 != 6;
        let has_bytes = |number: &&usize| there(number) && *number % 3 != 1;
        let images = strings(group.iter().filter(has_bytes).map(|&n| image(n)).collect());
        let levels: Vec<i16> = group
            .iter()
            .map(|number| {
                if !there(number) {
                    0
                } else if number % 3 == 1 {
                    1
                } else {
                    2
                }
            })
            .collect();
        let mut column = columns.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&images, Some(&levels), None).unwrap();
        column.close().unwrap();

        let names = group.iter().filter(|n| there(n)).map(|n| format!("{n}.png").into_bytes());
        let levels: Vec<i16> = group.iter().map(|n| if there(n) { 2 } else { 0 }).collect();
        let mut column = columns.next_column().unwrap().unwrap();
        let names = strings(names.collect());
        column.typed::<ByteArrayType>().write_batch(&names, Some(&levels), None).unwrap();
        column.close().unwrap();

        let (mut definition, mut repetition, mut asked) = (vec![], vec![], vec![]);
        for number in group {
            match number % 3 {
                0 => definition.push(0),
                1 => definition.push(1),
                _ => {
                    definition.extend([3, 2]);
                    asked.push(b"how many?".to_vec());
                    repetition.push(0);
                }
            }
            repetition.push(i16::from(number % 3 == 2));
        }
        let mut column = columns.next_column().unwrap().unwrap();
        let asked = strings(asked);
        let typed = column.typed::<ByteArrayType>();
        typed.write_batch(&asked, Some(&definition), Some(&repetition)).unwrap();
        column.close().unwrap();

        let numbers: Vec<i64> = group.iter().filter_map(|&number| number_of(number)).collect();
        let mut column = columns.next_column().unwrap().unwrap();
        let levels: Vec<i16> = group.iter().map(|&n| number_of(n).is_some().into()).collect();
        column.typed::<Int64Type>().write_batch(&numbers, Some(&levels), None).unwrap();
        column.close().unwrap();
        columns.close().unwrap();
    }
    writer.close().unwrap();
}

fn read(path: &Path, late: bool) -> Result<(Arc<ParquetFile>, Vec<Row>), Error> {
    let file = Arc::new(ParquetFile::open(path)?);
    let mut rows = file.rows(|_| true, |_| late)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next_row()? {
        all.push(row);
    }
    Ok((file, all))
}

/// Puts the late values into their rows, last row first.
fn resolve(file: &ParquetFile, rows: &mut [Row]) -> Result<usize, Error> {
    let mut count = 0;
    for row in rows.iter_mut().rev() {
        for (_, value) in row {
            let Value::Struct(fields) = value else { continue };
            for (_, value) in fields {
                let Value::Late(late) = value else { continue };
                *value = file.cell(late.leaf, late.row, late.element)?;
                count += 1;
            }
        }
    }
    Ok(count)
}

#[test]
fn every_codec_and_page_version_gives_the_rows_written() {
    let temporary = Temporary::new("codecs");
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::GZIP(parquet::basic::GzipLevel::default()),
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for dictionary in [true, false] {
                let properties = WriterProperties::builder()
                    .set_compression(codec)
                    .set_writer_version(version)
                    .set_dictionary_enabled(dictionary)
                    .set_dictionary_page_size_limit(100 << 20)
                    .set_encoding(Encoding::PLAIN);
                write(&temporary.0, 23, properties.build());
                let (_, rows) = read(&temporary.0, false).unwrap();
                assert_eq!(rows, expected(23), "{codec} {version:?} {dictionary}");
                let (file, mut rows) = read(&temporary.0, true).unwrap();
                let late = resolve(&file, &mut rows).unwrap();
                assert_eq!(rows, expected(23), "late {codec} {version:?} {dictionary}");
                assert_eq!((late, file.len()), (13, 23));
            }
        }
    }
}

#[test]
fn only_wanted_columns_are_read() {
    let temporary = Temporary::new("columns");
    write(&temporary.0, 7, WriterProperties::builder().build());
    let file = Arc::new(ParquetFile::open(&temporary.0).unwrap());
    assert_eq!(file.columns(), ["image", "questions", "number"]);
    let mut rows = file.rows(|name| name == "number", |_| true).unwrap();
    assert_eq!(rows.next_row().unwrap().unwrap(), [("number".into(), Value::Int(-3))]);
    let mut rows = file.rows(|_| false, |_| true).unwrap();
    assert_eq!(std::iter::from_fn(|| rows.next_row().unwrap()).count(), 7);
}

#[test]
fn a_cell_that_is_not_there_is_named() {
    let temporary = Temporary::new("no-cell");
    write(&temporary.0, 7, WriterProperties::builder().build());
    let file = ParquetFile::open(&temporary.0).unwrap();
    assert!(matches!(
        file.cell(0, 7, 0),
        Err(Error::Parquet { fault: Fault::NoCell { row: 7, .. }, .. })
    ));
    assert_eq!(file.cell(0, 1, 0).unwrap(), Value::Null, "null bytes");
    assert_eq!(file.cell(0, 0, 1).unwrap(), Value::Null, "no such element");
    for leaf in [3, 99, usize::MAX] {
        assert!(file.cell(leaf, 0, 0).is_err(), "leaf {leaf}");
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let (whole, cut) = (Temporary::new("whole"), Temporary::new("cut"));
    write(&whole.0, 7, WriterProperties::builder().build());
    let bytes = fs::read(&whole.0).unwrap();
    for end in (0..bytes.len()).step_by(97).chain(bytes.len() - 12..bytes.len()) {
        fs::write(&cut.0, &bytes[..end]).unwrap();
        let error = read(&cut.0, true).err().unwrap_or_else(|| panic!("cut at {end}"));
        assert!(error.to_string().contains("damaged or cut short"), "{error}");
    }
}

/// A flipped bit may give other values, it may not give a panic, a hang or a large allocation.
#[test]
fn a_file_with_any_bit_flipped_ends_in_rows_or_an_error() {
    let (whole, damaged) = (Temporary::new("sound"), Temporary::new("flipped"));
    for codec in [Compression::SNAPPY, Compression::ZSTD(parquet::basic::ZstdLevel::default())] {
        let properties =
            WriterProperties::builder().set_compression(codec).set_encoding(Encoding::PLAIN);
        write(&whole.0, 7, properties.build());
        let sound = fs::read(&whole.0).unwrap();
        let footer = sound.len() - 1_200;
        let mut errors = 0;
        for at in (0..footer).step_by(997).chain((0..60).chain(footer..sound.len())) {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&damaged.0, &bytes).unwrap();
            let outcome = read(&damaged.0, true)
                .and_then(|(file, mut rows)| resolve(&file, &mut rows))
                .and_then(|_| read(&damaged.0, false));
            errors += usize::from(outcome.is_err());
        }
        assert!(errors > 100, "{errors} errors");
    }
}

/// Three nodes deep is ordinary, two hundred thousand would overflow the stack of any recursion.
#[test]
fn a_schema_too_deep_is_refused() {
    let temporary = Temporary::new("deep");
    for (depth, is_fine) in [(3, true), (62, true), (63, false), (200_000, false)] {
        let mut nodes = b"\x48\x01r\x15\x02\x00".to_vec();
        nodes.extend(b"\x35\x02\x18\x01g\x15\x02\x00".repeat(depth));
        nodes.extend(b"\x15\x0c\x25\x02\x18\x01l\x00");
        let mut footer = b"\x15\x02\x19\xfc".to_vec();
        let count = u32::try_from(depth).unwrap() + 2;
        footer.extend([count | 128, count >> 7 | 128, count >> 14 & 127].map(|part| part as u8));
        footer.extend(nodes);
        footer.extend(b"\x16\x00\x19\x0c\x00");
        let size = u32::try_from(footer.len()).unwrap().to_le_bytes();
        fs::write(&temporary.0, [b"PAR1", &footer[..], &size, b"PAR1"].concat()).unwrap();
        let outcome = read(&temporary.0, false);
        assert_eq!(outcome.is_ok(), is_fine, "{:?}", outcome.err());
    }
}

/// Known encoders never copy over a multiple of 64 KiB; the format lets them.
#[test]
fn a_snappy_copy_may_reach_back_further_than_encoders_do() {
    const LENGTH: u32 = 70_000;
    let content: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
    let mut page = varint(2 * (LENGTH + 4));
    let literal = LENGTH + 4 - 1;
    page.push(62 << 2);
    page.extend(&literal.to_le_bytes()[..3]);
    page.extend(LENGTH.to_le_bytes());
    page.extend(&content);
    let mut left = LENGTH + 4;
    while left > 0 {
        let length = left.min(64);
        page.push(((length as u8 - 1) << 2) | 3);
        page.extend((LENGTH + 4).to_le_bytes());
        left -= length;
    }
    let temporary = Temporary::new("far-copy");
    write_page(&temporary.0, &page, 2 * (LENGTH + 4));
    let file = ParquetFile::open(&temporary.0).unwrap();
    assert_eq!(file.cell(0, 1, 0).unwrap(), Value::Bytes(content.clone()));
    assert_eq!(file.cell(0, 0, 0).unwrap(), Value::Bytes(content));
}

/// A value is as long as its first four bytes say, and some lie.
#[test]
fn a_value_too_large_is_refused_before_it_is_read() {
    const LIMIT: u32 = 1 << 29;
    let temporary = Temporary::new("large");
    for length in [LIMIT, LIMIT + 1] {
        let mut page = varint(2 * LIMIT);
        page.extend([62 << 2, 0xff, 0xff, 0]);
        page.extend(length.to_le_bytes());
        page.extend(vec![0; (1 << 16) - 4]);
        write_page(&temporary.0, &page, 2 * LIMIT);
        let error = ParquetFile::open(&temporary.0).unwrap().cell(0, 0, 0).unwrap_err();
        let sentence = error.to_string();
        let is_refused = sentence.contains("at most 536870912 are read");
        assert_eq!(is_refused, length > LIMIT, "{sentence}");
    }
}

/// Old writers wrote bare blocks and Hadoop's frames under one name.
#[test]
fn a_bare_lz4_block_under_the_old_name_is_read() {
    let temporary = Temporary::new("bare");
    let page = b"\xc0\x02\0\0\0ab\x02\0\0\0cd";
    for codec in [Compression::LZ4, Compression::LZ4_RAW] {
        write_column(&temporary.0, page, 12, codec);
        let file = ParquetFile::open(&temporary.0).unwrap();
        assert_eq!(file.cell(0, 1, 0).unwrap(), Value::Bytes(b"cd".to_vec()), "{codec}");
    }
}

#[test]
fn a_codec_that_is_not_read_is_named_with_what_to_do() {
    let temporary = Temporary::new("codec");
    let brotli = Compression::BROTLI(parquet::basic::BrotliLevel::default());
    write_column(&temporary.0, b"page", 4, brotli);
    let file = Arc::new(ParquetFile::open(&temporary.0).unwrap());
    let error = file.rows(|_| true, |_| true).err().unwrap();
    let sentence = error.to_string();
    assert!(
        sentence.ends_with(
            "column `raw` is compressed with brotli, expected snappy, zstd, gzip, lz4 or none"
        ),
        "{sentence}"
    );
    assert!(error.hint().unwrap().contains("compression=\"snappy\""));
}

fn varint(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn write_page(path: &Path, page: &[u8], uncompressed: u32) {
    write_column(path, page, uncompressed, Compression::SNAPPY);
}

/// A file of one required column of two values, in one page given as it stands.
fn write_column(path: &Path, page: &[u8], uncompressed: u32, codec: Compression) {
    let zigzag = |number: usize| varint(2 * number as u32);
    let mut chunk = b"\x15\x00\x15".to_vec();
    chunk.extend(zigzag(uncompressed as usize));
    chunk.push(0x15);
    chunk.extend(zigzag(page.len()));
    chunk.extend(b"\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x00\x00");
    chunk.extend(page);

    let schema = Arc::new(parse_message_type("message m { REQUIRED BYTE_ARRAY raw; }").unwrap());
    let properties = WriterProperties::builder().build();
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties))
            .unwrap();
    let column = writer.schema_descr().column(0);
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(codec)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE])
        .set_num_values(2)
        .set_total_compressed_size(chunk.len() as i64)
        .set_total_uncompressed_size(i64::from(uncompressed))
        .set_data_page_offset(0)
        .build()
        .unwrap();
    let closed = ColumnCloseResult {
        bytes_written: chunk.len() as u64,
        rows_written: 2,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    let mut group = writer.next_row_group().unwrap();
    group.append_column(&bytes::Bytes::from(chunk), closed).unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}
