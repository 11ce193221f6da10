//! What a page is made of, each piece with its place in the file.
//!
//! mdBook's own Markdown dialect is read with the parser that mdBook uses. Directives and claims are found in the raw
//! text first and then blanked out byte for byte, so that every place the parser reports is a place in the file.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use regex::Regex;

use crate::pattern::regex;

/// What looks like a directive or a claim: in a built page, one that nobody replaced, unless the page shows it as such.
pub(crate) static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\{\{\s*(?:#\w+|(?:fact|output|gpu|version|strip|drift)\b)|\]\{claim=")
});

/// Whether a link leaves the book: `https:`, `mailto:`.
pub(crate) fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
    })
}

/// A fenced or indented block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// The words after the fence; empty for an indented block.
    pub(crate) info: String,
    /// The whole block.
    pub(crate) span: Range<usize>,
    /// The lines between the fences.
    pub(crate) content: Range<usize>,
}

impl Fence {
    /// The first word: the language.
    pub(crate) fn language(&self) -> &str {
        self.info
            .split([',', ' ', '\t', '{'])
            .next()
            .unwrap_or_default()
    }

    /// Whether `flag` is among the words after the language.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.info
            .split([',', ' ', '\t'])
            .skip(1)
            .any(|word| word == flag)
    }
}

/// The target of a link or an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: String,
    pub(crate) at: usize,
}

/// A piece of a block of prose.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    /// Where it starts in the text of the block.
    from: usize,
    /// Where it starts in the file.
    at: usize,
    /// Whether text and file agree byte for byte from here on.
    exact: bool,
}

/// The text of a paragraph, a heading, a cell: what a reader reads, without the marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) text: String,
    pieces: Vec<Piece>,
    /// Each inline code by itself.
    pub(crate) code: Vec<(String, usize)>,
}

impl Block {
    fn push(&mut self, text: &str, span: &Range<usize>, source: &str) {
        self.pieces.push(Piece {
            from: self.text.len(),
            at: span.start,
            exact: source.get(span.clone()) == Some(text),
        });
        self.text.push_str(text);
    }

    /// The place in the file of the byte `offset` of the text.
    pub(crate) fn place(&self, offset: usize) -> usize {
        self.pieces
            .iter()
            .rev()
            .find(|piece| piece.from <= offset)
            .map_or(0, |piece| {
                piece.at + if piece.exact { offset - piece.from } else { 0 }
            })
    }
}

/// A page as the parser sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) fences: Vec<Fence>,
    /// Inline code.
    pub(crate) code: Vec<Range<usize>>,
    pub(crate) headings: Vec<Range<usize>>,
    pub(crate) links: Vec<Link>,
    pub(crate) blocks: Vec<Block>,
    /// Blocks of raw HTML.
    pub(crate) html: Vec<Range<usize>>,
    /// Raw `<pre>` and `<code>`: code that no fence shows.
    pub(crate) raw_code: Vec<usize>,
    /// What a fragment can name: headings as mdBook names them, and `id` attributes.
    pub(crate) ids: BTreeSet<String>,
    /// Quotations that start like an admonition (`[!…]`) and that mdBook knows no such kind of.
    pub(crate) unknown_admonitions: Vec<usize>,
    pub(crate) words: usize,
}

/// mdBook's dialect, with its defaults.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_SMART_PUNCTUATION
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM
}

impl Parsed {
    /// Reads `text`.
    pub(crate) fn new(text: &str) -> Self {
        let mut reader = Reader {
            text,
            parsed: Self::default(),
            block: Block::default(),
            taken: BTreeSet::new(),
        };
        reader.read();
        reader.parsed
    }

    /// The fence around `offset`.
    pub(crate) fn fence_around(&self, offset: usize) -> Option<&Fence> {
        self.fences
            .iter()
            .find(|fence| fence.span.contains(&offset))
    }

    /// Whether `offset` is in inline code.
    pub(crate) fn in_inline_code(&self, offset: usize) -> bool {
        self.code.iter().any(|span| span.contains(&offset))
    }
}

