//! What the worker calls, and what is called of it. WebAssembly passes numbers alone, so texts go through memory.
#![allow(unsafe_code)]

use std::io;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Writes the bytes of a file from `offset` on, at most `count`, to `into`; says how many came, or -1.
    fn read(file: u32, offset: f64, into: *mut u8, count: u32) -> i32;
}

/// Memory for a question of this many bytes. [`run`] takes it back.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(count: u32) -> *mut u8 {
    Box::into_raw(vec![0_u8; count as usize].into_boxed_slice()).cast()
}

/// Answers the question that was written to what [`allocate`] gave. The upper half of the result is the address of the
/// answer, the lower half its length in bytes. It stays until the module is dropped.
///
/// # Safety
///
/// `asked` is what `allocate(count)` gave, and was not passed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(asked: *mut u8, count: u32) -> u64 {
    let asked = std::ptr::slice_from_raw_parts_mut(asked, count as usize);
    // SAFETY: `allocate` made it as a box of so many bytes, as the caller promises, and leaked it.
    let asked = unsafe { Box::from_raw(asked) };
    let answer = crate::answer(&asked, &|file, offset, buffer| {
        // Offsets are exact in a number of JavaScript below 2⁵³. A buffer's length is one of 32 bits here.
        let count = buffer.len() as u32;
        // SAFETY: the worker writes at most `count` bytes to `buffer`, which is as long.
        let got = unsafe { read(file as u32, offset as f64, buffer.as_mut_ptr(), count) };
        usize::try_from(got)
            .map_err(|_| io::Error::other("the browser could not read it; choose it again"))
    });
    let answer: &'static [u8] = answer.leak();
    (answer.as_ptr() as u64) << 32 | answer.len() as u64
}
