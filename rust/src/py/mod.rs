//! The only module that may say `pyo3`: it extracts, calls the core, and converts back.

mod metrics;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods as _, PyResult};

    #[pymodule_export]
    use super::metrics::{bleu, bleu_list, jieba_cut, rouge, rouge_list, word_tokenize};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
