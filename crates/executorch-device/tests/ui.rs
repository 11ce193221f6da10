//! What must not compile, with the compiler's own words; see `Module` for the reasons.

#[test]
fn what_must_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/allowed.rs");
    for case in [
        "blob_kept_by_delegate",
        "held_input_freed",
        "input_freed_while_outputs_live",
        "output_buffer_dropped_first",
        "output_buffer_freed",
        "output_buffer_in_two_modules",
        "output_buffer_used",
        "output_tensor_outlives_module",
        "outputs_held_across_executions",
    ] {
        cases.compile_fail(format!("tests/ui/{case}.rs"));
    }
}
