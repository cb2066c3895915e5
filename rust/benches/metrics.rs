//! BLEU and ROUGE on replies as models write them, and on texts of 200,000 characters.

use std::hint::black_box;

use _core::metrics::bleu::BleuScorer;
use _core::metrics::rouge::RougeScorer;
use _core::text::jieba::cut;
use _core::text::words::word_tokenize;
use criterion::Criterion;

const ENGLISH: [&str; 2] = [
    "The image shows a chest X-ray with an enlarged heart. The left lower lobe isn't clear.",
    "A chest X-ray with an enlarged heart, and a lesion in the left lower lobe (see Fig. 3).",
];
const CHINESE: [&str; 2] = [
    "图像显示左肺下叶有一个增大的阴影，心脏轮廓正常。",
    "这是一张胸部X光片，左肺下叶可见结节，心脏正常。",
];

/// All benchmarks of the text metrics.
pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let (mut bleu, mut rouge) = (BleuScorer::default(), RougeScorer::default());
    assert!(bleu.score(ENGLISH[0], ENGLISH[0])[3] > 0.999);
    for (language, [prediction, reference]) in [("english", ENGLISH), ("chinese", CHINESE)] {
        criterion.bench_function(&format!("bleu {language}"), |bencher| {
            bencher.iter(|| bleu.score(black_box(prediction), black_box(reference)));
        });
        criterion.bench_function(&format!("rouge {language}"), |bencher| {
            bencher.iter(|| rouge.score(black_box(prediction), black_box(reference)));
        });
    }
    let english = ENGLISH.concat().repeat(1_150);
    let chinese = CHINESE.concat().repeat(4_200);
    let mut group = criterion.benchmark_group("200,000 characters");
    group.sample_size(10);
    group.bench_function("word_tokenize", |bencher| bencher.iter(|| word_tokenize(&english)));
    group.bench_function("jieba cut", |bencher| bencher.iter(|| cut(&chinese)));
    for (language, long, short) in
        [("english", &english, ENGLISH[1]), ("chinese", &chinese, CHINESE[1])]
    {
        group.bench_function(format!("bleu {language}"), |bencher| {
            bencher.iter(|| bleu.score(black_box(long), black_box(short)));
        });
        group.bench_function(format!("rouge {language}"), |bencher| {
            bencher.iter(|| rouge.score(black_box(long), black_box(short)));
        });
    }
    // The worst case: two long texts of few distinct tokens that differ at both ends.
    let (first, second) = ("a b c d e ".repeat(20_000), "d c a e b ".repeat(20_000));
    group.bench_function("rouge of two long texts", |bencher| {
        bencher.iter(|| rouge.score(black_box(&first), black_box(&second)));
    });
    group.finish();
}
