//! What a reply answers, and whether that is right: [`answer_line`] (answer lines, counts),
//! [`choice`] (choice labels), [`option_inference`] (`VLMEvalKit`'s reading of a choice),
//! [`normalize`] (SLAKE's canonical form), [`score`] (whole lists).

pub mod answer_line;
pub mod choice;
pub mod normalize;
pub mod option_inference;
pub mod score;
