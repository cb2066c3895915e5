//! SLAKE's canonical form of an answer, by which a prediction equals a reference.
//!
//! The rule is that of `EvalScope` 1.14.1, which follows the data set's own preparation and adds
//! what free answers in two languages need. Its oddities are kept, because scores must compare:
//! `none` becomes `0` and so never means no, articles go even where they are the answer, curly
//! quotes and the ellipsis are no punctuation, and full-width letters match nothing.

use std::borrow::Cow;

use crate::text::pystr;

/// The canonical form: lower case, without asides, punctuation and articles, with number words as
/// digits, and with one label for each polarity and for the X-ray.
#[must_use]
pub fn normalize(answer: &str) -> String {
    let mut words = String::new();
    match normalize_into(answer, &mut words) {
        Some(label) => label.to_owned(),
        None => words,
    }
}

/// Whether two answers have the same canonical form.
///
/// Keeps its buffers, which is what makes long lists fast.
#[derive(Debug, Default)]
pub struct Comparison {
    left: String,
    right: String,
}

impl Comparison {
    /// Compares two answers.
    pub fn equal(&mut self, left: &str, right: &str) -> bool {
        if left == right {
            return true;
        }
        let left = normalize_into(left, &mut self.left).unwrap_or(&self.left);
        left == normalize_into(right, &mut self.right).unwrap_or(&self.right)
    }
}

/// Puts the answer's words into the buffer; returns the label that stands for them, if any.
fn normalize_into(answer: &str, words: &mut String) -> Option<&'static str> {
    words.clear();
    // Blanks around the answer need no strip: they neither make words nor touch a final sigma.
    if answer.is_ascii() && !answer.contains('(') {
        answer.split(is_separator).for_each(|word| push_word(words, word));
    } else {
        let text = drop_asides(drop_asides(pystr::lower(answer), '(', ')'), '（', '）');
        text.split(is_separator).for_each(|word| push_word(words, word));
    }
    label(words)
}

/// Appends a word that is in lower case but for ASCII letters, unless it is an article.
fn push_word(words: &mut String, word: &str) {
    if word.is_empty() {
        return;
    }
    let end = words.len();
    if end > 0 {
        words.push(' ');
    }
    let start = words.len();
    words.push_str(word);
    let Some(word) = words.get_mut(start..) else { return };
    word.make_ascii_lowercase();
    if matches!(&*word, "a" | "an" | "the") {
        words.truncate(end);
    } else if let Some(digits) = digits_of(without_counter(word)) {
        words.truncate(start);
        words.push_str(digits);
    } else {
        let length = without_counter(word).len();
        words.truncate(start + length);
    }
}

/// Puts a space for everything from an opening to the next closing bracket.
///
/// An opening bracket that is never closed stays, and so do all after it.
fn drop_asides(text: Cow<'_, str>, open: char, close: char) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest: &str = &text;
    while let Some((before, inside)) = rest.split_once(open) {
        let Some((_, after)) = inside.split_once(close) else { break };
        kept.push_str(before);
        kept.push(' ');
        rest = after;
    }
    if kept.is_empty() {
        return text;
    }
    kept.push_str(rest);
    kept.into()
}

/// White space, and the punctuation that counts as white space.
fn is_separator(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_punctuation() || pystr::is_space(char);
    }
    match char {
        '！' | '？' | '。' | '＂' | '＃' | '＄' | '％' | '＆' | '＇' | '（' | '）' | '＊'
        | '＋' | '，' | '－' | '／' | '：' | '；' | '＜' | '＝' | '＞' | '＠' | '［' | '＼'
        | '］' | '＾' | '＿' | '｀' | '｛' | '｜' | '｝' | '～' | '、' | '《' | '》' | '【'
        | '】' => true,
        _ => pystr::is_space(char),
    }
}

/// A number without the counter 个 after it; any other word as it is.
fn without_counter(word: &str) -> &str {
    match word.strip_suffix('个') {
        Some(number) if digits_of(number).is_some() => number,
        Some(number) if !number.is_empty() && number.chars().all(pystr::is_digit) => number,
        _ => word,
    }
}

/// The digits of a number word, English or Chinese, of three to five bytes.
fn digits_of(word: &str) -> Option<&'static str> {
    if !(3..=5).contains(&word.len()) {
        return None;
    }
    Some(match word {
        "none" | "zero" | "零" => "0",
        "one" | "一" => "1",
        "two" | "两" | "二" => "2",
        "three" | "三" => "3",
        "four" | "四" => "4",
        "five" | "五" => "5",
        "six" | "六" => "6",
        "seven" | "七" => "7",
        "eight" | "八" => "8",
        "nine" | "九" => "9",
        "ten" | "十" => "10",
        _ => return None,
    })
}

/// The label of a whole answer that has one; all are short.
fn label(text: &str) -> Option<&'static str> {
    if text.len() > "不正常".len() {
        return None;
    }
    Some(match text {
        "x ray" | "xray" | "x光" | "x 光" | "x射线" | "x 射线" => "xray",
        "yes" | "yeah" | "yep" | "true" | "是" | "是的" | "有" | "包含" | "存在" | "可以"
        | "能" | "会" => "yes",
        "no" | "nope" | "false" | "否" | "不是" | "没有" | "无" | "不包含" | "不存在"
        | "不可以" | "不能" | "不会" | "不正常" => "no",
        _ => return None,
    })
}
