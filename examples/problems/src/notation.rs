//! benchdnn's notation of one problem: `g1mb2ic64ih56oc64oh56kh3ph1n"name"`, with its defaults.
//!
//! The rules are those of `str2desc` in benchdnn's drivers and of its `sanitize_desc`. Fields may have any order; a `_`
//! after a field is skipped; `n` begins the name. Defaults: `g` is 1, `mb` 2, strides 1, dilations 0 (dense), `eps` 1/16.
//! Along an axis that has any field, input and kernel are required. Without an output size, it is computed from the given
//! padding or from none; with an output size but no padding, the padding is half of the difference. The padding after an
//! axis always follows from the sizes. An axis without fields equals the previous one (w equals h; h and w equal d).

use std::fmt;

/// The kind of a problem: benchdnn's driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Conv,
    Deconv,
    Pool,
    BatchNorm,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Conv, Kind::Deconv, Kind::Pool, Kind::BatchNorm];

    /// benchdnn's name of the driver.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Conv => "conv",
            Kind::Deconv => "deconv",
            Kind::Pool => "pool",
            Kind::BatchNorm => "bnorm",
        }
    }

    /// Whether it has weights, and so groups and output channels.
    pub fn has_weights(self) -> bool {
        matches!(self, Kind::Conv | Kind::Deconv)
    }
}

/// One problem; sizes are `[d, h, w]`, and 1 (padding 0) along axes that it does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub kind: Kind,
    pub name: String,
    /// Spatial dimensions: 1 to 3, and 0 for some batch norms.
    pub spatial: usize,
    pub groups: usize,
    pub n: usize,
    pub c: usize,
    pub o: usize,
    pub input: [usize; 3],
    pub output: [usize; 3],
    pub kernel: [usize; 3],
    pub stride: [usize; 3],
    /// 1 is dense, as everywhere in this crate.
    pub dilation: [usize; 3],
    /// Negative if benchdnn computes it so.
    pub pad_begin: [i64; 3],
    pub pad_end: [i64; 3],
    pub eps: f32,
}

/// Fields that each axis has, in the order of benchdnn's `sanitize_desc`.
const AXIS_FIELDS: &[u8; 6] = b"oikspd";
const O: usize = 0;
const I: usize = 1;
const K: usize = 2;
const S: usize = 3;
const P: usize = 4;
const D: usize = 5;
const AXES: &[u8; 3] = b"dhw";
/// Values along an axis that the problem does not have.
const ABSENT: [i128; 6] = [1, 1, 1, 1, 0, 0];
/// The largest number that is read. Arithmetic is in i128: products of two such numbers, and sums of those, fit.
const LARGEST: i128 = i64::MAX as i128;

enum Field {
    Groups,
    Batch,
    Input,
    Output,
    Axis(usize, usize),
    Eps,
}

impl Field {
    /// The field that a text begins with, and its length.
    fn of(kind: Kind, text: &str) -> Option<(Field, usize)> {
        let norm = kind == Kind::BatchNorm;
        let at = |i: usize| text.as_bytes().get(i).copied().unwrap_or(0);
        let axis = AXES.iter().position(|&a| a == at(1));
        let field = AXIS_FIELDS.iter().position(|&f| f == at(0));
        match (field, axis) {
            _ if kind.has_weights() && at(0) == b'g' => Some((Field::Groups, 1)),
            _ if kind.has_weights() && text.starts_with("oc") => Some((Field::Output, 2)),
            _ if norm && text.starts_with("eps") => Some((Field::Eps, 3)),
            _ if text.starts_with("mb") => Some((Field::Batch, 2)),
            _ if text.starts_with("ic") => Some((Field::Input, 2)),
            (Some(field), Some(axis)) if !norm || field == I => Some((Field::Axis(field, axis), 2)),
            _ => None,
        }
    }
}

/// The number of bytes at the start of a text that are a number without a sign; with a fraction and an exponent if `float`.
fn number_length(text: &str, float: bool) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    if float && text[length..].starts_with('.') {
        length += 1 + digits(length + 1);
    }
    if float && length > 0 && text[length..].starts_with(['e', 'E']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        match digits(length + 1 + sign) {
            0 => {}
            exponent => length += 1 + sign + exponent,
        }
    }
    length
}

/// The fields as written.
struct Fields {
    groups: i128,
    n: i128,
    c: i128,
    o: i128,
    axes: [[i128; 3]; 6],
    eps: f32,
    name: String,
}

