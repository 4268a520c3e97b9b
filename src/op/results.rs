//! `Results`: where a kernel writes its results.
//!
//! They are new tensors, tensors of the caller, or none, if the caller only wants descriptors.
//!
//! A kernel checks its arguments, asks for its results, and writes them. If the caller wants only descriptors, the request
//! itself ends the kernel. So the kernel's checks and its shape rule are written once.

use crate::dtype::DType;
use crate::elementwise;
use crate::error::{Call, Complaint, Error, Result, Text, fail};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::op::args::check_opaque;
use crate::op::call::Outputs;
use crate::op::schema::Schema;
use crate::scratchpad::Scratchpad;
use crate::tensor::any::{OpaqueTensor, Tensor, TensorMut};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::desc::TensorDesc;
use crate::tensor::quantization;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;

/// Why a kernel stops early.
#[derive(Debug)]
pub enum Stop {
    /// Only descriptors of the results were wanted, and they are now recorded.
    Described,
    /// The kernel does not take these operands. The op's next kernel is asked.
    Declined,
    /// An error. The caller gets it.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(e: Error) -> Stop {
        Stop::Failed(e)
    }
}

/// What a kernel returns, and what a request for a result returns.
pub type KernelResult<T = ()> = std::result::Result<T, Stop>;

/// The results of one call. A kernel makes one request for all of them.
#[derive(Debug)]
pub struct Results<'a> {
    schema: &'static Schema,
    destination: Destination<'a>,
    scratchpad: Option<&'a mut Scratchpad>,
}

#[derive(Debug)]
enum Destination<'a> {
    /// New tensors.
    New(Option<Outputs>),
    /// Tensors of the caller.
    Given(Vec<TensorMut<'a>>),
    /// No tensors: the caller wants descriptors, or the size of the scratchpad.
    Description { results: Vec<TensorDesc>, scratchpad_bytes: Option<usize> },
}

impl<'a> Results<'a> {
    pub(crate) fn new(schema: &'static Schema) -> Results<'a> {
        Results { schema, destination: Destination::New(None), scratchpad: None }
    }

    pub(crate) fn into_tensors(schema: &'static Schema, given: Vec<TensorMut<'a>>) -> Results<'a> {
        Results { schema, destination: Destination::Given(given), scratchpad: None }
    }

    pub(crate) fn description(schema: &'static Schema, with_scratchpad: bool) -> Results<'a> {
        let scratchpad_bytes = with_scratchpad.then_some(0);
        Results {
            schema,
            destination: Destination::Description { results: Vec::new(), scratchpad_bytes },
            scratchpad: None,
        }
    }

    pub(crate) fn with_scratchpad(self, scratchpad: &'a mut Scratchpad) -> Results<'a> {
        Results { scratchpad: Some(scratchpad), ..self }
    }

    /// The tensors of the caller; none if there are none.
    pub(crate) fn given(&self) -> &[TensorMut<'a>] {
        match &self.destination {
            Destination::Given(given) => given,
            _ => &[],
        }
    }

    /// The results that the kernel made.
    pub(crate) fn outputs(self) -> Outputs {
        match self.destination {
            Destination::New(Some(made)) => made,
            _ => Outputs::Many(Vec::new()),
        }
    }

    /// Checks that the padding lanes of the caller's blocked tensors are zero, if the user switched that check on.
    pub(crate) fn check_tails(&self) -> Result<()> {
        self.given().iter().try_for_each(|t| match t {
            TensorMut::Blocked(t) => t.check_tail_if_asked(),
            _ => Ok(()),
        })
    }

    /// The descriptors of the results, and the size of the scratchpad in **bytes**.
    pub(crate) fn described(self) -> (Vec<TensorDesc>, usize) {
        match self.destination {
            Destination::Description { results, scratchpad_bytes } => {
                (results, scratchpad_bytes.unwrap_or(0))
            }
            _ => (Vec::new(), 0),
        }
    }

    /// Gives the descriptor of a result before the kernel chooses an algorithm. If the caller wants only descriptors, the
    /// kernel ends here.
    ///
    /// # Errors
    /// `Stop::Described`.
    pub fn describe(&mut self, desc: &TensorDesc) -> KernelResult {
        match &mut self.destination {
            Destination::Description { results, scratchpad_bytes: None } => {
                results.push(desc.clone());
                Err(Stop::Described)
            }
            _ => Ok(()),
        }
    }

    /// As [`describe`](Self::describe), but makes the descriptor only if it is wanted.
    pub(crate) fn describe_with(&mut self, desc: impl FnOnce() -> Result<TensorDesc>) -> KernelResult {
        match &self.destination {
            Destination::Description { scratchpad_bytes: None, .. } => self.describe(&desc()?),
            _ => Ok(()),
        }
    }

    /// The scratchpad of this run, for a kernel that needs `bytes` **bytes**. A kernel asks for it before it asks for its
    /// results.
    ///
    /// # Errors
    /// `Stop::Described` if the caller wants only this size.
    pub fn scratchpad(&mut self, bytes: usize) -> KernelResult<Option<&'a mut Scratchpad>> {
        if let Destination::Description { scratchpad_bytes: Some(wanted), .. } = &mut self.destination {
            *wanted = bytes;
            return Err(Stop::Described);
        }
        Ok(self.scratchpad.take())
    }

    /// All results: new tensors of **unspecified** content, or the caller's tensors. The kernel writes every element, and
    /// every padding lane of blocked results.
    ///
    /// # Errors
    /// `OutOfMemory`; a caller's tensor that does not match its descriptor; `Stop::Described`.
    pub fn all(&mut self, descs: &[TensorDesc]) -> KernelResult<Vec<TensorMut<'_>>> {
        match &mut self.destination {
            Destination::Description { results, .. } => {
                results.extend_from_slice(descs);
                Err(Stop::Described)
            }
            Destination::New(made) => {
                let list =
                    descs.iter().map(|desc| new_result(self.schema.name, desc)).collect::<Result<_>>()?;
                match made.insert(Outputs::Many(list)) {
                    Outputs::Many(list) => Ok(list.iter_mut().map(crate::Operand::tensor_mut).collect()),
                    Outputs::One(t) => Ok(vec![crate::Operand::tensor_mut(t)]),
                }
            }
            Destination::Given(given) => {
                check_all(self.schema, given, descs, false)?;
                Ok(given.iter_mut().map(TensorMut::reborrow).collect())
            }
        }
    }

