//! Pictures as a model's input.

mod fields;
mod jpeg;

use std::path::Path;
use std::str::FromStr;

use image::imageops::FilterType;
use image::{DynamicImage, GenericImageView as _};

use blocktensor::memory;

use crate::args::Pictures;
use crate::array::{Array, Values};
use crate::failure::{Failure, Result, one_line};
use crate::files;

/// Mean and standard deviation of ImageNet's channels, for values from 0 to 1.
const IMAGENET_MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const IMAGENET_STD: [f32; 3] = [0.229, 0.224, 0.225];

/// How pictures become tensors. What is `None` has the default of [`Pictures`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preprocess {
    pub resize: Option<Size>,
    pub crop: Option<Size>,
    pub mean: Option<Vec<f32>>,
    pub std: Option<Vec<f32>>,
    pub bgr: Option<bool>,
    pub scale: Option<f32>,
}

/// A size of a picture: one number, or height and width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// The shorter side when a picture is resized, both sides when it is cropped.
    Side(u32),
    /// Height and width.
    Exact([u32; 2]),
}

/// The largest side of a resized or cropped picture.
const MAX_SIDE: u32 = 1 << 14;
/// The most numbers of an input that is made of a picture.
const MAX_NUMBERS: usize = 1 << 28;
/// The most pixels of a resized picture.
const MAX_PIXELS: u64 = 1 << 26;

/// The picture in exactly this size.
fn resized(picture: &DynamicImage, height: u32, width: u32) -> Result<DynamicImage, String> {
    if u64::from(height) * u64::from(width) > MAX_PIXELS {
        return Err(format!(
            "{height}x{width} pixels are too many: pictures are resized to at most {MAX_PIXELS}; pass smaller sizes"
        ));
    }
    Ok(picture.resize_exact(width, height, FilterType::Triangle))
}

impl Size {
    fn is_usable(self) -> bool {
        match self {
            Size::Side(side) => (1..=MAX_SIDE).contains(&side),
            Size::Exact(sides) => sides.iter().all(|side| (1..=MAX_SIDE).contains(side)),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let size = match text.split_once('x') {
            Some((height, width)) => height.parse().and_then(|h| Ok(Size::Exact([h, width.parse()?]))),
            None => text.parse().map(Size::Side),
        };
        size.ok().filter(|size| size.is_usable()).ok_or_else(|| {
            format!("write it as a number from 1 to {MAX_SIDE}, or as height and width such as 224x320")
        })
    }
}

/// A factor: a number, or a fraction such as 1/255.
pub fn parse_scale(text: &str) -> Result<f32, String> {
    let number = |text: &str| text.trim().parse::<f32>().ok();
    let factor = match text.split_once('/') {
        Some((above, below)) => number(above).zip(number(below)).map(|(a, b)| a / b),
        None => number(text),
    };
    factor
        .filter(|f| f.is_finite())
        .ok_or_else(|| "write it as a number, or a fraction such as 1/255".to_string())
}

impl Preprocess {
    /// What the options say: ImageNet's values, replaced by those of the file, replaced by those on the command line.
    pub fn of(options: &Pictures) -> Result<Preprocess> {
        let file = match &options.preprocess {
            Some(path) => Preprocess::read(path)?,
            None => Preprocess::default(),
        };
        let imagenet = match options.imagenet {
            true => Preprocess {
                resize: Some(Size::Side(256)),
                crop: Some(Size::Side(224)),
                mean: Some(IMAGENET_MEAN.to_vec()),
                std: Some(IMAGENET_STD.to_vec()),
                ..Preprocess::default()
            },
            false => Preprocess::default(),
        };
        let all = options.given().or(file).or(imagenet);
        for (option, list) in [("--mean", &all.mean), ("--std", &all.std)] {
            let is_bad = |v: &f32| !v.is_finite() || (option == "--std" && *v == 0.0);
            if list.as_ref().is_some_and(|list| list.iter().any(is_bad)) {
                return Err(Failure::usage(option, "pass finite numbers, and none that is 0 for --std"));
            }
        }
        Ok(all)
    }

    fn read(path: &Path) -> Result<Preprocess> {
        let text = files::read_text("--preprocess", path)?;
        fields::parse(&text).map_err(|text| Failure::file("--preprocess", path, text))
    }

    fn or(self, other: Preprocess) -> Preprocess {
        Preprocess {
            resize: self.resize.or(other.resize),
            crop: self.crop.or(other.crop),
            mean: self.mean.or(other.mean),
            std: self.std.or(other.std),
            bgr: self.bgr.or(other.bgr),
            scale: self.scale.or(other.scale),
        }
    }

