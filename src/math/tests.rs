//! Tests each function against its definition in f64, over all binades and densely where it bends; special values by hand.
//!
//! `cargo test math:: -- --nocapture` prints the largest error of each function and where it occurs.

use super::*;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
const MIN_SUBNORMAL: f32 = 1e-45;

/// Every 4099th bit pattern of f32, and dense stretches: around zero, around the points where functions bend or
/// saturate, and around multiples of `pi / 2`.
fn sweep() -> impl Iterator<Item = f32> {
    let coarse = (0..=u32::MAX).step_by(4099).map(f32::from_bits);
    let bends = [0.0, 0.25, 0.5, 0.96, 1.0, 2.0, 3.0, 6.0, 9.0, 13.0, 17.4, 20.0, 60.0, 88.0, 103.9];
    let linear = bends.into_iter().flat_map(|c| (-4000..=4000).map(move |i| c + i as f32 * 1.1e-4));
    let powers = [1.0f32, 0.96, 2f32.sqrt() - 1.0, 0.5f32.sqrt(), 2f32.sqrt(), 88.722_84, f32::MIN_POSITIVE];
    let close = powers
        .into_iter()
        .flat_map(|c| (-3000..=3000).map(move |i: i32| f32::from_bits(c.to_bits().wrapping_add_signed(i))));
    let turns = (1..=20_000).flat_map(|k| {
        let near = (k as f64 * std::f64::consts::FRAC_PI_2) as f32;
        [near.next_down(), near, near.next_up()]
    });
    coarse.chain(linear.chain(close).chain(turns).flat_map(|x| [x, -x]))
}

/// |got - want| / max(|want|, MIN_POSITIVE); 0 if both are the same infinity, or NaN, as f32.
fn error(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if got == rounded || (got.is_nan() && rounded.is_nan()) {
        return (if want.is_finite() && got.is_finite() { got as f64 - want } else { 0.0 }).abs()
            / want.abs().max(f32::MIN_POSITIVE as f64);
    }
    // Infinity counts as the next step after the largest number: 2^128.
    let finite = |v: f32| if v.is_infinite() { f64::from(v.signum()) * 2f64.powi(128) } else { v as f64 };
    let e = (finite(got) - want).abs() / want.abs().max(f32::MIN_POSITIVE as f64);
    if e.is_nan() { f64::INFINITY } else { e }
}

/// Asserts that the largest error of `f` is at most `bound`, over the inputs for which `domain` holds.
fn hold_in(
    name: &str,
    bound: f64,
    domain: impl Fn(f32) -> bool,
    f: impl Fn(f32) -> f32,
    definition: impl Fn(f64) -> f64,
) {
    let (mut worst, mut at, mut count) = (0.0, 0.0, 0u64);
    for x in sweep().filter(|x| domain(*x)) {
        let e = error(f(x), definition(x as f64));
        count += 1;
        if e > worst {
            (worst, at) = (e, x);
        }
    }
    println!("{name:24} max error {worst:8.2e} at {at:e} ({:e}; {count} points)", f(at));
    assert!(
        worst <= bound,
        "{name}: {worst:e} at {at:e} gives {:e}, want {:e}",
        f(at),
        definition(at as f64)
    );
    assert!(f(NAN).is_nan(), "{name}: NaN is lost");
}

fn hold(name: &str, bound: f64, f: impl Fn(f32) -> f32, definition: impl Fn(f64) -> f64) {
    hold_in(name, bound, |_| true, f, definition);
}

/// Asserts that `f` never decreases over neighbours of the sweep's dense stretches and over all binades.
fn rises(name: &str, f: impl Fn(f32) -> f32, slack_ulps: i32) {
    let mut points: Vec<f32> = sweep().filter(|x| !x.is_nan()).collect();
    points.sort_by(f32::total_cmp);
    let mut before = f(points[0]);
    for x in points {
        let now = f(x);
        let floor = (0..slack_ulps).fold(before, |v, _| v.next_down());
        assert!(now >= floor, "{name} falls at {x:e}: {before:e} then {now:e}");
        before = before.max(now);
    }
}

/// The same number, with the same sign if it is zero, or both NaN.
#[track_caller]
fn same(got: f32, want: f32) {
    assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "got {got:e}, want {want:e}");
}

