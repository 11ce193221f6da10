//! Expands the chapters as mdBook does and hands them to skeptic, which sees raw Markdown only.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use mdbook_driver::builtin_renderers::MarkdownRenderer;
use mdbook_driver::config::Config;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .ok_or("this package lies two folders below the workspace root")?;
    println!("cargo::rerun-if-changed={}", root.join("src").display());

    let mut book = MDBook::load_with_config(root, Config::default())?;
    book.book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item {
            chapter.content = without_listings(&chapter.content);
        }
    });
    let (expanded, _) = book.preprocess_book(&MarkdownRenderer::new())?;

    let pages = PathBuf::from(std::env::var("OUT_DIR")?).join("pages");
    fs::create_dir_all(&pages)?;
    let mut files = Vec::new();
    for chapter in expanded.chapters() {
        let Some(path) = &chapter.path else { continue };
        // Skeptic names a test after its file, so the folder becomes part of the name.
        let file = pages.join(path.to_string_lossy().replace('/', "_"));
        fs::write(&file, &chapter.content)?;
        files.push(file);
    }
    skeptic::generate_doc_tests(&files);
    Ok(())
}

/// The chapter without the fenced blocks that hold a directive: what they show is compiled and run where it lies.
fn without_listings(chapter: &str) -> String {
    let mut kept = String::new();
    let mut fence = String::new();
    for line in chapter.lines() {
        let edge = line.trim_start().starts_with("```");
        if !edge && fence.is_empty() {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let closes = edge && !fence.is_empty();
        fence.push_str(line);
        fence.push('\n');
        if closes {
            if !fence.contains("{{") {
                kept.push_str(&fence);
            }
            fence.clear();
        }
    }
    kept
}
