//! Whole lists of replies against their targets.
//!
//! Each function takes lists of equal length and gives one score for each reply, in order. The
//! metrics are those of `EvalScope` 1.14.1 (and `VLMEvalKit` for option inference), to the bit.

use std::cmp::Ordering;

use crate::answers::answer_line::{self, CountRule, LineRule};
use crate::answers::choice::{self, ChoiceRule, Question};
use crate::answers::normalize::Comparison;
use crate::answers::option_inference::{self, OptionRule};
use crate::text::pystr::{self, Integer, NotAnInteger};
use crate::{Error, Result};

/// The tolerance of the relaxed accuracy of the `CountQA` paper.
const RELAXED_TOLERANCE: f64 = 0.05;

/// Integers of so many digits are doubles, and so are their differences.
const EXACT_DIGITS: usize = 15;

/// A reply whose answer is a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineScore<'r> {
    /// What was read.
    pub extracted: &'r str,
    /// How.
    pub rule: LineRule,
    /// Whether its canonical form is that of the target.
    pub correct: bool,
}

/// A reply whose answer is one or several labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceScore {
    /// The labels, sorted and joined; empty for no answer.
    pub extracted: String,
    /// How they were read.
    pub rule: ChoiceRule,
    /// Whether they are the target; `None` where the target is empty and nothing can be said.
    pub correct: Option<bool>,
}

/// A reply whose answer is a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountScore {
    /// The count in decimal, or `None` where the reply has no digit.
    pub extracted: Option<String>,
    /// How it was read.
    pub rule: CountRule,
    /// How it compares with the target.
    pub matched: CountMatch,
}

/// How a count compares with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountMatch {
    /// Equal.
    pub exact: bool,
    /// Within 5 % of the target, and equal where the target is 0.
    pub relaxed: bool,
}

/// A reply from which an option was inferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionScore<'o> {
    /// The letter, `Z` for a reply that declines, or nothing.
    pub extracted: &'o str,
    /// How it was inferred.
    pub rule: OptionRule,
    /// Whether it is the target.
    pub correct: bool,
}

fn same_length(replies: usize, found: usize, what: &'static str) -> Result<()> {
    if replies == found { Ok(()) } else { Err(Error::LengthsDiffer { what, found, replies }) }
}

/// Scores SLAKE replies.
///
/// # Errors
/// [`Error::LengthsDiffer`].
pub fn score_lines<'r, S: AsRef<str>>(
    replies: &'r [S],
    targets: &[S],
) -> Result<Vec<LineScore<'r>>> {
    same_length(replies.len(), targets.len(), "targets")?;
    let mut comparison = Comparison::default();
    let score = |(reply, target): (&'r S, &S)| {
        let (extracted, rule) = answer_line::answer_line(reply.as_ref());
        LineScore { extracted, rule, correct: comparison.equal(extracted, target.as_ref()) }
    };
    Ok(replies.iter().zip(targets).map(score).collect())
}

/// Whether labels are the target, without regard to blanks and case; `None` for an empty target.
#[must_use]
pub fn match_choice(labels: &str, target: &str) -> Option<bool> {
    let target = pystr::strip(target);
    (!target.is_empty()).then(|| pystr::lower(pystr::strip(labels)) == pystr::lower(target))
}

/// Scores multiple-choice replies, each to a question of its own.
///
/// # Errors
/// [`Error::LengthsDiffer`].
pub fn score_choices<S: AsRef<str>>(
    replies: &[S],
    targets: &[S],
    questions: impl ExactSizeIterator<Item = Question>,
) -> Result<Vec<ChoiceScore>> {
    same_length(replies.len(), targets.len(), "targets")?;
    same_length(replies.len(), questions.len(), "numbers of choices")?;
    let score = |((reply, target), question): ((&S, &S), Question)| {
        let (extracted, rule) = choice::choice(reply.as_ref(), question);
        let correct = match_choice(&extracted, target.as_ref());
        ChoiceScore { extracted, rule, correct }
    };
    Ok(replies.iter().zip(targets).zip(questions).map(score).collect())
}