impl Fields {
    fn read(kind: Kind, text: &str) -> Result<Fields, String> {
        let axes = [[0; 3], [0; 3], [0; 3], [1; 3], [-1; 3], [0; 3]];
        let mut f = Fields { groups: -1, n: 2, c: 0, o: 0, axes, eps: 1.0 / 16.0, name: String::new() };
        let mut rest = text;
        while !rest.is_empty() {
            let before = rest.len();
            while let Some((field, length)) = Field::of(kind, rest) {
                let (key, value) = rest.split_at(length);
                let length = number_length(value, matches!(field, Field::Eps));
                if length == 0 {
                    let negative = value.starts_with('-');
                    return Err(format!(
                        "`{key}` {}",
                        if negative { "is negative" } else { "has no number" }
                    ));
                }
                let (number, after) = value.split_at(length);
                if let Field::Eps = field {
                    f.eps = number.parse().map_err(|_| format!("`eps` is not a number: {number}"))?;
                    if !f.eps.is_finite() {
                        return Err(format!("`eps` is too large: {number}"));
                    }
                } else {
                    let number = number.parse().ok().filter(|&n| n <= LARGEST);
                    let place = match field {
                        Field::Groups => &mut f.groups,
                        Field::Batch => &mut f.n,
                        Field::Input => &mut f.c,
                        Field::Output => &mut f.o,
                        Field::Axis(field, axis) => &mut f.axes[field][axis],
                        Field::Eps => unreachable!("read above"),
                    };
                    *place = number.ok_or_else(|| format!("`{key}` is larger than {LARGEST}"))?;
                }
                rest = after;
            }
            if let Some(name) = rest.strip_prefix('n') {
                f.name = name.trim_matches('"').to_string();
                break;
            }
            if rest.len() == before {
                return Err(format!("no field of a {} problem begins `{rest}`", kind.name()));
            }
            rest = rest.strip_prefix('_').unwrap_or(rest);
        }
        Ok(f)
    }

    /// Computes sizes and padding of one axis that follow from others; does nothing if the axis has no field.
    fn complete(&mut self, kind: Kind, axis: usize) -> Result<(), String> {
        let [o, i, k, s, p, d] = std::array::from_fn(|f| self.axes[f][axis]);
        let dilated = if kind == Kind::Pool { 0 } else { d };
        if (o | i | k | dilated) == 0 && s == 1 && p < 1 {
            return Ok(());
        }
        let name = |field: usize| format!("{}{}", AXIS_FIELDS[field] as char, AXES[axis] as char);
        for (field, value) in [(I, i), (K, k)] {
            if value == 0 {
                return Err(format!("`{}` is missing or 0", name(field)));
            }
        }
        let reach = (k - 1) * (d + 1) + 1;
        if o == 0 {
            let p = p.max(0);
            // Division rounds towards zero, as in benchdnn.
            let o = match kind {
                Kind::Deconv => (i - 1) * s + reach - 2 * p,
                _ => (i - reach + 2 * p) / s + 1,
            };
            if o <= 0 {
                return Err(format!("`{}` is left out, and would be {o}", name(O)));
            }
            (self.axes[O][axis], self.axes[P][axis]) = (o, p);
        } else if p < 0 {
            self.axes[P][axis] = missing(kind, o, i, s, reach) / 2;
        }
        Ok(())
    }

    /// Fills axes without fields. Returns the number of spatial dimensions.
    fn spread(&mut self, kind: Kind) -> Result<usize, String> {
        let sizes = if kind == Kind::BatchNorm { I } else { O };
        let [no_d, no_h, no_w] = self.axes[sizes].map(|v| v == 0);
        let spatial = match (no_d, no_h, no_w) {
            (true, true, true) if kind == Kind::BatchNorm => 0,
            (true, true, true) => return Err("it has no spatial size".into()),
            (false, ..) => 3,
            (true, false, _) => 2,
            (true, true, false) => 1,
        };
        if spatial == 3 && no_h != no_w {
            return Err("a 3-D problem has both h and w, or neither".into());
        }
        for (values, absent) in self.axes.iter_mut().zip(ABSENT) {
            let [d, h, w] = *values;
            *values = match spatial {
                3 if no_h => [d, d, d],
                3 => [d, h, w],
                2 if no_w => [absent, h, h],
                2 => [absent, h, w],
                1 => [absent, absent, w],
                _ => [absent; 3],
            };
        }
        Ok(spatial)
    }
}

/// The total padding of both sides of an axis that makes the sizes consistent.
fn missing(kind: Kind, output: i128, input: i128, stride: i128, reach: i128) -> i128 {
    match kind {
        Kind::Deconv => (input - 1) * stride - output + reach,
        _ => (output - 1) * stride - input + reach,
    }
}

