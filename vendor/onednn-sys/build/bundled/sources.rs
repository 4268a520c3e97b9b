//! Which files of oneDNN are compiled, at which optimisation level, and in which groups.

use std::fs;
use std::path::{Path, PathBuf};

/// One compiler call: files of one folder and one level. The largest units come first.
pub struct Unit {
    files: Vec<File>,
}

/// One file to compile, alone or with others.
struct File {
    /// Its path below `src`, starting with `/`.
    name: String,
    path: PathBuf,
    bytes: u64,
    level: &'static str,
    /// The unit of its folder that it belongs to. It is computed over all files of the folder, so that leaving one file out
    /// does not change which files are compiled together.
    unit: usize,
    /// The text to compile instead of the file, if it is not compiled unchanged.
    edited: Option<String>,
}

/// The folders of oneDNN that a build reads, with everything below them. `src/cpu` itself also contains files.
const FOLDERS: &[&str] = &[
    "include",
    "src/common",
    "src/cpu/gemm",
    "src/cpu/jit_utils",
    "src/cpu/matmul",
    "src/cpu/reorder",
    "src/cpu/rnn",
    "src/cpu/ukernel",
    "src/cpu/x64",
    "third_party/xbyak",
];

/// Every file that a build of these sources may read, in order.
pub fn all_files(sources: &Path) -> std::io::Result<Vec<PathBuf>> {
    let is_read = |path: &Path| {
        let ending = path.extension().unwrap_or_default();
        ["h", "hpp", "cpp", "in"].iter().any(|e| ending == *e)
    };
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| sources.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            // zen64 needs another library.
            if path.is_dir() && !path.ends_with("zen64") {
                folders.push(path);
            } else if is_read(&path) {
                files.push(path);
            }
        }
    }
    for entry in fs::read_dir(sources.join("src/cpu"))? {
        let path = entry?.path();
        if path.is_file() && is_read(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Files that no compiled file refers to. If one is needed after all, linking a program fails with an undefined symbol.
const DROPPED: &[&str] = &[
    // RNN and attention are not built. (common/rnn.cpp stays: its C functions return "unimplemented".)
    "/cpu/rnn/",
    "/cpu/x64/rnn/",
    "/common/sdpa_test_iface.cpp",
    "/common/gated_mlp_iface.cpp",
    // DNNL_EXPERIMENTAL_LOGGING, the micro-kernel API and profilers are off.
    "/common/logging.cpp",
    "/ukernel/",
    "/jit_utils/linux_perf/",
    // Backward passes. (Deconvolution needs a convolution's backward pass by data.)
    "/cpu/x64/jit_brgemm_conv_bwd_w.cpp",
    "/cpu/x64/jit_avx512_core_resampling.cpp",
    "/cpu/x64/prelu/jit_prelu_backward.cpp",
    "/cpu/x64/prelu/jit_prelu_reduction_kernel.cpp",
    "/cpu/x64/prelu/jit_uni_prelu_backward_kernel.cpp",
    "/cpu/x64/prelu/jit_uni_prelu_reduction_kernel.cpp",
    // Primitives that are not built. (Their lists and C functions stay: they return "unimplemented".)
    "/cpu/cpu_batch_normalization_utils.cpp",
    "/cpu/nchw_pooling.cpp",
    "/cpu/ncsp_batch_normalization.cpp",
    "/cpu/ncsp_group_normalization.cpp",
    "/cpu/nhwc_pooling.cpp",
    "/cpu/nspc_batch_normalization.cpp",
    "/cpu/ref_batch_normalization.cpp",
    "/cpu/ref_binary.cpp",
    "/cpu/ref_eltwise.cpp",
    "/cpu/ref_group_normalization.cpp",
    "/cpu/ref_layer_normalization.cpp",
    "/cpu/ref_lrn.cpp",
    "/cpu/ref_pooling.cpp",
    "/cpu/ref_prelu.cpp",
    "/cpu/ref_reduction.cpp",
    "/cpu/ref_resampling.cpp",
    "/cpu/ref_shuffle.cpp",
    "/cpu/ref_softmax.cpp",
    "/cpu/simple_concat.cpp",
    "/cpu/simple_layer_normalization.cpp",
    "/cpu/simple_resampling.cpp",
    "/cpu/simple_sum.cpp",
    "/cpu/x64/jit_uni_batch_normalization",
    "/cpu/x64/jit_uni_binary",
    "/cpu/x64/jit_uni_eltwise",
    "/cpu/x64/jit_uni_group_normalization.cpp",
    "/cpu/x64/jit_uni_i8i8_pooling.cpp",
    "/cpu/x64/jit_uni_instance_normalization.cpp",
    "/cpu/x64/jit_uni_layer_normalization.cpp",
    "/cpu/x64/jit_uni_pool",
    "/cpu/x64/jit_uni_reduction",
    "/cpu/x64/jit_uni_resampling",
    "/cpu/x64/jit_uni_softmax.cpp",
    "/cpu/x64/jit_uni_tbb_batch_normalization.cpp",
    "/cpu/x64/jit_uni_xf16_sum.cpp",
    "/cpu/x64/lrn/",
    "/cpu/x64/prelu/",
    "/cpu/x64/shuffle/",
    // The gemm kernels, and implementations based on them: each of these refuses a thread pool in its first line. See
    // `unlisted`.
    "/cpu/x64/gemm/",
    "/cpu/gemm_convolution",
    "/cpu/gemm_inner_product",
    "/cpu/gemm_x8s8s32x_",
    "/cpu/x64/gemm_bf16_convolution.cpp",
    "/cpu/x64/gemm_bf16_inner_product.cpp",
    "/cpu/x64/jit_gemm_inner_product_utils.cpp",
    "/cpu/x64/jit_gemm_convolution_utils.cpp",
    "/cpu/x64/jit_gemm_x8s8s32x_",
    "/cpu/matmul/gemm_f32_matmul.cpp",
    "/cpu/matmul/gemm_bf16_matmul.cpp",
    "/cpu/matmul/gemm_x8s8s32x_matmul.cpp",
];

/// Plain loops that touch every element. All other files generate code, once per primitive, or pass blocks to generated code.
const LOOPS: &[&str] = &[
    "/cpu/ref_",
    "/cpu/simple_",
    "/cpu/nchw_",
    "/cpu/nhwc_",
    "/cpu/ncsp_",
    "/cpu/nspc_",
    "/cpu/matmul/ref_",
    "/cpu/gemm/",
    "/cpu/reorder/cpu_reorder_comp",
    "/cpu/reorder/cpu_reorder_regular_",
];

/// Compiled one by one: their names would clash with those of other files, or they already take long enough.
const ALONE: &[&str] = &[
    "/common/gemm.cpp",
    "/cpu/cpu_convolution_list.cpp",
    "/cpu/cpu_inner_product_list.cpp",
    "/cpu/cpu_shuffle_list.cpp",
    "/cpu/primitive_attr_postops.cpp",
    "/cpu/ref_inner_product.cpp",
    "/cpu/ref_inner_product_int8.cpp",
    "/cpu/ref_prelu.cpp",
    "/cpu/ref_resampling.cpp",
    "/cpu/ref_shuffle.cpp",
    "/cpu/x64/brgemm/brgemv_ir.cpp",
    "/cpu/x64/jit_uni_binary_kernel.cpp",
    "/cpu/x64/jit_uni_group_normalization.cpp",
    "/cpu/x64/jit_uni_i8i8_pooling.cpp",
    "/cpu/x64/jit_uni_instance_normalization.cpp",
    "/cpu/x64/jit_uni_layer_normalization.cpp",
    "/cpu/x64/jit_uni_resampling.cpp",
    "/cpu/x64/lrn/jit_avx512_common_lrn_fwd_base.cpp",
    "/cpu/x64/matmul/brgemm_matmul.cpp",
];

/// Functions that many files define privately under the same name.
const LOCAL: &[&str] = &["iterate", "impl_list_map"];

/// How many files of a folder are compiled together: compiling one file alone takes half of its time for headers that all
/// files share. The compiler needs about 1 GB of memory for a unit of this size.
const TOGETHER: usize = 10;

impl File {
    fn folder(&self) -> &str {
        folder(&self.name)
    }

    /// Functions that must be renamed if the file is compiled together with others.
    fn local(&self) -> impl Iterator<Item = &'static str> {
        // In reorders, the files share a function called `impl_list_map`.
        let list = self.name.ends_with("_list.cpp");
        LOCAL.iter().copied().filter(move |name| list || *name != "impl_list_map")
    }
}

fn folder(name: &str) -> &str {
    name.rsplit_once('/').expect("starts with one").0
}

/// The compiler calls.
pub fn units(sources: &Path) -> std::io::Result<Vec<Unit>> {
    let mut units: Vec<Unit> = Vec::new();
    for file in files(sources)? {
        let alone = |file: &File| ALONE.contains(&file.name.as_str());
        let joins = |unit: &&mut Unit| {
            let first = &unit.files[0];
            !alone(&file)
                && !alone(first)
                && (first.folder(), first.level, first.unit) == (file.folder(), file.level, file.unit)
        };
        match units.iter_mut().find(joins) {
            Some(unit) => unit.files.push(file),
            None => units.push(Unit { files: vec![file] }),
        }
    }
    units.sort_by_key(|unit| std::cmp::Reverse(unit.files.iter().map(|f| f.bytes).sum::<u64>()));
    Ok(units)
}

impl Unit {
    pub fn level(&self) -> &'static str {
        self.files[0].level
    }

    /// The name of the compiler's files, without an extension.
    pub fn name(&self) -> String {
        let first = self.files[0].name.trim_start_matches('/').trim_end_matches(".cpp").replace('/', "-");
        format!("{first}-and-{}", self.files.len() - 1)
    }

    /// The text that the compiler reads: `#include` of each file, by the path that `path` returns.
    fn text(&self, path: impl Fn(&File) -> PathBuf) -> String {
        let mut text = String::new();
        for (number, file) in self.files.iter().enumerate() {
            for name in file.local() {
                text += &format!("#define {name} {name}_{number}\n");
            }
            text += &format!("#include \"{}\"\n", path(file).display());
            for name in file.local() {
                text += &format!("#undef {name}\n");
            }
        }
        text
    }

    /// Everything that determines the object file, except the contents of the files.
    pub fn identity(&self) -> String {
        let edited: String = self.files.iter().filter_map(|file| file.edited.as_deref()).collect();
        format!("{} {}\n{}{edited}", self.level(), self.name(), self.text(|file| PathBuf::from(&file.name)))
    }

    /// Writes the file to compile into `dir`.
    pub fn write(&self, dir: &Path) -> std::io::Result<PathBuf> {
        let copy = |file: &File| dir.join(file.name[1..].replace('/', "-"));
        for file in &self.files {
            if let Some(text) = &file.edited {
                fs::write(copy(file), text)?;
            }
        }
        let source = dir.join(self.name()).with_extension("unit.cpp");
        fs::write(
            &source,
            self.text(|file| if file.edited.is_some() { copy(file) } else { file.path.clone() }),
        )?;
        Ok(source)
    }
}

