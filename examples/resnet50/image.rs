//! Photographs as ImageNet models expect them.

use std::path::Path;

use blocktensor::StridedTensor;
use image::imageops::FilterType;

use crate::failure::Failure;

/// Mean and standard deviation of ImageNet's channels, for values in 0 to 1.
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const STD: [f32; 3] = [0.229, 0.224, 0.225];
const RESIZE: u32 = 256;
const CROP: u32 = 224;

/// Reads a PNG or JPEG: shorter side to 256, centre 224 x 224, normalised; [1, 3, 224, 224].
pub fn load(path: &Path) -> Result<StridedTensor, Failure> {
    let bad = |text: String| Failure::usage("--image", format!("{}: {text}", path.display()));
    let file = std::fs::File::open(path).map_err(|e| bad(e.to_string()))?;
    let picture = image::ImageReader::new(std::io::BufReader::new(file))
        .with_guessed_format()
        .map_err(|e| bad(e.to_string()))?
        .decode()
        .map_err(|e| bad(format!("{e}; pass a whole PNG or JPEG")))?
        .to_rgb8();
    let (narrow, wide) = (picture.width().min(picture.height()), picture.width().max(picture.height()));
    if narrow == 0 || wide / narrow > 20 {
        let size = format!("{} x {}", picture.width(), picture.height());
        return Err(bad(format!("{size} is more than 20 times as long as wide; crop it")));
    }
    let shorter = narrow;
    let scaled = |side: u32| (u64::from(side) * u64::from(RESIZE) / u64::from(shorter)).max(1) as u32;
    let (width, height) = (scaled(picture.width()), scaled(picture.height()));
    let picture = image::imageops::resize(&picture, width, height, FilterType::Triangle);
    let (left, top) = ((width - CROP) / 2, (height - CROP) / 2);
    let mut values = vec![0f32; (3 * CROP * CROP) as usize];
    for y in 0..CROP {
        for x in 0..CROP {
            let pixel = picture.get_pixel(left + x, top + y);
            for (c, &v) in pixel.0.iter().enumerate() {
                let at = (c as u32 * CROP + y) * CROP + x;
                values[at as usize] = (f32::from(v) / 255.0 - MEAN[c]) / STD[c];
            }
        }
    }
    Ok(StridedTensor::from_slice(&values, &[1, 3, CROP as usize, CROP as usize])?)
}