struct Reader<'a> {
    text: &'a str,
    parsed: Parsed,
    block: Block,
    /// Ids that mdBook has generated so far.
    taken: BTreeSet<String>,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut heading: Option<(Option<String>, String)> = None;
        let mut fence: Option<Fence> = None;
        let mut autolink = false;
        for (event, span) in Parser::new_ext(self.text, options()).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    self.flush();
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.into_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    fence = Some(Fence {
                        info,
                        content: span.end..span.end,
                        span,
                    });
                }
                Event::End(TagEnd::CodeBlock) => {
                    self.parsed.fences.extend(fence.take());
                }
                Event::Text(_) if fence.is_some() => {
                    if let Some(fence) = &mut fence {
                        fence.content = fence.content.start.min(span.start)..span.end;
                    }
                }
                Event::Text(text) => {
                    if let Some((_, heading)) = &mut heading {
                        heading.push_str(&text);
                    }
                    if !autolink {
                        self.block.push(&text, &span, self.text);
                    }
                }
                Event::Code(code) => {
                    if let Some((_, heading)) = &mut heading {
                        heading.push_str(&code);
                    }
                    self.parsed.code.push(span.clone());
                    // A flag may carry a number: `--limit=5s`.
                    let shown = if code.starts_with('-') {
                        "flag"
                    } else {
                        code.as_ref()
                    };
                    let inner = span.start
                        + self.text[span.clone()]
                            .bytes()
                            .take_while(|b| *b == b'`')
                            .count();
                    self.block
                        .push(shown, &(inner..inner + code.len()), self.text);
                    self.block.code.push((code.into_string(), inner));
                }
                Event::SoftBreak | Event::HardBreak => self.block.push(" ", &span, self.text),
                Event::InlineHtml(html) => self.html(&html, span.start),
                Event::Html(html) => {
                    self.html(&html, span.start);
                    for (text, offset) in text_of_html(&html) {
                        let at = span.start + offset;
                        self.block.push(&text, &(at..at + text.len()), self.text);
                    }
                }
                Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    ..
                }) => {
                    autolink = matches!(link_type, LinkType::Autolink | LinkType::Email);
                    self.link(&dest_url, span.start);
                }
                Event::End(TagEnd::Link) => autolink = false,
                Event::Start(Tag::Image { dest_url, .. }) => self.link(&dest_url, span.start),
                Event::Start(Tag::Heading { id, .. }) => {
                    self.flush();
                    self.parsed.headings.push(span);
                    heading = Some((id.map(pulldown_cmark::CowStr::into_string), String::new()));
                }
                Event::Start(Tag::DefinitionListTitle) => {
                    self.flush();
                    heading = Some((None, String::new()));
                }
                Event::End(TagEnd::Heading(_) | TagEnd::DefinitionListTitle) => {
                    self.flush();
                    if let Some((id, text)) = heading.take() {
                        let id = id.unwrap_or_else(|| self.generated_id(&text));
                        self.parsed.ids.insert(id);
                    }
                }
                Event::Start(Tag::BlockQuote(None)) => {
                    self.flush();
                    let quoted = self.text[span.clone()].trim_start_matches(['>', ' ']);
                    if quoted.starts_with("[!") {
                        self.parsed.unknown_admonitions.push(span.start);
                    }
                }
                Event::Start(Tag::HtmlBlock) => {
                    self.flush();
                    self.parsed.html.push(span);
                }
                Event::Start(Tag::FootnoteDefinition(name)) => {
                    self.flush();
                    self.parsed.ids.insert(format!("footnote-{name}"));
                }
                Event::Start(
                    Tag::Emphasis
                    | Tag::Strong
                    | Tag::Strikethrough
                    | Tag::Superscript
                    | Tag::Subscript,
                )
                | Event::End(
                    TagEnd::Emphasis
                    | TagEnd::Strong
                    | TagEnd::Strikethrough
                    | TagEnd::Superscript
                    | TagEnd::Subscript
                    | TagEnd::Image,
                ) => {}
                Event::Start(_) | Event::End(_) | Event::Rule => self.flush(),
                Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::FootnoteReference(_)
                | Event::TaskListMarker(_) => {}
            }
        }
        self.flush();
    }

    fn flush(&mut self) {
        if !self.block.text.is_empty() {
            self.parsed.words += self.block.text.split_whitespace().count();
            self.parsed.blocks.push(std::mem::take(&mut self.block));
        }
    }

    fn link(&mut self, target: &str, at: usize) {
        self.parsed.links.push(Link {
            target: target.to_owned(),
            at,
        });
    }

    fn html(&mut self, html: &str, at: usize) {
        for tag in crate::html::tags(html) {
            let place = at + tag.offset;
            if matches!(tag.name.as_str(), "pre" | "code") && !tag.closing {
                self.parsed.raw_code.push(place);
            }
            for (name, value) in &tag.attributes {
                match name.as_str() {
                    "id" | "name" => {
                        self.parsed.ids.insert(value.clone());
                    }
                    "href" | "src" => self.link(value, place),
                    _ => {}
                }
            }
        }
    }

    /// The id that mdBook 0.5 gives to a heading: lower case, spaces as `-`, no punctuation, `-1` when taken.
    fn generated_id(&mut self, text: &str) -> String {
        let id: String = text
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
                c if c.is_whitespace() => Some('-'),
                _ => None,
            })
            .collect();
        if self.taken.insert(id.clone()) {
            return id;
        }
        let mut counter = 1;
        loop {
            let candidate = format!("{id}-{counter}");
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
            counter += 1;
        }
    }
}

