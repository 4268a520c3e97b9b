//! Pictures as inputs.

use crate::support::{run, text, unary};

/// A model that returns its input, and a picture of 6 x 4 pixels.
fn setup(dims: &[i64]) -> (tempfile::TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let model = unary(folder.path(), "Identity", dims);
    let picture = folder.path().join("picture.png");
    let pixel = |x: u32, y: u32| image::Rgb([(x * 10) as u8, (y * 20) as u8, 255]);
    image::RgbImage::from_fn(6, 4, pixel).save(&picture).unwrap();
    let (model, picture) = (text(&model).to_string(), text(&picture).to_string());
    (folder, model, picture)
}

fn output(args: &[&str]) -> serde_json::Value {
    let done = run(&[&["run", "--json", "--outputs", "x"], args].concat());
    let report = done.succeeds().json();
    report["outputs"][0].clone()
}

#[test]
fn a_picture_without_options_is_stretched_with_a_note() {
    let (_folder, model, picture) = setup(&[1, 3, 2, 3]);
    let done = run(&["run", &model, "--input", &picture]);
    let note = "stretched from 4x6 to 2x3 pixels; values from 0 to 1, RGB; --imagenet";
    assert!(done.succeeds().err.starts_with("note: ") && done.err.contains(note), "{}", done.err);
    let x = output(&[&model, "--input", &picture]);
    assert_eq!((&x["dims"], &x["largest"]), (&serde_json::json!([1, 3, 2, 3]), &1.0.into()));
}

