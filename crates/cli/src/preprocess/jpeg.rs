//! Whether a JPEG file is whole. The decoder takes a file that is cut off, and fills the rest with grey.

/// Whether the content ends before the end of the image. `false` for what is no JPEG.
pub(super) fn is_cut(content: &[u8]) -> bool {
    if !content.starts_with(&[0xff, 0xd8]) {
        return false;
    }
    let mut at = 2;
    // Markers are 0xff and a number; 0 stands for a 0xff among the data, and 0xd0 to 0xd7 restart the data. All other bytes between
    // segments are data of a scan.
    while let Some(&[first, marker]) = content.get(at..at + 2).and_then(|two| two.first_chunk::<2>()) {
        match (first, marker) {
            (0xff, 0xd9) => return false,
            (0xff, 0x00 | 0x01 | 0xd0..=0xd8) => at += 2,
            (0xff, 0xff) => at += 1,
            (0xff, _) => match content.get(at + 2..at + 4) {
                Some(&[high, low]) => at += 2 + usize::from(u16::from_be_bytes([high, low])).max(2),
                _ => return true,
            },
            _ => at += 1,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_cut;

    #[test]
    fn each_prefix_of_a_jpeg_is_cut() {
        let picture = image::RgbImage::from_fn(40, 30, |x, y| image::Rgb([(x * y) as u8, x as u8, y as u8]));
        let mut file = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut file, image::ImageFormat::Jpeg).unwrap();
        let whole = file.into_inner();
        assert!(!is_cut(&whole));
        assert!((2..whole.len()).all(|length| is_cut(&whole[..length])));
        // What follows the image is not its own, and a thumbnail's end is not the image's.
        assert!(!is_cut(&[&whole[..], b"more"].concat()));
        let thumbnail =
            [&[0xff, 0xe1, 0, 6, 0xff, 0xd8, 0xff, 0xd9][..], &whole[2..whole.len() - 2]].concat();
        assert!(is_cut(&[&[0xff, 0xd8][..], &thumbnail].concat()));
        assert!(!is_cut(b"GIF89a"));
    }
}