/// Tests of functions in both arithmetics.
macro_rules! in_both {
    ($($test:ident)*) => {
        mod fused {
            $(#[test] fn $test() { super::$test::<super::Fused>() })*
        }
        mod separate {
            $(#[test] fn $test() { super::$test::<super::Separate>() })*
        }
    };
}

in_both! {
    exponentials_hold_their_bounds
    logarithms_hold_their_bounds
    normal_integrals_hold_their_bounds
    special_values_are_those_of_the_definitions
    what_rises_rises
}

fn clamp64(x: f64, lo: f64, hi: f64) -> f64 {
    if x.is_nan() { x } else { x.max(lo).min(hi) }
}

fn sigmoid64(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus64(x: f64) -> f64 {
    if x > 700.0 { x } else { x.exp().ln_1p() }
}

/// `erfc` for `x >= 0`: for small arguments by a series of erf whose terms are all positive, `2/sqrt(pi) exp(-x^2) sum 2^n
/// x^(2n+1) / (2n+1)!!`, otherwise by Legendre's continued fraction.
fn erfc64(x: f64) -> f64 {
    if x < 2.5 {
        return 1.0 - erf_series(x);
    }
    if x > 27.0 {
        return 0.0;
    }
    let fraction = (1..=120).rev().fold(x, |tail, k| x + f64::from(k) / 2.0 / tail);
    (-x * x).exp() / fraction / std::f64::consts::PI.sqrt()
}

fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term > 1e-18 * sum {
        n += 2.0;
        term *= 2.0 * x * x / n;
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

fn erf64(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let size = if x.abs() < 2.5 { erf_series(x.abs()) } else { 1.0 - erfc64(x.abs()) };
    size.copysign(x)
}

fn gelu64(x: f64) -> f64 {
    let t = x.abs() * std::f64::consts::FRAC_1_SQRT_2;
    let upper = erfc64(t) / 2.0;
    x * if x < 0.0 { upper } else { 1.0 - upper }
}

fn elu64(x: f64, alpha: f64) -> f64 {
    if x > 0.0 { x } else { alpha * x.exp_m1() }
}

#[test]
fn exact_functions_are_exact() {
    for x in sweep() {
        let nan = x.is_nan();
        same(relu(x), if nan || x == 0.0 { x } else { x.max(0.0) });
        same(relu6(x), if nan || x == 0.0 { x } else { x.clamp(0.0, 6.0) });
        same(clamp(x, -1.5, 2.5), x.clamp(-1.5, 2.5));
        same(hardtanh(x, -1.0, 1.0), x.clamp(-1.0, 1.0));
        same(leaky_relu(x, 0.01), if x > 0.0 { x } else { x * 0.01 });
        same(prelu(x, 0.25), if x > 0.0 { x } else { x * 0.25 });
        same(sqrt(x), (x as f64).sqrt() as f32);
        same(square(x), (x as f64 * x as f64) as f32);
        same(reciprocal(x), (1.0 / x as f64) as f32);
        same(abs(x), x.abs());
        same(neg(x), -x);
        same(round(x), (x as f64).round_ties_even() as f32);
        same(floor(x), (x as f64).floor() as f32);
        same(ceil(x), (x as f64).ceil() as f32);
        same(sign(x), if nan || x == 0.0 { 0.0 } else { x.signum() });
    }
}

#[test]
fn piecewise_functions_hold_their_bounds() {
    hold("hardsigmoid", 1.5e-7, hardsigmoid, |x| clamp64(x + 3.0, 0.0, 6.0) / 6.0);
    hold("hardswish", 2.4e-7, hardswish, |x| x * (clamp64(x + 3.0, 0.0, 6.0) / 6.0));
    hold("softsign", 1.5e-7, softsign, |x| x / (1.0 + x.abs()));
    hold("rsqrt", 1.5e-7, rsqrt, |x| 1.0 / x.sqrt());
}

fn exponentials_hold_their_bounds<M: Arithmetic>() {
    hold("exp", 1.2e-7, exp::<M>, f64::exp);
    hold("expm1", 2e-7, expm1::<M>, f64::exp_m1);
    hold("sigmoid", 2.4e-7, sigmoid::<M>, sigmoid64);
    let silu64 = |x: f64| x * sigmoid64(x);
    hold_in("silu above -88", 3e-7, |x| x > -88.0, silu::<M>, silu64);
    for x in sweep().filter(|x| *x <= -88.0 && x.is_finite()) {
        let y = silu::<M>(x);
        assert!(y.is_sign_negative() && y > -6e-37, "silu({x:e}) is {y:e}");
    }
    hold("tanh", 2.4e-7, tanh::<M>, f64::tanh);
    hold("elu 1", 3e-7, |x| elu::<M>(x, 1.0), |x| elu64(x, 1.0));
    hold("elu 0.3", 3e-7, |x| elu::<M>(x, 0.3), |x| elu64(x, f64::from(0.3f32)));
    let (alpha, scale) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);
    hold("selu", 3e-7, selu::<M>, |x| scale * elu64(x, alpha));
    for alpha in [1.0f32, 0.7, 3.0, -1.5] {
        let a = f64::from(alpha);
        let definition = |x: f64| if x > 0.0 { x } else { a * (x / a).exp_m1() };
        let bound = if alpha > 0.0 { 2.4e-7 } else { 6e-6 };
        hold(&format!("celu {alpha}"), bound, |x| celu::<M>(x, alpha), definition);
    }
    let mish64 = |x: f64| x * softplus64(x).tanh();
    hold("mish", 1e-5, mish::<M>, mish64);
    hold_in("mish above -87", 4e-7, |x| x > -87.0, mish::<M>, mish64);
    let c = (2.0 / std::f64::consts::PI).sqrt();
    let definition = |x: f64| x * sigmoid64(2.0 * c * (x + 0.044715 * x * x * x));
    hold("gelu_tanh", 1.5e-5, gelu_tanh::<M>, definition);
    hold_in("gelu_tanh above -4", 2e-6, |x| x > -4.0, gelu_tanh::<M>, definition);
}

fn logarithms_hold_their_bounds<M: Arithmetic>() {
    hold("log", 2e-7, log::<M>, f64::ln);
    hold("log1p", 2.4e-7, log1p::<M>, f64::ln_1p);
    hold("logit", 4e-7, logit::<M>, |x| (x / (1.0 - x)).ln());
    hold("softplus", 3e-7, |x| softplus::<M>(x, 1.0, 20.0), |x| if x > 20.0 { x } else { softplus64(x) });
    for (beta, threshold) in [(2.5f32, 20.0f32), (0.3, 5.0), (1.0, 1000.0)] {
        let (b, limit) = (f64::from(beta), f64::from(threshold));
        let definition = |x: f64| if x * b > limit { x } else { softplus64(x * b) / b };
        // At the threshold, the rounding of the product decides on which side x is.
        let clear = |x: f32| (x * beta - threshold).abs() > 1e-5;
        let (name, f) = (format!("softplus {beta} {threshold}"), |x| softplus::<M>(x, beta, threshold));
        hold_in(&name, 6e-6, clear, f, definition);
        hold_in(&format!("{name} above -2"), 3e-7, |x| clear(x) & (x * beta > -2.0), f, definition);
    }
}

fn normal_integrals_hold_their_bounds<M: Arithmetic>() {
    hold("erf", 2e-7, erf::<M>, erf64);
    hold("gelu", 1e-6, gelu::<M>, gelu64);
    hold_in("gelu above -13", 6e-7, |x| x > -13.0, gelu::<M>, gelu64);
}

#[test]
fn sine_and_cosine_hold_their_bounds_at_every_size() {
    hold("sin", 1.5e-7, sin, f64::sin);
    hold("cos", 1.5e-7, cos, f64::cos);
    // The f32 that is closest to a multiple of pi/2 (1.6e-9 radians away), and the largest.
    for x in [f32::from_bits(0x6f5c_e6d5), f32::MAX, 16_367_173.0 * 2f32.powi(72), 1e5, 1e10] {
        for x in [x, -x] {
            assert!(error(sin(x), (x as f64).sin()) < 1.5e-7, "sin({x:e}) = {:e}", sin(x));
            assert!(error(cos(x), (x as f64).cos()) < 1.5e-7, "cos({x:e}) = {:e}", cos(x));
        }
    }
}

#[test]
fn pow_holds_its_bound() {
    let exponents =
        [0.5f32, -0.5, 2.0, 3.0, -1.0, 1.0 / 3.0, 0.75, 10.0, -7.0, 100.3, 1e-3, 1e20, 16_777_215.0];
    for y in exponents {
        hold(&format!("pow {y}"), 1.2e-7, |x| pow(x, y), |x| x.powf(f64::from(y)));
    }
    for x in [2.0f32, 0.5, 10.0, 1.0001, 0.9999, 1e-40, -3.0, -1.0] {
        hold(&format!("{x} pow"), 1.2e-7, |y| pow(x, y), |y| f64::from(x).powf(y));
    }
}

#[test]
fn pow_has_every_special_case_of_c() {
    let values =
        [0.0, MIN_SUBNORMAL, 0.5, 1.0, 1.5, 2.0, 3.0, 4e6 + 0.5, 16_777_215.0, 16_777_216.0, f32::MAX, INF];
    let mut all: Vec<f32> = values.iter().flat_map(|v| [*v, -*v]).collect();
    all.push(NAN);
    for &x in &all {
        for &y in &all {
            let (got, want) = (pow(x, y), f64::from(x).powf(f64::from(y)) as f32);
            if want.is_nan() || want.is_infinite() || want == 0.0 || want.abs() == 1.0 {
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "pow({x}, {y}) = {got}"
                );
            } else {
                assert!(error(got, f64::from(x).powf(f64::from(y))) < 1.2e-7, "pow({x}, {y}) = {got}");
            }
        }
    }
    same(pow(NAN, 0.0), 1.0);
    same(pow(1.0, NAN), 1.0);
    same(pow(-1.0, INF), 1.0);
    same(pow(-1.0, NAN), NAN);
    same(pow(-0.0, -3.0), -INF);
    same(pow(-0.0, -2.0), INF);
    same(pow(-0.0, 3.0), -0.0);
    same(pow(-0.0, 0.5), 0.0);
    same(pow(-INF, 3.0), -INF);
    same(pow(-INF, 0.5), INF);
    same(pow(-8.0, 1.0 / 3.0), NAN);
    for i in 0..12 {
        same(pow(3.0, i as f32), 3f32.powi(i));
    }
}

fn special_values_are_those_of_the_definitions<M: Arithmetic>() {
    // (name, function, at inf, at -inf, at 0.0, at -0.0)
    type Row = (&'static str, fn(f32) -> f32, f32, f32, f32, f32);
    let rows: &[Row] = &[
        ("relu", relu, INF, 0.0, 0.0, -0.0),
        ("relu6", relu6, 6.0, 0.0, 0.0, -0.0),
        ("leaky_relu", |x| leaky_relu(x, 0.01), INF, -INF, 0.0, -0.0),
        ("prelu", |x| prelu(x, 0.25), INF, -INF, 0.0, -0.0),
        ("elu", |x| elu::<M>(x, 1.0), INF, -1.0, 0.0, -0.0),
        ("selu", selu::<M>, INF, -1.758_099_3, 0.0, -0.0),
        ("celu", |x| celu::<M>(x, 2.0), INF, -2.0, 0.0, -0.0),
        ("gelu", gelu::<M>, INF, NAN, 0.0, -0.0),
        ("gelu_tanh", gelu_tanh::<M>, INF, NAN, 0.0, -0.0),
        ("silu", silu::<M>, INF, NAN, 0.0, -0.0),
        ("mish", mish::<M>, INF, NAN, 0.0, -0.0),
        ("sigmoid", sigmoid::<M>, 1.0, 0.0, 0.5, 0.5),
        ("hardsigmoid", hardsigmoid, 1.0, 0.0, 0.5, 0.5),
        ("hardswish", hardswish, INF, NAN, 0.0, -0.0),
        ("tanh", tanh::<M>, 1.0, -1.0, 0.0, -0.0),
        (
            "softplus",
            |x| softplus::<M>(x, 1.0, 20.0),
            INF,
            0.0,
            std::f32::consts::LN_2,
            std::f32::consts::LN_2,
        ),
        ("softsign", softsign, NAN, NAN, 0.0, -0.0),
        ("exp", exp::<M>, INF, 0.0, 1.0, 1.0),
        ("expm1", expm1::<M>, INF, -1.0, 0.0, -0.0),
        ("log", log::<M>, INF, NAN, -INF, -INF),
        ("log1p", log1p::<M>, INF, NAN, 0.0, -0.0),
        ("logit", logit::<M>, NAN, NAN, -INF, -INF),
        ("sqrt", sqrt, INF, NAN, 0.0, -0.0),
        ("rsqrt", rsqrt, 0.0, NAN, INF, -INF),
        ("reciprocal", reciprocal, 0.0, -0.0, INF, -INF),
        ("square", square, INF, INF, 0.0, 0.0),
        ("round", round, INF, -INF, 0.0, -0.0),
        ("sign", sign, 1.0, -1.0, 0.0, 0.0),
        ("sin", sin, NAN, NAN, 0.0, -0.0),
        ("cos", cos, NAN, NAN, 1.0, 1.0),
        ("erf", erf::<M>, 1.0, -1.0, 0.0, -0.0),
        ("abs", abs, INF, INF, 0.0, 0.0),
    ];
    for &(name, f, at_inf, at_minus_inf, at_zero, at_minus_zero) in rows {
        for (x, want) in [(INF, at_inf), (-INF, at_minus_inf), (0.0, at_zero), (-0.0, at_minus_zero)] {
            let got = f(x);
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{name}({x}) = {got:e}"
            );
        }
    }
    same(relu(NAN), NAN);
    same(leaky_relu(NAN, 0.0), NAN);
    same(sign(NAN), 0.0);
    same(round(2.5), 2.0);
    same(round(-3.5), -4.0);
    same(clamp(5.0, 3.0, 1.0), 1.0);
    same(exp::<M>(88.722_84), (88.722_84f32 as f64).exp() as f32);
    same(exp::<M>(88.73), INF);
    same(exp::<M>(-103.97), MIN_SUBNORMAL);
    same(exp::<M>(-104.0), 0.0);
    same(log::<M>(MIN_SUBNORMAL), (MIN_SUBNORMAL as f64).ln() as f32);
    same(log::<M>(-MIN_SUBNORMAL), NAN);
    same(log::<M>(1.0), 0.0);
    same(log1p::<M>(-1.0), -INF);
    same(log1p::<M>(-1.5), NAN);
    same(logit::<M>(1.0), INF);
    same(logit::<M>(0.5), 0.0);
    same(logit::<M>(1f32.next_up()), NAN);
    same(logit::<M>(-MIN_SUBNORMAL), NAN);
    same(logit::<M>(MIN_SUBNORMAL), (MIN_SUBNORMAL as f64).ln() as f32);
    for f in [silu::<M>, gelu::<M>, gelu_tanh::<M>, mish::<M>, hardswish] {
        same(f(f32::MAX), f32::MAX);
        same(f(f32::MIN), -0.0);
    }
    for x in [MIN_SUBNORMAL, 1e-40, f32::MIN_POSITIVE] {
        for f in [tanh::<M>, sin, expm1::<M>, log1p::<M>, softsign] {
            same(f(x), x);
            same(f(-x), -x);
        }
    }
}

#[test]
fn maximum_and_minimum_carry_nan_from_either_side() {
    for (x, y, larger, smaller) in [
        (1.0, 2.0, 2.0, 1.0),
        (INF, -INF, INF, -INF),
        (NAN, 1.0, NAN, NAN),
        (1.0, NAN, NAN, NAN),
        (-0.0, 0.0, 0.0, 0.0),
    ] {
        same(maximum(x, y), larger);
        same(minimum(x, y), smaller);
    }
}

fn what_rises_rises<M: Arithmetic>() {
    rises("exp", exp::<M>, 0);
    rises("sigmoid", sigmoid::<M>, 1);
    rises("tanh", tanh::<M>, 2);
    rises("erf", erf::<M>, 1);
    rises("log", |x| if x > 0.0 { log::<M>(x) } else { -INF }, 1);
    rises("logit", |x| logit::<M>(x.clamp(0.0, 1.0)), 1);
    rises("softplus", |x| softplus::<M>(x, 1.0, 1000.0), 1);
    rises("elu", |x| elu::<M>(x, 1.0), 1);
}
