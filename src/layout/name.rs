//! The names of layouts: parsing and printing.
//!
//! A name lists the outer dimensions (outermost first) by letter, as a capital if inner blocks split the dimension, then the
//! inner blocks: `OIhw4i16o4i`. The letters are those of oneDNN's tags (`dnnl_format_tag_t`), by role or alphabetical.
//! MegEngine's names (`megdnn::param::ConvBias::Format`) are also parsed.

use std::fmt;
use std::str::FromStr;

use super::blocked::{Layout, Role};
use super::dims::MAX_RANK;
use crate::error::{Complaint, Error, Result};

/// The letters of the dimensions in logical order, if the role has letters for this rank.
fn letters(role: Role, rank: usize) -> Option<&'static str> {
    let names: &[&str] = match role {
        Role::Tag => return "abcdefghijkl".get(..rank),
        Role::Activations => &["nc", "ncw", "nchw", "ncdhw"],
        Role::Weights => &["oi", "oiw", "oihw", "oidhw"],
        Role::GroupedWeights => &["goiw", "goihw", "goidhw"],
    };
    names.iter().find(|n| n.len() == rank).copied()
}

/// MegEngine's names and their layouts.
const MEGENGINE: [(&str, Layout); 7] = [
    ("NCHW", Layout::NCHW),
    ("NHWC", Layout::NHWC),
    ("NCHW4", Layout::build(Role::Activations, &[0, 1, 2, 3], &[(1, 4)])),
    ("NCHW8", Layout::NCHW8C),
    ("NCHW32", Layout::build(Role::Activations, &[0, 1, 2, 3], &[(1, 32)])),
    ("NCHW64", Layout::build(Role::Activations, &[0, 1, 2, 3], &[(1, 64)])),
    ("CHWN4", Layout::CHWN4),
];

impl Layout {
    /// The name in alphabetical letters, which every layout has: `aBcd16b` for `nChw16c`.
    pub fn tag(&self) -> String {
        self.with_role(Role::Tag).to_string()
    }

    /// MegEngine's name, if it has one: `NCHW`, `NHWC`, `NCHW4`, `NCHW8`, `NCHW32`, `NCHW64`, `CHWN4`.
    pub fn megengine_name(&self) -> Option<&'static str> {
        MEGENGINE.iter().find(|(_, layout)| layout == self).map(|(name, _)| *name)
    }
}

impl fmt::Display for Layout {
    /// Prints the name in the letters of the layout's role, or the letter tag if the role has no letters for its rank.
    /// [`Layout::CHWN4`] has no such name and prints MegEngine's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.rank();
        if self.role() == Role::Activations && *self == Layout::CHWN4 {
            return f.pad("CHWN4");
        }
        let letters = letters(self.role(), rank).or_else(|| letters(Role::Tag, rank)).unwrap_or_default();
        let letters = letters.as_bytes();
        let mut name = String::new();
        for &dim in &self.outer_order() {
            let c = letters[dim] as char;
            name.push(if self.inner_blocks().any(|b| b.0 == dim) { c.to_ascii_uppercase() } else { c });
        }
        for (dim, size) in self.inner_blocks() {
            name.push_str(&size.to_string());
            name.push(letters[dim] as char);
        }
        f.pad(&name)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layout({self})")
    }
}

impl FromStr for Layout {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument`, with the names that are understood, for anything that is not exactly a layout's name.
    fn from_str(name: &str) -> Result<Layout> {
        match parse(name) {
            Ok(layout) => Ok(layout),
            Err(why) => Err(Error::InvalidArgument(Complaint::new(
                "layout",
                "name",
                shown(name),
                why,
                "use a name such as nchw, nhwc, nCw|nChw|nCdhw with 4c|8c|16c|32c|64c, oihw, hwio, OIhw16i16o, \
                 OIhw8i8o, gOIhw16i16o, Goihw16g, Ohwi16o, OIhw8i16o2i, OIhw4i16o4i (w and dhw alike), a letter tag \
                 such as aBcd16b, or NCHW4, NCHW8, NCHW32, NCHW64, CHWN4",
            ))),
        }
    }
}

/// The given name, shortened: it may be any text.
fn shown(name: &str) -> String {
    let mut short: String = name.chars().take(40).collect();
    if short.len() < name.len() {
        short.push_str("...");
    }
    format!("{short:?}")
}

fn parse(name: &str) -> std::result::Result<Layout, &'static str> {
    if let Some((_, layout)) = MEGENGINE.iter().find(|(n, _)| *n == name) {
        return Ok(*layout);
    }
    let split = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    let (outer, mut inner) = name.split_at(split);
    if !(1..=MAX_RANK).contains(&outer.len()) {
        return Err("a layout's name begins with one letter for each dimension, at most 12");
    }
    let (role, letters) = role_of(outer).ok_or(
        "its letters are neither n, c, d, h, w, nor o, i, d, h, w, nor g, o, i, d, h, w, nor a, b, c, ... \
         for as many dimensions",
    )?;
    let dim_of = |c: char| letters.find(c.to_ascii_lowercase());
    let order: Vec<usize> = outer.chars().filter_map(dim_of).collect();
    let mut blocks = Vec::new();
    while !inner.is_empty() {
        let digits = inner.find(|c: char| !c.is_ascii_digit()).ok_or("a block lacks its letter")?;
        let (size, rest) = inner.split_at(digits);
        let letter =
            rest.chars().next().filter(char::is_ascii_lowercase).ok_or("a block's letter is lower case")?;
        let dim = dim_of(letter).ok_or("a block's letter names no dimension")?;
        if size.starts_with('0') {
            return Err("a block's size has no leading zero");
        }
        blocks.push((dim, size.parse().map_err(|_| "a block's size comes before its letter")?));
        inner = &rest[1..];
    }
    for (c, dim) in outer.chars().zip(&order) {
        if c.is_ascii_uppercase() != blocks.iter().any(|b| b.0 == *dim) {
            return Err("capital letters mark exactly the dimensions that have blocks");
        }
    }
    let layout = Layout::new(&order, &blocks)
        .map_err(|_| "a block has 2 to 65535 elements, and there are at most 12")?;
    Ok(layout.with_role(role))
}

/// The role that has these letters, each once, and its letters in logical order.
fn role_of(outer: &str) -> Option<(Role, &'static str)> {
    let same = |letters: &str| {
        letters.len() == outer.len()
            && letters.chars().all(|l| outer.chars().any(|c| c.to_ascii_lowercase() == l))
    };
    [Role::Activations, Role::Weights, Role::GroupedWeights, Role::Tag]
        .into_iter()
        .filter_map(|role| Some((role, letters(role, outer.len())?)))
        .find(|(_, letters)| same(letters))
}
