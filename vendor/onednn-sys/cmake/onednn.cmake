# The oneDNN that blocktensor builds: a CMake toolchain file, because that is the one door that the build script of
# onednn-src leaves open (CMAKE_TOOLCHAIN_FILE in the environment, see .cargo/config.toml). It names no compiler; CMake
# finds the system's, or the one in CC and CXX.
#
# FORCE, because onednn-src passes some of these on the command line. BUILD.md says what each choice costs and saves.

# Our own threads run oneDNN's tasks.
set(ONEDNN_CPU_RUNTIME THREADPOOL CACHE STRING "" FORCE)

# Forward passes only.
set(ONEDNN_ENABLE_WORKLOAD INFERENCE CACHE STRING "" FORCE)

# All primitives but RNN and the two attention blocks.
set(ONEDNN_ENABLE_PRIMITIVE
    "BATCH_NORMALIZATION;BINARY;CONCAT;CONVOLUTION;DECONVOLUTION;ELTWISE;GROUP_NORMALIZATION;INNER_PRODUCT;LAYER_NORMALIZATION;LRN;MATMUL;POOLING;PRELU;REDUCTION;REORDER;RESAMPLING;SHUFFLE;SOFTMAX;SUM"
    CACHE STRING "" FORCE)

# AVX2 and AVX-512; AMX does nothing for f32.
set(ONEDNN_ENABLE_PRIMITIVE_CPU_ISA AVX512 CACHE STRING "" FORCE)

# No implementation built on these kernels accepts a thread pool; matmul and inner product use brgemm.
set(ONEDNN_ENABLE_GEMM_KERNELS_ISA NONE CACHE STRING "" FORCE)

# Whatever Cargo's profile says: a Debug build of oneDNN is of no use to anybody here.
set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)

set(ONEDNN_BUILD_GRAPH OFF CACHE BOOL "" FORCE)
set(ONEDNN_ENABLE_JIT_PROFILING OFF CACHE BOOL "" FORCE)
set(ONEDNN_ENABLE_ITT_TASKS OFF CACHE BOOL "" FORCE)

# What is not needed is not compiled, and what runs once is compiled with less effort. ONEDNN_SYS_TRIM=0 keeps all.
if(NOT "$ENV{ONEDNN_SYS_TRIM}" STREQUAL "0")
    set(CMAKE_PROJECT_oneDNN_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/onednn-trim.cmake")
endif()
