//! What `flatc --rust --gen-all` makes of ExecuTorch's `schema/program.fbs` and `flat_tensor.fbs`, but for vectors of
//! 8-byte numbers (`Long`, `Real`, `Int64`, `Uint64`): `tests/real/generated.rs` says why, makes this code, and holds it to
//! the schemas of the installed ExecuTorch. The licence of those is in `LICENSE` beside this file.

#[allow(
    clippy::all,
    clippy::doc_markdown,
    clippy::needless_pass_by_value,
    clippy::redundant_closure_for_method_calls,
    clippy::semicolon_if_nothing_returned,
    clippy::undocumented_unsafe_blocks,
    clippy::uninlined_format_args,
    mismatched_lifetime_syntaxes,
    missing_docs,
    non_snake_case,
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    unused_imports
)]
#[rustfmt::skip]
pub(crate) mod flat_tensor_generated;
#[allow(
    clippy::all,
    clippy::doc_markdown,
    clippy::needless_pass_by_value,
    clippy::redundant_closure_for_method_calls,
    clippy::semicolon_if_nothing_returned,
    clippy::undocumented_unsafe_blocks,
    clippy::uninlined_format_args,
    mismatched_lifetime_syntaxes,
    missing_docs,
    non_snake_case,
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    unused_imports
)]
#[rustfmt::skip]
pub(crate) mod program_generated;
