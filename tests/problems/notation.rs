//! The notation gives the same problems as in benchdnn (`str2desc` of its drivers, `sanitize_desc`).

use blocktensor_problems::{Kind, Problem};

use crate::support::Rng;

/// Fails unless `text` parses as the problem `whole`, with padding `end` after each axis.
#[track_caller]
fn reads(kind: Kind, text: &str, whole: &str, end: &[i64]) {
    let p = Problem::read(kind, text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(p.to_string(), whole, "{text}");
    assert_eq!(p.axes(&p.pad_end), end, "{text}");
}

#[test]
fn omitted_parameters_have_the_defaults_of_benchdnn() {
    use Kind::{Conv, Deconv, Pool};
    // Defaults: w as h, stride 1, no dilation, batch 2, one group; without an output size no padding.
    reads(Conv, "ic16ih10oc32kh3", "mb2ic16ih10iw10oh8ow8kh3kw3sh1sw1ph0pw0dh0dw0oc32", &[0, 0]);
    // With an output size, half of the missing padding is in front, and the rest behind.
    reads(Conv, "ic3ih14oh7oc8kh3sh2", "mb2ic3ih14iw14oh7ow7kh3kw3sh2sw2ph0pw0dh0dw0oc8", &[1, 1]);
    reads(
        Conv,
        "ic3ih224oh112oc8kh7sh2ph3",
        "mb2ic3ih224iw224oh112ow112kh7kw7sh2sw2ph3pw3dh0dw0oc8",
        &[2, 2],
    );
    // Dilation 0 is dense.
    reads(
        Conv,
        "ic1oc64_ih55oh18kh30sh3ph29dh2",
        "mb2ic1ih55iw55oh18ow18kh30kw30sh3sw3ph29pw29dh2dw2oc64",
        &[55, 55],
    );
    // 1-D; 3-D with equal sizes; 3-D with different sizes and a depth of 1.
    reads(Conv, "ic16oc16_iw1kw3ow100pw100", "mb2ic16iw1ow100kw3sw1pw100dw0oc16", &[1]);
    reads(
        Conv,
        "ic3oc4id28od36kd3pd5sd1dd0",
        "mb2ic3id28ih28iw28od36oh36ow36kd3kh3kw3sd1sh1sw1pd5ph5pw5dd0dh0dw0oc4",
        &[5, 5, 5],
    );
    reads(
        Conv,
        "mb1ic2oc2id1kd1ih4iw5kh3kw2",
        "mb1ic2id1ih4iw5od1oh2ow4kd1kh3kw2sd1sh1sw1pd0ph0pw0dd0dh0dw0oc2",
        &[0, 0, 0],
    );
    // Any order, with or without quotes; the text after `n` is the name.
    reads(Conv, "kh3_oc4_ih5_ic2_mb3_g2nih7kh9", "g2mb3ic2ih5iw5oh3ow3kh3kw3sh1sw1ph0pw0dh0dw0oc4", &[0, 0]);
    // If the stride leaves elements at the end unused, the padding behind is negative.
    reads(Conv, "ic64ih56oc8oh28kh1sh2ph0", "mb2ic64ih56iw56oh28ow28kh1kw1sh2sw2ph0pw0dh0dw0oc8", &[-1, -1]);
    // Division is towards zero: half of -3 is -1.
    reads(Conv, "ic4ih9oc4oh4kh3", "mb2ic4ih9iw9oh4ow4kh3kw3sh1sw1dh0dw0oc4", &[-2, -2]);
    reads(
        Conv,
        "mb100_ic64oc1_ih1oh2kh125sh2dh0ph63_iw1ow64kw1sw2dw0pw63",
        "mb100ic64ih1iw1oh2ow64kh125kw1sh2sw2ph63pw63dh0dw0oc1",
        &[63, 63],
    );
    // A deconvolution has other size rules.
    reads(Deconv, "ic64ih8oc32kh4sh2ph1", "mb2ic64ih8iw8oh16ow16kh4kw4sh2sw2ph1pw1dh0dw0oc32", &[1, 1]);
    reads(Deconv, "ic4ih5oh10oc4kh3sh2", "mb2ic4ih5iw5oh10ow10kh3kw3sh2sw2ph0pw0dh0dw0oc4", &[1, 1]);
    reads(Deconv, "ic4ih5oh10oc4kh3sh2ph1", "mb2ic4ih5iw5oh10ow10kh3kw3sh2sw2ph1pw1dh0dw0oc4", &[0, 0]);
    reads(Deconv, "ic4ih5oh13oc4kh3sh2ph0", "mb2ic4ih5iw5oh13ow13kh3kw3sh2sw2ph0pw0dh0dw0oc4", &[-2, -2]);
    reads(
        Pool,
        "mb96ic768_ih17oh17_kh3sh1ph1n\"x\"",
        "mb96ic768ih17iw17oh17ow17kh3kw3sh1sw1ph1pw1dh0dw0",
        &[1, 1],
    );
    reads(Pool, "ic64ih112oh56kh3sh2ph0", "mb2ic64ih112iw112oh56ow56kh3kw3sh2sw2ph0pw0dh0dw0", &[1, 1]);
    reads(Kind::BatchNorm, "mb1ic1024ih28iw17_n\"bnorm_2d:5\"", "mb1ic1024ih28iw17eps0.0625", &[0, 0]);
    reads(Kind::BatchNorm, "ic8id3eps1e-3", "mb2ic8id3ih3iw3eps0.001", &[0, 0, 0]);
    reads(Kind::BatchNorm, "mb32ic27eps0.5n\"dense\"", "mb32ic27eps0.5", &[]);
}

#[test]
fn problem_names_are_kept_without_quotes() {
    for (text, name) in [("n\"res:2a*4\"", "res:2a*4"), ("_nplain", "plain"), ("", "")] {
        let p = Problem::read(Kind::Conv, &format!("ic1ih1oc1kh1{text}")).unwrap();
        assert_eq!(p.name, name);
    }
}

#[test]
fn a_problem_that_cannot_be_parsed_is_an_error_that_names_the_part() {
    use Kind::{BatchNorm, Conv, Deconv, Pool};
    for (kind, text, wrong) in [
        (Conv, "ic16ih10oc32", "`kh` is missing or 0"),
        (Conv, "ic16oc32kh3", "`ih` is missing or 0"),
        (Conv, "ih4oc32kh3", "`ic` is missing or 0"),
        (Conv, "ic4ih4kh3", "`oc` is missing or 0"),
        (Conv, "ic4oc4", "it has no spatial size"),
        (Conv, "ic4oc4ih5iw6kh3", "`kw` is missing or 0"),
        (Conv, "ic4oc4id5kd3ih5kh3", "a 3-D problem has both h and w, or neither"),
        (Conv, "ic4oc4ih3kh7", "`oh` is left out, and would be -3"),
        (Conv, "ic4oc4ih3kh3sh0", "`sh` is missing or 0"),
        (Conv, "g0ic4oc4ih3kh3", "`g` is 0"),
        (Conv, "g3ic4oc6ih3kh3", "`ic` 4 does not divide into 3 groups"),
        (Conv, "g2ic4oc5ih3kh3", "`oc` 5 does not divide into 2 groups"),
        (Conv, "ic4oc4ih3khph1", "`kh` has no number"),
        (Conv, "ic4oc4ih3kh3ph-1", "`ph` is negative"),
        (Conv, "ic4oc4ih3kh99999999999999999999", "`kh` is larger than 9223372036854775807"),
        (
            Conv,
            "ic4oc4ih9kh2dh9000000000000000000oh9000000000000000000sh2",
            "its sizes do not fit into 64 bits",
        ),
        (Conv, "ic4oc4__ih3kh3", "no field of a conv problem begins `_ih3kh3`"),
        (Conv, "ic4oc4ih3kh3x7", "no field of a conv problem begins `x7`"),
        (Deconv, "ic4oc4ih1kh1ph1", "`oh` is left out, and would be -1"),
        (Pool, "ic4oc4ih3kh3", "no field of a pool problem begins `oc4ih3kh3`"),
        (BatchNorm, "ic4ih3kh3", "no field of a bnorm problem begins `kh3`"),
        (BatchNorm, "ic4ih3eps", "`eps` has no number"),
        (BatchNorm, "ic4id2ih3", "a 3-D problem has both h and w, or neither"),
    ] {
        assert_eq!(Problem::read(kind, text).unwrap_err(), wrong, "{text}");
    }
}

#[test]
fn a_printed_problem_parses_as_itself() {
    let mut rng = Rng(41);
    let mut read = 0;
    for _ in 0..4000 {
        let kind = rng.pick(&Kind::ALL);
        let mut text = format!("mb{}ic{}", rng.below(3), 6 * (1 + rng.below(3)));
        if kind.has_weights() {
            text += &format!("oc{}g{}", 6 * (1 + rng.below(3)), 1 + rng.below(3));
        }
        let axes = &["dhw", "hw", "w", "h", "d"][rng.below(5)];
        for axis in axes.chars() {
            text += &format!("i{axis}{}", 1 + rng.below(12));
            if kind == Kind::BatchNorm {
                continue;
            }
            text += &format!("k{axis}{}", 1 + rng.below(4));
            for (field, least) in [("o", 1), ("s", 1), ("p", 0), ("d", 0)] {
                if rng.below(2) == 0 {
                    text += &format!("{field}{axis}{}", least + rng.below(4));
                }
            }
        }
        let Ok(problem) = Problem::read(kind, &text) else { continue };
        let again = Problem::read(kind, &problem.to_string()).unwrap();
        assert_eq!(problem, again, "{text}");
        read += 1;
    }
    assert!(read > 1500, "{read}");
}
