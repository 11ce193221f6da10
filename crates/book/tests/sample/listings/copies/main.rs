//! Counts copies.

use proof::Origin::Runtime;
use proof::{claim, fact};

fn main() {
    // ANCHOR: print
    if true {
        println!("copies: 2");
    }
    // ANCHOR_END: print
    println!("```");
    println!("{{{{#include nothing.rs}}}}");
    fact(Runtime, "copies.count", "2 copies");
    claim(Runtime, "copies.two", "A call makes 2 copies.", true);
}