    /// Reads a picture for an input of these sizes; those that are `None` are the picture's. The second result tells what
    /// was chosen without an option.
    pub fn load(&self, path: &Path, want: &[Option<usize>]) -> Result<(Array, Option<String>)> {
        let bad = |text: String| Failure::file("--input", path, text);
        let [batch, order @ ..] = want else {
            return Err(bad("pictures are for inputs of rank 4; pass a .npy file".to_string()));
        };
        let (channels, height, width, channels_last) = match *order {
            [Some(c @ (1 | 3)), h, w] => (c, h, w, false),
            [h, w, Some(c @ (1 | 3))] => (c, h, w, true),
            [None, h, w] => (3, h, w, false),
            _ => {
                return Err(bad(
                    "pictures are for inputs [N, C, H, W] or [N, H, W, C] with 1 or 3 channels; pass a .npy file"
                        .to_string(),
                ));
            }
        };
        let picture = decode(path).map_err(bad)?;
        let original = picture.dimensions();
        let (picture, stretched) = self.shaped(picture, [height, width]).map_err(bad)?;
        let got = [picture.height() as usize, picture.width() as usize];
        if height.is_some_and(|h| h != got[0]) || width.is_some_and(|w| w != got[1]) {
            let side = |size: Option<usize>| size.map_or("any".to_string(), |size| size.to_string());
            return Err(bad(format!(
                "it has {}x{} pixels (height x width) after --resize and --crop, and the model takes {}x{}; change these options",
                got[0],
                got[1],
                side(height),
                side(width)
            )));
        }
        let values = self.values(&picture, channels, channels_last).map_err(bad)?;
        let count = batch.unwrap_or(1);
        let dims = match channels_last {
            true => vec![count, got[0], got[1], channels],
            false => vec![count, channels, got[0], got[1]],
        };
        let total = values.len().checked_mul(count).filter(|&total| total <= MAX_NUMBERS);
        let total =
            total.ok_or_else(|| bad(format!("{count} copies of it are too many; pass a smaller --size")))?;
        let mut repeated =
            memory::try_with_capacity("copies of a picture", total).map_err(|e| bad(one_line(&e)))?;
        (0..count).for_each(|_| repeated.extend_from_slice(&values));
        let mut notes = Vec::new();
        if *self == Preprocess::default() {
            let colours = if channels == 1 { "grey" } else { "RGB" };
            notes.push(format!(
                "values from 0 to 1, {colours}; --imagenet, --resize, --crop, --mean, --std, --bgr and --scale change that"
            ));
        }
        if stretched {
            notes.insert(
                0,
                format!("stretched from {}x{} to {}x{} pixels", original.1, original.0, got[0], got[1]),
            );
        }
        if count != 1 {
            notes.insert(0, format!("repeated {count} times"));
        }
        let note = format!("{}: {}", blocktensor::shown_path(path), notes.join("; "));
        Ok((Array { dims, values: Values::F32(repeated) }, (!notes.is_empty()).then_some(note)))
    }

    /// The picture resized and cropped; without either option, stretched to `want`, and then `true`.
    fn shaped(
        &self,
        picture: DynamicImage,
        want: [Option<usize>; 2],
    ) -> Result<(DynamicImage, bool), String> {
        if self.resize.is_none() && self.crop.is_none() {
            let sides =
                [want[0].unwrap_or(picture.height() as usize), want[1].unwrap_or(picture.width() as usize)];
            if sides == [picture.height() as usize, picture.width() as usize] {
                return Ok((picture, false));
            }
            return match sides
                .map(|side| u32::try_from(side).ok().filter(|side| (1..=MAX_SIDE).contains(side)))
            {
                [Some(height), Some(width)] => Ok((resized(&picture, height, width)?, true)),
                _ => Err(format!("the model's size {sides:?} is not one of a picture; pass a .npy file")),
            };
        }
        let picture = match self.resize {
            None => picture,
            Some(Size::Exact([height, width])) => resized(&picture, height, width)?,
            Some(Size::Side(side)) => {
                let shorter = u64::from(picture.width().min(picture.height()));
                let scaled = |length: u32| (u64::from(length) * u64::from(side) / shorter).max(1);
                let (width, height) = (scaled(picture.width()), scaled(picture.height()));
                if width.max(height) > 20 * u64::from(side) {
                    return Err("it is more than 20 times as long as wide; crop the file, or pass both sides with --resize HxW".to_string());
                }
                resized(&picture, height as u32, width as u32)?
            }
        };
        let [height, width] = match self.crop {
            None => return Ok((picture, false)),
            Some(Size::Side(side)) => [side; 2],
            Some(Size::Exact(sides)) => sides,
        };
        if picture.height() < height || picture.width() < width {
            let (after, remedy) = match self.resize {
                None => ("", "pass --resize as well, or a smaller --crop"),
                Some(_) => (" after --resize", "pass a larger --resize, or a smaller --crop"),
            };
            return Err(format!(
                "it has {}x{} pixels (height x width){after}, fewer than --crop keeps; {remedy}",
                picture.height(),
                picture.width()
            ));
        }
        let (left, top) = (before(picture.width() - width), before(picture.height() - height));
        Ok((picture.crop_imm(left, top, width, height), false))
    }

