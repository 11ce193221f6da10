//! Ends by a signal.
//!
//! $ dies --now

use proof::Origin::Runtime;
use proof::claim;

fn main() {
    println!("about to abort");
    claim(Runtime, "dies.first", "It speaks before it dies.", true);
    std::process::abort();
}
