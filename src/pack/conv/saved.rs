//! Packed convolutions in files.

use std::panic::Location;
use std::sync::Arc;

use super::{AnyConvPacker, AnyPackedConv, PackedConv, PackedStem};
use crate::error::{Error, Result};
use crate::file::entry::{ConvEntry, Entry, SourceEntry, WeightsEntry};
use crate::file::{Loaded, Packable, Saved, sealed};
use crate::kernels::conv::implementation::{ConvImplementation, ConvKernel, ConvTypes, NoKernel, Problem};
use crate::kernels::conv::weights::in_order;
use crate::kernels::conv::{ConvGeometry, ConvParams, implementations, integers};
use crate::layout::dims::{Dims, ToDims};
use crate::ops::conv::{Direction, op_of};
use crate::pack::conv::packed::Packed;
use crate::pack::source::{Source, SourceLayout};
use crate::threads;

impl AnyPackedConv {
    fn entry(&self) -> Result<ConvEntry> {
        let g = &self.g;
        Ok(ConvEntry {
            spatial: g.input.len(),
            transposed: g.transposed,
            source: SourceEntry {
                dims: self.source.dims.to_vec(),
                dtype: self.types.src.to_string(),
                layout: self.source.layout.to_string(),
                threads: self.source.threads,
            },
            result: self.to.to_string(),
            result_dtype: self.types.dst.to_string(),
            params: ConvParams {
                stride: g.stride,
                padding: g.pad_begin.iter().chain(&g.pad_end).copied().to_dims(),
                dilation: g.dilation,
                groups: g.groups,
                post_ops: self.post_ops,
                algorithm: self.packed.implementation.algorithm(),
                allow_reference: self.allow_reference,
                x_zero_point: g.zero_point.into(),
                output_padding: g.output_padding,
            },
            weights: WeightsEntry {
                dims: g.weight_dims().to_vec(),
                dtype: self.types.weights.to_string(),
                way: self.packed.implementation.name().into(),
                layout: self.weights_layout(),
                implementation: AnyPackedConv::implementation(self),
                identity: self.packed.main.identity()?,
                subnormals: self.subnormals,
            },
        })
    }

    /// The packed convolution that an entry tells of. `asked` is the kind that the program asked for, if it did.
    fn from_entry(
        from: &Loaded<'_>,
        asked: Option<Kind>,
        location: &'static Location<'static>,
    ) -> Result<Self> {
        let e = match from.entry {
            Entry::Conv(e) => e,
            Entry::Linear(_) => return Err(from.wrong_kind("a linear layer", "a convolution")),
        };
        let rank = e.source.dims.len();
        let source = source(from, e, false)?;
        let to = from.layout(&e.result, rank, false)?;
        let is = Kind { spatial: e.spatial, transposed: e.transposed, stem: source.layout != to };
        if let Some(asked) = asked.filter(|asked| *asked != is) {
            return Err(from.wrong_kind(&format!("a {is}"), &format!("a {asked}")));
        }
        if !(1..=3).contains(&e.spatial) {
            return Err(from.corrupt(format!("{} spatial dimensions", e.spatial)));
        }
        if is.stem
            && (is.transposed
                || !matches!((source.layout, to), (SourceLayout::Strided(_), SourceLayout::Blocked(_))))
        {
            return Err(from.corrupt(format!("a {is} from {} to {to}", source.layout)));
        }
        let op = op_of(e.spatial, e.transposed).schema().name;
        let params = e.params.clone();
        let numbers = params.numbers(op, e.spatial, e.transposed).map_err(|e| from.corrupt(e))?;
        params.post_ops.check().map_err(|e| from.corrupt(e))?;
        let dtype = |name: &String| name.parse().map_err(|e: Error| from.corrupt(e));
        let types = ConvTypes {
            src: dtype(&e.source.dtype)?,
            weights: dtype(&e.weights.dtype)?,
            dst: dtype(&e.result_dtype)?,
        };
        if types != ConvTypes::of(types.src, &params.post_ops) {
            let ConvTypes { src, weights, dst } = types;
            let what = format!("{src} by {weights} to {dst} with the post-ops `{}`", params.post_ops);
            return Err(from.corrupt(what));
        }
        let bias = from.bias()?;
        // Before anything is sized by these numbers: the file must hold as many weights as they say.
        let data = from.weights(&e.weights.dims, types.weights)?;
        let bias_dims = bias.as_ref().map(|b| [b.len()]);
        let bias_dims = bias_dims.as_ref().map(|d| &d[..]);
        let g = ConvGeometry::new(op, e.spatial, &source.dims, &e.weights.dims, bias_dims, &numbers)
            .map_err(|e| from.corrupt(e))?;
        integers::check(op, types, &params.post_ops, g.zero_point).map_err(|e| from.corrupt(e))?;
        let misfit = match from.misfit_of(source.threads) {
            Some(misfit) => misfit,
            None => {
                let p = Problem {
                    g: &g,
                    types,
                    src: source.layout,
                    dst: to,
                    weights: None,
                    bias: bias.is_some(),
                    post_ops: &params.post_ops,
                    allow_reference: params.allow_reference,
                    threads: source.threads,
                };
                match read_by(from, e, &p, data.len())? {
                    Ok((implementation, kernel)) => {
                        let weights = in_order(op, data, types.weights)?;
                        return Ok(AnyPackedConv {
                            g,
                            source,
                            to,
                            types,
                            bias,
                            post_ops: params.post_ops,
                            allow_reference: params.allow_reference,
                            packed: Packed::new(implementation, weights, kernel, g.n)?,
                            subnormals: e.weights.subnormals,
                        });
                    }
                    Err(here) => from.misfit(format!("packed as {}", e.weights.layout), here),
                }
            }
        };
        let weights = from.plain(misfit, &e.weights.dims)?;
        let source = self::source(from, e, true)?.threads(threads::current_threads());
        let to = from.layout(&e.result, rank, true)?;
        let packer = AnyConvPacker::of_unpacked(op, types.plain_weights(weights)?, bias, params);
        // As it was packed, if this machine can; else as the algorithm asks.
        if let Ok(same) = packer.clone().implementation(&e.weights.way)
            && let Ok(packed) = same.pack(&source, to, location)
        {
            return Ok(packed);
        }
        packer.pack(&source, to, location)
    }
}

