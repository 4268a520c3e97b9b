//! DLPack: import and export without a copy; the deleter is called exactly once, also for a refused tensor.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blocktensor::dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, OtherTypes,
    READ_ONLY, Unaligned, VERSION,
};
use blocktensor::ledger::{self, Cause, Ledger};
use blocktensor::{
    BlockedTensor, DType, Error, Foreign, ForeignInput, Layout, MemoryFormat, StridedTensor, ops,
};

use crate::support::Rng;

const F32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };
const CPU: DLDevice = DLDevice { device_type: 1, device_id: 0 };

/// Stands for another library: it owns the elements, and counts the calls of the deleter.
struct Other {
    data: Vec<f32>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    given_back: Arc<AtomicUsize>,
}

unsafe extern "C" fn delete(this: *mut DLManagedTensorVersioned) {
    // SAFETY: both boxes were made in `managed`, and a receiver calls this once.
    unsafe {
        let managed = Box::from_raw(this);
        Box::from_raw(managed.manager_ctx.cast::<Other>()).given_back.fetch_add(1, SeqCst);
    }
}

unsafe extern "C" fn delete_old(this: *mut DLManagedTensor) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(this);
        Box::from_raw(managed.manager_ctx.cast::<Other>()).given_back.fetch_add(1, SeqCst);
    }
}

fn tensor(other: &mut Other, strided: bool) -> DLTensor {
    DLTensor {
        data: other.data.as_mut_ptr().cast(),
        device: CPU,
        ndim: other.shape.len() as i32,
        dtype: F32,
        shape: other.shape.as_mut_ptr(),
        strides: if strided { other.strides.as_mut_ptr() } else { std::ptr::null_mut() },
        byte_offset: 0,
    }
}

fn other(shape: &[i64], strides: &[i64], elements: usize) -> (Box<Other>, Arc<AtomicUsize>) {
    let given_back = Arc::new(AtomicUsize::new(0));
    let data = (0..elements).map(|i| i as f32).collect();
    let other =
        Other { data, shape: shape.to_vec(), strides: strides.to_vec(), given_back: Arc::clone(&given_back) };
    (Box::new(other), given_back)
}

/// A versioned tensor of another library, changed before it is handed over.
fn received(
    shape: &[i64],
    strides: &[i64],
    elements: usize,
    change: impl FnOnce(&mut DLManagedTensorVersioned),
) -> (Result<StridedTensor, Error>, Arc<AtomicUsize>) {
    let (mut other, given_back) = other(shape, strides, elements);
    let dl_tensor = tensor(&mut other, !strides.is_empty());
    let manager_ctx = Box::into_raw(other).cast();
    let mut managed = DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx,
        deleter: Some(delete),
        flags: 0,
        dl_tensor,
    };
    change(&mut managed);
    // SAFETY: a live tensor that nobody else consumes.
    let result = unsafe { StridedTensor::from_dlpack(NonNull::from(Box::leak(Box::new(managed)))) };
    (result, given_back)
}

