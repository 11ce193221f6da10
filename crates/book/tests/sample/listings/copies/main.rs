//! Counts copies.

use proof::Origin::Runtime;
use proof::{claim, fact};

fn main() {
    println!("copies: 2");
    println!("```");
    println!("{{{{#include nothing.rs}}}}");
    fact(Runtime, "copies.count", "2 copies");
    claim(Runtime, "copies.two", "A call makes 2 copies.", true);
}
