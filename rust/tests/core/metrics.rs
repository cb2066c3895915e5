//! Text metrics against what the reference answered, and properties that hold for any text.

use std::path::PathBuf;

use _core::metrics::bleu::{BleuScorer, bleu};
use _core::metrics::rouge::{Agreement, RougeScorer, rouge};
use _core::text::jieba::cut;
use _core::text::punkt::sentences;
use _core::text::words::word_tokenize;
use proptest::prelude::*;
use serde_json::Value;

/// The rows of a golden file; none, with the reason on stderr, where the files are not at hand.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn golden(name: &str) -> Vec<Value> {
    let shared = std::env::var_os("MMSCORE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = shared.join("golden").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no `{}`; set MMSCORE_SHARED", path.display());
        return Vec::new();
    };
    let rows = text.split('\n').filter(|line| !line.is_empty());
    let rows: Vec<Value> = rows.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!rows.is_empty());
    rows
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row["in"][key].as_str().unwrap()
}

fn tokens(row: &Value) -> Vec<&str> {
    row["out"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect()
}

#[test]
fn word_tokenize_equals_every_golden_row() {
    for row in golden("word_tokenize.jsonl") {
        assert_eq!(word_tokenize(text(&row, "text")), tokens(&row), "{row}");
    }
}

#[test]
fn jieba_cut_equals_every_golden_row() {
    for row in golden("jieba_cut.jsonl") {
        assert_eq!(cut(text(&row, "text")), tokens(&row), "{row}");
    }
}

#[test]
fn bleu_equals_every_golden_row_to_the_bit() {
    let mut scorer = BleuScorer::default();
    for row in golden("bleu.jsonl") {
        let found = scorer.score(text(&row, "prediction"), text(&row, "reference"));
        for (order, score) in (1..).zip(found) {
            let expected = row["out"][format!("bleu-{order}")].as_f64().unwrap();
            assert_eq!(score.to_bits(), expected.to_bits(), "bleu-{order} {score:e} {row}");
        }
    }
}

#[test]
fn rouge_equals_every_golden_row_to_the_bit() {
    let mut scorer = RougeScorer::default();
    for row in golden("rouge.jsonl") {
        let score = scorer.score(text(&row, "prediction"), text(&row, "reference"));
        let measures = [("1", score.rouge_1), ("2", score.rouge_2), ("L", score.rouge_l)];
        for (name, Agreement { recall, precision, f }) in measures {
            for (letter, value) in [("R", recall), ("P", precision), ("F", f)] {
                let expected = row["out"][format!("Rouge-{name}-{letter}")].as_f64().unwrap();
                assert_eq!(value.to_bits(), expected.to_bits(), "{name}-{letter} {value} {row}");
            }
        }
    }
}

/// Texts made of what the rules look at.
/// Six dots end a sentence as a whole, three do not.
#[test]
fn rouge_breaks_lines_behind_six_dots() {
    for (prediction, reference, agree) in
        [("a......b", "a...... b", true), ("a...b", "a... b", false), ("……“a”", "…… “a”", true)]
    {
        assert_eq!(rouge(prediction, reference).rouge_1.f > 0.9, agree, "{prediction}");
    }
}

/// The model of unknown words joins these; that the dictionary has them whole keeps them apart.
#[test]
fn neighbours_that_are_a_word_are_not_joined_by_the_model() {
    for text in ["一七", "一三", "一上", "一丸", "一久"] {
        assert_eq!(cut(text).len(), 2, "{text}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        "\n",
        "\r\n",
        "\u{1c}",
        "\u{3000}",
        ".",
        "..",
        "...",
        "......",
        "……",
        "?",
        "!",
        ",",
        ":",
        "'",
        "''",
        "\"",
        "`",
        "``",
        "“",
        "”",
        "‘",
        "’",
        "«",
        "»",
        "(",
        ")",
        "-",
        "--",
        "—",
        "n't",
        "'s",
        "'ll",
        "cannot",
        "gonna ",
        "'tis",
        "Dr",
        "e.g",
        "No",
        "J",
        "U.S",
        "The",
        "it",
        "12",
        "3.5",
        "%",
        "١",
        "ß",
        "Σ",
        "İ",
        "ſ",
        "中",
        "肺部",
        "右上叶",
        "。",
        "！",
        "？",
        "T2",
        "+#",
        "\u{9fd5}",
        "\u{9fff}",
        "〇",
        "🫁",
        "\0",
        "\u{feff}",
        "é",
        "\u{301}",
    ]);
    prop_oneof![
        prop::collection::vec(pieces, 0..30).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn chinese_words_join_to_the_text(text in any_text()) {
        prop_assert_eq!(cut(&text).concat(), text);
    }

    #[test]
    fn tokens_hold_every_letter_of_the_text(text in any_text()) {
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        prop_assert_eq!(letters(&word_tokenize(&text).concat()), letters(&text));
    }

    #[test]
    fn sentences_are_ordered_and_cover_every_letter(text in any_text()) {
        let mut end = 0;
        for range in sentences(&text) {
            prop_assert!(end <= range.start && range.start < range.end);
            let between = &text[end..range.start];
            prop_assert!(!between.chars().any(char::is_alphanumeric), "{between:?}");
            end = range.end;
        }
        prop_assert!(!text[end..].chars().any(char::is_alphanumeric));
    }

    #[test]
    fn scores_are_shares_and_a_text_agrees_with_itself(a in any_text(), b in any_text()) {
        prop_assert!(bleu(&a, &b).iter().all(|score| (0.0..=1.0).contains(score)));
        let score = rouge(&a, &b);
        for part in [score.rouge_1, score.rouge_2, score.rouge_l] {
            prop_assert!((0.0..=1.0).contains(&part.recall) && (0.0..=1.0).contains(&part.f));
        }
        let mirrored = rouge(&b, &a);
        prop_assert_eq!(score.rouge_l.recall.to_bits(), mirrored.rouge_l.precision.to_bits());
        let own = rouge(&a, &a);
        prop_assert!(own.rouge_l.recall.to_bits() == 1_f64.to_bits() || own == rouge("", ""));
    }

    #[test]
    fn kept_buffers_change_nothing(pairs in prop::collection::vec((any_text(), any_text()), 1..5)) {
        let (mut bleus, mut rouges) = (BleuScorer::default(), RougeScorer::default());
        for (a, b) in pairs {
            prop_assert_eq!(bleus.score(&a, &b).map(f64::to_bits), bleu(&a, &b).map(f64::to_bits));
            prop_assert_eq!(rouges.score(&a, &b), rouge(&a, &b));
        }
    }
}
