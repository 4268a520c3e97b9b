//! Parts of an error's text, and the doors that tell them.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, Deref};

use super::call::Call;

/// A part of an error's text: words, and the calls that it names. It reads as a `str` in which calls are written in Rust, in
/// backticks; a [`Door`] tells it with other names.
///
/// ```
/// use blocktensor::{Call, Text};
/// let remedy = Text::from("reorder it with ") + Call::ToStrided + " first";
/// assert_eq!(&*remedy, "reorder it with `to_strided(MemoryFormat::Contiguous)` first");
/// assert!(remedy.calls().eq([&Call::ToStrided]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    // Boxes keep errors small enough to return.
    rust: Box<str>,
    /// Each call, and where it begins in `rust`.
    calls: Box<[(usize, Call)]>,
}

/// A language or a program from which the library is called, and its names for what errors name.
pub trait Door {
    /// What a call or an option is called.
    fn call(&self, call: &Call) -> String;

    /// The name of the op or function that an error is about. Registered ops have the same names everywhere.
    fn op<'a>(&'a self, op: &'a str) -> Cow<'a, str> {
        op.into()
    }

    /// The name of an argument of that op or function.
    fn argument<'a>(&'a self, _op: &str, argument: &'a str) -> Cow<'a, str> {
        argument.into()
    }
}

/// The door of Rust, whose names errors print.
#[derive(Clone, Copy, Debug)]
pub struct Rust;

impl Door for Rust {
    fn call(&self, call: &Call) -> String {
        call.to_string()
    }
}

impl Text {
    /// The calls that it names, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().map(|(_, call)| call)
    }

    /// The same text with the names of a door.
    pub fn told(&self, door: &dyn Door) -> String {
        let (mut text, mut from) = (String::new(), 0);
        for (at, call) in &self.calls {
            text += &format!("{}`{}`", &self.rust[from..*at], door.call(call));
            from = at + quoted(call).len();
        }
        text + &self.rust[from..]
    }
}

/// "1 tensor", "2 tensors".
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn quoted(call: &Call) -> String {
    format!("`{call}`")
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.rust
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl From<String> for Text {
    fn from(rust: String) -> Text {
        Text { rust: rust.into(), calls: Box::default() }
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Text {
        words.to_string().into()
    }
}

impl From<&String> for Text {
    fn from(words: &String) -> Text {
        words.as_str().into()
    }
}

impl From<Call> for Text {
    fn from(call: Call) -> Text {
        Text { rust: quoted(&call).into(), calls: [(0, call)].into() }
    }
}

impl<T: Into<Text>> Add<T> for Text {
    type Output = Text;

    fn add(self, more: T) -> Text {
        let (more, end) = (more.into(), self.rust.len());
        let moved = more.calls.into_iter().map(|(at, call)| (end + at, call));
        Text {
            rust: [self.rust, more.rust].concat().into(),
            calls: self.calls.into_iter().chain(moved).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shouting;

    impl Door for Shouting {
        fn call(&self, call: &Call) -> String {
            call.to_string().to_uppercase()
        }
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "tensor")), ["0 tensors", "1 tensor", "2 tensors"]);
    }

    #[test]
    fn only_calls_are_told_in_the_words_of_a_door() {
        let inner = Text::from("or ") + Call::Reshape(vec![1, 2]);
        let text = Text::from("é `to_vec` ") + Call::ToVec + ", " + inner + " of `x`";
        assert_eq!(&*text, "é `to_vec` `to_vec`, or `reshape(&[1, 2])` of `x`");
        assert_eq!(text.told(&Rust), text.to_string());
        assert_eq!(text.told(&Shouting), "é `to_vec` `TO_VEC`, or `RESHAPE(&[1, 2])` of `x`");
        assert_eq!(Text::from("`to_vec`").calls().count(), 0);
    }
}