#[test]
fn dlpack_import_copies_nothing_and_calls_the_deleter_once() {
    let (t, back) = received(&[2, 3], &[], 6, |_| {});
    let t = t.unwrap();
    assert_eq!((t.dims(), t.strides(), t.dtype()), (&[2, 3][..], &[3, 1][..], DType::F32));
    assert_eq!(t.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let view = t.transpose(0, 1).unwrap();
    drop(t);
    assert_eq!(back.load(SeqCst), 0, "a view still uses it");
    assert_eq!(ops::relu(&view).unwrap().to_vec::<f32>().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    std::thread::spawn(move || drop(view)).join().unwrap();
    assert_eq!(back.load(SeqCst), 1);
}

#[test]
fn dlpack_import_reads_strides_offsets_and_flags() {
    // Channels-last, with a byte offset.
    let (t, back) = received(&[1, 2, 2, 2], &[8, 1, 4, 2], 9, |m| m.dl_tensor.byte_offset = 4);
    let t = t.unwrap();
    assert!(t.is_contiguous(MemoryFormat::ChannelsLast));
    assert_eq!(t.to_vec::<f32>().unwrap(), [1.0, 3.0, 5.0, 7.0, 2.0, 4.0, 6.0, 8.0]);
    drop(t);
    assert_eq!(back.load(SeqCst), 1);
    // Writable, and read-only.
    let one = StridedTensor::full(&[4], -1f32, MemoryFormat::Contiguous).unwrap();
    let (t, _) = received(&[4], &[1], 4, |_| {});
    let mut t = t.unwrap();
    ops::relu_into(&one, &mut t).unwrap();
    assert_eq!(t.to_vec::<f32>().unwrap(), [0.0; 4]);
    let (t, _) = received(&[4], &[1], 4, |m| m.flags = READ_ONLY);
    let mut t = t.unwrap();
    let e = ops::relu_into(&one, &mut t).unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)), "{e}");
    assert_eq!(t.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0]);
    // A later minor version, a null deleter, no elements with null data, a scalar, odd strides on axes of one.
    let (t, _) = received(&[1], &[], 1, |m| m.version.minor = 99);
    t.unwrap();
    let (t, _) = received(&[], &[], 1, |_| {});
    assert_eq!(t.unwrap().to_vec::<f32>().unwrap(), [0.0]);
    let (t, _) = received(&[0, 3], &[], 0, |m| m.dl_tensor.data = std::ptr::null_mut());
    assert_eq!(t.unwrap().numel(), 0);
    // Without elements the address and the strides are not used.
    let (t, _) = received(&[0, 3], &[i64::MAX, -4], 0, |m| m.dl_tensor.byte_offset = 1);
    let t = t.unwrap();
    assert_eq!((t.as_slice::<f32>().unwrap().len(), t.strides()), (0, &[3, 1][..]));
    assert_eq!(ops::softmax(&t, 1).unwrap().numel(), 0);
    // But strides are kept, as PyTorch keeps them.
    let (t, _) = received(&[4, 0, 3], &[0, 7, 2], 0, |_| {});
    assert_eq!(t.unwrap().strides(), [0, 7, 2]);
    let (t, _) = received(&[1, 3], &[-77, 1], 3, |_| {});
    assert_eq!(t.unwrap().to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0]);
    let (t, _) = received(&[2, 3], &[0, 1], 3, |_| {});
    assert_eq!(t.unwrap().to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    static mut STATIC: [f32; 2] = [5.0, 6.0];
    let mut shape = [2i64];
    let managed = DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: std::ptr::null_mut(),
        deleter: None,
        flags: READ_ONLY,
        dl_tensor: DLTensor {
            data: (&raw mut STATIC).cast(),
            device: CPU,
            ndim: 1,
            dtype: F32,
            shape: shape.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        },
    };
    // SAFETY: a static array, read only.
    let t = unsafe { StridedTensor::from_dlpack(NonNull::from(&managed)) }.unwrap();
    assert_eq!(t.to_vec::<f32>().unwrap(), [5.0, 6.0]);
}

