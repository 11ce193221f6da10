//! Whether this machine has an NVIDIA driver and a GPU. Never panics, which `cudarc`'s own `CudaContext::new` does
//! without a driver.

use cudarc::driver::{result, sys};

/// What the driver said, as the second half of the fenced device's description.
pub(crate) fn why_fenced() -> String {
    // SAFETY: tries to open the driver's library and closes it again. Its initialisers run, as they do in any process
    // that uses CUDA.
    if !unsafe { sys::is_culib_present() } {
        return "no NVIDIA driver".to_owned();
    }
    let devices = result::init().and_then(|()| result::device::get_count());
    match devices {
        Ok(0) => "no NVIDIA GPU".to_owned(),
        Ok(count) => format!(
            "{count} NVIDIA GPU{}, not used by this version",
            if count == 1 { "" } else { "s" }
        ),
        Err(error) => format!("the NVIDIA driver does not start ({:?})", error.0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn asking_twice_gives_the_same_answer_and_no_panic() {
        let answer = super::why_fenced();
        assert_eq!(super::why_fenced(), answer);
        assert!(answer.contains("NVIDIA"), "{answer}");
    }
}
