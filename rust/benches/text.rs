//! Reading and scoring replies of the usual shapes; each answer is checked before it is timed.

use std::hint::black_box;

use _core::answers::choice::{Language, Question, choice};
use _core::answers::normalize::normalize;
use _core::answers::score::{score_choices, score_counts, score_lines};
use criterion::{Criterion, Throughput};

const ROWS: usize = 2_000;

const LINES: [(&str, &str); 6] = [
    ("ANSWER: CT", "CT"),
    ("The image shows the chest.\nANSWER: Left Lung", "Left Lung"),
    ("**ANSWER:** Yes.", "yes"),
    ("答案如下。\nANSWER: 是的", "是"),
    ("ANSWER: X光 (胸部)", "X-Ray"),
    ("The liver", "Liver"),
];
const CHOICES: [(&str, &str); 4] = [
    ("ANSWER: B", "B"),
    ("The scan shows a mass in the left lobe, so the best option is C.\nANSWER: C", "C"),
    ("**Answer:** (D)", "D"),
    ("I think it is A", "A"),
];
const COUNTS: [(&str, &str); 3] = [("12", "12"), ("There are 7 birds", "7"), ("**20**", "20")];

fn rows(shapes: &[(&'static str, &'static str)]) -> (Vec<&'static str>, Vec<&'static str>) {
    shapes.iter().copied().cycle().take(ROWS).unzip()
}

/// The text part of the core.
pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Elements(ROWS as u64));

    let (replies, targets) = rows(&LINES);
    assert!(score_lines(&replies, &targets).is_ok_and(|rows| rows.iter().all(|row| row.correct)));
    group.bench_function("slake", |bench| {
        bench.iter(|| score_lines(black_box(&replies), &targets));
    });
    group.bench_function("normalize", |bench| {
        bench.iter(|| {
            targets.iter().map(|target| normalize(black_box(target)).len()).sum::<usize>()
        });
    });

    let (replies, targets) = rows(&CHOICES);
    let question = Question { choices: 4, language: Language::English, multiple: false };
    let questions = || vec![question; ROWS].into_iter();
    assert!(
        score_choices(&replies, &targets, questions())
            .is_ok_and(|rows| rows.iter().all(|row| row.correct == Some(true)))
    );
    group.bench_function("choices", |bench| {
        bench.iter(|| score_choices(black_box(&replies), &targets, questions()));
    });

    let (replies, targets) = rows(&COUNTS);
    assert!(
        score_counts(&replies, &targets).is_ok_and(|rows| rows.iter().all(|row| row.matched.exact))
    );
    group.bench_function("counts", |bench| {
        bench.iter(|| score_counts(black_box(&replies), &targets));
    });
    group.finish();

    let long = "A ".repeat(100_000);
    assert_eq!(choice(&long, question).0, "A");
    criterion.bench_function("text/200,000 characters", |bench| {
        bench.iter(|| (normalize(black_box(&long)).len(), choice(&long, question)));
    });
}
