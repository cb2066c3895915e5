//! Words the dictionary does not know: the most likely states of their characters (Viterbi).

use super::dictionary::Model;

/// States in the order of their letters, which is the order Python breaks ties in: the larger wins.
const BEGIN: usize = 0;
const END: usize = 1;
const MIDDLE: usize = 2;
const SINGLE: usize = 3;

/// The two states each state can follow, the one that wins a tie first.
const BEFORE: [[usize; 2]; 4] = [[SINGLE, END], [MIDDLE, BEGIN], [MIDDLE, BEGIN], [SINGLE, END]];

/// Buffers for one run of characters.
#[derive(Default)]
pub(super) struct Viterbi {
    /// Per character and state, the state before.
    came_from: Vec<[usize; 4]>,
    states: Vec<usize>,
}

impl Viterbi {
    /// Hands the end of each word of a run of Han characters to `sink`.
    pub(super) fn cut(&mut self, run: &[u16], model: &Model, mut sink: impl FnMut(usize)) {
        self.find_states(run, model);
        let mut last = 0;
        for (index, &state) in self.states.iter().enumerate() {
            if matches!(state, END | SINGLE) {
                last = index + 1;
                sink(last);
            }
        }
        if last < run.len() {
            sink(run.len());
        }
    }

    #[expect(clippy::indexing_slicing, reason = "arrays of four, indexed by the states above")]
    fn find_states(&mut self, run: &[u16], model: &Model) {
        self.came_from.clear();
        self.states.clear();
        let Some((&first, rest)) = run.split_first() else { return };
        let emission = model.emission(first);
        let mut scores: [f64; 4] =
            std::array::from_fn(|state| model.start[state] + emission[state]);
        for &symbol in rest {
            let emission = model.emission(symbol);
            let mut from = [0; 4];
            scores = std::array::from_fn(|state| {
                let [first, second] = BEFORE[state].map(|before| {
                    scores[before] + model.transitions[before][state] + emission[state]
                });
                let second_wins = second > first;
                from[state] = BEFORE[state][usize::from(second_wins)];
                if second_wins { second } else { first }
            });
            self.came_from.push(from);
        }
        let mut state = if scores[END] > scores[SINGLE] { END } else { SINGLE };
        self.states.push(state);
        for from in self.came_from.iter().rev() {
            state = from[state];
            self.states.push(state);
        }
        self.states.reverse();
    }
}
