//! `llms.txt`: the book for whoever reads without a browser, in the form of <https://llmstxt.org>: each page and its answer.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::html::tags;
use crate::pattern::regex;

/// A part or a page of `SUMMARY.md`.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?m)^#[ ]+(?P<part>.+)$|^(?:- )?\[(?P<title>.+)\]\((?P<page>.+)\.md\)$")
});

/// The text of `llms.txt` for the site in this folder. A page that is not there is left out: that it is missing is said elsewhere.
pub(crate) fn text(summary: &str, site: &Path) -> String {
    let mut text = String::new();
    for entry in ENTRY.captures_iter(summary) {
        let (title, page) = match (entry.name("part"), entry.name("title"), entry.name("page")) {
            (Some(part), ..) if part.as_str() != "Summary" => {
                text.push_str(&format!("\n## {}\n\n", part.as_str()));
                continue;
            }
            (_, Some(title), Some(page)) => (title.as_str(), format!("{}.html", page.as_str())),
            _ => continue,
        };
        let Ok(html) = fs::read_to_string(site.join(&page)) else {
            continue;
        };
        let answer = first_paragraph(&html);
        if text.is_empty() {
            text.push_str(&format!("# {title}\n\n> {answer}\n"));
        } else {
            text.push_str(&format!("- [{title}]({page}): {answer}\n"));
        }
    }
    text
}

/// The page's answer: the words of its first paragraph.
fn first_paragraph(html: &str) -> String {
    let tags = tags(html);
    let mut in_main = tags.iter().skip_while(|tag| tag.name != "main");
    let Some(start) = in_main.find(|tag| tag.name == "p") else {
        return String::new();
    };
    let rest = in_main.take_while(|tag| tag.name != "p");
    let mut words = String::new();
    let mut from = start.end;
    // What only leads to a proof or to itself is no word of the sentence.
    let mut hidden = false;
    for tag in rest {
        if !hidden {
            words.push_str(&html[from..tag.offset]);
        }
        let class = tag.get("class").unwrap_or_default();
        if tag.name == "a" {
            hidden = !tag.closing && class.split(' ').any(|class| class.starts_with("claim-"));
        }
        from = tag.end;
    }
    let end = html[from..].find("</p").map_or(from, |at| from + at);
    words.push_str(&html[from..end]);
    let words: Vec<_> = words.split_whitespace().collect();
    words
        .join(" ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_with_their_answers() {
        let site = tempfile::tempdir().unwrap();
        let page = |name: &str, text: &str| fs::write(site.path().join(name), text).unwrap();
        page(
            "index.html",
            "<p>menu</p><main><h1>A</h1><p>All of\n it.</p><p>More.</p></main>",
        );
        page(
            "b.html",
            "<main><p><span class=\"claim\">Give <code>a &lt; b</code> first.</span><a class=\"claim-proof\" href=\"#x\">●</a> Then <a href=\"c.html\">c</a>.</p></main>",
        );
        let summary =
            "# Summary\n\n[The book](index.md)\n\n# Part\n\n- [The `b`](b.md)\n- [Gone](gone.md)\n";
        assert_eq!(
            text(summary, site.path()),
            "# The book\n\n> All of it.\n\n## Part\n\n- [The `b`](b.html): Give a < b first. Then c.\n"
        );
    }
}