    /// Scaled, minus the mean, divided by the standard deviation.
    fn values(
        &self,
        picture: &DynamicImage,
        channels: usize,
        channels_last: bool,
    ) -> Result<Vec<f32>, String> {
        let each = |option: &str, list: &Option<Vec<f32>>, default: f32| match list.as_deref() {
            None => Ok(vec![default; channels]),
            Some([one]) => Ok(vec![*one; channels]),
            Some(list) if list.len() == channels => Ok(list.to_vec()),
            Some(list) => Err(format!(
                "{option} has {} numbers, and the input {channels} channels; pass one for each",
                list.len()
            )),
        };
        let (mean, std) = (each("--mean", &self.mean, 0.0)?, each("--std", &self.std, 1.0)?);
        // Dividing by 255 rounds better than multiplying by its inverse.
        let scaled = |pixel: u8| match self.scale {
            None => f32::from(pixel) / 255.0,
            Some(factor) => f32::from(pixel) * factor,
        };
        let pixels = match channels {
            1 => {
                let rgb = picture.to_rgb8();
                memory::try_collect("the grey values of a picture", rgb.pixels().map(|p| grey(p.0)))
                    .map_err(|e| one_line(&e))?
            }
            _ => picture.to_rgb8().into_raw(),
        };
        let from = |c: usize| if self.bgr == Some(true) { channels - 1 - c } else { c };
        let value = |pixel: &[u8], c: usize| (scaled(pixel[from(c)]) - mean[c]) / std[c];
        let pixels = pixels.chunks_exact(channels);
        const CALL: &str = "the numbers of a picture";
        let numbers = match channels_last {
            true => memory::try_collect(CALL, pixels.flat_map(|p| (0..channels).map(move |c| value(p, c)))),
            false => {
                let planes = (0..channels).flat_map(|c| pixels.clone().map(move |p| value(p, c)));
                memory::try_collect(CALL, planes)
            }
        };
        numbers.map_err(|e| one_line(&e))
    }
}

/// The pixels left out before a centre crop with this margin: torchvision's `CenterCrop` halves it with Python's `round`, half
/// to even.
fn before(margin: u32) -> u32 {
    let half = margin / 2;
    half + (margin & half & 1)
}

/// The grey value of a pixel: ITU-R 601-2 luma, rounded as in Pillow's `convert("L")`. The `image` crate has the weights of Rec. 709.
fn grey([r, g, b]: [u8; 3]) -> u8 {
    let sum = u32::from(r) * 19595 + u32::from(g) * 38470 + u32::from(b) * 7471 + 0x8000;
    (sum >> 16) as u8
}

fn decode(path: &Path) -> Result<DynamicImage, String> {
    files::check(path)?;
    let content = std::fs::read(path).map_err(|e| format!("{e}; check the path"))?;
    if jpeg::is_cut(&content) {
        return Err("it ends before the end of its image; pass a whole PNG or JPEG file".to_string());
    }
    let reader = image::ImageReader::new(std::io::Cursor::new(content)).with_guessed_format();
    let picture = reader.map_err(|e| format!("{e}; check the file"))?.decode();
    let picture = picture.map_err(|e| {
        let what = match e {
            // Its text has Rust's debugging output in it.
            image::ImageError::Decoding(_) => "it is damaged, or no picture".to_string(),
            other => one_line(&other),
        };
        format!("{what}; pass a whole PNG or JPEG file")
    })?;
    // The transparent part of a picture has colours that nobody sees: they are used as they are.
    Ok(DynamicImage::ImageRgb8(picture.to_rgb8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_factors_are_parsed_or_refused() {
        assert_eq!("256".parse(), Ok(Size::Side(256)));
        assert_eq!("224x320".parse(), Ok(Size::Exact([224, 320])));
        for bad in ["", "0", "-1", "2x", "x2", "2x0", "2x3x4", "99999999999", "1000000"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
        assert_eq!(parse_scale("1/255"), Ok(1.0 / 255.0));
        assert_eq!(parse_scale("2"), Ok(2.0));
        for bad in ["", "a", "1/0", "1/", "nan"] {
            assert!(parse_scale(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn channels_are_ordered_and_normalised() {
        let picture =
            DynamicImage::ImageRgb8(image::RgbImage::from_raw(2, 1, vec![0, 10, 20, 30, 40, 50]).unwrap());
        let mut how = Preprocess { scale: Some(1.0), ..Preprocess::default() };
        assert_eq!(how.values(&picture, 3, false).unwrap(), [0.0, 30.0, 10.0, 40.0, 20.0, 50.0]);
        assert_eq!(how.values(&picture, 3, true).unwrap(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        how.bgr = Some(true);
        how.mean = Some(vec![20.0, 10.0, 0.0]);
        how.std = Some(vec![2.0]);
        assert_eq!(how.values(&picture, 3, false).unwrap(), [0.0, 15.0, 0.0, 15.0, 0.0, 15.0]);
        how.mean = Some(vec![1.0, 2.0]);
        assert!(how.values(&picture, 3, false).unwrap_err().contains("2 numbers"));
    }
}