#[test]
fn dlpack_import_calls_the_deleter_of_a_refused_tensor_once() {
    type Change = fn(&mut DLManagedTensorVersioned);
    let cases: [(&str, Change); 15] = [
        ("DlpackVersion", |m| {
            m.version = DLPackVersion { major: 2, minor: 0 };
            // With another major version no other field may be read.
            m.dl_tensor.shape = NonNull::<i64>::dangling().as_ptr();
            m.dl_tensor.ndim = i32::MAX;
        }),
        ("DlpackVersion", |m| m.version = DLPackVersion { major: 0, minor: 8 }),
        ("DlpackUnsupported", |m| m.dl_tensor.device.device_type = 2),
        ("DlpackUnsupported", |m| m.dl_tensor.dtype.lanes = 4),
        ("DlpackUnsupported", |m| m.dl_tensor.dtype.bits = 64),
        ("DlpackUnsupported", |m| m.dl_tensor.dtype.code = 5),
        ("DlpackUnsupported", |m| m.dl_tensor.ndim = -1),
        ("DlpackUnsupported", |m| m.dl_tensor.shape = std::ptr::null_mut()),
        ("InvalidArgument", |m| m.dl_tensor.data = std::ptr::null_mut()),
        ("Misaligned", |m| m.dl_tensor.byte_offset = 2),
        ("DlpackUnsupported", |m| m.dl_tensor.byte_offset = u64::MAX - 3),
        ("DlpackUnsupported", |m| m.dl_tensor.byte_offset = 1 << 63),
        // The offset fits, but offset plus elements end past `isize::MAX`.
        ("Overflow", |m| m.dl_tensor.byte_offset = (1 << 63) - 4),
        ("UnsupportedStride", |m| {
            // SAFETY: two strides, of a live tensor.
            unsafe { *m.dl_tensor.strides = -3 }
        }),
        ("InvalidArgument", |m| {
            // SAFETY: two sizes, of a live tensor.
            unsafe { *m.dl_tensor.shape = -2 }
        }),
    ];
    let names: [(&str, Change); 4] = [
        ("got f64,", |m| m.dl_tensor.dtype.bits = 64),
        ("got s64,", |m| m.dl_tensor.dtype = DLDataType { code: 0, bits: 64, lanes: 1 }),
        ("got bool,", |m| m.dl_tensor.dtype = DLDataType { code: 6, bits: 8, lanes: 1 }),
        ("got complex numbers of 128 bits,", |m| {
            m.dl_tensor.dtype = DLDataType { code: 5, bits: 128, lanes: 1 }
        }),
    ];
    for (name, change) in names {
        let e = received(&[2, 3], &[3, 1], 6, change).0.map(|_| ()).unwrap_err();
        assert!(e.to_string().contains(name), "{e}");
    }
    for (i, (want, change)) in cases.into_iter().enumerate() {
        let (result, back) = received(&[2, 3], &[3, 1], 6, change);
        let e = result.map(|_| ()).unwrap_err();
        assert!(format!("{e:?}").starts_with(want), "case {i}: {e:?}");
        assert_eq!(back.load(SeqCst), 1, "case {i}");
    }
    for (shape, strides) in [
        (&[i64::MAX, 4][..], &[1, 1][..]),
        (&[i64::MAX, i64::MAX, 0], &[1, 1, 1]),
        (&[2, 2], &[i64::MAX, i64::MAX]),
        (&[1; 65], &[1; 65]),
    ] {
        let (result, back) = received(shape, strides, 4, |_| {});
        let e = result.map(|_| ()).unwrap_err();
        assert!(matches!(e, Error::Overflow(_) | Error::RankMismatch(_)), "{e}");
        assert_eq!(back.load(SeqCst), 1);
    }
}

#[test]
fn dlpack_imports_and_exports_unversioned_tensors() {
    let (mut o, back) = other(&[3], &[1], 3);
    let dl_tensor = tensor(&mut o, true);
    let managed =
        DLManagedTensor { dl_tensor, manager_ctx: Box::into_raw(o).cast(), deleter: Some(delete_old) };
    // SAFETY: a live tensor that nobody else consumes.
    let t = unsafe { StridedTensor::from_dlpack_unversioned(NonNull::from(Box::leak(Box::new(managed)))) };
    let t = t.unwrap();
    // Exported and imported again without a copy: the first owner's deleter runs when the last tensor is dropped.
    let out = t.into_dlpack_unversioned().unwrap();
    // SAFETY: as above.
    let again = unsafe { StridedTensor::from_dlpack_unversioned(out) }.unwrap();
    assert_eq!(again.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0]);
    assert_eq!(back.load(SeqCst), 0);
    drop(again);
    assert_eq!(back.load(SeqCst), 1);
}

