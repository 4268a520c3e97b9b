//! Packed convolutions in files.

use std::marker::PhantomData;
use std::panic::Location;

#[cfg(feature = "onednn")]
use super::engine::{Packed, Unpacked};
use super::{ConvPacker, DirectWeights, PackedConv, PackedStem, Weights, WinogradWeights};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::file::entry::{ConvEntry, Entry, SourceEntry, WeightsEntry, WeightsForm};
use crate::file::{Loaded, Packable, Saved, sealed};
use crate::kernels::conv::direct::DirectPlan;
use crate::kernels::conv::winograd::{self, WinogradPlan};
use crate::kernels::conv::{Algorithm, ConvGeometry, ConvParams};
use crate::layout::dims::{Dims, ToDims};
use crate::ops::conv::{Conv, Direction, op_of};
use crate::pack::source::{Source, SourceLayout};
use crate::tensor::strided::StridedTensor;
use crate::threads;

impl<const N: usize, D: Direction> PackedConv<N, D> {
    fn is_stem(&self) -> bool {
        self.source.layout != self.to
    }

    fn entry(&self) -> Result<ConvEntry> {
        let g = &self.g;
        let (form, identity) = match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => (WeightsForm::Engine, Some(p.identity()?)),
            Weights::Plain(_) => (WeightsForm::Dense, None),
            Weights::Direct(_) => (WeightsForm::Direct, None),
            Weights::Winograd(w) => (WeightsForm::of_transform(w.plan.transform), None),
        };
        Ok(ConvEntry {
            spatial: N,
            transposed: D::TRANSPOSED,
            source: SourceEntry {
                dims: self.source.dims.to_vec(),
                layout: self.source.layout.to_string(),
                threads: self.source.threads,
            },
            result: self.to.to_string(),
            params: ConvParams {
                stride: g.stride,
                padding: g.pad_begin.iter().chain(&g.pad_end).copied().to_dims(),
                dilation: g.dilation,
                groups: g.groups,
                post_ops: self.post_ops,
                algorithm: match &self.weights {
                    Weights::Winograd(w) => Algorithm::Winograd(w.plan.outputs),
                    _ => Algorithm::Direct,
                },
                allow_reference: self.allow_reference,
                output_padding: g.output_padding,
            },
            weights: WeightsEntry {
                dims: g.weight_dims().to_vec(),
                form,
                layout: self.weights_layout(),
                implementation: self.implementation(),
                identity,
                subnormals: self.subnormals,
            },
        })
    }

    /// The packed op that an entry tells of, for a stem or for none.
    fn from_entry(from: &Loaded<'_>, stem: bool, location: &'static Location<'static>) -> Result<Self> {
        let e = match from.entry {
            Entry::Conv(e) => e,
            Entry::Linear(_) => return Err(from.wrong_kind("a linear layer", "a convolution")),
        };
        let asked = op_of(N, D::TRANSPOSED).schema().name;
        let rank = e.source.dims.len();
        let mut source = source(from, e, false)?;
        let mut to = from.layout(&e.result, rank, false)?;
        if (e.spatial, e.transposed, source.layout != to) != (N, D::TRANSPOSED, stem) {
            let kind = |transposed, stem| match (transposed, stem) {
                (true, _) => "transposed convolution",
                (false, true) => "stem",
                (false, false) => "convolution",
            };
            let is = format!("a {}-D {}", e.spatial, kind(e.transposed, source.layout != to));
            return Err(from.wrong_kind(&is, &format!("a {N}-D {}", kind(D::TRANSPOSED, stem))));
        }
        if stem && !matches!((source.layout, to), (SourceLayout::Strided(_), SourceLayout::Blocked(_))) {
            return Err(from.corrupt(format!("a stem from {} to {to}", source.layout)));
        }
        let params = Conv::<N, D>::of_params(asked, e.params.clone()).map_err(|e| from.corrupt(e))?;
        let post_ops = params.post_ops().map_err(|e| from.corrupt(e))?;
        let bias = from.bias()?;
        let bias_dims = bias.as_ref().map(|b| [b.len()]);
        // Before anything is sized by these numbers: the file must hold as many weights as they say.
        let data = from.weights(&e.weights.dims, e.weights.form)?;
        let bias_slice = bias_dims.as_ref().map(|d| &d[..]);
        let g = ConvGeometry::new(asked, N, &source.dims, &e.weights.dims, bias_slice, &params.numbers())
            .map_err(|e| from.corrupt(e))?;
        let misfit = match from.misfit_of(source.threads) {
            Some(misfit) => misfit,
            None => {
                let weights = match e.weights.form {
                    WeightsForm::Dense => dense(from, &g, &source, to, &data),
                    WeightsForm::Direct => direct(from, &g, &source, to, &data),
                    WeightsForm::Winograd | WeightsForm::WinogradEachRun => {
                        winograd(from, e, &g, &source, to, &data)
                    }
                    WeightsForm::Engine => {
                        let Some(identity) = &e.weights.identity else {
                            return Err(from.corrupt("no identity of the engine's layout"));
                        };
                        #[cfg(feature = "onednn")]
                        {
                            let bias = bias.is_some();
                            let unpacked =
                                Unpacked { params: &params, post_ops: &post_ops, bias, source: &source, to };
                            Packed::stored(&unpacked, &g, data, identity)?
                                .map(Weights::Packed)
                                .map_err(Why::Misfit)
                        }
                        #[cfg(not(feature = "onednn"))]
                        {
                            let _ = identity;
                            Err(Why::Misfit("this build has no oneDNN".into()))
                        }
                    }
                };
                match weights {
                    Ok(weights) => {
                        return Ok(PackedConv {
                            g,
                            source,
                            to,
                            bias,
                            post_ops,
                            allow_reference: e.params.allow_reference,
                            weights,
                            subnormals: e.weights.subnormals,
                            direction: PhantomData,
                        });
                    }
                    Err(Why::Corrupt(error)) => return Err(error),
                    Err(Why::Misfit(here)) => from.misfit(format!("packed as {}", e.weights.layout), here),
                }
            }
        };
        let weights = from.plain(misfit, &e.weights.dims)?;
        source = self::source(from, e, true)?.threads(threads::current_threads());
        to = from.layout(&e.result, rank, true)?;
        let transform = e.weights.form.transform();
        ConvPacker { weights, bias, params, post_ops, transform }.pack(&source, to, location)
    }
}

