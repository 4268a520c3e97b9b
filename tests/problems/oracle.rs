//! The fast reference loops for problems agree with the slow loops in tests/support.

use blocktensor_problems::{Kind, Problem, oracle};

use crate::support::Rng;
use crate::support::conv::{Problem as Slow, Transposed};
use crate::support::pool::{Window, each_window, max};

/// A problem of small sizes in the notation; padding after an axis is 0 or more.
fn problem(rng: &mut Rng, kind: Kind) -> Problem {
    loop {
        let (g, spatial) = (rng.pick(&[1, 1, 2, 3]), 1 + rng.below(3));
        let mut text = format!("mb{}ic{}", 1 + rng.below(3), g * (1 + rng.below(3)));
        if kind.has_weights() {
            text += &format!("oc{}g{g}", g * (1 + rng.below(9)));
        }
        for axis in ["d", "h", "w"].into_iter().skip(3 - spatial) {
            let (i, k, s) = (1 + rng.below(11), rng.pick(&[1, 1, 2, 3, 5]), rng.pick(&[1, 1, 2, 3]));
            let (p, d) = (rng.below(4), rng.pick(&[0, 0, 1, 2]));
            text += &format!("i{axis}{i}k{axis}{k}s{axis}{s}p{axis}{p}d{axis}{d}");
            if rng.below(3) == 0 {
                text += &format!("o{axis}{}", 1 + rng.below(14));
            }
        }
        let Ok(p) = Problem::read(kind, &text) else { continue };
        // The slow loops know no negative padding, except for elements at the end that the stride leaves unused.
        let fits =
            |a: usize| p.pad_end[a] >= 0 || kind != Kind::Deconv && p.pad_end[a] > -(p.stride[a] as i64);
        if (0..3).all(fits) {
            return p;
        }
    }
}

fn slow(p: &Problem) -> Slow {
    Slow {
        n: p.n,
        c: p.c,
        o: p.o,
        groups: p.groups,
        input: p.input,
        kernel: p.kernel,
        stride: p.stride,
        dilation: p.dilation,
        pad_begin: p.pad_begin.map(|v| v as usize),
        pad_end: p.pad_end.map(|v| v.max(0) as usize),
    }
}

#[test]
fn oracle_conv_agrees_with_the_slow_loops() {
    let mut rng = Rng(42);
    for case in 0..1500 {
        let kind = rng.pick(&[Kind::Conv, Kind::Deconv]);
        let p = problem(&mut rng, kind);
        let of = slow(&p);
        let x = rng.integers(p.n * p.c * p.input.iter().product::<usize>());
        let w = rng.integers(p.o * p.c / p.groups * p.kernel.iter().product::<usize>());
        let (got, want) = match kind {
            Kind::Conv => {
                assert_eq!(of.output(), p.output, "case {case}: {p}");
                (oracle::conv(&p, &x, &w), of.solve(&x, &w, None).0)
            }
            _ => {
                let of = Transposed { of, output_padding: [0; 3] };
                assert_eq!(of.output(), Some(p.output), "case {case}: {p}");
                (oracle::deconv(&p, &x, &w), of.solve(&x, &w, None).0)
            }
        };
        assert_eq!(got, want, "case {case}: {p}");
    }
}

#[test]
fn oracle_pool_agrees_with_the_slow_loops() {
    let mut rng = Rng(43);
    for case in 0..500 {
        let p = problem(&mut rng, Kind::Pool);
        let x = rng.integers(p.n * p.c * p.input.iter().product::<usize>());
        let along = |a: usize| -> Vec<Window> {
            let window = |o: usize| {
                let position = |t: usize| (o * p.stride[a] + t * p.dilation[a]) as i64 - p.pad_begin[a];
                let inside = (0..p.kernel[a]).map(position).filter(|&i| 0 <= i && i < p.input[a] as i64);
                let positions: Vec<usize> = inside.map(|i| i as usize).collect();
                Window { count: positions.len(), positions }
            };
            (0..p.output[a]).map(window).collect()
        };
        let windows = [along(0), along(1), along(2)];
        let each = |f: &dyn Fn(&[f32], usize) -> f64| each_window(&x, p.n * p.c, p.input, &windows, f);
        let got = oracle::pool(&p, &x);
        assert_eq!(got.max, each(&max), "case {case}: {p}");
        assert_eq!(got.sum, each(&|v, _| v.iter().map(|&v| f64::from(v)).sum()), "case {case}: {p}");
        let inside = each(&|v, count| if v.len() == count { count as f64 } else { f64::NAN });
        let inside: Vec<usize> = inside.into_iter().take(got.inside.len()).map(|v| v as usize).collect();
        assert_eq!(got.inside, inside, "case {case}: {p}");
    }
}
