//! DLPack descriptors with any fields, over valid memory. A model of the rules tells which must be refused, and the elements of
//! the others. The deleter is always called once, and not before the last tensor is dropped.
#![no_main]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;

use blocktensor::dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, READ_ONLY,
};
use blocktensor::{DType, Layout, MAX_RANK, MemoryFormat, StridedTensor, Tensor, ops};
use blocktensor_fuzz::numbers::{bits, for_each_index};
use blocktensor_fuzz::{Input, check_error, limit_memory, setup, storage};
use libfuzzer_sys::fuzz_target;

/// **Bytes** of the memory that descriptors point to.
const MEMORY: usize = 2048;
/// The most elements that are compared one by one.
const MOST: usize = 1 << 14;

fuzz_target!(|data: &[u8]| {
    setup();
    let mut input = Input::new(data);
    storage(input.flag());
    let memory: Vec<Cell<u64>> =
        (0..MEMORY as u64 / 8).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).into()).collect();
    let fields = Fields::new(&mut input);
    let (given_back, mut kept) = (Cell::new(0), Kept::default());
    limit_memory();
    let Some(t) = received(&fields, &memory, &given_back, &mut kept) else { return };
    used(&mut input, t, &fields, &memory, &given_back);
    assert_eq!(given_back.get(), usize::from(fields.deleter), "given back");
});

/// The fields of a descriptor.
#[derive(Debug)]
struct Fields {
    versioned: bool,
    major: u32,
    minor: u32,
    flags: u64,
    deleter: bool,
    device: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: Option<Vec<i64>>,
    strides: Option<Vec<i64>>,
    null: bool,
    byte_offset: u64,
}

/// Descriptors without a deleter. No tensor frees them, so they are kept here as long as the tensor.
#[derive(Default)]
struct Kept {
    versioned: Option<Box<DLManagedTensorVersioned>>,
    old: Option<Box<DLManagedTensor>>,
}

/// The least number of values in shape and strides.
const ROOM: usize = 16;

impl Fields {
    fn new(input: &mut Input) -> Fields {
        const TYPES: [(u8, u8); 6] = [(2, 32), (2, 16), (4, 16), (1, 8), (0, 8), (0, 32)];
        let rare = |input: &mut Input| input.one_in(24);
        let ndim = match rare(input) {
            true => input.pick(&[-1, 13, 16, 17, i32::MAX, i32::MIN]),
            false => input.below(6) as i32,
        };
        let (code, bits) = if rare(input) { (input.byte(), input.byte()) } else { input.pick(&TYPES) };
        let size = |input: &mut Input| match rare(input) {
            true => input.hostile(),
            false => input.below(7) as i64,
        };
        let shape: Vec<i64> = (0..ROOM).map(|_| size(input)).collect();
        let n = usize::try_from(ndim).unwrap_or(0).min(ROOM);
        let mut strides = vec![0; ROOM];
        let order = input.shuffled(n);
        let dense = input.one_in(3);
        let mut step = 1i64;
        for d in order {
            strides[d] = if dense { step } else { input.below(40) as i64 };
            step = step.wrapping_mul(shape[d].max(1));
            if rare(input) {
                strides[d] = input.hostile();
            }
        }
        Fields {
            versioned: input.flag(),
            major: if rare(input) { input.pick(&[0, 2, u32::MAX]) } else { 1 },
            minor: input.pick(&[0, 1, 2, 77]),
            flags: if input.flag() { input.below(8) as u64 } else { input.word() },
            deleter: !input.one_in(8),
            device: if rare(input) { input.hostile() as i32 } else { 1 },
            ndim,
            code,
            bits,
            lanes: if rare(input) { input.hostile() as u16 } else { 1 },
            shape: (!rare(input)).then_some(shape),
            strides: (!input.one_in(3)).then_some(strides),
            null: rare(input),
            byte_offset: if rare(input) {
                input.hostile() as u64
            } else {
                input.below(12) as u64 * input.pick(&[4, 4, 1])
            },
        }
    }

