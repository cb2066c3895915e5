//! Answers read and scored: the shared tables of cases, and properties that hold for any text.

use std::hint::black_box;
use std::time::{Duration, Instant};

use _core::Error;
use _core::answers::answer_line::{answer_line, count};
use _core::answers::choice::{Language, Question, choice, clean_option};
use _core::answers::normalize::normalize;
use _core::answers::option_inference::infer_option;
use _core::answers::score::{match_count, score_choices, score_counts, score_lines};
use _core::text::pystr;
use _core::text::table::Table;
use proptest::prelude::*;
use serde_json::{Value, json};

fn check(table: &str, read: impl Fn(&Value) -> Value) {
    let rows: Vec<Value> = serde_json::from_str(table).unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(read(&row["input"]), row["expected"], "{} ({})", row["input"], row["why"]);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn normalizes_as_the_table_says() {
    check(include_str!("../../../tests/cases/normalize.json"), |input| {
        normalize(text(input)).into()
    });
}

#[test]
fn reads_answer_lines_as_the_table_says() {
    check(include_str!("../../../tests/cases/answer_line.json"), |input| {
        let (line, rule) = answer_line(text(input));
        json!([line, rule.name()])
    });
}

#[test]
fn reads_counts_as_the_table_says() {
    check(include_str!("../../../tests/cases/count.json"), |input| {
        let (digits, rule) = count(text(input)).unwrap();
        json!([digits, rule.name()])
    });
}

#[test]
fn reads_choices_as_the_table_says() {
    check(include_str!("../../../tests/cases/choice.json"), |input| {
        let question = Question {
            choices: usize::try_from(input["choices"].as_u64().unwrap()).unwrap(),
            language: text(&input["language"]).parse().unwrap(),
            multiple: input["multiple"].as_bool().unwrap(),
        };
        let (labels, rule) = choice(text(&input["reply"]), question);
        json!([labels, rule.name()])
    });
}

#[test]
fn infers_options_as_the_table_says() {
    check(include_str!("../../../tests/cases/option.json"), |input| {
        let options: Vec<(&str, &str)> = input["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|option| (text(&option[0]), text(&option[1])))
            .collect();
        let (letter, rule) = infer_option(text(&input["reply"]), &options);
        json!([letter, rule.name()])
    });
}

#[test]
fn cleans_options_as_the_table_says() {
    check(include_str!("../../../tests/cases/clean_option.json"), |input| {
        clean_option(text(&input["option"]), text(&input["letter"])).into()
    });
}

#[test]
fn the_longest_integer_is_the_longest_that_int_reads() {
    let limit = "9".repeat(pystr::MAX_INTEGER_DIGITS);
    assert_eq!(count(&limit).unwrap().0, Some(limit.clone()));
    let longer = format!("0{limit}");
    assert!(matches!(count(&longer), Err(Error::IntegerTooLong { digits: 4301, .. })));
    assert_eq!(count(&format!("5 {longer}")).unwrap().0.as_deref(), Some("5"));
}

#[test]
fn relaxed_accuracy_is_exact_at_its_edge() {
    let relaxed = |count: &str, target: &str| match_count(Some(count), target).unwrap().relaxed;
    assert!(relaxed("95", "100") && relaxed("105", "100"));
    assert!(!relaxed("94", "100") && !relaxed("106", "100"));
    assert!(relaxed("0", "0") && !relaxed("1", "0"));
    assert!(!relaxed("5", "-5"));
    let (hundred, edge) = ("1".to_owned() + &"0".repeat(40), "105".to_owned() + &"0".repeat(38));
    assert!(relaxed(&hundred, &hundred) && !relaxed(&(edge + "0"), &hundred));
}

#[test]
fn a_row_that_cannot_be_scored_is_named() {
    let error = score_counts(&["1", "2"], &["1", "many"]).unwrap_err();
    assert_eq!(error.to_string(), "row 2: the target is `many`, expected an integer");
    let error = score_lines(&["a"], &["a", "b"]).unwrap_err();
    assert_eq!(error.to_string(), "2 targets for 1 replies, expected one for each");
}

#[test]
fn an_empty_target_is_left_out() {
    let question = Question { choices: 4, language: Language::English, multiple: false };
    let rows = score_choices(&["ANSWER: A"; 3], &["a ", " ", "B"], [question; 3].into_iter());
    let correct: Vec<_> = rows.unwrap().into_iter().map(|row| row.correct).collect();
    assert_eq!(correct, [Some(true), None, Some(false)]);
}

fn read_every_way(reply: &str, choices: usize) {
    black_box((normalize(reply), answer_line(reply), count(reply).ok()));
    black_box(infer_option(reply, &[("A", reply), ("B", "cat")]));
    for multiple in [false, true] {
        for language in [Language::English, Language::Chinese] {
            black_box(choice(reply, Question { choices, language, multiple }));
        }
    }
}

/// Long replies of the shapes that make a backtracking matcher quadratic.
#[test]
fn long_replies_take_no_time() {
    const LENGTH: usize = 200_000;
    for piece in [
        "A ",
        "ANSWER: ",
        "ANSWER: A,",
        "answer is ",
        "(",
        "(a",
        "答案：",
        "$",
        "\\boxed{",
        ":",
        " ",
        "'Σ",
        "9",
        "A and ",
        "[A,",
        "个",
        "\\ ",
        "answer  ",
    ] {
        let reply = piece.repeat(LENGTH / piece.chars().count());
        let started = Instant::now();
        read_every_way(&reply, 30);
        // Eight readings in a debug build on a shared machine; one may take 50 ms in a release.
        assert!(
            started.elapsed() < Duration::from_secs(2),
            "{piece:?} took {:?}",
            started.elapsed()
        );
    }
}

/// Every word of the canonical form; a word beside it shows that it stands alone.
#[test]
fn every_number_word_and_label_has_its_form() {
    let numbers = [
        ("0", "none zero 零"),
        ("1", "one 一"),
        ("2", "two 两 二"),
        ("3", "three 三"),
        ("4", "four 四"),
        ("5", "five 五"),
        ("6", "six 六"),
        ("7", "seven 七"),
        ("8", "eight 八"),
        ("9", "nine 九"),
        ("10", "ten 十"),
    ];
    for (digits, words) in numbers {
        for word in words.split(' ') {
            assert_eq!(normalize(word), digits, "{word}");
            assert_eq!(normalize(&format!("{word} cats")), format!("{digits} cats"), "{word}");
            assert_eq!(normalize(&format!("{word}个")), digits, "{word}");
        }
    }
    for (label, words) in [
        ("yes", "yes yeah yep true 是 是的 有 包含 存在 可以 能 会"),
        ("no", "no nope false 否 不是 没有 无 不包含 不存在 不可以 不能 不会 不正常"),
        ("xray", "X-Ray xray X光 x射线"),
    ] {
        for word in words.split(' ') {
            assert_eq!(normalize(word), label, "{word}");
        }
    }
    for mark in
        "！？。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～、《》【】!#-.:;?@_"
            .chars()
    {
        assert_eq!(normalize(&format!("left{mark}lung")), "left lung", "{mark}");
    }
}

#[test]
fn simple_records_are_taken_and_others_left() {
    let table = Table { delimiter: b',', width: 2, longest: 20 };
    let take = |bytes: &'static str| {
        let mut cells = Vec::new();
        table.record(bytes.as_bytes(), &mut cells).map(|length| (length, cells))
    };
    for (bytes, length, first, second) in [
        ("a,b\nc", 4, "a", "b"),
        ("a,b\r\nc", 5, "a", "b"),
        (",\n", 2, "", ""),
        ("\"a\",\"b\"\n", 8, "a", "b"),
        ("\"a,b\",c\n", 8, "a,b", "c"),
        ("\"\"\"a\"\"\",\"\"\n", 11, "\"a\"", ""),
        ("\"a\"bc,d\n", 8, "abc", "d"),
        ("a\"b,c \"d\"\n", 10, "a\"b", "c \"d\""),
        ("肺,é\n", 7, "肺", "é"),
        ("01234567890123456,89\n", 21, "01234567890123456", "89"),
    ] {
        let (found, cells) = take(bytes).unwrap_or_else(|| panic!("{bytes:?}"));
        assert_eq!((found, &*cells[0], &*cells[1]), (length, first, second), "{bytes:?}");
    }
    for odd in [
        "",
        "\n",
        "\r\n",
        "a,b",
        "a\n",
        "a,b,c\n",
        "a,\"b\n",
        "\"a\nb\",c\n",
        "a,\"b\"\"\n",
        "a\r,b\n",
        "a,\0\n",
        "012345678901234567,89\n",
    ] {
        assert_eq!(take(odd), None, "{odd:?}");
    }
    assert_eq!(table.record(b"\xff,b\n", &mut Vec::new()), None, "no UTF-8");
}

proptest! {
    #[test]
    fn the_canonical_form_has_no_blanks_to_spare(answer in any::<String>()) {
        let canonical = normalize(&answer);
        prop_assert_eq!(pystr::strip(&canonical), canonical.as_str());
        prop_assert!(!canonical.contains("  "));
    }

    #[test]
    fn a_marked_letter_is_read(lead in "[a-z .\n]{0,40}", letter in "[A-D]") {
        let question = Question { choices: 4, language: Language::English, multiple: false };
        let (labels, _) = choice(&format!("{lead}ANSWER: {letter}"), question);
        prop_assert_eq!(labels, letter);
    }

    #[test]
    fn nothing_panics(reply in r"(\PC|[\s:()*$\\{},]|ANSWER|答案|[A-Z0-9]|and|ſ|Σ|İ){0,60}", choices in 0_usize..60) {
        read_every_way(&reply, choices);
    }

    #[test]
    fn a_count_within_five_percent_is_relaxed(target in 1_u64..1_000_000, count in 0_u64..2_000_000) {
        let matched = match_count(Some(&count.to_string()), &target.to_string()).unwrap();
        prop_assert_eq!(matched.exact, count == target);
        prop_assert_eq!(matched.relaxed, 20 * count.abs_diff(target) <= target);
    }
}
