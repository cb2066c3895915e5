//! The chosen labels of a multiple-choice reply, and the mark before a `PMC-VQA` option.
//!
//! The rules are those of `EvalScope` 1.14.1. From the last answer marker backwards, the first one
//! followed by a label decides; without any, the last capital letter of the reply does, and where
//! that is no label there is no answer. Markers are looked at from the right and a label never
//! reaches past the next marker's colon, so the work is linear in the reply.

use std::str::FromStr;

use crate::text::pystr;
use crate::{Error, Result};

const LETTERS: usize = 26;
const OPENING: [char; 4] = ['(', '[', '（', '【'];
const CLOSING: [char; 4] = [')', ']', '）', '】'];
const BETWEEN: [char; 4] = [',', '，', '/', '、'];

/// The language of the prompt, which decides the marker and how several labels are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `ANSWER:`
    English,
    /// `答案：`
    Chinese,
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "en" => Ok(Self::English),
            "zh" => Ok(Self::Chinese),
            _ => Err(Error::UnknownLanguage(name.to_owned())),
        }
    }
}

/// How a question is asked: all that reading a choice needs besides the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// How many options there are: labels `A` to `Z`, then `1`, `2`, `3` ...
    pub choices: usize,
    /// The language of the prompt.
    pub language: Language,
    /// Whether several options may be right.
    pub multiple: bool,
}

/// How a choice was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceRule {
    /// The label after the last usable marker.
    Marker,
    /// A marker is followed by labels that are no answer to this question: several where one is
    /// asked for, or a list that cannot be taken apart.
    MarkerUnusable,
    /// No usable marker: the last capital letter, which is a label.
    LastCapital,
    /// No usable marker, and the last capital letter is no label.
    None,
}

impl ChoiceRule {
    /// The stable name that a run records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Marker => "marker",
            Self::MarkerUnusable => "marker-unusable",
            Self::LastCapital => "last-capital",
            Self::None => "none",
        }
    }
}

/// The chosen labels, sorted as text and joined; empty for no answer.
///
/// With 38 options and more, `12` may be one label or two: the reference joins them all the same.
#[must_use]
pub fn choice(reply: &str, question: Question) -> (String, ChoiceRule) {
    if let Some(labels) = marked_labels(reply, question) {
        let answer = if question.multiple {
            several(labels, question)
        } else {
            is_label(labels, question.choices).then(|| labels.to_owned())
        };
        return match answer {
            Some(answer) => (answer, ChoiceRule::Marker),
            None => (String::new(), ChoiceRule::MarkerUnusable),
        };
    }
    match reply.chars().rev().find(|char| pystr::is_upper(*char)) {
        Some(letter) if is_letter_label(letter, question.choices) => {
            (letter.into(), ChoiceRule::LastCapital)
        }
        _ => (String::new(), ChoiceRule::None),
    }
}

/// An option without the mark of its own letter: `B: CT` is `CT` for the letter `B`.
#[must_use]
pub fn clean_option<'o>(option: &'o str, letter: &str) -> &'o str {
    let stripped = pystr::strip(option);
    stripped
        .strip_prefix(letter)
        .and_then(|rest| pystr::strip_start(rest).strip_prefix(':'))
        .map_or(stripped, pystr::strip)
}

fn is_letter_label(letter: char, choices: usize) -> bool {
    letter.is_ascii_uppercase() && usize::from(letter as u8 - b'A') < choices
}

fn is_digit_label(digits: &str, choices: usize) -> bool {
    !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.parse::<usize>().is_ok_and(|number| number <= choices.saturating_sub(LETTERS))
}

fn is_label(word: &str, choices: usize) -> bool {
    let mut chars = word.chars();
    match (chars.next(), chars.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => is_letter_label(letter, choices),
        (Some(_), _) => is_digit_label(word, choices),
        (None, _) => false,
    }
}

/// Whether a word is a label, or labels without anything between them.
fn spells_labels(word: &str, choices: usize) -> bool {
    is_label(word, choices) || characters(word).all(|char| is_label(char, choices))
}

/// The leading labels after the last marker that is followed by any.
fn marked_labels(reply: &str, question: Question) -> Option<&str> {
    let mut before = reply;
    while let Some(colon) = match question.language {
        Language::English => before.rfind(':'),
        Language::Chinese => before.rfind([':', '：']),
    } {
        let (head, after) = reply.split_at_checked(colon)?;
        before = head;
        let word = pystr::strip_end(head);
        let is_marker = match question.language {
            Language::English => pystr::ends_with_word(word, "answer"),
            Language::Chinese => word.ends_with("答案"),
        };
        if is_marker {
            let labels = labels_after_colon(after, question);
            if labels.is_some() {
                return labels;
            }
        }
    }
    None
}

fn labels_after_colon(text: &str, question: Question) -> Option<&str> {
    let mut chars = text.chars();
    chars.next();
    let bold = pystr::strip_start(chars.as_str()).trim_start_matches('*');
    let text = skip_typesetting(pystr::strip_start(bold));
    let list = bracketed_list(text).or_else(|| plain_list(text, question.language))?;
    let labels = label_prefix(list, question.choices);
    (!labels.is_empty()).then_some(labels)
}

