//! How near a reply is to a reference text: [`bleu`] and [`rouge`], to the bit as the reference has
//! them.

pub mod bleu;
mod lcs;
pub mod rouge;
mod tokens;
