//! Archives for Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::filled;
use crate::Result;
use crate::zip::{Directory, FileZip, Opening};

fn size_of(directory: &Directory, index: usize) -> Result<usize> {
    // A size beyond usize is beyond every limit too, and refused by `span`.
    Ok(usize::try_from(directory.member(index)?.size).unwrap_or(usize::MAX))
}

#[pyclass(frozen, module = "mmscore._core")]
pub(super) struct Zip {
    zip: FileZip,
}

#[pymethods]
impl Zip {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { zip: py.detach(|| FileZip::open(path))? })
    }

    fn __len__(&self) -> usize {
        self.zip.directory().len()
    }

    fn names(&self) -> Vec<String> {
        self.zip.directory().names().map(Into::into).collect()
    }

    fn name(&self, index: usize) -> PyResult<String> {
        Ok(self.zip.directory().member(index)?.name.into_owned())
    }

    fn size(&self, index: usize) -> PyResult<u64> {
        Ok(self.zip.directory().member(index)?.size)
    }

    fn method(&self, index: usize) -> PyResult<&'static str> {
        Ok(self.zip.directory().member(index)?.method_name())
    }

    fn is_encrypted(&self, index: usize) -> PyResult<bool> {
        Ok(self.zip.directory().member(index)?.is_encrypted())
    }

    fn check(&self, index: usize) -> PyResult<()> {
        Ok(self.zip.directory().check(index)?)
    }

    fn find(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        Ok(py.detach(|| self.zip.directory().find(name))?)
    }

    fn get(&self, py: Python<'_>, name: &str) -> PyResult<Option<usize>> {
        Ok(py.detach(|| self.zip.directory().get(name))?)
    }

    fn read<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let span = py.detach(|| self.zip.read_span(index))?;
        let directory = self.zip.directory();
        filled(py, size_of(directory, index)?, |out| directory.decode_into(index, &span, out))
    }
}

#[pyclass(frozen, module = "mmscore._core")]
pub(super) struct ZipOpening {
    opening: Mutex<Opening>,
}

#[pymethods]
impl ZipOpening {
    #[new]
    fn new(archive: String, size: u64) -> Self {
        Self { opening: Mutex::new(Opening::new(archive, size)) }
    }

    fn need(&self) -> (u64, u64) {
        let range = self.opening.lock().unwrap_or_else(PoisonError::into_inner).need();
        (range.start, range.end)
    }

    fn feed(&self, py: Python<'_>, data: &[u8]) -> PyResult<Option<ZipDirectory>> {
        let directory = py.detach(|| {
            self.opening.lock().unwrap_or_else(PoisonError::into_inner).feed(data.to_vec())
        })?;
        Ok(directory.map(|directory| ZipDirectory { directory }))
    }
}

#[pyclass(frozen, module = "mmscore._core")]
pub(super) struct ZipDirectory {
    directory: Directory,
}

#[pymethods]
impl ZipDirectory {
    fn __len__(&self) -> usize {
        self.directory.len()
    }

    fn names(&self) -> Vec<String> {
        self.directory.names().map(Into::into).collect()
    }

    fn name(&self, index: usize) -> PyResult<String> {
        Ok(self.directory.member(index)?.name.into_owned())
    }

    fn size(&self, index: usize) -> PyResult<u64> {
        Ok(self.directory.member(index)?.size)
    }

    fn method(&self, index: usize) -> PyResult<&'static str> {
        Ok(self.directory.member(index)?.method_name())
    }

    fn is_encrypted(&self, index: usize) -> PyResult<bool> {
        Ok(self.directory.member(index)?.is_encrypted())
    }

    fn check(&self, index: usize) -> PyResult<()> {
        Ok(self.directory.check(index)?)
    }

    fn find(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        Ok(py.detach(|| self.directory.find(name))?)
    }

    fn get(&self, py: Python<'_>, name: &str) -> PyResult<Option<usize>> {
        Ok(py.detach(|| self.directory.get(name))?)
    }

    fn span(&self, index: usize) -> PyResult<(u64, u64)> {
        let range = self.directory.span(index)?;
        Ok((range.start, range.end))
    }

    fn decode<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        data: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        // Refuses what must not be read before its size is believed.
        self.directory.span(index)?;
        let length = size_of(&self.directory, index)?;
        filled(py, length, |out| self.directory.decode_into(index, data, out))
    }
}