#[test]
fn dlpack_export_copies_nothing() {
    let t = StridedTensor::from_slice(&Rng(1).reals(24), &[2, 3, 4]).unwrap().transpose(0, 2).unwrap();
    let want = t.to_vec::<f32>().unwrap();
    let out = t.to_dlpack().unwrap();
    // SAFETY: live until it is consumed.
    let seen = unsafe { out.as_ref() };
    assert_eq!((seen.version, seen.flags, seen.dl_tensor.dtype), (VERSION, READ_ONLY, F32));
    assert_eq!(
        seen.dl_tensor.data,
        t.as_strided(&[24], &[1], 0).unwrap().as_slice::<f32>().unwrap().as_ptr() as *mut c_void
    );
    // SAFETY: consumed once.
    let again = unsafe { StridedTensor::from_dlpack(out) }.unwrap();
    assert_eq!((again.strides(), again.to_vec::<f32>().unwrap()), (t.strides(), want));
    // Export for writing needs a tensor whose storage nobody shares.
    let e = t.into_dlpack().unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)) && e.to_string().contains("to_dlpack"), "{e}");
    drop(again);
    let own = StridedTensor::full(&[5], 2f32, MemoryFormat::Contiguous).unwrap();
    let out = own.into_dlpack().unwrap();
    // SAFETY: live; consumed below by its own deleter.
    unsafe {
        assert_eq!(out.as_ref().flags, 0);
        (out.as_ref().deleter.unwrap())(out.as_ptr());
    }
    for dtype in DType::ALL {
        let t = StridedTensor::zeros(&[2, 2], dtype, MemoryFormat::Contiguous).unwrap();
        // SAFETY: consumed once.
        let again = unsafe { StridedTensor::from_dlpack(t.to_dlpack().unwrap()) }.unwrap();
        assert_eq!((again.dtype(), again.dims()), (dtype, t.dims()));
    }
}

#[test]
fn dlpack_export_of_a_blocked_tensor_shows_its_blocks() {
    for (dims, block) in
        [(&[2, 17, 3, 2][..], 16), (&[1, 8, 5][..], 8), (&[1, 3, 2, 2, 2][..], 16), (&[0, 5, 2, 2][..], 8)]
    {
        let t = StridedTensor::from_slice(&Rng(2).reals(dims.iter().product()), dims).unwrap();
        let layout = Layout::blocked_activation(dims.len(), block).unwrap();
        let b: BlockedTensor = t.to_blocked(&layout).unwrap();
        let e = b.to_dlpack().unwrap_err();
        assert!(matches!(e, Error::OpaqueLayout(_)) && e.to_string().contains("to_strided"), "{e}");
        // SAFETY: consumed once.
        let seen = unsafe { StridedTensor::from_dlpack(b.as_blocked_dlpack().unwrap()) }.unwrap();
        let blocks = dims[1].div_ceil(block);
        let want: Vec<usize> =
            [dims[0], blocks].into_iter().chain(dims[2..].iter().copied()).chain([block]).collect();
        assert_eq!(seen.dims(), want);
        // [N, C/b, spatial, b] back to [N, C, spatial]: the numbers, and zeros past the last channel.
        let pixels: usize = dims[2..].iter().product();
        let (got, plain) = (seen.to_vec::<f32>().unwrap(), t.to_vec::<f32>().unwrap());
        for n in 0..dims[0] {
            for c in 0..blocks * block {
                for p in 0..pixels {
                    let value = got[((n * blocks + c / block) * pixels + p) * block + c % block];
                    let want = if c < dims[1] { plain[(n * dims[1] + c) * pixels + p] } else { 0.0 };
                    assert_eq!(value, want);
                }
            }
        }
        // It is read-only.
        let mut seen = seen;
        drop(b);
        let zero = StridedTensor::zeros(&want, DType::F32, MemoryFormat::Contiguous).unwrap();
        if seen.numel() > 0 {
            assert!(matches!(ops::relu_into(&zero, &mut seen), Err(Error::Aliasing(_))));
        }
    }
    let w = StridedTensor::from_slice(&Rng(3).reals(64), &[8, 8, 1, 1]).unwrap();
    let w = w.to_blocked(&Layout::OIHW8I8O).unwrap();
    assert!(matches!(w.as_blocked_dlpack(), Err(Error::OpaqueLayout(_))));
}