/// Steps over the math a label may be wrapped in: `$`, `\(`, `\boxed{`, `\text{` and their like.
fn skip_typesetting(mut text: &str) -> &str {
    const COMMANDS: [&str; 6] = ["boxed", "fbox", "textbf", "text", "mathbf", "mathrm"];
    let opened = |text: &'_ str| -> Option<usize> {
        let command = text.strip_prefix('\\')?;
        let rest = command.strip_prefix('(').or_else(|| {
            COMMANDS
                .iter()
                .find_map(|name| pystr::strip_start(command.strip_prefix(name)?).strip_prefix('{'))
        })?;
        Some(text.len() - rest.len())
    };
    loop {
        let skipped = if text.starts_with('$') { 1 } else { opened(text).unwrap_or_default() };
        if skipped == 0 {
            return text;
        }
        text = pystr::strip_start(text.get(skipped..).unwrap_or_default());
    }
}

fn is_label_char(char: char) -> bool {
    char.is_ascii_alphabetic() || pystr::is_decimal(char)
}

/// The inside of `(A)`, `[A, C]`, `（A/C）`: single characters between brackets of any kinds.
fn bracketed_list(text: &str) -> Option<&str> {
    let inside = pystr::strip_start(text.strip_prefix(OPENING)?);
    let mut rest = inside.strip_prefix(is_label_char)?;
    loop {
        let end = inside.len() - rest.len();
        rest = pystr::strip_start(rest);
        if rest.starts_with(CLOSING) {
            return inside.get(..end);
        }
        rest = pystr::strip_start(rest.strip_prefix(BETWEEN)?).strip_prefix(is_label_char)?;
    }
}

/// The run of letters, digits, spaces and separators at the start.
fn plain_list(text: &str, language: Language) -> Option<&str> {
    let fits = |char: char| match language {
        Language::English => is_label_char(char),
        Language::Chinese => char.is_ascii_alphanumeric(),
    };
    text.strip_prefix(fits)?;
    text.get(
        ..text
            .find(|char| !(char == ' ' || BETWEEN.contains(&char) || fits(char)))
            .unwrap_or(text.len()),
    )
}

fn is_connector(word: &str) -> bool {
    word.eq_ignore_ascii_case("and") || word.eq_ignore_ascii_case("or")
}

/// The leading part of a list that holds nothing but labels, and `and` or `or` between two.
///
/// Models give their reasons in the same breath: `B, not C` is `B`.
fn label_prefix(list: &str, choices: usize) -> &str {
    let mut words = words(list).peekable();
    let mut end = 0;
    while let Some((word, stop)) = words.next() {
        if spells_labels(word, choices) {
            end = stop;
        } else {
            let before_label = words.peek().is_some_and(|(next, _)| spells_labels(next, choices));
            if end == 0 || !before_label || !is_connector(word) {
                break;
            }
        }
    }
    list.get(..end).unwrap_or_default()
}

/// The runs of letters and digits, each with the place where it ends.
fn words(list: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut place = 0;
    list.split_inclusive(|char| !is_label_char(char)).filter_map(move |piece| {
        let word = piece.trim_end_matches(|char| !is_label_char(char));
        let stop = place + word.len();
        place += piece.len();
        (!word.is_empty()).then_some((word, stop))
    })
}

/// The labels of a list, sorted and joined, or `None` where some part is no label.
fn several(list: &str, question: Question) -> Option<String> {
    let commas = |text: &str| text.replace(' ', "").replace(['，', '、', '/'], ",");
    match question.language {
        Language::English => {
            let list = commas(&connectors_to_commas(list));
            joined(list.split(','), question.choices)
                .or_else(|| joined(characters(&list.replace(',', "")), question.choices))
        }
        // Here a doubled comma voids the list, and so does a group of letters beside a comma.
        Language::Chinese => {
            let list = commas(list);
            if list.contains(',') {
                joined(list.split(','), question.choices)
            } else {
                joined(characters(&list), question.choices)
            }
        }
    }
}

fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|_| true)
}

fn joined<'l>(labels: impl Iterator<Item = &'l str>, choices: usize) -> Option<String> {
    let mut labels: Vec<&str> = labels.collect();
    labels.sort_unstable();
    labels.dedup();
    labels.iter().all(|label| is_label(label, choices)).then(|| labels.concat())
}

/// Puts a comma for every `and` or `or` between blanks, the blanks included.
fn connectors_to_commas(list: &str) -> String {
    let mut replaced = String::with_capacity(list.len());
    let mut rest = list;
    while let Some(start) = rest.find(pystr::is_space) {
        let (before, blank) = rest.split_at(start);
        replaced.push_str(before);
        let word = pystr::strip_start(blank);
        let after = ["and", "or"].iter().find_map(|connector| {
            pystr::strip_word(word, connector).filter(|after| after.starts_with(pystr::is_space))
        });
        if let Some(after) = after {
            replaced.push(',');
            rest = pystr::strip_start(after);
        } else {
            replaced.push_str(blank.get(..blank.len() - word.len()).unwrap_or_default());
            rest = word;
        }
    }
    replaced.push_str(rest);
    replaced
}