/// What a reader sees of a piece of HTML, with its places: everything outside tags and comments.
fn text_of_html(html: &str) -> Vec<(String, usize)> {
    let mut texts = Vec::new();
    let mut from = 0;
    for tag in crate::html::tags(html) {
        let text = &html[from..tag.offset];
        if !text.trim().is_empty() {
            texts.push((text.to_owned(), from));
        }
        from = tag.end;
    }
    let rest = &html[from..];
    let rest = rest.split("<!--").next().unwrap_or_default();
    if !rest.trim().is_empty() {
        texts.push((rest.to_owned(), from));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_mdbook() {
        let parsed = Parsed::new(
            "# Host in, `host` out\n\n## A\n\n## A\n\n## B {#own}\n\n<a id=\"raw\"></a>\n\nterm\n: what\n",
        );
        let ids: Vec<_> = parsed.ids.iter().map(String::as_str).collect();
        assert_eq!(ids, ["a", "a-1", "host-in-host-out", "own", "raw", "term"]);
    }

    #[test]
    fn a_place_is_a_place_in_the_file() {
        let text = "A **bold** word\nand `0x10` here.\n\n| a | b |\n|---|---|\n| x | `y` 5 |\n";
        let parsed = Parsed::new(text);
        let block = &parsed.blocks[0];
        assert_eq!(block.text, "A bold word and 0x10 here.");
        let offset = block.text.find("0x10").unwrap();
        assert_eq!(&text[block.place(offset)..][..4], "0x10");
        let cell = parsed.blocks.last().unwrap();
        assert_eq!(cell.text, "y 5");
        assert_eq!(&text[cell.place(2)..][..1], "5");
    }

    #[test]
    fn an_admonition_that_mdbook_does_not_know_is_found() {
        let known = "> [!WARNING]\n> See [x](y.md) and `z`.\n\n> A quotation.\n";
        assert!(Parsed::new(known).unknown_admonitions.is_empty());
        assert_eq!(Parsed::new(known).links[0].target, "y.md");
        for unknown in ["> [!WARN]\n> x\n", "> [!WARNING] Title\n> x\n"] {
            assert_eq!(Parsed::new(unknown).unknown_admonitions, [0], "{unknown}");
        }
    }

    #[test]
    fn html_is_read_like_prose() {
        let parsed =
            Parsed::new("<table><tr><td title=\"1\">768 bytes</td></tr></table>\n\n<pre>x</pre>\n");
        assert!(
            parsed
                .blocks
                .iter()
                .any(|block| block.text.contains("768 bytes"))
        );
        assert_eq!(parsed.raw_code.len(), 1);
    }
}