/// The files to compile, in order.
fn files(sources: &Path) -> std::io::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut counts = std::collections::HashMap::new();
    for path in all_files(sources)? {
        let Ok(name) = path.strip_prefix(sources.join("src")) else { continue };
        let name = format!("/{}", name.display());
        if !name.ends_with(".cpp") {
            continue;
        }
        let count = counts.entry(folder(&name).to_owned()).or_insert(0);
        let unit = *count / TOGETHER;
        *count += 1;
        if DROPPED.iter().any(|part| name.contains(part)) {
            continue;
        }
        let level = if LOOPS.iter().any(|part| name.contains(part)) { "-O2" } else { "-Og" };
        let bytes = fs::metadata(&path)?.len();
        let edited = unlisted(&path)?;
        files.push(File { name, path, bytes, level, unit, edited });
    }
    Ok(files)
}

/// A dispatch list without entries that nothing uses. `None` if it has none of them.
fn unlisted(source: &Path) -> std::io::Result<Option<String>> {
    if !source.to_string_lossy().ends_with("_list.cpp") {
        return Ok(None);
    }
    let old = fs::read_to_string(source)?;
    let new: String = old.split_inclusive('\n').map(without_entries).collect();
    Ok((new != old).then_some(new))
}

/// The line without such an entry: gemm implementations refuse a thread pool, and nothing multiplies f16 or floats of 8 bits.
fn without_entries(line: &str) -> String {
    let is_unused = |entry: &str| {
        let amx = entry.starts_with("CPU_INSTANCE_AMX(");
        entry.starts_with("CPU_INSTANCE(gemm_")
            || entry.starts_with("CPU_INSTANCE_AVX512(gemm_")
            || amx && ["avx10_2_", "amx_fp16"].iter().any(|of| entry.contains(of))
    };
    let Some(at) = line.find("CPU_INSTANCE") else { return line.to_owned() };
    let Some(length) = line[at..].find(')') else { return line.to_owned() };
    match is_unused(&line[at..=at + length]) {
        true => format!("{}{}", &line[..at], &line[at + length + 1..]),
        false => line.to_owned(),
    }
}
