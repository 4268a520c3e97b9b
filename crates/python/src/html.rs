//! Text for notebooks.

/// The text with the characters that HTML reads written out.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The text as it is, in one font.
pub(crate) fn preformatted(text: &str) -> String {
    format!("<pre>{}</pre>", escape(text))
}