    fn dtype(&self) -> Option<DType> {
        Some(match (self.code, self.bits) {
            (2, 32) => DType::F32,
            (2, 16) => DType::F16,
            (4, 16) => DType::BF16,
            (1, 8) => DType::U8,
            (0, 8) => DType::S8,
            (0, 32) => DType::S32,
            _ => return None,
        })
    }

    fn read_only(&self) -> bool {
        self.versioned && self.flags & READ_ONLY != 0
    }

    /// The tensor that the rules give; `None` where the descriptor must be refused.
    fn tensor(&self, start: usize) -> Option<Described> {
        let dtype = self.dtype()?;
        let ndim = usize::try_from(self.ndim).ok().filter(|&n| n <= MAX_RANK)?;
        if self.versioned && self.major != 1
            || self.device != 1
            || self.lanes != 1
            || ndim > 0 && self.shape.is_none()
        {
            return None;
        }
        let dims: Vec<usize> = match &self.shape {
            Some(shape) => shape[..ndim].iter().map(|&d| usize::try_from(d).ok()).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        let most = isize::MAX as i128;
        let start = if self.null { 0 } else { start };
        let skip = usize::try_from(self.byte_offset).ok().filter(|&s| isize::try_from(s).is_ok())?;
        start.checked_add(skip)?;
        dims.iter().try_fold(1i128, |n, &d| Some(n * d.max(1) as i128).filter(|&n| n <= most))?;
        if dims.contains(&0) {
            return Some(Described { dtype, dims, strides: None, reach: 0 });
        }
        let strides: Vec<i128> = match &self.strides {
            Some(strides) => strides[..ndim].iter().map(|&s| s.into()).collect(),
            None => (0..ndim).map(|d| dims[d + 1..].iter().product::<usize>() as i128).collect(),
        };
        let mut last = 0i128;
        for (&d, &s) in dims.iter().zip(&strides) {
            if d > 1 && s < 0 {
                return None;
            }
            last += (d as i128 - 1) * s;
            if last > most {
                return None;
            }
        }
        let reach = (last + 1) * dtype.size_bytes() as i128;
        let address = start + skip;
        let end = address as i128 + reach;
        if skip as i128 + reach > most
            || end > usize::MAX as i128
            || self.null
            || !address.is_multiple_of(dtype.size_bytes())
        {
            return None;
        }
        Some(Described { dtype, dims, strides: Some(strides), reach })
    }
}

struct Described {
    dtype: DType,
    dims: Vec<usize>,
    /// `None` without elements.
    strides: Option<Vec<i128>>,
    /// **Bytes** from the first element to the end of the last.
    reach: i128,
}

/// The context of a deleter: its counter.
unsafe fn count(context: *mut c_void) {
    // SAFETY: the address of the target's counter, which outlives every tensor.
    let given_back = unsafe { &*context.cast::<Cell<usize>>() };
    given_back.set(given_back.get() + 1);
}

unsafe extern "C" fn delete(this: *mut DLManagedTensorVersioned) {
    // SAFETY: made in `received`, and called once.
    unsafe { count(Box::from_raw(this).manager_ctx) }
}

unsafe extern "C" fn delete_old(this: *mut DLManagedTensor) {
    // SAFETY: as above.
    unsafe { count(Box::from_raw(this).manager_ctx) }
}

/// Imports a descriptor. `None` if it was rightly refused, or if it breaks a promise that the caller of `from_dlpack` makes.
fn received(
    f: &Fields,
    memory: &[Cell<u64>],
    given_back: &Cell<usize>,
    kept: &mut Kept,
) -> Option<StridedTensor> {
    let start = memory.as_ptr().cast_mut();
    let expected = f.tensor(start.addr());
    if let Some(d) = &expected
        && d.reach > 0
        && i128::from(f.byte_offset) + d.reach > MEMORY as i128
    {
        return None;
    }
    let pointer =
        |list: &Option<Vec<i64>>| list.as_ref().map_or(std::ptr::null_mut(), |l| l.as_ptr().cast_mut());
    let dl_tensor = DLTensor {
        data: if f.null { std::ptr::null_mut() } else { start.cast() },
        device: DLDevice { device_type: f.device, device_id: 0 },
        ndim: f.ndim,
        dtype: DLDataType { code: f.code, bits: f.bits, lanes: f.lanes },
        shape: pointer(&f.shape),
        strides: pointer(&f.strides),
        byte_offset: f.byte_offset,
    };
    let manager_ctx = std::ptr::from_ref(given_back).cast_mut().cast();
    let result = if f.versioned {
        let version = DLPackVersion { major: f.major, minor: f.minor };
        let deleter = f.deleter.then_some(delete as _);
        let managed =
            Box::new(DLManagedTensorVersioned { version, manager_ctx, deleter, flags: f.flags, dl_tensor });
        let address = NonNull::from(match f.deleter {
            true => Box::leak(managed),
            false => &mut **kept.versioned.insert(managed),
        });
        // SAFETY: live, of this target alone; its memory is there as far as it says, or it is refused.
        unsafe { StridedTensor::from_dlpack(address) }
    } else {
        let deleter = f.deleter.then_some(delete_old as _);
        let managed = Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter });
        let address = NonNull::from(match f.deleter {
            true => Box::leak(managed),
            false => &mut **kept.old.insert(managed),
        });
        // SAFETY: as above.
        unsafe { StridedTensor::from_dlpack_unversioned(address) }
    };
    match (result, expected) {
        (Err(e), None) => {
            check_error(&e);
            assert_eq!(given_back.get(), usize::from(f.deleter), "given back at once: {e}");
            None
        }
        (Ok(t), Some(d)) => {
            assert_eq!((t.dtype(), t.dims()), (d.dtype, &d.dims[..]));
            assert_eq!(given_back.get(), 0);
            if let Some(strides) = &d.strides {
                let same = |i: usize| d.dims[i] == 1 || t.strides()[i] as i128 == strides[i];
                assert!((0..d.dims.len()).all(same), "{:?}, not {strides:?}", t.strides());
                if t.numel() <= MOST {
                    check(&t, &d, f, memory);
                }
            }
            Some(t)
        }
        (Ok(t), None) => panic!("{f:?} must be refused, and is {t:?}"),
        (Err(e), Some(_)) => panic!("{f:?}: {e}"),
    }
}

