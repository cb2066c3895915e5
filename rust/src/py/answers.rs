//! Answers for Python: strings in, small tuples out; whole lists run without the interpreter's lock.

#![expect(clippy::needless_pass_by_value, reason = "a `pyfunction` owns what it extracts")]

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};

use super::text::{text, texts};
use crate::answers::choice::{self, Language, Question};
use crate::answers::{answer_line, normalize, option_inference, score};

type Strings<'py> = Vec<Bound<'py, PyString>>;
type Pairs<'py> = Vec<(Bound<'py, PyString>, Bound<'py, PyString>)>;
/// What was extracted, the rule, the accuracy.
type Row<'py, Extracted, Accuracy> = (Extracted, Bound<'py, PyString>, Accuracy);

fn pairs<'s>(options: &'s Pairs<'_>) -> PyResult<Vec<(Cow<'s, str>, Cow<'s, str>)>> {
    options.iter().map(|(letter, option)| Ok((text(letter)?, text(option)?))).collect()
}

/// Python objects that many rows share.
struct Shared<'py> {
    py: Python<'py>,
    wrong: Bound<'py, PyFloat>,
    right: Bound<'py, PyFloat>,
    rules: Vec<(&'static str, Bound<'py, PyString>)>,
}

impl<'py> Shared<'py> {
    fn new(py: Python<'py>) -> Self {
        Self { py, wrong: PyFloat::new(py, 0.0), right: PyFloat::new(py, 1.0), rules: Vec::new() }
    }

    fn accuracy(&self, correct: bool) -> Bound<'py, PyFloat> {
        if correct { self.right.clone() } else { self.wrong.clone() }
    }

    fn rule(&mut self, name: &'static str) -> Bound<'py, PyString> {
        if let Some((_, shared)) = self.rules.iter().find(|(known, _)| *known == name) {
            return shared.clone();
        }
        let shared = PyString::intern(self.py, name);
        self.rules.push((name, shared.clone()));
        shared
    }
}

#[pyfunction]
pub(super) fn normalize_answer(answer: &Bound<'_, PyString>) -> PyResult<String> {
    Ok(normalize::normalize(&text(answer)?))
}

#[pyfunction]
pub(super) fn parse_answer_line(reply: &Bound<'_, PyString>) -> PyResult<(String, &'static str)> {
    let reply = text(reply)?;
    let (line, rule) = answer_line::answer_line(&reply);
    Ok((line.to_owned(), rule.name()))
}

#[pyfunction]
pub(super) fn parse_choice(
    reply: &Bound<'_, PyString>,
    n_choices: usize,
    language: &str,
    multiple: bool,
) -> PyResult<(String, &'static str)> {
    let language: Language = language.parse()?;
    let question = Question { choices: n_choices, language, multiple };
    let (labels, rule) = choice::choice(&text(reply)?, question);
    Ok((labels, rule.name()))
}

#[pyfunction]
pub(super) fn parse_count(reply: &Bound<'_, PyString>) -> PyResult<(Option<String>, &'static str)> {
    let (count, rule) = answer_line::count(&text(reply)?)?;
    Ok((count, rule.name()))
}

#[pyfunction]
pub(super) fn clean_option(
    option: &Bound<'_, PyString>,
    letter: &Bound<'_, PyString>,
) -> PyResult<String> {
    Ok(choice::clean_option(&text(option)?, &text(letter)?).to_owned())
}

#[pyfunction]
pub(super) fn infer_option(
    reply: &Bound<'_, PyString>,
    choices: Pairs<'_>,
) -> PyResult<(String, &'static str)> {
    let choices = pairs(&choices)?;
    let (letter, rule) = option_inference::infer_option(&text(reply)?, &choices);
    Ok((letter.to_owned(), rule.name()))
}

#[pyfunction]
pub(super) fn match_choice(
    labels: &Bound<'_, PyString>,
    target: &Bound<'_, PyString>,
) -> PyResult<Option<bool>> {
    Ok(score::match_choice(&text(labels)?, &text(target)?))
}