#[test]
fn from_foreign_wraps_host_memory_without_a_copy() {
    let host: Arc<Vec<f32>> = Arc::new((0..12).map(|i| i as f32).collect());
    let weak = Arc::downgrade(&host);
    let memory = Foreign {
        data: host.as_ptr().cast_mut().cast(),
        dtype: DType::F32,
        dims: &[3, 4],
        strides: None,
        writable: false,
    };
    // SAFETY: the vector lives as long as the owner, and is not written to.
    let mut t = unsafe { StridedTensor::from_foreign(memory, host) }.unwrap();
    let e = blocktensor::ops::relu_into(&t.copy(MemoryFormat::Contiguous).unwrap(), &mut t).unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)) && e.to_string().contains("read-only"), "{e}");
    assert_eq!(t.as_slice::<f32>().unwrap()[11], 11.0);
    assert!(weak.upgrade().is_some());
    drop(t);
    assert!(weak.upgrade().is_none(), "let go with the last tensor");
}

/// The receiver of a writable tensor writes through its pointer. Miri checks that the pointer allows it.
#[test]
fn dlpack_export_shows_what_the_receiver_writes() {
    let own =
        || StridedTensor::full(&[2, 3], 2f32, MemoryFormat::Contiguous).unwrap().narrow(0, 1, 1).unwrap();
    let (out, old) = (own().into_dlpack().unwrap(), own().into_dlpack_unversioned().unwrap());
    // SAFETY: live, and of nobody else; each is consumed once.
    let again = unsafe {
        for tensor in [&out.as_ref().dl_tensor, &old.as_ref().dl_tensor] {
            assert_eq!(tensor.byte_offset, 12);
            tensor.data.cast::<f32>().add(3 + 1).write(7.0);
        }
        [StridedTensor::from_dlpack(out), StridedTensor::from_dlpack_unversioned(old)]
    };
    for t in again {
        assert_eq!(t.unwrap().to_vec::<f32>().unwrap(), [2.0, 7.0, 2.0]);
    }
}

/// Elements that begin at an odd address.
struct Odd(Vec<u8>);

impl Odd {
    fn of(elements: &[u8]) -> Odd {
        let mut bytes = vec![0; elements.len() + 2];
        let start = Odd::start(&bytes);
        bytes[start..start + elements.len()].copy_from_slice(elements);
        Odd(bytes)
    }

    fn start(bytes: &[u8]) -> usize {
        1 - bytes.as_ptr().addr() % 2
    }

    fn data(&self) -> *mut u8 {
        self.0[Odd::start(&self.0)..].as_ptr().cast_mut()
    }

    fn memory<'a>(&self, dtype: DType, dims: &'a [i64], strides: Option<&'a [i64]>) -> Foreign<'a> {
        Foreign { data: self.data(), dtype, dims, strides, writable: false }
    }

    /// The tensor of a run `run_of_a_test`, and what the ledger has of it.
    fn input(
        &self,
        dtype: DType,
        dims: &[i64],
        strides: Option<&[i64]>,
    ) -> (Result<StridedTensor, Error>, Ledger) {
        // SAFETY: the bytes outlive the tensors of the tests, and nobody writes to them.
        let input = unsafe { ForeignInput::new(self.memory(dtype, dims, strides), Arc::new(())) };
        ledger::record(|| input?.tensor("run_of_a_test"))
    }
}

