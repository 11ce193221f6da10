//! The Rust blocks that the book's pages type out themselves, each compiled and run by skeptic as one test.
//! Blocks that include a listing are not here: the listing is compiled and run whole.