/// Why weights of a file are not taken as they are.
enum Why {
    Corrupt(Error),
    /// What is so here instead.
    Misfit(String),
}

type Held = std::sync::Arc<crate::buffer::Buffer>;

fn source(from: &Loaded<'_>, e: &ConvEntry, repacked: bool) -> Result<Source> {
    let dims = Dims::new("PackedFile::get", "source", &e.source.dims).map_err(|e| from.corrupt(e))?;
    let layout = from.layout(&e.source.layout, dims.len(), repacked)?;
    let source = match &layout {
        SourceLayout::Strided(format) => Source::strided(&dims, *format),
        SourceLayout::Blocked(layout) => Source::blocked(&dims, layout),
    };
    Ok(Source { threads: e.source.threads, ..source.map_err(|e| from.corrupt(e))? })
}

/// Weights for the strided kernel in Rust.
fn dense(
    from: &Loaded<'_>,
    g: &ConvGeometry,
    source: &Source,
    to: SourceLayout,
    data: &Held,
) -> Result<Weights, Why> {
    match (source.layout, to) {
        (SourceLayout::Strided(a), SourceLayout::Strided(b)) if a == b => {
            let plain = StridedTensor::of_storage(g.op, Held::clone(data), g.weight_dims(), DType::F32);
            plain.map(|plain| Weights::Plain(Box::new(plain))).map_err(Why::Corrupt)
        }
        _ => Err(Why::Corrupt(from.corrupt("row-major weights for another source"))),
    }
}

