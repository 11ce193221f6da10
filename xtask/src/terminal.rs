//! Words for a terminal: colours only where a terminal shows them.

use std::io::IsTerminal;
use std::sync::LazyLock;
use std::time::Duration;

/// Whether standard error is a terminal, where progress can be redrawn in place.
pub static INTERACTIVE: LazyLock<bool> = LazyLock::new(|| std::io::stderr().is_terminal());

/// Colours need both streams to be terminals: the same words go to either.
static COLOURS: LazyLock<bool> = LazyLock::new(|| {
    *INTERACTIVE && std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
});

fn paint(code: &str, text: &str) -> String {
    if *COLOURS {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// A heading.
pub fn bold(text: &str) -> String {
    paint("1", text)
}

/// What failed.
pub fn red(text: &str) -> String {
    paint("1;31", text)
}

/// What is well.
pub fn green(text: &str) -> String {
    paint("1;32", text)
}

/// What matters less.
pub fn dim(text: &str) -> String {
    paint("2", text)
}

/// A duration as a person reads it: `340 ms`, `2.1 s`, `3 min 20 s`.
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// `text` in lines of at most `width` characters, broken at spaces.
pub fn wrap(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!(elapsed(Duration::from_millis(340)), "340 ms");
        assert_eq!(elapsed(Duration::from_millis(2140)), "2.1 s");
        assert_eq!(elapsed(Duration::from_secs(200)), "3 min 20 s");
    }

    #[test]
    fn wrapping_keeps_every_word() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(wrap("unbreakable", 4), "unbreakable");
    }
}
