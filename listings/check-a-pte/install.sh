cargo install --locked --path crates/pte
