//! What must not compile: one case a file in `cases/`, with the words of the compiler beside it. The pages show both.
