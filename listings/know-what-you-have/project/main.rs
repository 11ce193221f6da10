//! What a `.pte` plans, and whether this runtime can load it.

use std::error::Error;

use executorch::module::Module;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: my-device-program FILE.pte")?;
    report(&path)
}

pub fn report(path: &str) -> Result<(), Box<dyn Error>> {
    let mut module = Module::new(path);
    let meta = module.method_meta("forward")?;
    for index in 0..meta.num_memory_planned_buffers() {
        let size = meta.memory_planned_buffer_size(index)?;
        let device = meta.memory_planned_buffer_device(index)?;
        println!("arena {index}: {size} bytes on {:?}", device.type_());
    }
    match module.load_method("forward", None, None) {
        Ok(()) => println!("this runtime can run it"),
        Err(error) => {
            println!("this runtime cannot run it: {error} ({:#x})", error as u32);
        }
    }
    Ok(())
}
