//! What `flatc --rust --gen-all` makes of ExecuTorch's `schema/program.fbs`. The licence of that schema is in `LICENSE`
//! beside this file; `tests/generated.rs` holds the code to the schema of the installed ExecuTorch.

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
mod program_generated;

pub(crate) use program_generated::executorch_flatbuffer as schema;
