//! Adds two numbers.

use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact, quoted, table};

fn main() {
    // ANCHOR: sum
    let sum = 1 + 2;
    // ANCHOR_END: sum
    println!("sum: {sum}");
    fact(Exporter, "adds.sum", sum);
    fact(Runtime, "adds.log", "the sum was *three*, as in | 1 + 2 |");
    fact(StandIn, "adds.bytes", 768);
    quoted("adds.cuda", "no adder on this device", "cuda/adder.cpp", "0123456789abcdef");
    claim(Runtime, "adds.exact", "The sum of `1` and `2` is 3, not 4.", sum == 3);
    claim(StandIn, "adds.ours", "Our adder never overflows.", sum < 4);
    let rows = vec![vec!["`1|2`".to_owned(), sum.to_string()]];
    table(StandIn, "adds.rows", &["of", "sum"], rows);
}