/// The places in memory of every element, in **bytes**.
fn places(d: &Described, f: &Fields) -> Vec<usize> {
    let mut places = Vec::new();
    let strides = d.strides.as_ref().expect("elements");
    for_each_index(&d.dims, |index| {
        let at: i128 = index.iter().zip(strides).map(|(&i, &s)| i as i128 * s).sum();
        places.push(f.byte_offset as usize + at as usize * d.dtype.size_bytes());
    });
    places
}

fn bytes_of(memory: &[Cell<u64>]) -> Vec<u8> {
    memory.iter().flat_map(|w| w.get().to_ne_bytes()).collect()
}

fn check(t: &StridedTensor, d: &Described, f: &Fields, memory: &[Cell<u64>]) {
    let bytes = bytes_of(memory);
    let size = d.dtype.size_bytes();
    let (_, got) = bits(&t.clone().into());
    for (place, got) in places(d, f).into_iter().zip(got) {
        let stored = bytes[place..place + size].iter().rev().fold(0u32, |v, &b| v << 8 | u32::from(b));
        let nan = match d.dtype {
            DType::F32 => f32::from_bits(stored).is_nan() && f32::from_bits(got).is_nan(),
            DType::F16 => {
                half::f16::from_bits(stored as u16).is_nan() && half::f16::from_bits(got as u16).is_nan()
            }
            DType::BF16 => {
                half::bf16::from_bits(stored as u16).is_nan() && half::bf16::from_bits(got as u16).is_nan()
            }
            _ => false,
        };
        assert!(nan || stored == got, "at byte {place}: {stored:#x}, and {got:#x}");
    }
}