#[test]
fn an_unaligned_input_is_copied_and_recorded() {
    let numbers = [1.5f32, f32::from_bits(0x7fc1_2345), -0.0, 7.0, 8.0, 9.0];
    let odd = Odd::of(&numbers.map(f32::to_le_bytes).concat());
    // Strides of axes of size 1 do not matter.
    for (dims, strides) in [(&[2, 3][..], None), (&[2, 3], Some(&[3, 1][..])), (&[1, 6], Some(&[99, 1]))] {
        let (x, book) = odd.input(DType::F32, dims, strides);
        let x = x.unwrap();
        let got: Vec<u32> = x.as_slice::<f32>().unwrap().iter().map(|v| v.to_bits()).collect();
        assert_eq!((x.dims().len(), got), (2, numbers.map(f32::to_bits).to_vec()));
        let [copy] = &book.reorders[..] else { panic!("{book}") };
        assert_eq!((&*copy.op, copy.cause, copy.bytes), ("run_of_a_test", Cause::Unaligned, 24));
        assert_eq!((&*copy.from, &*copy.to, &*copy.dims), ("unaligned", "contiguous", x.dims()));
        assert!(book.to_string().contains("unaligned input"), "{book}");
    }
    // What a copy of the bytes does not make right, and what needs none.
    for strides in [[1, 2], [4, 1], [0, 1], [-3, 1]] {
        let (x, book) = odd.input(DType::F32, &[2, 3], Some(&strides));
        let e = x.unwrap_err();
        assert!(matches!(e, Error::Misaligned(_) | Error::UnsupportedStride(_)), "{strides:?}: {e}");
        assert!(book.reorders.is_empty());
    }
    for (dtype, dims, at) in [(DType::U8, &[24][..], odd.data()), (DType::F32, &[0, 3], std::ptr::null_mut())]
    {
        let (x, book) = odd.input(dtype, dims, None);
        assert_eq!((x.unwrap().numel(), book.reorders.len()), (dims.iter().product::<i64>() as usize, 0));
        assert!(at.is_null() || at == odd.data());
    }
    let (x, _) = odd.input(DType::F32, &[i64::MAX / 2, 2], None);
    assert!(matches!(x, Err(Error::Overflow(_))));
    let e = ledger::deny_reorders(|| odd.input(DType::F32, &[6], None).0).unwrap_err();
    let parts = ["op `run_of_a_test`", "copy the input to aligned memory"];
    assert!(matches!(e, Error::ReorderDenied(_)) && parts.iter().all(|p| e.to_string().contains(p)), "{e}");
    // A tensor of it is an error, as before.
    // SAFETY: it is refused.
    let refused = unsafe { StridedTensor::from_foreign(odd.memory(DType::F32, &[6], None), Arc::new(())) };
    assert!(matches!(refused, Err(Error::Misaligned(_))));
}

/// Each run reads the memory as it is then, and the owner is dropped with the input.
#[test]
fn an_unaligned_input_is_copied_by_each_run() {
    let (odd, owner) = (Odd::of(&[0; 4]), Arc::new(()));
    let weak = Arc::downgrade(&owner);
    // SAFETY: the bytes outlive the input; they change between two runs.
    let input = unsafe { ForeignInput::new(odd.memory(DType::S32, &[1], None), owner) }.unwrap();
    for number in [3i32, -4] {
        // SAFETY: the bytes of one number, which no tensor uses now.
        unsafe { odd.data().copy_from(number.to_ne_bytes().as_ptr(), 4) };
        assert_eq!(input.tensor("run").unwrap().to_vec::<i32>().unwrap(), [number]);
    }
    let kept = input.tensor("run").unwrap();
    drop(input);
    assert!(weak.upgrade().is_none(), "a copy does not need the memory");
    assert_eq!(kept.to_vec::<i32>().unwrap(), [-4]);
}

