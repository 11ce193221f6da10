//! What keeps the book true.
