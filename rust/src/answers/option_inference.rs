//! The option a free reply means, as `VLMEvalKit` infers it without a judge.
//!
//! The rule of its `can_infer` as of 2026-08. Later steps run only where earlier ones are silent:
//! a failed request says nothing of letters; a refusal declines; exactly one option letter among
//! the words counts if it first stands among the last four; a lone `Z` declines; the first
//! `answer is X` with X from A to D counts if X is an option; and at last, in a reply of at most
//! twice the length of all options, exactly one option whose text occurs in it.

use std::borrow::Cow;

use crate::text::pystr;

/// The label of a reply that declines to answer.
pub const DECLINED: &str = "Z";

const FAILED_REQUEST: &str = "Failed to obtain answer via API";
const REFUSALS: [&str; 4] = [
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
];
const PUNCTUATION: &str = ".()[],:;!*#{}";
/// A letter counts among this many last words.
const LAST_WORDS: usize = 4;

/// How an option was inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionRule {
    /// The reply declines, in words or by a lone `Z`.
    Declined,
    /// Exactly one option letter, near the end.
    Letter,
    /// `answer is X`.
    AnswerIs,
    /// Exactly one option's text occurs in the reply.
    Text,
    /// Nothing can be inferred.
    None,
}

impl OptionRule {
    /// The stable name that a run records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Declined => "declined",
            Self::Letter => "letter",
            Self::AnswerIs => "answer-is",
            Self::Text => "option-text",
            Self::None => "none",
        }
    }
}

/// The letter of the inferred option, [`DECLINED`], or nothing.
///
/// `options` are letters with their texts, each letter once.
#[must_use]
pub fn infer_option<'o, S: AsRef<str>>(
    reply: &str,
    options: &'o [(S, S)],
) -> (&'o str, OptionRule) {
    let letter = if reply.contains(FAILED_REQUEST) {
        None
    } else if REFUSALS.iter().any(|refusal| reply.contains(refusal)) {
        Some((DECLINED, OptionRule::Declined))
    } else {
        by_letter(reply, options)
            .or_else(|| Some((by_phrase(reply, options)?, OptionRule::AnswerIs)))
    };
    letter
        .or_else(|| Some((by_text(reply, options)?, OptionRule::Text)))
        .unwrap_or(("", OptionRule::None))
}

fn by_letter<'o, S: AsRef<str>>(
    reply: &str,
    options: &'o [(S, S)],
) -> Option<(&'o str, OptionRule)> {
    let longest = options.iter().map(|(letter, _)| letter.as_ref().len()).max().unwrap_or_default();
    let mut found: Option<(&str, usize)> = None;
    let mut several = false;
    let mut declined = false;
    let mut count = 0;
    let words = reply.split(|char| PUNCTUATION.contains(char) || pystr::is_space(char));
    for (place, word) in words.filter(|word| !word.is_empty()).enumerate() {
        count = place + 1;
        declined |= word == DECLINED;
        if word.len() > longest {
            continue;
        }
        if let Some((letter, _)) = options.iter().find(|(letter, _)| letter.as_ref() == word) {
            several |= found.is_some_and(|(first, _)| first != letter.as_ref());
            found = found.or(Some((letter.as_ref(), place)));
        }
    }
    match found {
        None => declined.then_some((DECLINED, OptionRule::Declined)),
        Some((letter, first)) => {
            (!several && first + LAST_WORDS >= count).then_some((letter, OptionRule::Letter))
        }
    }
}

/// The letter of the first `answer is X`, any case, X from A to D and maybe in bold.
fn by_phrase<'o, S: AsRef<str>>(reply: &str, options: &'o [(S, S)]) -> Option<&'o str> {
    let blank = |text: &'_ str| text.starts_with(pystr::is_space);
    let mut rest = reply;
    while let Some(start) = rest.find(['a', 'A']) {
        let (_, tail) = rest.split_at(start);
        let letter = pystr::strip_word(tail, "answer")
            .filter(|text| blank(text))
            .and_then(|text| pystr::strip_word(pystr::strip_start(text), "is"))
            .filter(|text| blank(text))
            .and_then(|text| pystr::strip_start(text).trim_start_matches('*').chars().next())
            .map(|letter| letter.to_ascii_uppercase());
        if let Some(letter @ 'A'..='D') = letter {
            return options
                .iter()
                .map(|(option, _)| option.as_ref())
                .find(|option| option.chars().eq([letter]));
        }
        rest = tail.get(1..)?;
    }
    None
}

fn by_text<'o, S: AsRef<str>>(reply: &str, options: &'o [(S, S)]) -> Option<&'o str> {
    let length: usize = options.iter().map(|(_, text)| text.as_ref().chars().count()).sum();
    // Lowering never shortens, so a reply that is too long already need not be lowered.
    if reply.chars().nth(2 * length).is_some() {
        return None;
    }
    let lowered: Cow<'_, str> = pystr::lower(reply);
    if lowered.chars().nth(2 * length).is_some() {
        return None;
    }
    let mut found =
        options.iter().filter(|(_, text)| lowered.contains(&*pystr::lower(text.as_ref())));
    let (letter, _) = found.next()?;
    found.next().is_none().then(|| letter.as_ref())
}