#[test]
fn options_and_files_say_how_pictures_become_tensors() {
    let (folder, model, picture) = setup(&[0, 3, 2, 2]);
    let crop = [&model, "--input", &picture, "--crop", "2", "--scale", "1"];
    // The centre: x is 2 and 3, y is 1 and 2.
    let x = output(&crop);
    assert_eq!(
        (&x["dims"], &x["least"], &x["largest"]),
        (&serde_json::json!([1, 3, 2, 2]), &20.0.into(), &255.0.into())
    );
    let normal = output(&[&crop[..], &["--mean", "20,20,255", "--std", "10,20,1"]].concat());
    assert_eq!((&normal["least"], &normal["largest"]), (&0.0.into(), &1.0.into()));
    let bgr = output(&[&crop[..], &["--bgr", "--mean", "255,20,20", "--std=1,20,10"]].concat());
    assert_eq!((&bgr["least"], &bgr["largest"]), (&0.0.into(), &1.0.into()));

    let file = folder.path().join("how.json");
    std::fs::write(&file, r#"{"crop": [2, 2], "mean": [20, 20, 255], "std": [10, 20, 1], "scale": 1}"#)
        .unwrap();
    let x = output(&[&model, "--input", &picture, "--preprocess", text(&file)]);
    assert_eq!((&x["least"], &x["largest"]), (&0.0.into(), &1.0.into()));
    let x = output(&[&model, "--input", &picture, "--preprocess", text(&file), "--mean", "0"]);
    assert_eq!(x["largest"], 255.0);

    let four = output(&[&crop[..], &["--size", "n=4"]].concat());
    assert_eq!(four["dims"], serde_json::json!([4, 3, 2, 2]));

    std::fs::write(&file, r#"{"krop": 2}"#).unwrap();
    let bad = ["run", &model, "--input", &picture, "--preprocess", text(&file)];
    run(&bad).fails(2, &["--preprocess", "krop"]);
    std::fs::write(&file, r#"{"resize": "2x2"}"#).unwrap();
    run(&bad).fails(2, &["--preprocess", "`resize` is \"2x2\"; write a number from 1 to"]);
}

#[test]
fn pictures_that_do_not_fit_are_refused() {
    let (_folder, model, picture) = setup(&[1, 3, 2, 2]);
    run(&["run", &model, "--input", &picture, "--crop", "9"]).fails(2, &["4x6", "--resize"]);
    run(&["run", &model, "--input", &picture, "--imagenet"]).fails(2, &["224x224", "2x2"]);
    run(&["run", &model, "--input", &picture, "--crop", "2", "--mean", "1,2"])
        .fails(2, &["2 numbers", "3 channels"]);
    for option in ["--mean", "--std"] {
        let said = run(&["run", &model, "--input", &picture, "--crop", "2", option, "a,b,c"]);
        said.fails(2, &[option, "'a'", "write numbers with commas between them"]);
        assert!(!said.err.contains("float literal"), "{}", said.err);
    }
    run(&["run", &model, "--input", &picture, "--crop", "2", "--std", "0"]).fails(2, &["--std"]);
    let (_folder, model, picture) = setup(&[1, 7, 2, 2]);
    run(&["run", &model, "--input", &picture]).fails(2, &["1 or 3 channels", ".npy"]);
}

#[test]
fn grey_and_channels_last_models_take_pictures() {
    let (_folder, model, picture) = setup(&[1, 1, 4, 6]);
    assert_eq!(output(&[&model, "--input", &picture])["dims"], serde_json::json!([1, 1, 4, 6]));
    let (_folder, model, picture) = setup(&[1, 4, 6, 3]);
    assert_eq!(output(&[&model, "--input", &picture])["dims"], serde_json::json!([1, 4, 6, 3]));
}

/// The values are those of Pillow 11's `convert("L")` and of torchvision's `to_grayscale`.
#[test]
fn a_coloured_picture_becomes_grey_as_in_pillow() {
    let (folder, model, _) = setup(&[1, 1, 2, 2]);
    let picture = folder.path().join("colour.png");
    let known = [
        ([255, 0, 0], 76.0),
        ([0, 255, 0], 150.0),
        ([0, 0, 255], 29.0),
        ([60, 160, 60], 119.0),
        ([7, 7, 7], 7.0),
    ];
    for (rgb, grey) in known {
        image::RgbImage::from_pixel(2, 2, image::Rgb(rgb)).save(&picture).unwrap();
        let x = output(&[&model, "--input", text(&picture), "--scale", "1"]);
        assert_eq!((&x["least"], &x["largest"]), (&grey.into(), &grey.into()), "{rgb:?}");
    }
}

/// Where the margin is odd, the first pixels kept are those of torchvision's `CenterCrop`: `round` is half to even.
#[test]
fn a_crop_keeps_the_centre_as_torchvision_does() {
    let (folder, model, _) = setup(&[1, 3, 2, 2]);
    let picture = folder.path().join("ramp.png");
    for (side, first) in [(2, 0), (3, 0), (4, 1), (5, 2), (6, 2), (7, 2), (8, 3), (9, 4)] {
        for (width, height) in [(side, 2), (2, side)] {
            let pixel = |x: u32, y: u32| image::Rgb([(x.max(y)) as u8; 3]);
            let pixel = |x, y| if width > height { pixel(x, 0) } else { pixel(0, y) };
            image::RgbImage::from_fn(width, height, pixel).save(&picture).unwrap();
            let x = output(&[&model, "--input", text(&picture), "--crop", "2", "--scale", "1"]);
            assert_eq!(x["least"], f64::from(first), "{width}x{height}");
        }
    }
}

#[test]
fn errors_of_pictures_say_what_helps() {
    let (folder, model, picture) = setup(&[1, 3, 6, 5]);
    let input = ["run", &model, "--input", &picture];
    run(&[&input[..], &["--crop", "6x5"]].concat()).fails(2, &["pass --resize as well, or a smaller --crop"]);
    let small = run(&[&input[..], &["--resize", "3", "--crop", "6x5"]].concat());
    small.fails(2, &["3x4 pixels", "after --resize", "pass a larger --resize, or a smaller --crop"]);
    let mut bytes = std::fs::read(&picture).unwrap();
    let data = bytes.windows(4).position(|part| part == b"IDAT").unwrap() + 6;
    bytes[data] ^= 0xff;
    let damaged = folder.path().join("damaged.png");
    std::fs::write(&damaged, bytes).unwrap();
    let said = run(&["run", &model, "--input", text(&damaged)]);
    said.fails(2, &["damaged.png", "it is damaged", "pass a whole PNG or JPEG file"]);
    assert!(!said.err.contains('{') && !said.err.contains("ChunkType"), "{}", said.err);
}
