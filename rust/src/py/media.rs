//! Media types and data URIs for Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::filled;
use crate::media;

#[pyclass(frozen, get_all, module = "mmscore._core")]
pub(super) struct Look {
    width: u32,
    height: u32,
    complete: bool,
    bits: u8,
    channels: u8,
    transparent: bool,
}

#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn sniff(data: &[u8]) -> Option<&'static str> {
    media::sniff(data)
}

#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn look(py: Python<'_>, data: &[u8]) -> Option<Look> {
    let seen = py.detach(|| media::look(data))?;
    Some(Look {
        width: seen.width,
        height: seen.height,
        complete: seen.complete,
        bits: seen.bits,
        channels: seen.channels,
        transparent: seen.transparent,
    })
}

#[pyfunction]
#[pyo3(signature = (data, mime, /))]
pub(super) fn data_uri<'py>(
    py: Python<'py>,
    data: &[u8],
    mime: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    filled(py, media::data_uri_len(mime, data.len()), |out| {
        media::write_data_uri(mime, data, out);
        Ok(())
    })
}

#[pyfunction]
#[pyo3(signature = (text, /))]
pub(super) fn decode_base64<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = if let Ok(text) = text.cast::<PyString>() {
        // A lone surrogate is no base64 character either; lossy text says so at its position.
        let text = text.to_string_lossy();
        py.detach(|| media::decode_base64(text.as_bytes()))?
    } else if let Ok(text) = text.cast::<PyBytes>() {
        let text = text.as_bytes();
        py.detach(|| media::decode_base64(text))?
    } else {
        return Err(PyTypeError::new_err("text must be str or bytes"));
    };
    Ok(PyBytes::new(py, &bytes))
}