/// Uses a tensor in every way that shares its memory, and drops all that share it.
fn used(input: &mut Input, t: StridedTensor, f: &Fields, memory: &[Cell<u64>], given_back: &Cell<usize>) {
    let held = |n: usize| assert_eq!(n, 0, "given back while it is used");
    if t.dims().iter().map(|&d| d.max(1)).product::<usize>() > MOST {
        // With strides of 0, or without elements, sizes may have any value. A copy that is too large is an error.
        match t.contiguous(MemoryFormat::Contiguous) {
            Ok(copy) => assert_eq!(copy.numel(), t.numel()),
            Err(e) => check_error(&e),
        }
        return held(given_back.get());
    }
    let before = bits(&t.clone().into());
    let mut kept = vec![t.clone()];
    for _ in 0..input.below(4) {
        let last = kept[kept.len() - 1].clone();
        let rank = last.rank();
        let view = match input.below(4) {
            0 if rank > 1 => last.transpose(0, rank - 1).unwrap(),
            1 if rank > 0 => last.narrow(0, 0, last.dims()[0] / 2).unwrap(),
            2 => {
                let again = last.to_dlpack().unwrap();
                // SAFETY: an export of our own, consumed once.
                let again = unsafe { StridedTensor::from_dlpack(again) }.unwrap();
                assert_eq!(bits(&again.clone().into()), bits(&last.into()));
                again
            }
            _ => last.squeeze(),
        };
        if input.flag() {
            let at = input.below(kept.len());
            kept.remove(at);
        }
        kept.push(view);
        held(given_back.get());
    }
    if let Ok(layout) = Layout::native_activation(t.rank()) {
        let blocked = t.to_blocked(&layout).unwrap();
        blocked.check_tail().unwrap();
        assert_eq!(bits(&blocked.into()), before);
    }
    let copy: Tensor = t.contiguous(MemoryFormat::Contiguous).unwrap().into();
    assert_eq!(bits(&copy), before);
    drop((copy, kept));
    held(given_back.get());
    if t.dtype() == DType::F32 {
        written(input, t, f, memory);
    } else {
        drop(t);
    }
}

/// Writes results into memory of another library: only if it is writable, and only at the elements.
fn written(input: &mut Input, mut t: StridedTensor, f: &Fields, memory: &[Cell<u64>]) {
    let mut expected = bytes_of(memory);
    let ones = StridedTensor::full(t.dims(), 1f32, MemoryFormat::Contiguous).unwrap();
    let view = input.one_in(4).then(|| t.clone());
    let described = f.tensor(memory.as_ptr().addr()).expect("it was taken");
    let places = if described.strides.is_some() { places(&described, f) } else { Vec::new() };
    let mut sorted = places.clone();
    sorted.sort();
    sorted.dedup();
    let result = ops::relu_into(&ones, &mut t);
    let shared = view.is_some();
    drop((t, view));
    match result {
        Ok(()) => {
            assert!(!f.read_only() && !shared, "{f:?} was written");
            assert_eq!(
                sorted.len(),
                places.len(),
                "{f:?} has several elements in one place, and was written"
            );
            places.iter().for_each(|&at| expected[at..at + 4].copy_from_slice(&1f32.to_ne_bytes()));
        }
        Err(e) => {
            check_error(&e);
            let reason = f.read_only() || shared || may_overlap(&described);
            assert!(reason, "{f:?}: {e}");
        }
    }
    assert!(bytes_of(memory) == expected, "{f:?}: bytes around the elements changed");
}

/// Whether a rule that looks at strides alone may find overlapping elements. It finds none if, in ascending order, each stride
/// is larger than the span of all smaller ones.
fn may_overlap(d: &Described) -> bool {
    let Some(strides) = &d.strides else { return false };
    let mut steps: Vec<(i128, usize)> =
        strides.iter().zip(&d.dims).filter(|(_, d)| **d > 1).map(|(&s, &d)| (s, d)).collect();
    steps.sort();
    let mut passed = 0;
    steps.iter().any(|&(s, d)| {
        let over = s <= passed;
        passed += (d as i128 - 1) * s;
        over
    })
}