#[pyfunction]
pub(super) fn match_count(
    count: Option<&str>,
    target: &Bound<'_, PyString>,
) -> PyResult<(bool, bool)> {
    let matched = score::match_count(count, &text(target)?)?;
    Ok((matched.exact, matched.relaxed))
}

#[pyfunction]
pub(super) fn score_slake<'py>(
    py: Python<'py>,
    replies: Strings<'py>,
    targets: Strings<'py>,
) -> PyResult<Vec<Row<'py, Bound<'py, PyString>, Bound<'py, PyFloat>>>> {
    let (replies, targets) = (texts(&replies)?, texts(&targets)?);
    let scores = py.detach(|| score::score_lines(&replies, &targets))?;
    let mut shared = Shared::new(py);
    Ok(scores
        .into_iter()
        .map(|score| {
            let extracted = PyString::new(py, score.extracted);
            (extracted, shared.rule(score.rule.name()), shared.accuracy(score.correct))
        })
        .collect())
}

/// One number of options for all rows, or one for each.
#[derive(FromPyObject)]
pub(super) enum ChoiceCounts {
    All(usize),
    Each(Vec<usize>),
}

#[pyfunction]
pub(super) fn score_choices<'py>(
    py: Python<'py>,
    replies: Strings<'py>,
    targets: Strings<'py>,
    n_choices: ChoiceCounts,
    language: &str,
    multiple: bool,
) -> PyResult<Vec<Row<'py, String, Option<Bound<'py, PyFloat>>>>> {
    let (replies, targets) = (texts(&replies)?, texts(&targets)?);
    let language: Language = language.parse()?;
    let counts = match n_choices {
        ChoiceCounts::All(count) => vec![count; replies.len()],
        ChoiceCounts::Each(counts) => counts,
    };
    let questions = counts.into_iter().map(|choices| Question { choices, language, multiple });
    let scores = py.detach(|| score::score_choices(&replies, &targets, questions))?;
    let mut shared = Shared::new(py);
    Ok(scores
        .into_iter()
        .map(|score| {
            let accuracy = score.correct.map(|correct| shared.accuracy(correct));
            (score.extracted, shared.rule(score.rule.name()), accuracy)
        })
        .collect())
}

type CountRow<'py> =
    (Option<String>, Bound<'py, PyString>, Bound<'py, PyFloat>, Bound<'py, PyFloat>);

#[pyfunction]
pub(super) fn score_counts<'py>(
    py: Python<'py>,
    replies: Strings<'py>,
    targets: Strings<'py>,
) -> PyResult<Vec<CountRow<'py>>> {
    let (replies, targets) = (texts(&replies)?, texts(&targets)?);
    let scores = py.detach(|| score::score_counts(&replies, &targets))?;
    let mut shared = Shared::new(py);
    Ok(scores
        .into_iter()
        .map(|score| {
            let rule = shared.rule(score.rule.name());
            let accuracy = shared.accuracy(score.matched.exact);
            (score.extracted, rule, accuracy, shared.accuracy(score.matched.relaxed))
        })
        .collect())
}

#[pyfunction]
pub(super) fn score_options<'py>(
    py: Python<'py>,
    replies: Strings<'py>,
    targets: Strings<'py>,
    choices: Vec<Pairs<'py>>,
) -> PyResult<Vec<Row<'py, String, Bound<'py, PyFloat>>>> {
    let (replies, targets) = (texts(&replies)?, texts(&targets)?);
    let choices = choices.iter().map(pairs).collect::<PyResult<Vec<_>>>()?;
    let scores = py.detach(|| score::score_options(&replies, &targets, &choices))?;
    let mut shared = Shared::new(py);
    Ok(scores
        .into_iter()
        .map(|score| {
            let rule = shared.rule(score.rule.name());
            (score.extracted.to_owned(), rule, shared.accuracy(score.correct))
        })
        .collect())
}