impl Problem {
    /// Reads one problem.
    ///
    /// # Errors
    /// What is wrong with the text, as a sentence.
    pub fn read(kind: Kind, text: &str) -> Result<Problem, String> {
        let mut f = Fields::read(kind, text)?;
        let positive = |name: &str, value: i128| match value {
            1.. => Ok(()),
            _ => Err(format!("`{name}` is missing or 0")),
        };
        positive("ic", f.c)?;
        if f.groups == 0 {
            return Err("`g` is 0".into());
        }
        let groups = f.groups.max(1);
        if kind.has_weights() {
            positive("oc", f.o)?;
            for (name, channels) in [("ic", f.c), ("oc", f.o)] {
                if channels % groups != 0 {
                    return Err(format!("`{name}` {channels} does not divide into {groups} groups"));
                }
            }
        }
        if kind != Kind::BatchNorm {
            f.axes[S].iter().zip(["sd", "sh", "sw"]).try_for_each(|(&s, name)| positive(name, s))?;
            (0..3).try_for_each(|axis| f.complete(kind, axis))?;
        }
        let spatial = f.spread(kind)?;
        let pad_end = |a: usize| {
            let [o, i, k, s, p, d] = std::array::from_fn(|field| f.axes[field][a]);
            missing(kind, o, i, s, (k - 1) * (d + 1) + 1) - p
        };
        let pad_end = [pad_end(0), pad_end(1), pad_end(2)];
        let fits = |v: &i128| i64::try_from(*v).is_ok();
        if !f.axes.iter().flatten().chain(&pad_end).all(fits) {
            return Err("its sizes do not fit into 64 bits".into());
        }
        let sizes = |field: usize| f.axes[field].map(|v| v as usize);
        let problem = Problem {
            kind,
            spatial,
            groups: groups as usize,
            n: f.n as usize,
            c: f.c as usize,
            o: if kind.has_weights() { f.o } else { f.c } as usize,
            input: sizes(I),
            output: sizes(O),
            kernel: sizes(K),
            stride: sizes(S),
            dilation: sizes(D).map(|d| d + 1),
            pad_begin: f.axes[P].map(|v| v as i64),
            pad_end: pad_end.map(|v| v as i64),
            eps: f.eps,
            name: f.name,
        };
        if kind != Kind::BatchNorm {
            return Ok(problem);
        }
        // For a batch norm, only the input's sizes matter.
        Ok(Problem { output: problem.input, pad_begin: [0; 3], pad_end: [0; 3], ..problem })
    }

    /// Sizes of the source: N, C, and the spatial ones.
    pub fn src_dims(&self) -> Vec<usize> {
        [&[self.n, self.c], self.axes(&self.input)].concat()
    }

    /// Sizes of the result.
    pub fn dst_dims(&self) -> Vec<usize> {
        [&[self.n, self.o], self.axes(&self.output)].concat()
    }

    /// The entries of `[d, h, w]` that the problem has.
    pub fn axes<'a, T>(&self, all: &'a [T; 3]) -> &'a [T] {
        &all[3 - self.spatial..]
    }

    /// Number of products per element of the result; for pooling, of elements per window.
    pub fn terms(&self) -> f64 {
        let taps: f64 = self.kernel.iter().map(|&k| k as f64).product();
        match self.kind {
            Kind::Conv | Kind::Deconv => taps * (self.c / self.groups) as f64,
            Kind::Pool => taps,
            Kind::BatchNorm => 1.0,
        }
    }

    /// Multiply-adds: terms times elements of the result, or of the source for a deconvolution.
    pub fn macs(&self) -> f64 {
        let product = |dims: &[usize]| dims.iter().map(|&d| d as f64).product::<f64>();
        match self.kind {
            Kind::Deconv => product(&self.src_dims()) * self.terms() * self.o as f64 / self.c as f64,
            _ => product(&self.dst_dims()) * self.terms(),
        }
    }

    /// About how many bytes a run needs at once: source, weights and result in several layouts, and the memory of the loops
    /// in f64.
    pub fn bytes(&self) -> f64 {
        let product = |dims: &[usize]| dims.iter().map(|&d| d as f64).product::<f64>();
        let weights = if self.kind.has_weights() { self.terms() * self.o as f64 } else { 0.0 };
        let reach = self.kernel[2] as f64 * self.dilation[2] as f64;
        let row = |pixels: usize| (pixels as f64 + 4.0) * self.stride[2] as f64 + reach;
        let loops = match self.kind {
            Kind::Conv => self.c as f64 * product(&self.input[..2]) * row(self.output[2]),
            Kind::Deconv => 8.0 * product(&self.output[..2]) * row(self.input[2]),
            Kind::Pool | Kind::BatchNorm => 0.0,
        };
        let taps: f64 = (0..3).map(|a| self.output[a] as f64 * self.kernel[a] as f64).sum();
        let tensors = 6.0 * product(&self.src_dims()) + 4.0 * weights + 8.0 * product(&self.dst_dims());
        4.0 * tensors + 8.0 * loops + 24.0 * taps
    }
}

/// Prints the problem in its notation, with every size and without its name; reading that gives the same problem.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.groups > 1 {
            write!(f, "g{}", self.groups)?;
        }
        write!(f, "mb{}ic{}", self.n, self.c)?;
        let mut axes = |field: &str, values: [i64; 3]| {
            let mut named = self.axes(&["d", "h", "w"]).iter().zip(self.axes(&values));
            // A negative padding cannot be written; it follows from the sizes.
            named.try_for_each(|(axis, v)| if *v < 0 { Ok(()) } else { write!(f, "{field}{axis}{v}") })
        };
        let wide = |values: [usize; 3]| values.map(|v| v as i64);
        axes("i", wide(self.input))?;
        if self.kind == Kind::BatchNorm {
            return write!(f, "eps{}", self.eps);
        }
        axes("o", wide(self.output))?;
        axes("k", wide(self.kernel))?;
        axes("s", wide(self.stride))?;
        axes("p", self.pad_begin)?;
        axes("d", wide(self.dilation).map(|d| d - 1))?;
        if self.kind.has_weights() { write!(f, "oc{}", self.o) } else { Ok(()) }
    }
}
