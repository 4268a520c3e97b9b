//! The error function and the gelu: integrals of the normal distribution.

use super::Arithmetic;
use super::exponential::{exp_sum, expm1_inside};

/// `torch.erf`. Error at most 2e-7.
#[inline(always)]
pub fn erf<M: Arithmetic>(x: f32) -> f32 {
    let z = x * x;
    // Minimax for erf(x) / x - 1 in x^2 on |x| <= 1; error 2^-29.
    let p = M::mul_add(7.834_7e-5, z, -8.004_633e-4);
    let p = M::mul_add(p, z, 5.187_740_6e-3);
    let p = M::mul_add(p, z, -2.685_354_7e-2);
    let p = M::mul_add(p, z, 0.112_835_81);
    let p = M::mul_add(p, z, -0.376_126_26);
    let p = M::mul_add(p, z, 0.128_379_17);
    let near = M::mul_add(x, p, x);
    // Minimax for -log(1 - erf(t)) / t on 0.95 <= t <= 4.1; error 2^-30 of erf. From 3.92 on the nearest f32 is 1.
    let t = x.abs();
    let t = if t > 4.0 { 4.0 } else { t };
    let p = M::mul_add(1.234_618_8e-5, t, -3.340_288_5e-4);
    let p = M::mul_add(p, t, 3.688_392e-3);
    let p = M::mul_add(p, t, -2.385_988_3e-2);
    let p = M::mul_add(p, t, 0.106_351_286);
    let p = M::mul_add(p, t, 0.635_081_6);
    let p = M::mul_add(p, t, 1.128_665_8);
    let far = expm1_inside::<M>(-t * p).copysign(x);
    if t < 0.96 { near } else { far }
}

/// `torch.nn.functional.gelu`: `x / 2 * (1 + erf(x / sqrt(2)))`, that is `x` times the normal distribution function at `x`.
/// Error at most 6e-7, and 1e-6 below -13: small results keep their digits, whereas PyTorch's sum cancels.
#[inline(always)]
pub fn gelu<M: Arithmetic>(x: f32) -> f32 {
    // The distribution's tail beyond t = |x| is exp(-t^2 / 2) * g(t); beyond 15 it is 0.
    let t = x.abs();
    let t = if t > 15.0 { 15.0 } else { t };
    // Minimax for g(t) * (t + 3) in (t - 3) / (t + 3); error 2^-24.7.
    let u = 1.0 / (t + 3.0);
    let v = (t - 3.0) * u;
    let p = M::mul_add(4.581_274e-5, v, 1.552_215_4e-4);
    let p = M::mul_add(p, v, -1.881_972e-4);
    let p = M::mul_add(p, v, -1.045_244_3e-3);
    let p = M::mul_add(p, v, 9.748_65e-4);
    let p = M::mul_add(p, v, 6.969_440_3e-3);
    let p = M::mul_add(p, v, -1.044_721_6e-2);
    let p = M::mul_add(p, v, -4.726_228e-2);
    let p = M::mul_add(p, v, 0.230_016_11);
    let p = M::mul_add(p, v, -0.509_332);
    let p = M::mul_add(p, v, 0.729_083_7);
    // t^2 in two parts: `high` has 12 bits, so its square is exact.
    let high = f32::from_bits(t.to_bits() & 0xffff_f000);
    let beyond = u * p * exp_sum::<M>(-0.5 * (high * high), -0.5 * ((t - high) * (t + high)));
    x * if x < 0.0 { beyond } else { 1.0 - beyond }
}