/// Scores counts.
///
/// # Errors
/// [`Error::LengthsDiffer`], and [`Error::Row`] for the first row that the reference cannot score
/// either: a reply or a target longer than `int` reads, or a target that is no integer.
pub fn score_counts<S: AsRef<str>>(replies: &[S], targets: &[S]) -> Result<Vec<CountScore>> {
    same_length(replies.len(), targets.len(), "targets")?;
    let score = |(row, (reply, target)): (usize, (&S, &S))| {
        score_count(reply.as_ref(), target.as_ref())
            .map_err(|cause| Error::Row { row: row + 1, cause: Box::new(cause) })
    };
    replies.iter().zip(targets).enumerate().map(score).collect()
}

fn score_count(reply: &str, target: &str) -> Result<CountScore> {
    let (extracted, rule) = answer_line::count(reply)?;
    let matched = match_count(extracted.as_deref(), target)?;
    Ok(CountScore { extracted, rule, matched })
}

/// Compares a count, as `str(int)` prints it, with a target that `int` reads.
///
/// # Errors
/// [`Error::TargetNotAnInteger`], [`Error::IntegerTooLong`], and [`Error::TargetTooLarge`] where the
/// target has no double.
pub fn match_count(count: Option<&str>, target: &str) -> Result<CountMatch> {
    let integer = pystr::parse_integer(target).map_err(|cause| match cause {
        NotAnInteger::Malformed => Error::TargetNotAnInteger(target.chars().take(80).collect()),
        NotAnInteger::TooLong(digits) => {
            Error::IntegerTooLong { place: "target", digits, limit: pystr::MAX_INTEGER_DIGITS }
        }
    })?;
    let Some(count) = count else { return Ok(CountMatch { exact: false, relaxed: false }) };
    let exact = !integer.negative && count == integer.digits;
    let relaxed = if integer.digits == "0" { exact } else { is_within_tolerance(count, &integer)? };
    Ok(CountMatch { exact, relaxed })
}

/// `abs(count - target) <= 0.05 * target`, where the right side is a double and the left exact.
fn is_within_tolerance(count: &str, target: &Integer) -> Result<bool> {
    let Integer { negative, digits } = target;
    let too_large = || Error::TargetTooLarge(digits.len());
    let double: f64 = digits.parse().map_err(|_| too_large())?;
    if double.is_infinite() {
        return Err(too_large());
    }
    if *negative {
        return Ok(false);
    }
    if count.len().max(digits.len()) <= EXACT_DIGITS {
        let count: f64 = count.parse().map_err(|_| too_large())?;
        return Ok((count - double).abs() <= RELAXED_TOLERANCE * double);
    }
    // An integer is at most a double if it is at most the double's whole part, whose digits are
    // printed exactly; so numbers of any size compare as digits.
    let bound = format!("{:.0}", (RELAXED_TOLERANCE * double).floor());
    Ok(compare_digits(&difference(count, digits), &bound) != Ordering::Greater)
}

/// Compares two numbers by their digits, without leading zeros.
fn compare_digits(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// The distance of two numbers, in digits without leading zeros.
fn difference(left: &str, right: &str) -> String {
    let (larger, smaller) =
        if compare_digits(left, right) == Ordering::Less { (right, left) } else { (left, right) };
    let mut borrow = 0;
    let mut digits: Vec<u8> = Vec::with_capacity(larger.len());
    let mut subtrahend = smaller.bytes().rev();
    for minuend in larger.bytes().rev() {
        let taken = subtrahend.next().unwrap_or(b'0') - b'0' + borrow;
        let digit = minuend - b'0';
        borrow = u8::from(digit < taken);
        digits.push(b'0' + digit + 10 * borrow - taken);
    }
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
    }
    digits.iter().rev().map(|digit| char::from(*digit)).collect()
}

/// Scores replies by the option they mean; each row has its own options, letters with texts.
///
/// # Errors
/// [`Error::LengthsDiffer`].
pub fn score_options<'o, S: AsRef<str>>(
    replies: &[S],
    targets: &[S],
    options: &'o [Vec<(S, S)>],
) -> Result<Vec<OptionScore<'o>>> {
    same_length(replies.len(), targets.len(), "targets")?;
    same_length(replies.len(), options.len(), "sets of options")?;
    let score = |((reply, target), options): ((&S, &S), &'o Vec<(S, S)>)| {
        let (extracted, rule) = option_inference::infer_option(reply.as_ref(), options);
        OptionScore { extracted, rule, correct: extracted == target.as_ref() }
    };
    Ok(replies.iter().zip(targets).zip(options).map(score).collect())
}
