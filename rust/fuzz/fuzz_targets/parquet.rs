//! Any bytes as a Parquet file: rows or an error, and the same for each large value left in it.

#![no_main]

use std::sync::Arc;

use _core::parquet::{ParquetFile, Value};
use libfuzzer_sys::fuzz_target;

/// Announced rows may be nulls by the billion; the first ones show what the rest would.
const ROWS: usize = 2_000;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("mmscore-fuzz-{}.parquet", std::process::id()));
    if std::fs::write(&path, bytes).is_err() {
        return;
    }
    let Ok(file) = ParquetFile::open(&path).map(Arc::new) else { return };
    for is_late in [false, true] {
        let Ok(mut rows) = file.rows(|_| true, |_| is_late) else { continue };
        for _ in 0..ROWS {
            let Ok(Some(row)) = rows.next_row() else { break };
            row.into_iter().for_each(|(_, value)| read_late(&file, value));
        }
    }
});

fn read_late(file: &ParquetFile, value: Value) {
    match value {
        Value::Late(late) => drop(file.cell(late.leaf, late.row, late.element)),
        Value::List(items) => items.into_iter().for_each(|item| read_late(file, item)),
        Value::Struct(fields) => fields.into_iter().for_each(|(_, field)| read_late(file, field)),
        _ => {}
    }
}
