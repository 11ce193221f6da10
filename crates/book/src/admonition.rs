//! mdbook-admonish 1.20, which speaks mdBook 0.4's JSON, called with what mdBook 0.5 gives.
//!
//! Between the two versions the book's list of items changed its name (`sections` became `items`) and the settings lost
//! their empty values. A page at a time is put into the older form, so that a failure names its page.

use mdbook::BookItem;
use mdbook::preprocess::{CmdPreprocessor, Preprocessor as _};
use mdbook_admonish::Admonish;
use serde_json::{Value, json};

use crate::markdown::{Fence, Parsed};

/// The version of mdbook-admonish's style sheet that the site ships.
const ASSETS_VERSION: &str = "3.1.0";

/// Settings of `[preprocessor.guide.admonish]`: those of mdbook-admonish.
pub(crate) type Settings = serde_json::Map<String, Value>;

/// Renders the admonitions of a page.
///
/// # Errors
///
/// What mdbook-admonish says, and the byte where the block starts that it says it about.
pub(crate) fn render(page: &str, settings: &Settings) -> Result<String, (usize, String)> {
    let fences: Vec<_> = Parsed::new(page)
        .fences
        .into_iter()
        .filter(Fence::is_admonition)
        .map(|fence| fence.span)
        .collect();
    if fences.is_empty() {
        return Ok(page.to_owned());
    }
    convert(page, settings).map_err(|whole| {
        fences
            .into_iter()
            .find_map(|fence| Some((fence.start, convert(&page[fence], settings).err()?)))
            .unwrap_or((0, whole))
    })
}

fn convert(page: &str, settings: &Settings) -> Result<String, String> {
    let mut admonish = settings.clone();
    admonish.insert("assets_version".into(), ASSETS_VERSION.into());
    admonish.insert("on_failure".into(), "bail".into());
    let input = json!([
        {
            "root": ".",
            "config": { "book": {}, "preprocessor": { "admonish": admonish } },
            "renderer": "html",
            "mdbook_version": mdbook::MDBOOK_VERSION,
        },
        {
            "sections": [{ "Chapter": {
                "name": "", "content": page, "number": null, "sub_items": [],
                "path": "page.md", "source_path": "page.md", "parent_names": [],
            } }],
            "__non_exhaustive": null,
        },
    ]);
    let reason = |error: mdbook::errors::Error| {
        error
            .chain()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": ")
    };
    let (context, book) =
        CmdPreprocessor::parse_input(input.to_string().as_bytes()).map_err(reason)?;
    let book = Admonish.run(&context, book).map_err(reason)?;
    match book.sections.into_iter().next() {
        Some(BookItem::Chapter(chapter)) => Ok(chapter.content),
        _ => Err("mdbook-admonish gave no page back".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admonition_is_a_labelled_note() {
        let page = "Before.\n\n```admonish warning title=\"Mind\"\nSome **text** with `code`.\n```\n\nAfter.\n";
        let html = render(page, &Settings::new()).unwrap();
        assert!(
            html.contains("class=\"admonition admonish-warning\""),
            "{html}"
        );
        assert!(html.contains("Some **text** with `code`."), "{html}");
        assert!(
            html.starts_with("Before.\n") && html.ends_with("After.\n"),
            "{html}"
        );
    }

    #[test]
    fn a_page_without_one_is_left_alone() {
        let page = "# T\n\n```text\nadmonish\n```\n";
        assert_eq!(render(page, &Settings::new()).unwrap(), page);
    }

    #[test]
    fn what_it_cannot_render_is_named_with_its_place() {
        let page = "# T\n\n```admonish note\nfine\n```\n\n```admonish title=unclosed\"\nx\n```\n";
        let (at, message) = render(page, &Settings::new()).unwrap_err();
        assert_eq!(at, page.rfind("```admonish").unwrap(), "{message}");
    }
}