/// What tells one typed form from another.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    spatial: usize,
    transposed: bool,
    stem: bool,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match (self.transposed, self.stem) {
            (true, _) => "transposed convolution",
            (false, true) => "stem",
            (false, false) => "convolution",
        };
        write!(f, "{}-D {what}", self.spatial)
    }
}

type Reader = (&'static dyn ConvImplementation, Arc<dyn ConvKernel>);

/// The kernel that reads the weights of a file as they lie, so many **bytes**; else what is so here instead.
fn read_by(
    from: &Loaded<'_>,
    e: &ConvEntry,
    p: &Problem<'_>,
    bytes: usize,
) -> Result<Result<Reader, String>> {
    let way = &e.weights.way;
    let Some(&implementation) = implementations::ALL.iter().find(|i| i.name() == way) else {
        return Ok(Err(format!("this build has no implementation `{}`", crate::file::shown(way))));
    };
    if !implementation.types().contains(&p.types) {
        let (source, weights, result) = (p.types.src, p.types.weights, p.types.dst);
        return Ok(Err(format!("`{way}` does not compute {source} by {weights} to {result} here")));
    }
    if e.params.algorithm != implementation.algorithm() {
        return Err(from.corrupt(format!("weights for `{way}`, and algorithm {}", e.params.algorithm)));
    }
    let kernel = match implementation.kernel(p) {
        Ok(kernel) => kernel,
        Err(NoKernel::Failed(error)) => return Err(error),
        Err(NoKernel::Refused(_)) if e.weights.identity.is_some() => {
            return Ok(Err("the engine has no kernel for them here".into()));
        }
        Err(NoKernel::Refused(_)) => {
            return Err(
                from.corrupt(format!("weights for `{way}`, which does not compute {} -> {}", p.src, p.dst))
            );
        }
    };
    let identity = kernel.identity()?;
    let (layout, wanted) = (kernel.weights_name()?, kernel.weight_bytes());
    let fits = wanted == bytes && identity == e.weights.identity;
    match (fits, identity) {
        // Other instructions read them in another order, of as many bytes.
        (_, None) if layout != e.weights.layout => {
            Ok(Err(format!("`{way}` reads them here as {layout}, {wanted} bytes")))
        }
        (true, _) => Ok(Ok((implementation, kernel))),
        (false, Some(_)) => Ok(Err(format!("the engine wants them as {layout}, {wanted} bytes"))),
        (false, None) => Err(from.corrupt(format!("{bytes} bytes of packed weights"))),
    }
}

fn source(from: &Loaded<'_>, e: &ConvEntry, repacked: bool) -> Result<Source> {
    let dims = Dims::new("PackedFile::get", "source", &e.source.dims).map_err(|e| from.corrupt(e))?;
    let layout = from.layout(&e.source.layout, dims.len(), repacked)?;
    let source = match &layout {
        SourceLayout::Strided(format) => Source::strided(&dims, *format),
        SourceLayout::Blocked(layout) => Source::blocked(&dims, layout),
    };
    let dtype = e.source.dtype.parse().map_err(|e: Error| from.corrupt(e))?;
    Ok(Source { threads: e.source.threads, dtype, ..source.map_err(|e| from.corrupt(e))? })
}

impl sealed::Sealed for AnyPackedConv {}

impl Packable for AnyPackedConv {
    fn saved(&self) -> Result<Saved<'_>> {
        Ok(Saved {
            entry: Entry::Conv(Box::new(self.entry()?)),
            weights: self.packed.weights.clone(),
            bias: self.bias.as_deref(),
            plain: Box::new(|| self.unpack_weights()),
        })
    }

    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self> {
        threads::enter("PackedFile::get")?;
        AnyPackedConv::from_entry(&from, None, Location::caller())
    }
}

impl<const N: usize, D: Direction> sealed::Sealed for PackedConv<N, D> {}

impl<const N: usize, D: Direction> Packable for PackedConv<N, D> {
    fn saved(&self) -> Result<Saved<'_>> {
        self.0.saved()
    }

    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self> {
        threads::enter("PackedFile::get")?;
        let asked = Kind { spatial: N, transposed: D::TRANSPOSED, stem: false };
        AnyPackedConv::from_entry(&from, Some(asked), Location::caller()).map(PackedConv::of)
    }
}

impl<const N: usize> sealed::Sealed for PackedStem<N> {}

impl<const N: usize> Packable for PackedStem<N> {
    fn saved(&self) -> Result<Saved<'_>> {
        self.0.saved()
    }

    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self> {
        threads::enter("PackedFile::get")?;
        let asked = Kind { spatial: N, transposed: false, stem: true };
        AnyPackedConv::from_entry(&from, Some(asked), Location::caller()).map(PackedStem)
    }
}
