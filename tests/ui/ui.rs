//! Each case fails to compile, with the words that the pages show.

#[test]
fn must_not_compile() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
