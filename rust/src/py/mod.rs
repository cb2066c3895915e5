//! The only module that may say `pyo3`: it extracts, calls the core, and converts back.

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods as _, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
