//! Text for Python, and Python's strings for the other modules here.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::text::table::Table;
use crate::text::{jieba, words};

/// The characters of a Python string; a lone surrogate, which has no UTF-8, counts as U+FFFD.
///
/// Two that make a pair count as its character, as in the files that a run writes.
pub(super) fn text<'s>(string: &'s Bound<'_, PyString>) -> PyResult<Cow<'s, str>> {
    if let Ok(text) = string.to_str() {
        return Ok(text.into());
    }
    let encoded = string.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let (units, _) = encoded.cast::<PyBytes>()?.as_bytes().as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    Ok(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

pub(super) fn texts<'s>(strings: &'s [Bound<'_, PyString>]) -> PyResult<Vec<Cow<'s, str>>> {
    strings.iter().map(text).collect()
}

/// NLTK's tokens of a text.
#[pyfunction]
pub(super) fn word_tokenize(text: &Bound<'_, PyString>) -> PyResult<Vec<String>> {
    Ok(words::word_tokenize(&self::text(text)?))
}

/// jieba's words of a text.
#[pyfunction]
pub(super) fn jieba_cut(text: &Bound<'_, PyString>) -> PyResult<Vec<String>> {
    Ok(jieba::cut(&self::text(text)?).into_iter().map(str::to_owned).collect())
}

/// Rows of a table as dicts, as far as they are simple, and where the first one that is not begins.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(super) fn simple_rows<'py>(
    py: Python<'py>,
    data: &[u8],
    start: usize,
    delimiter: u8,
    columns: Vec<Option<Bound<'py, PyString>>>,
    longest: usize,
) -> PyResult<(Vec<Bound<'py, PyDict>>, usize)> {
    let table = Table { delimiter, width: columns.len(), longest };
    let (mut rows, mut cells, mut at) = (Vec::new(), Vec::new(), start);
    while let Some(length) = data.get(at..).and_then(|rest| table.record(rest, &mut cells)) {
        let row = PyDict::new(py);
        for (name, cell) in columns.iter().zip(&cells) {
            if let Some(name) = name {
                row.set_item(name, PyString::new(py, cell))?;
            }
        }
        rows.push(row);
        at += length;
    }
    Ok((rows, at))
}
