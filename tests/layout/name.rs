//! Names of layouts: parsing and printing.

use blocktensor::{Error, Layout, Role};

const NAMES: &[&str] = &[
    "nc",
    "cn",
    "ncw",
    "nwc",
    "nchw",
    "nhwc",
    "chwn",
    "ncdhw",
    "ndhwc",
    "oi",
    "io",
    "oiw",
    "owi",
    "wio",
    "oihw",
    "ohwi",
    "hwio",
    "iohw",
    "ihwo",
    "oidhw",
    "odhwi",
    "dhwio",
    "goiw",
    "wigo",
    "goihw",
    "hwigo",
    "goidhw",
    "nCw4c",
    "nCw8c",
    "nCw16c",
    "nCw32c",
    "nCw64c",
    "nChw4c",
    "nChw8c",
    "nChw16c",
    "nChw32c",
    "nChw64c",
    "nCdhw4c",
    "nCdhw8c",
    "nCdhw16c",
    "nCdhw32c",
    "nCdhw64c",
    "NChw16n16c",
    "OIw16i16o",
    "OIhw16i16o",
    "OIdhw16i16o",
    "OIhw16o16i",
    "gOIw16i16o",
    "gOIhw16i16o",
    "gOIdhw16i16o",
    "OIw8i8o",
    "OIhw8i8o",
    "OIdhw8i8o",
    "gOIw8i8o",
    "gOIhw8i8o",
    "gOIdhw8i8o",
    "Goiw16g",
    "Goihw16g",
    "Goidhw16g",
    "Goiw8g",
    "Goihw8g",
    "Goidhw8g",
    "Owi16o",
    "Ohwi16o",
    "Odhwi16o",
    "Ohwi8o",
    "Ohwi64o",
    "gOhwi16o",
    "OhwI16o4i",
    "OIhw8i16o2i",
    "OIhw4i16o4i",
    "OIdhw4i16o4i",
    "gOIhw4i16o4i",
    "CHWN4",
    "OI16i16o",
    "IOhw16o16i",
];

const TAGS: &[&str] = &[
    "a",
    "ab",
    "ba",
    "abc",
    "acb",
    "abcd",
    "acdb",
    "acdeb",
    "abcdef",
    "abcdefghijkl",
    "aBc16b",
    "aBcd16b",
    "aBcde16b",
    "ABcd16b16a",
    "ABcd4b16a4b",
    "Acdb64a",
    "Abcde16a",
    "Bcda4b",
    "A65535a",
    "aBcd2b2b2b",
];

#[test]
fn every_layout_name_parses_and_prints_as_itself() {
    for name in NAMES.iter().chain(TAGS) {
        let layout: Layout = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(layout.to_string(), *name);
        assert_eq!(format!("{layout:?}"), format!("Layout({name})"));
        // The letter tag is another name of the same layout.
        let tagged: Layout = layout.tag().parse().unwrap();
        assert_eq!((tagged, tagged.role()), (layout, Role::Tag));
        assert_eq!(tagged.with_role(layout.role()).to_string(), *name);
    }
}

#[test]
fn layout_tags_match_onednn() {
    for (name, tag) in [
        ("nchw", "abcd"),
        ("nhwc", "acdb"),
        ("hwio", "cdba"),
        ("nChw16c", "aBcd16b"),
        ("OIhw16i16o", "ABcd16b16a"),
        ("gOIhw16i16o", "aBCde16c16b"),
        ("Goihw16g", "Abcde16a"),
        ("Ohwi16o", "Acdb16a"),
        ("OIhw4i16o4i", "ABcd4b16a4b"),
        ("CHWN4", "Bcda4b"),
    ] {
        assert_eq!(name.parse::<Layout>().unwrap().tag(), tag, "{name}");
    }
}

#[test]
fn megengine_layout_names_parse_and_print() {
    for (theirs, field) in [
        ("NCHW", "nchw"),
        ("NHWC", "nhwc"),
        ("NCHW4", "nChw4c"),
        ("NCHW8", "nChw8c"),
        ("NCHW32", "nChw32c"),
        ("NCHW64", "nChw64c"),
        ("CHWN4", "CHWN4"),
        ("CHWN4", "Chwn4c"),
    ] {
        let layout: Layout = theirs.parse().unwrap();
        assert_eq!(layout, field.parse().unwrap());
        assert_eq!(layout.megengine_name(), Some(theirs));
    }
    assert_eq!("Chwn4c".parse::<Layout>().unwrap().to_string(), "CHWN4");
    assert_eq!(Layout::NCHW16C.megengine_name(), None);
}

#[test]
fn the_role_of_a_layout_changes_its_name_alone() {
    let (nchw, oihw): (Layout, Layout) = ("nchw".parse().unwrap(), "oihw".parse().unwrap());
    assert_eq!(nchw, oihw);
    assert_eq!((nchw.role(), oihw.role()), (Role::Activations, Role::Weights));
    assert_eq!(nchw.with_role(Role::GroupedWeights).to_string(), "goiw");
    // Weights of rank 7 have no letters, so the tag is printed.
    let seven: Layout = "abcdefg".parse().unwrap();
    assert_eq!(seven.with_role(Role::Weights).to_string(), "abcdefg");
    let set: std::collections::HashSet<Layout> = [nchw, oihw, Layout::NCHW, Layout::OIHW].into();
    assert_eq!(set.len(), 1);
}

#[test]
fn a_bad_layout_name_is_an_error_that_lists_the_names() {
    let long = "n".repeat(100_000);
    for name in [
        "",
        " ",
        "nchw ",
        "n",
        "nn",
        "nchwc",
        "nchx",
        "NCHW16",
        "nCHW16c",
        "nChw",
        "nchw16c",
        "nChw16",
        "nChw16x",
        "nChwc",
        "nChw016c",
        "nChw1c",
        "nChw0c",
        "nChw65536c",
        "nChw99999999999999999999c",
        "nChw-4c",
        "nChw16C",
        "nChw16c16",
        "16c",
        "OIhw16i",
        "ABcd16b",
        "acd",
        "abcdefghijklm",
        "nÇhw16c",
        "n\u{0}hw",
        "日本",
        "any",
        "undef",
        "Nchw16c",
        "nChw2c2c2c2c2c2c2c2c2c2c2c2c2c",
        &long,
    ] {
        let e = name.parse::<Layout>().unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{name:?}: {e}");
        let text = e.to_string();
        assert!(text.contains("nChw") && text.contains("CHWN4") && text.len() < 800, "{text}");
    }
}
