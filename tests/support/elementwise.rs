//! Element-wise functions by their definitions, in f64.

/// `erf` by its series, and by the continued fraction of its complement.
pub fn erf(x: f64) -> f64 {
    let t = x.abs();
    if t < 3.0 {
        let (mut term, mut sum) = (t, t);
        for n in 1..200 {
            term *= -t * t / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return (2.0 / std::f64::consts::PI.sqrt() * sum).copysign(x);
    }
    let fraction = (1..60).rev().fold(t, |f, k| t + f64::from(k) / 2.0 / f);
    (1.0 - (-t * t).exp() / fraction / std::f64::consts::PI.sqrt()).copysign(x)
}

/// PyTorch's definition of a unary op, with its two parameters.
pub fn unary(op: &str, x: f64, p: [f64; 2]) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let softplus = |x: f64| if x > 30.0 { x } else { x.exp().ln_1p() };
    let relu6 = |x: f64| x.clamp(0.0, 6.0);
    match op {
        "relu" => x.max(0.0),
        "relu6" => relu6(x),
        "leaky_relu" => {
            if x > 0.0 {
                x
            } else {
                p[0] * x
            }
        }
        "elu" => {
            if x > 0.0 {
                x
            } else {
                p[0] * x.exp_m1()
            }
        }
        "selu" => {
            let (alpha, scale) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);
            scale * if x > 0.0 { x } else { alpha * x.exp_m1() }
        }
        "celu" => x.max(0.0) + (p[0] * (x / p[0]).exp_m1()).min(0.0),
        "gelu" => x / 2.0 * (1.0 + erf(x / 2f64.sqrt())),
        "gelu_tanh" => {
            x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh())
        }
        "silu" => x * sigmoid(x),
        "mish" => x * softplus(x).tanh(),
        "sigmoid" => sigmoid(x),
        "hardsigmoid" => relu6(x + 3.0) / 6.0,
        "hardswish" => x * relu6(x + 3.0) / 6.0,
        "tanh" => x.tanh(),
        "hardtanh" | "clamp" => x.max(p[0]).min(p[1]),
        "softplus" => {
            if p[0] * x > p[1] {
                x
            } else {
                softplus(p[0] * x) / p[0]
            }
        }
        "softsign" => x / (1.0 + x.abs()),
        "exp" => x.exp(),
        "log" => x.ln(),
        "sqrt" => x.sqrt(),
        "rsqrt" => 1.0 / x.sqrt(),
        "abs" => x.abs(),
        "neg" => -x,
        "square" => x * x,
        "reciprocal" => 1.0 / x,
        "round" => x.round_ties_even(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "sign" => {
            if x == 0.0 {
                0.0
            } else {
                x.signum()
            }
        }
        "sin" => x.sin(),
        "cos" => x.cos(),
        "erf" => erf(x),
        other => panic!("no definition of {other}"),
    }
}

/// PyTorch's definition of a binary op.
pub fn binary(op: &str, a: f64, b: f64) -> f64 {
    let truth = |t: bool| f64::from(u8::from(t));
    match op {
        "add" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        "div" => a / b,
        "pow" => a.powf(b),
        "maximum" => a.max(b),
        "minimum" => a.min(b),
        "eq" => truth(a == b),
        "ne" => truth(a != b),
        "lt" => truth(a < b),
        "le" => truth(a <= b),
        "gt" => truth(a > b),
        "ge" => truth(a >= b),
        other => panic!("no definition of {other}"),
    }
}
