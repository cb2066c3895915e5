//! Text metrics for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::text::{text, texts};
use crate::metrics::bleu::BleuScorer;
use crate::metrics::rouge::{Rouge, RougeScorer};

/// Pairs scored before Python may act on Ctrl-C.
const PAIRS_AT_ONCE: usize = 2_048;

type BleuScores = (f64, f64, f64, f64);
type RougeScores = (f64, f64, f64, f64, f64, f64, f64, f64, f64);

/// BLEU-1 to BLEU-4 of one pair.
#[pyfunction]
pub(super) fn bleu(
    prediction: &Bound<'_, PyString>,
    reference: &Bound<'_, PyString>,
) -> PyResult<BleuScores> {
    Ok(crate::metrics::bleu::bleu(&text(prediction)?, &text(reference)?).into())
}

/// ROUGE-1, ROUGE-2, ROUGE-L of one pair: recall, precision, F of each.
#[pyfunction]
pub(super) fn rouge(
    prediction: &Bound<'_, PyString>,
    reference: &Bound<'_, PyString>,
) -> PyResult<RougeScores> {
    Ok(flat(&crate::metrics::rouge::rouge(&text(prediction)?, &text(reference)?)))
}

/// [`bleu`] of each pair of two lists, without the GIL.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(super) fn bleu_list(
    py: Python<'_>,
    predictions: Vec<Bound<'_, PyString>>,
    references: Vec<Bound<'_, PyString>>,
) -> PyResult<Vec<BleuScores>> {
    let mut scorer = BleuScorer::default();
    score_pairs(py, &predictions, &references, move |a, b| scorer.score(a, b).into())
}

/// [`rouge`] of each pair of two lists, without the GIL.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(super) fn rouge_list(
    py: Python<'_>,
    predictions: Vec<Bound<'_, PyString>>,
    references: Vec<Bound<'_, PyString>>,
) -> PyResult<Vec<RougeScores>> {
    let mut scorer = RougeScorer::default();
    score_pairs(py, &predictions, &references, move |a, b| flat(&scorer.score(a, b)))
}

fn score_pairs<T: Send>(
    py: Python<'_>,
    predictions: &[Bound<'_, PyString>],
    references: &[Bound<'_, PyString>],
    mut score: impl FnMut(&str, &str) -> T + Send,
) -> PyResult<Vec<T>> {
    if predictions.len() != references.len() {
        return Err(PyValueError::new_err(format!(
            "the lists differ in length: {} predictions, {} references",
            predictions.len(),
            references.len()
        )));
    }
    let mut scores = Vec::with_capacity(predictions.len());
    for (predictions, references) in
        predictions.chunks(PAIRS_AT_ONCE).zip(references.chunks(PAIRS_AT_ONCE))
    {
        let predictions = texts(predictions)?;
        let references = texts(references)?;
        py.detach(|| {
            scores.extend(predictions.iter().zip(&references).map(|(a, b)| score(a, b)));
        });
        py.check_signals()?;
    }
    Ok(scores)
}

fn flat(score: &Rouge) -> RougeScores {
    let Rouge { rouge_1: one, rouge_2: two, rouge_l: longest } = score;
    (
        one.recall,
        one.precision,
        one.f,
        two.recall,
        two.precision,
        two.f,
        longest.recall,
        longest.precision,
        longest.f,
    )
}
