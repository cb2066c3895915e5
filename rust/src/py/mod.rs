//! The only module that may say `pyo3`: it extracts, calls the core, and converts back.

mod text;

use pyo3::prelude::*;

use crate::Error;

mod raised {
    pyo3::import_exception!(mmscore.errors, DataError);
    pyo3::import_exception!(mmscore.errors, NumberTooLargeError);
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Io { ref source, .. } => {
                std::io::Error::new(source.kind(), error.to_string()).into()
            }
            Error::Row { ref cause, .. } if matches!(**cause, Error::TargetTooLarge(_)) => {
                raised::NumberTooLargeError::new_err(error.to_string())
            }
            Error::TargetTooLarge(_) => raised::NumberTooLargeError::new_err(error.to_string()),
            fault => raised::DataError::new_err(fault.to_string()),
        }
    }
}

#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods as _, PyResult};

    #[pymodule_export]
    use super::text::{
        clean_option, infer_option, match_choice, match_count, normalize_answer, parse_answer_line,
        parse_choice, parse_count, score_choices, score_counts, score_options, score_slake,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