    fn one(&mut self, desc: TensorDesc, any_strides: bool) -> KernelResult<TensorMut<'_>> {
        match &mut self.destination {
            Destination::Description { results, .. } => {
                results.push(desc);
                Err(Stop::Described)
            }
            Destination::New(made) => match made.insert(Outputs::One(new_result(self.schema.name, &desc)?)) {
                Outputs::One(t) => Ok(crate::Operand::tensor_mut(t)),
                Outputs::Many(_) => unreachable!("one was just made"),
            },
            Destination::Given(given) => {
                check_all(self.schema, given, &[desc], any_strides)?;
                Ok(given[0].reborrow())
            }
        }
    }

    /// The only result, strided, with these sizes, strides in **elements** and format tag.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn strided(
        &mut self,
        dims: Dims,
        strides: Dims,
        tag: Option<crate::MemoryFormat>,
        dtype: DType,
    ) -> KernelResult<&mut StridedTensor> {
        strided(self.one(TensorDesc::of_strides(dims, strides, tag, dtype), false)?)
    }

    /// The only result, strided, with this descriptor.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub(crate) fn strided_as(&mut self, desc: TensorDesc) -> KernelResult<&mut StridedTensor> {
        strided(self.one(desc, false)?)
    }

    /// The only result, strided, in the format that the rule determines.
    ///
    /// # Errors
    /// As [`all`](Self::all), and the rule's errors.
    pub fn by_rule(
        &mut self,
        rule: FormatRule,
        operands: &[&StridedTensor],
        dims: &[usize],
        dtype: DType,
    ) -> KernelResult<&mut StridedTensor> {
        self.of_rule(rule, operands, dims, dtype, false)
    }

    /// As [`by_rule`](Self::by_rule), for a kernel that can write any strides: a caller's tensor keeps its strides.
    ///
    /// # Errors
    /// As [`by_rule`](Self::by_rule).
    pub fn in_any_strides(
        &mut self,
        rule: FormatRule,
        operands: &[&StridedTensor],
        dims: &[usize],
        dtype: DType,
    ) -> KernelResult<&mut StridedTensor> {
        // The strides of the rule do not matter for a tensor of the caller's, and computing them would cost more than a small
        // kernel. If the tensor does not match otherwise, the description below makes the error.
        if let Destination::Given(given) = &self.destination
            && let [TensorMut::Strided(t)] = given.as_slice()
            && (&*t.dims, t.dtype(), t.quantization()) == (dims, dtype, None)
        {
            let Destination::Given(given) = &mut self.destination else {
                unreachable!("it was just looked at")
            };
            check_own(self.schema.name, &mut given[0])?;
            return strided(given[0].reborrow());
        }
        self.of_rule(rule, operands, dims, dtype, true)
    }

    fn of_rule(
        &mut self,
        rule: FormatRule,
        operands: &[&StridedTensor],
        dims: &[usize],
        dtype: DType,
        any_strides: bool,
    ) -> KernelResult<&mut StridedTensor> {
        // A new tensor needs no descriptor.
        if let Destination::New(ref mut made) = self.destination {
            let t = rule.empty_result(self.schema.name, operands, dims, dtype)?;
            return match made.insert(t.into()) {
                Outputs::One(Tensor::Strided(t)) => Ok(t),
                _ => unreachable!("it was just made"),
            };
        }
        strided(self.one(rule.desc(self.schema.name, operands, dims, dtype)?, any_strides)?)
    }

    /// The only result, blocked.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn blocked(
        &mut self,
        dims: &[usize],
        layout: &Layout,
        dtype: DType,
    ) -> KernelResult<&mut BlockedTensor> {
        // A new tensor needs no descriptor.
        if let Destination::New(ref mut made) = self.destination {
            let t = BlockedTensor::for_result(self.schema.name, dims, layout, dtype)?;
            return match made.insert(t.into()) {
                Outputs::One(Tensor::Blocked(t)) => Ok(t),
                _ => unreachable!("it was just made"),
            };
        }
        let (dims, _) = crate::tensor::blocked::checked(self.schema.name, dims, layout, dtype)?;
        match self.one(TensorDesc::of_layout(dims, layout, dtype), false)? {
            TensorMut::Blocked(t) => Ok(t),
            _ => unreachable!("a result of a layout is blocked"),
        }
    }

    /// The only result, for another crate's backend. `write` gets the caller's tensor if there is one, and returns the result
    /// otherwise.
    ///
    /// # Errors
    /// The errors of `write`; a caller's tensor of another key, dtype or shape; `Stop::Described`.
    pub fn opaque(
        &mut self,
        desc: TensorDesc,
        write: impl FnOnce(Option<&mut std::sync::Arc<dyn OpaqueTensor>>) -> Result<Option<Tensor>>,
    ) -> KernelResult {
        match &mut self.destination {
            Destination::Description { results, .. } => {
                results.push(desc);
                return Err(Stop::Described);
            }
            Destination::New(made) => *made = write(None)?.map(Outputs::One),
            Destination::Given(given) => {
                check_all(self.schema, given, &[desc], false)?;
                if let TensorMut::Opaque(to) = &mut given[0] {
                    write(Some(to))?;
                }
            }
        }
        Ok(())
    }

    /// As [`views`](Self::views), for one result.
    ///
    /// # Errors
    /// As [`views`](Self::views).
    pub fn view(&mut self, view: impl Into<Tensor>) -> KernelResult {
        match &mut self.destination {
            Destination::New(made) => {
                *made = Some(Outputs::One(view.into()));
                Ok(())
            }
            _ => self.views(vec![view.into()]),
        }
    }

    /// Results that share an operand's storage: views, and operands that are returned unchanged. If the caller passed
    /// tensors, they receive copies.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn views(&mut self, mut views: Vec<Tensor>) -> KernelResult {
        let descs = || views.iter().map(|t| TensorDesc::of(crate::Operand::tensor_ref(t)));
        match &mut self.destination {
            Destination::Description { results, .. } => {
                results.extend(descs());
                return Err(Stop::Described);
            }
            Destination::New(made) if views.len() == 1 => *made = views.pop().map(Outputs::One),
            Destination::New(made) => *made = Some(Outputs::Many(views)),
            Destination::Given(given) => {
                check_all(self.schema, given, &descs().collect::<Vec<_>>(), true)?;
                for (view, to) in views.iter().zip(given) {
                    copy(self.schema.name, view, to)?;
                }
            }
        }
        Ok(())
    }
}

