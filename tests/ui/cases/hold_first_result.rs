//! Holding the first result across the second execution does not compile.

use executorch::Error;
use executorch::evalue::EValue;
use executorch::module::Module;

fn run_twice(module: &mut Module<'_>, inputs: &[EValue<'_>]) -> Result<(), Error> {
    // ANCHOR: hold
    let first = module.forward(inputs)?;
    let second = module.forward(inputs)?;
    println!("{} and {}", first.len(), second.len());
    // ANCHOR_END: hold
    Ok(())
}

fn main() {
    let _ = run_twice;
}
