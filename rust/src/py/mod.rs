//! The only room that may say `pyo3`: it extracts, calls the core, and converts back.

mod answers;
mod media;
mod metrics;
mod parquet;
mod text;
mod zip;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::{Error, Result};

pyo3::import_exception!(mmscore.errors, DataError);
pyo3::import_exception!(mmscore.errors, NumberTooLargeError);

/// Damaged data become `mmscore.errors.DataError` with its hint; the system's errors keep their
/// kind (`FileNotFoundError`, `PermissionError` ...).
impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        if let Error::Io { source, .. } = &error {
            return io_error(source, message);
        }
        let hint = error.hint();
        Python::attach(|py| {
            let raise = || {
                let keywords = PyDict::new(py);
                keywords.set_item("hint", hint)?;
                let class = if error.is_number_too_large() {
                    py.get_type::<NumberTooLargeError>()
                } else {
                    py.get_type::<DataError>()
                };
                class.call((message.as_str(),), Some(&keywords))
            };
            raise().map_or_else(|failure| failure, PyErr::from_value)
        })
    }
}

/// `OSError(errno, sentence)` is how Python picks the subclass.
fn io_error(source: &std::io::Error, message: String) -> PyErr {
    match source.raw_os_error() {
        Some(code) => PyOSError::new_err((code, message)),
        None => PyErr::from(std::io::Error::new(source.kind(), message)),
    }
}

/// Fills a new `bytes` object of known length without the interpreter's lock.
fn filled(
    py: Python<'_>,
    length: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<()> + Send,
) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, length, |out| Ok(py.detach(|| fill(out))?))
}

#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods as _, PyResult};

    #[pymodule_export]
    use super::answers::{
        clean_option, infer_option, match_choice, match_count, normalize_answer, parse_answer_line,
        parse_choice, parse_count, score_choices, score_counts, score_options, score_slake,
    };

    #[pymodule_export]
    use super::media::{Look, data_uri, decode_base64, look, sniff};
    #[pymodule_export]
    use super::metrics::{bleu, bleu_list, rouge, rouge_list};
    #[pymodule_export]
    use super::parquet::{ParquetFile, ParquetRows};
    #[pymodule_export]
    use super::text::{jieba_cut, simple_rows, word_tokenize};
    #[pymodule_export]
    use super::zip::{Zip, ZipDirectory, ZipOpening};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
