//! The tags of an HTML text: enough to follow links and find requests, not a browser.

/// A start or end tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The name in lower case.
    pub(crate) name: String,
    /// Whether it is an end tag.
    pub(crate) closing: bool,
    /// Names in lower case, values with their entities replaced.
    pub(crate) attributes: Vec<(String, String)>,
    /// Where `<` stands.
    pub(crate) offset: usize,
    /// Behind `>`.
    pub(crate) end: usize,
}

impl Tag {
    /// The value of the attribute `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// All tags of `html`, in their order. Comments and the content of scripts and styles are passed over.
pub(crate) fn tags(html: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = html[at..].find('<') {
        let offset = at + found;
        let rest = &html[offset..];
        if rest.starts_with("<!--") {
            at = rest.find("-->").map_or(html.len(), |end| offset + end + 3);
            continue;
        }
        let Some(tag) = read_tag(html, offset) else {
            at = offset + 1;
            continue;
        };
        at = tag.end;
        if !tag.closing && matches!(tag.name.as_str(), "script" | "style") {
            let close = format!("</{}", tag.name);
            at = html[at..].find(&close).map_or(html.len(), |end| at + end);
        }
        tags.push(tag);
    }
    tags
}

fn read_tag(html: &str, offset: usize) -> Option<Tag> {
    let bytes = html.as_bytes();
    let mut at = offset + 1;
    let closing = bytes.get(at) == Some(&b'/');
    at += usize::from(closing);
    let name_from = at;
    while bytes
        .get(at)
        .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'-')
    {
        at += 1;
    }
    if at == name_from || !bytes[name_from].is_ascii_alphabetic() {
        return None;
    }
    let mut tag = Tag {
        name: html[name_from..at].to_ascii_lowercase(),
        closing,
        attributes: Vec::new(),
        offset,
        end: at,
    };
    loop {
        while bytes
            .get(at)
            .is_some_and(|b| b.is_ascii_whitespace() || *b == b'/')
        {
            at += 1;
        }
        if *bytes.get(at)? == b'>' {
            tag.end = at + 1;
            return Some(tag);
        }
        let from = at;
        while bytes
            .get(at)
            .is_some_and(|b| !b.is_ascii_whitespace() && !b"=>/".contains(b))
        {
            at += 1;
        }
        if at == from {
            at += 1;
            continue;
        }
        let name = html[from..at].to_ascii_lowercase();
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        let mut value = "";
        if bytes.get(at) == Some(&b'=') {
            at += 1;
            while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            match *bytes.get(at)? {
                quote @ (b'"' | b'\'') => {
                    let length = bytes[at + 1..].iter().position(|b| *b == quote)?;
                    value = &html[at + 1..at + 1 + length];
                    at += length + 2;
                }
                _ => {
                    let from = at;
                    while bytes
                        .get(at)
                        .is_some_and(|b| !b.is_ascii_whitespace() && *b != b'>')
                    {
                        at += 1;
                    }
                    value = &html[from..at];
                }
            }
        }
        tag.attributes.push((name, unescape(value)));
    }
}

/// `text` with the entities that mdBook writes replaced.
pub(crate) fn unescape(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#92;", "\\"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (entity, character)| {
        text.replace(entity, character)
    })
}

/// `text` as the value of an attribute or the content of an element.
pub(crate) fn escape(text: &str) -> String {
    [
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\"", "&quot;"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (character, entity)| {
        text.replace(character, entity)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_names_attributes_and_places() {
        let html =
            "a < b <!-- <x> --><A HREF='p.html#q' hidden>t</a><img src=y.svg alt=\"&lt;1&gt;\"/>";
        let tags = tags(html);
        let names: Vec<_> = tags
            .iter()
            .map(|tag| (tag.name.as_str(), tag.closing))
            .collect();
        assert_eq!(names, [("a", false), ("a", true), ("img", false)]);
        assert_eq!(tags[0].get("href"), Some("p.html#q"));
        assert_eq!(tags[0].get("hidden"), Some(""));
        assert_eq!(&html[tags[1].offset..tags[1].end], "</a>");
        assert_eq!(tags[2].get("src"), Some("y.svg"));
        assert_eq!(tags[2].get("alt"), Some("<1>"));
    }

    #[test]
    fn scripts_are_passed_over_and_ends_do_not_panic() {
        let names: Vec<_> = tags("<script src=x>if (a<b) '<p>'</script><p>")
            .iter()
            .map(|tag| tag.name.clone())
            .collect();
        assert_eq!(names, ["script", "script", "p"]);
        for broken in [
            "<",
            "<a",
            "<a href",
            "<a href=",
            "<a href='",
            "</",
            "<!--",
            "<a =>",
            "<script>",
        ] {
            tags(broken);
        }
    }

    #[test]
    fn escaping_is_undone() {
        let text = "a < b & \"c\" > 'd'";
        assert_eq!(unescape(&escape(text)), text);
    }
}
