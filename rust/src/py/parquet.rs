//! Parquet for Python: rows as dicts, large cells as `bytes` or `str`.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::parquet::{Row, Rows, Value};
use crate::{Error, Result};

/// How many rows are decoded without the interpreter's lock before it is taken again.
const BATCH_ROWS: usize = 64;

/// After so many bytes of values read at once, a batch ends early.
const BATCH_BYTES: usize = 1 << 20;

#[pyclass(frozen, module = "mmscore._core")]
pub(super) struct ParquetFile {
    file: Arc<crate::parquet::ParquetFile>,
}

#[pymethods]
impl ParquetFile {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = py.detach(move || crate::parquet::ParquetFile::open(path))?;
        Ok(Self { file: Arc::new(file) })
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.file.len()).unwrap_or(usize::MAX)
    }

    fn columns(&self) -> Vec<String> {
        self.file.columns()
    }

    #[pyo3(signature = (columns, late, cell))]
    fn rows(
        &self,
        py: Python<'_>,
        columns: HashSet<String>,
        late: HashSet<String>,
        cell: Py<PyAny>,
    ) -> PyResult<ParquetRows> {
        let rows = py.detach(move || {
            self.file.rows(|name| columns.contains(name), |name| late.contains(name))
        })?;
        let ahead = Ahead { rows, ready: VecDeque::new(), failure: None };
        Ok(ParquetRows { ahead: Mutex::new(ahead), cell, names: PyOnceLock::new() })
    }

    fn cell<'py>(
        &self,
        py: Python<'py>,
        leaf: usize,
        row: u64,
        element: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        match py.detach(|| self.file.cell(leaf, row, element))? {
            Value::Bytes(bytes) => PyBytes::new(py, &bytes).into_bound_py_any(py),
            Value::Text(text) => text.into_bound_py_any(py),
            _ => Ok(py.None().into_bound(py)),
        }
    }
}

#[pyclass(frozen, module = "mmscore._core")]
pub(super) struct ParquetRows {
    ahead: Mutex<Ahead>,
    cell: Py<PyAny>,
    /// The columns of every row.
    names: PyOnceLock<Vec<Py<PyString>>>,
}

#[pymethods]
impl ParquetRows {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        // What is decoded is taken without leaving the interpreter's lock.
        let decoded = self.ahead.try_lock().ok().and_then(|mut ahead| ahead.ready.pop_front());
        if let Some(row) = decoded {
            return self.row(py, row).map(Some);
        }
        py.check_signals()?;
        let row =
            py.detach(|| self.ahead.lock().unwrap_or_else(PoisonError::into_inner).next_row())?;
        row.map(|row| self.row(py, row)).transpose()
    }
}

impl ParquetRows {
    fn row<'py>(&self, py: Python<'py>, row: Row) -> PyResult<Bound<'py, PyDict>> {
        let intern = |(name, _): &(Arc<str>, Value)| PyString::intern(py, name).unbind();
        let names = self.names.get_or_init(py, || row.iter().map(intern).collect());
        let dict = PyDict::new(py);
        for (name, (_, value)) in names.iter().zip(row) {
            dict.set_item(name, self.object(py, value)?)?;
        }
        Ok(dict)
    }

    /// The nesting of a value is that of the schema, which the core has already walked.
    fn object<'py>(&self, py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Null => Ok(py.None().into_bound(py)),
            Value::Bool(value) => value.into_bound_py_any(py),
            Value::Int(value) => value.into_bound_py_any(py),
            Value::UInt(value) => value.into_bound_py_any(py),
            Value::Float(value) => value.into_bound_py_any(py),
            Value::Text(value) => value.into_bound_py_any(py),
            Value::Bytes(value) => PyBytes::new(py, &value).into_bound_py_any(py),
            Value::List(items) => {
                let items = items.into_iter().map(|item| self.object(py, item));
                PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
            }
            Value::Map(pairs) => {
                let pairs = pairs
                    .into_iter()
                    .map(|(key, value)| Ok((self.object(py, key)?, self.object(py, value)?)));
                PyList::new(py, pairs.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
            }
            Value::Struct(fields) => {
                let dict = PyDict::new(py);
                for (name, value) in fields {
                    dict.set_item(PyString::intern(py, &name), self.object(py, value)?)?;
                }
                dict.into_bound_py_any(py)
            }
            Value::Late(late) => {
                let address = (late.column.as_ref(), late.leaf, late.row, late.element);
                self.cell.bind(py).call1(address)
            }
        }
    }
}

/// Rows decoded ahead of the interpreter, so that its lock is not taken and left for each.
struct Ahead {
    rows: Rows,
    ready: VecDeque<Row>,
    /// What ended the rows; raised when those before it have been given.
    failure: Option<Error>,
}

impl Ahead {
    fn next_row(&mut self) -> Result<Option<Row>> {
        if self.ready.is_empty() && self.failure.is_none() {
            self.fill();
        }
        match self.ready.pop_front() {
            Some(row) => Ok(Some(row)),
            None => self.failure.take().map_or(Ok(None), Err),
        }
    }

    fn fill(&mut self) {
        let mut bytes = 0;
        while self.ready.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            match self.rows.next_row() {
                Ok(Some(row)) => {
                    bytes += row.iter().map(|(_, value)| value.size()).sum::<usize>();
                    self.ready.push_back(row);
                }
                Ok(None) => return,
                Err(error) => {
                    self.failure = Some(error);
                    return;
                }
            }
        }
    }
}
