//! What the command line shows: plain lines on standard output.

use std::{
    fmt::Display,
    io::{self, Write},
};

/// Lines longer than this are hard to read beside a second window.
pub(super) const WIDTH: usize = 100;

/// Takes lines and shows each at once.
pub(super) struct Screen(Box<dyn Write + Send>);

// === impl Screen ===

impl Screen {
    pub(super) fn stdout() -> Self {
        Self(Box::new(io::stdout()))
    }

    #[cfg(test)]
    pub(super) fn to(out: impl Write + Send + 'static) -> Self {
        Self(Box::new(out))
    }

    /// One line. A reader that went away is no reason to stop what the line tells of.
    pub(super) fn line(&mut self, text: impl Display) {
        let _ = writeln!(self.0, "{}", text.to_string().trim_end());
        let _ = self.0.flush();
    }

    pub(super) fn blank(&mut self) {
        self.line("");
    }

    /// A name and what it stands for.
    pub(super) fn pair(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("  {name:<12}{value}"));
    }

    /// Text in columns: `lead` before the first line, its width in blanks before the others.
    pub(super) fn column(&mut self, lead: &str, text: &str) {
        let lead_width = lead.chars().count();
        for (number, part) in wrap(text, WIDTH.saturating_sub(lead_width)).iter().enumerate() {
            let lead = if number == 0 { lead } else { "" };
            self.line(format_args!("{lead:<lead_width$}{part}"));
        }
    }
}

/// Breaks text between words; a longer word stays whole.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    // Words keep the blanks after them, which align columns.
    for word in text.split_inclusive(' ') {
        let Some(last) = lines.last_mut() else { break };
        if !last.is_empty() && last.chars().count() + word.trim_end().chars().count() > width {
            lines.push(word.to_owned());
        } else {
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_between_words_and_keeps_inner_blanks() {
        assert_eq!(wrap("aa  bb cc", 6), ["aa  bb ", "cc"]);
        assert_eq!(wrap("a-very-long-word b", 6), ["a-very-long-word ", "b"]);
        assert_eq!(wrap("", 6), [""]);
    }
}