/// Weights for the blocked kernel in Rust.
fn direct(
    from: &Loaded<'_>,
    g: &ConvGeometry,
    source: &Source,
    to: SourceLayout,
    data: &Held,
) -> Result<Weights, Why> {
    let layout = match (source.layout, to) {
        (SourceLayout::Blocked(a), SourceLayout::Blocked(b)) if a == b => a,
        _ => return Err(Why::Corrupt(from.corrupt("weights for blocked sources, with another"))),
    };
    let Some(plan) = DirectPlan::new(g, &layout).map_err(Why::Corrupt)? else {
        return Err(Why::Corrupt(from.corrupt(format!("no kernel reads {layout}"))));
    };
    if plan.weight_vectors * plan.block * 4 != data.len() {
        return Err(Why::Corrupt(from.corrupt(format!("{} bytes of packed weights", data.len()))));
    }
    Ok(Weights::Direct(Box::new(DirectWeights { data: Held::clone(data), plan })))
}

/// Weights for Winograd's algorithm.
fn winograd(
    from: &Loaded<'_>,
    e: &ConvEntry,
    g: &ConvGeometry,
    source: &Source,
    to: SourceLayout,
    data: &Held,
) -> Result<Weights, Why> {
    let corrupt = |what: String| Why::Corrupt(from.corrupt(what));
    let layout = match (source.layout, to) {
        (SourceLayout::Blocked(a), SourceLayout::Blocked(b)) if a == b => a,
        _ => return Err(corrupt("weights for blocked sources, with another".into())),
    };
    let (Ok(Algorithm::Winograd(outputs)), Some(transform)) =
        (e.params.algorithm.chosen(g.op), e.weights.form.transform())
    else {
        return Err(corrupt(format!(
            "weights for Winograd's algorithm, and algorithm {}",
            e.params.algorithm
        )));
    };
    winograd::check(g, outputs, layout.block_of(1)).map_err(|e| corrupt(e.to_string()))?;
    let plan = WinogradPlan::new(g, &layout, outputs, transform, source.threads).map_err(Why::Corrupt)?;
    let Some(plan) = plan else { return Err(corrupt(format!("no kernel reads {layout}"))) };
    if plan.weight_vectors() * plan.direct.block * 4 != data.len() {
        return Err(corrupt(format!("{} bytes of packed weights", data.len())));
    }
    Ok(Weights::Winograd(Box::new(WinogradWeights { data: Held::clone(data), plan })))
}

impl<const N: usize, D: Direction> sealed::Sealed for PackedConv<N, D> {}

impl<const N: usize, D: Direction> Packable for PackedConv<N, D> {
    fn saved(&self) -> Result<Saved<'_>> {
        let weights = match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => p.as_bytes(),
            Weights::Plain(t) => bytemuck::cast_slice(t.as_slice::<f32>()?),
            Weights::Direct(d) => d.data.as_bytes(),
            Weights::Winograd(w) => w.data.as_bytes(),
        };
        Ok(Saved {
            entry: Entry::Conv(Box::new(self.entry()?)),
            weights,
            bias: self.bias.as_deref(),
            plain: Box::new(|| self.unpack_weights()),
        })
    }

    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self> {
        threads::enter("PackedFile::get")?;
        PackedConv::from_entry(&from, false, Location::caller())
    }
}

impl<const N: usize> sealed::Sealed for PackedStem<N> {}

impl<const N: usize> Packable for PackedStem<N> {
    fn saved(&self) -> Result<Saved<'_>> {
        debug_assert!(self.0.is_stem());
        self.0.saved()
    }

    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self> {
        threads::enter("PackedFile::get")?;
        PackedConv::from_entry(&from, true, Location::caller()).map(PackedStem)
    }
}