fn strided(t: TensorMut<'_>) -> KernelResult<&mut StridedTensor> {
    match t {
        TensorMut::Strided(t) => Ok(t),
        _ => unreachable!("a result of strides is strided"),
    }
}

/// A new tensor of unspecified content.
pub(crate) fn new_result(op: &'static str, desc: &TensorDesc) -> Result<Tensor> {
    match (desc.layout(), desc.strides()) {
        (Some(layout), _) => {
            let mut made = BlockedTensor::for_result(op, desc.dims(), layout, desc.dtype())?;
            made.quantization = desc.shared();
            Ok(Tensor::Blocked(made))
        }
        (None, Some(strides)) => {
            let (dims, strides) = (Dims::from_slice(desc.dims()), Dims::from_slice(strides));
            let made = StridedTensor::for_result(op, dims, strides, desc.dtype())?;
            let (format_tag, quantization) = (desc.format_tag(), desc.shared());
            Ok(Tensor::Strided(StridedTensor { format_tag, quantization, ..made }))
        }
        (None, None) => fail!(
            InvalidArgument,
            op,
            "result",
            desc.to_string(),
            "only its backend can make it",
            "request it with `Results::opaque`"
        ),
    }
}

/// Checks a caller's tensors: one for each result, as it is described.
fn check_all(
    schema: &Schema,
    given: &mut [TensorMut<'_>],
    descs: &[TensorDesc],
    any_strides: bool,
) -> Result<()> {
    check_count(schema.name, given.len(), descs.len())?;
    for (i, (desc, to)) in descs.iter().zip(given).enumerate() {
        check_given(schema.name, &schema.output_name(i, descs.len()), desc, to, any_strides)?;
    }
    Ok(())
}

/// Checks the number of a caller's tensors.
pub(crate) fn check_count(op: &'static str, given: usize, wanted: usize) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    let rule = format!("the op has {wanted} results");
    fail!(InvalidArgument, op, "dst", format!("{given} tensors"), rule, "pass one for each result")
}

/// Checks a caller's tensor: it matches the descriptor, and no other tensor shares its storage.
pub(crate) fn check_given(
    op: &'static str,
    name: &str,
    desc: &TensorDesc,
    given: &mut TensorMut<'_>,
    any_strides: bool,
) -> Result<()> {
    check_opaque(op, "dst", given.as_ref())?;
    let got = TensorDesc::of(given.as_ref());
    let complaint = |remedy: Text| {
        let rule = format!("the result is {desc}");
        Complaint::new(op, name.to_string(), given.as_ref().describe(), rule, remedy)
    };
    if got.key() != desc.key() {
        return Err(Error::KeyMismatch(complaint("pass a tensor of the operands' key".into())));
    }
    if got.dims() != desc.dims() {
        return Err(Error::ShapeMismatch(complaint("pass a tensor of that shape".into())));
    }
    if got.dtype() != desc.dtype() {
        return Err(Error::DTypeMismatch(complaint("pass a tensor of that dtype".into())));
    }
    if got.quantization() != desc.quantization() {
        return Err(quantization::different(op, name, given.as_ref(), desc.quantization()));
    }
    let same_layout = match (got.strides(), desc.strides()) {
        (Some(given), Some(wanted)) => any_strides || same_strides(desc.dims(), given, wanted),
        _ => match (got.layout(), desc.layout()) {
            (Some(given), Some(wanted)) => given == wanted,
            _ => got.layout_name() == desc.layout_name(),
        },
    };
    if !same_layout {
        return Err(Error::LayoutMismatch(complaint(
            Text::from("make one with ") + Call::EmptyLike + " of a result, or let the call make it",
        )));
    }
    check_own(op, given)
}

/// Checks that elements of the caller's tensor share no memory, with each other or with another tensor.
fn check_own(op: &'static str, given: &mut TensorMut<'_>) -> Result<()> {
    let is_own = match given {
        TensorMut::Strided(t) => {
            crate::layout::overlap::check_own_memory(op, &t.dims, &t.strides)?;
            crate::buffer::Buffer::exclusive(&mut t.storage).is_some()
        }
        TensorMut::Blocked(t) => crate::buffer::Buffer::exclusive(&mut t.storage).is_some(),
        TensorMut::Opaque(_) => true,
    };
    if is_own { Ok(()) } else { Err(crate::buffer::Buffer::not_for_writing(op)) }
}

/// Whether the strides agree, ignoring the strides of sizes 0 and 1.
fn same_strides(dims: &[usize], a: &[usize], b: &[usize]) -> bool {
    dims.contains(&0) || dims.iter().zip(a.iter().zip(b)).all(|(&d, (a, b))| d == 1 || a == b)
}

fn copy(op: &'static str, view: &Tensor, to: &mut TensorMut<'_>) -> Result<()> {
    match (view, to) {
        (Tensor::Strided(from), TensorMut::Strided(to)) => elementwise::copy_into(op, to, from),
        (Tensor::Blocked(from), TensorMut::Blocked(to)) => {
            let bytes = to.storage_bytes_mut();
            bytes.copy_from_slice(from.storage_bytes());
            Ok(())
        }
        _ => fail!(
            KeyMismatch,
            op,
            "dst",
            "a tensor of another crate's backend",
            "only its backend can copy views of it",
            "call the op without a destination"
        ),
    }
}
