//! What a delegate is given is lent for the call; a handle outlives it.

use executorch_device::{Arg, CompileSpec, Delegate, Error, ExecutionContext, InitContext};

struct Keeps;

impl Delegate for Keeps {
    type Handle = &'static [u8];

    fn init(&self, _: &InitContext<'_>, processed: &[u8], _: &[CompileSpec<'_>]) -> Result<&'static [u8], Error> {
        Ok(processed)
    }

    fn execute(&self, _: &ExecutionContext<'_>, _: &mut &'static [u8], _: &[Arg<'_>]) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
