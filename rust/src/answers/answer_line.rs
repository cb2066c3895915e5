//! The answer line of a reply, and its first integer.

use crate::text::pystr;
use crate::{Error, Result};

/// How an answer line was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRule {
    /// A line says `ANSWER:`; the last such line counts.
    AnswerLine,
    /// No line does: the whole reply is the answer.
    WholeReply,
}

impl LineRule {
    /// The stable name that a run records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnswerLine => "answer-line",
            Self::WholeReply => "whole-reply",
        }
    }
}

/// What stands after the last `ANSWER:`, or the whole reply, stripped.
///
/// By `EvalScope` 1.14.1, oddities included: a second marker in the same line is part of the
/// answer, blanks after a marker may span lines and so swallow the next marker, an empty last
/// marker wins, the marker needs no word boundary, and quotes are cut after the blanks.
#[must_use]
pub fn answer_line(reply: &str) -> (&str, LineRule) {
    let mut answer = None;
    let mut rest = reply;
    while let Some((before, after)) = rest.split_once(':') {
        rest = after;
        if pystr::ends_with_word(before, "answer") {
            let line = pystr::strip_start(after);
            let (line, below) = line.split_once('\n').unwrap_or((line, ""));
            answer = Some(line);
            rest = below;
        }
    }
    match answer {
        Some(line) => (pystr::strip(line).trim_matches(['"', '\'']), LineRule::AnswerLine),
        None => (pystr::strip(reply), LineRule::WholeReply),
    }
}

/// How a count was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountRule {
    /// The reply is an integer, but for marks around it.
    Integer,
    /// The first integer of a longer reply.
    FirstInteger,
    /// The reply has no digit.
    None,
}

impl CountRule {
    /// The stable name that a run records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::FirstInteger => "first-integer",
            Self::None => "none",
        }
    }
}

/// The first integer of a reply, as `int` would print it, or `None` where there is no digit.
///
/// The rule of the `CountQA` paper as `EvalScope` 1.14.1 reads it: the first run of decimal digits
/// of any script, so `-5` is 5, `3.7` is 3 and `1,024` is 1.
///
/// # Errors
/// [`Error::IntegerTooLong`] where Python's `int` refuses the run for its length.
pub fn count(reply: &str) -> Result<(Option<String>, CountRule)> {
    let Some(start) = reply.find(pystr::is_decimal) else { return Ok((None, CountRule::None)) };
    let (before, rest) = reply.split_at(start);
    let run = rest.chars().take_while(|char| pystr::is_decimal(*char));
    let digits = pystr::decimal_digits(run.clone()).map_err(|_| Error::IntegerTooLong {
        place: "reply",
        digits: run.count(),
        limit: pystr::MAX_INTEGER_DIGITS,
    })?;
    let around =
        |text: &str| text.chars().all(|char| pystr::is_space(char) || "*`_\"'.,:;".contains(char));
    let alone = around(before) && around(rest.trim_start_matches(pystr::is_decimal));
    Ok((Some(digits), if alone { CountRule::Integer } else { CountRule::FirstInteger }))
}