#[test]
fn an_unaligned_input_of_dlpack_is_copied() {
    let take = |odd: &Odd, (code, bits): (u8, u8), offset: bool, unaligned: Unaligned| {
        let (mut other, back) = other(&[2], &[], 0);
        let mut dl_tensor = tensor(&mut other, false);
        dl_tensor.data = odd.data().wrapping_sub(usize::from(offset)).cast();
        dl_tensor.byte_offset = u64::from(offset);
        dl_tensor.dtype = DLDataType { code, bits, lanes: 1 };
        let manager_ctx = Box::into_raw(other).cast();
        let managed = DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete_old) };
        let managed = NonNull::from(Box::leak(Box::new(managed)));
        // SAFETY: a live tensor that nobody else consumes.
        let made = ledger::record(|| unsafe {
            StridedTensor::from_dlpack_unversioned_with(managed, OtherTypes::IntegersAsS32, unaligned)
        });
        assert_eq!(back.load(SeqCst), 1, "a copy or an error gives it back at once");
        made
    };
    let (floats, longs) =
        (Odd::of(&[2f32, 3.0].map(f32::to_le_bytes).concat()), Odd::of(&bytes_of(&[-5, 6], 64)));
    for offset in [false, true] {
        let (x, book) = take(&floats, (2, 32), offset, Unaligned::CopiedFor("run"));
        assert_eq!((x.unwrap().to_vec::<f32>().unwrap(), book.reorders.len()), (vec![2.0, 3.0], 1));
        let (x, book) = take(&longs, (0, 64), offset, Unaligned::CopiedFor("run"));
        assert_eq!((x.unwrap().to_vec::<i32>().unwrap(), book.reorders.len()), (vec![-5, 6], 1));
        for (odd, of) in [(&floats, (2, 32)), (&longs, (0, 64))] {
            assert!(matches!(take(odd, of, offset, Unaligned::Refused).0, Err(Error::Misaligned(_))));
        }
    }
}

/// A tensor of elements of this type in these bytes, as a run takes it.
fn taken(
    bytes: &[u8],
    (code, bits): (u8, u8),
    shape: &[i64],
    strides: &[i64],
    others: OtherTypes,
) -> Result<StridedTensor, Error> {
    let (mut other, back) = other(shape, strides, bytes.len().div_ceil(4));
    // SAFETY: the list has at least this many bytes.
    unsafe { other.data.as_mut_ptr().cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
    let mut dl_tensor = tensor(&mut other, !strides.is_empty());
    dl_tensor.dtype = DLDataType { code, bits, lanes: 1 };
    let manager_ctx = Box::into_raw(other).cast();
    let deleter = Some(delete as unsafe extern "C" fn(*mut DLManagedTensorVersioned));
    let managed = DLManagedTensorVersioned { version: VERSION, manager_ctx, deleter, flags: 0, dl_tensor };
    let managed = NonNull::from(Box::leak(Box::new(managed)));
    // SAFETY: a live tensor that nobody else consumes.
    let made = unsafe { StridedTensor::from_dlpack_with(managed, others, Unaligned::Refused) };
    if made.as_ref().map_or(true, |t| t.dtype() == DType::S32 && (code, bits) != (0, 32)) {
        assert_eq!(back.load(SeqCst), 1, "a copy or an error gives it back at once");
    }
    made
}

/// Numbers as elements of so many bits.
fn bytes_of(numbers: &[i128], bits: u8) -> Vec<u8> {
    let of = |v: &i128| {
        let (all, width) = (v.to_le_bytes(), usize::from(bits / 8));
        let mut bytes = all[..width].to_vec();
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
        bytes
    };
    numbers.iter().flat_map(of).collect()
}

#[test]
fn integers_of_any_width_become_s32_if_they_fit() {
    const INTEGERS: OtherTypes = OtherTypes::IntegersAsS32;
    for (code, bits) in [(0, 8), (1, 8), (0, 16), (1, 16), (0, 32), (1, 32), (0, 64), (1, 64)] {
        let (low, high) = match code {
            0 => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            _ => (0, (1i128 << bits) - 1),
        };
        let (fits_low, fits_high) = (low.max(i32::MIN.into()), high.min(i32::MAX.into()));
        let numbers = [fits_low, fits_high, 0, 1, 2, low.max(-1)];
        let bytes = bytes_of(&numbers, bits);
        let wanted = |order: [usize; 6]| order.map(|i| numbers[i] as i32);
        let t = taken(&bytes, (code, bits), &[2, 3], &[], INTEGERS).unwrap();
        assert_eq!((t.dims(), t.dtype()), (&[2, 3][..], DType::S32), "{code} {bits}");
        assert_eq!(t.to_vec::<i32>().unwrap(), wanted([0, 1, 2, 3, 4, 5]), "{code} {bits}");
        // Columns, and an element that is repeated.
        let t = taken(&bytes, (code, bits), &[3, 2], &[1, 3], INTEGERS).unwrap();
        assert_eq!(t.to_vec::<i32>().unwrap(), wanted([0, 3, 1, 4, 2, 5]), "{code} {bits}");
        let t = taken(&bytes, (code, bits), &[4], &[0], INTEGERS).unwrap();
        assert_eq!(t.to_vec::<i32>().unwrap(), [numbers[0] as i32; 4]);
        assert_eq!(taken(&bytes, (code, bits), &[0, 3], &[], INTEGERS).unwrap().dims(), [0, 3]);
        assert_eq!(taken(&bytes, (code, bits), &[], &[], INTEGERS).unwrap().dims(), [0; 0]);
        for outside in [fits_low - 1, fits_high + 1].into_iter().filter(|v| (low..=high).contains(v)) {
            let bytes = bytes_of(&[0, 1, 2, 3, outside, outside], bits);
            let e = taken(&bytes, (code, bits), &[2, 3], &[], INTEGERS).unwrap_err();
            assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
            let text =
                format!("got {outside} at index [1, 1], but integers have 32 bits here, from -2147483648");
            assert!(e.to_string().contains(&text), "{e}");
        }
        if bits > 8 && (code, bits) != (0, 32) {
            for others in [OtherTypes::Refused, OtherTypes::BooleansAsU8] {
                let e = taken(&bytes, (code, bits), &[6], &[], others).unwrap_err();
                assert!(matches!(e, Error::DlpackUnsupported(_)), "{e}");
            }
        }
    }
    // The parts of an integer are one axis more than its tensor has.
    let e = taken(&bytes_of(&[1], 64), (0, 64), &[1; 12], &[], INTEGERS).unwrap_err();
    assert!(matches!(e, Error::DlpackUnsupported(_)), "{e}");
    assert_eq!(taken(&bytes_of(&[1], 64), (0, 64), &[1; 11], &[], INTEGERS).unwrap().rank(), 11);
    // Other numbers are what they are, or refused.
    assert_eq!(taken(&[0; 8], (2, 32), &[2], &[], INTEGERS).unwrap().dtype(), DType::F32);
    for of in [(2, 64), (6, 8), (5, 64), (0, 128)] {
        assert!(matches!(taken(&[0; 16], of, &[1], &[], INTEGERS), Err(Error::DlpackUnsupported(_))));
    }
    let e = taken(&[0; 64], (0, 64), &[2, 2], &[-2, 1], INTEGERS).unwrap_err();
    assert!(matches!(e, Error::UnsupportedStride(_)), "{e}");
    let e = taken(&[0; 64], (0, 64), &[2, 2], &[i64::MAX, 1], INTEGERS).unwrap_err();
    assert!(matches!(e, Error::Overflow(_)), "{e}");
}

#[test]
fn booleans_become_u8_without_a_copy() {
    let t = taken(&[1, 0, 1, 1], (6, 8), &[4], &[], OtherTypes::BooleansAsU8).unwrap();
    assert_eq!((t.dtype(), t.to_vec::<u8>().unwrap()), (DType::U8, vec![1, 0, 1, 1]));
}
