# Makes a THREADPOOL build of oneDNN shorter without changing what it can do: every implementation that the untrimmed
# build would dispatch is there, in the same order. Included right after oneDNN's project() command; waits until its targets exist and
# then edits their lists of sources. oneDNN's own files are not touched.
#
# Safe against mistakes: a source that is left out but needed is an undefined symbol at link time, and a dispatch list
# that no longer looks as expected stays as it is, which shows as an undefined symbol too.

if(CMAKE_VERSION VERSION_LESS 3.19)
    message(STATUS "onednn-sys: CMake 3.19 is needed to trim the build; compiling everything")
    return()
endif()

# Never referenced, or only by code that is configured out.
set(ONEDNN_SYS_DROP
    # RNN and attention: not in ONEDNN_ENABLE_PRIMITIVE. (common/rnn.cpp stays: it is the C functions, which then say
    # "unimplemented".)
    "/cpu/rnn/" "/cpu/x64/rnn/"
    "/common/sdpa_test_iface\\.cpp$" "/common/gated_mlp_iface\\.cpp$"
    # The micro-kernel API: ONEDNN_EXPERIMENTAL_UKERNEL is off.
    "/ukernel/"
    # AMX: not in ONEDNN_ENABLE_PRIMITIVE_CPU_ISA. (The brgemm parts are referenced, and stay.)
    "/cpu/x64/jit_avx512_core_amx_(1x1_conv_kernel|1x1_convolution|convolution|deconvolution)\\.cpp$"
    # Backward passes: ONEDNN_ENABLE_WORKLOAD is INFERENCE. (Deconvolution needs backward by data of convolution.)
    "/cpu/x64/jit_brgemm_conv_bwd_w\\.cpp$"
    "/cpu/x64/jit_avx512_core_resampling\\.cpp$"
    "/cpu/x64/prelu/jit_prelu_(backward|reduction_kernel)\\.cpp$"
    "/cpu/x64/prelu/jit_uni_prelu_(backward|reduction)_kernel\\.cpp$"
    # On top of gemm: every one of these refuses the THREADPOOL runtime in its first line, see ONEDNN_SYS_UNLIST.
    "/cpu/gemm_(convolution|convolution_utils|inner_product|inner_product_utils|x8s8s32x_[a-z0-9_]*)\\.cpp$"
    "/cpu/x64/gemm_bf16_(convolution|inner_product)\\.cpp$"
    "/cpu/x64/jit_gemm_(inner_product_utils|convolution_utils|x8s8s32x_[a-z0-9_]*)\\.cpp$"
    "/cpu/matmul/gemm_(f32|bf16|x8s8s32x)_matmul\\.cpp$")

# Entries of dispatch lists that always answer "not with a thread pool".
set(ONEDNN_SYS_UNLIST
    "CPU_INSTANCE(_AVX512)?\\(gemm_[a-z0-9_]+(<[a-z0-9_]+>)?\\)")

# Compiled with -O3: plain C++ that touches every element. Everything
# else either generates code, once for each primitive, or hands blocks to generated code, and gets -O1.
set(ONEDNN_SYS_HOT
    "/cpu/(ref|simple|nchw|nhwc|ncsp|nspc)_"
    "/cpu/matmul/ref_"
    "/cpu/gemm/"
    "/cpu/reorder/cpu_reorder_(comp|regular_(f32|bf16|f16|s8|u8|s32))")

# Parsed once for each target.
set(ONEDNN_SYS_HEADERS_dnnl_common
    common/c_types_map.hpp common/dnnl_thread.hpp common/primitive.hpp common/type_helpers.hpp common/utils.hpp)
set(ONEDNN_SYS_HEADERS_dnnl_cpu ${ONEDNN_SYS_HEADERS_dnnl_common} cpu/cpu_primitive.hpp)
set(ONEDNN_SYS_HEADERS_dnnl_cpu_x64
    ${ONEDNN_SYS_HEADERS_dnnl_cpu} cpu/x64/jit_generator.hpp cpu/x64/injectors/jit_uni_postops_injector.hpp
    cpu/x64/brgemm/brgemm.hpp)

function(onednn_sys_matches out path)
    set(${out} FALSE PARENT_SCOPE)
    foreach(pattern IN LISTS ARGN)
        if("${path}" MATCHES "${pattern}")
            set(${out} TRUE PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()

# A copy of a dispatch list without the entries that never match, or the list itself if it has none.
function(onednn_sys_unlist out path)
    set(${out} "${path}" PARENT_SCOPE)
    if(NOT path MATCHES "_list\\.cpp$")
        return()
    endif()
    file(READ "${path}" old)
    string(REGEX REPLACE "${ONEDNN_SYS_UNLIST}" "" new "${old}")
    if(NOT "${new}" STREQUAL "${old}")
        get_filename_component(name "${path}" NAME)
        set(copy "${PROJECT_BINARY_DIR}/onednn-sys/${name}")
        file(WRITE "${copy}" "${new}")
        set(${out} "${copy}" PARENT_SCOPE)
    endif()
endfunction()

function(onednn_sys_trim)
    if(NOT DNNL_CPU_RUNTIME STREQUAL "THREADPOOL" OR NOT DNNL_TARGET_ARCH STREQUAL "X64")
        message(STATUS "onednn-sys: nothing trimmed: not an x86-64 build for a thread pool")
        return()
    endif()
    set(dropped 0)
    set(kept 0)
    foreach(target dnnl_common dnnl_cpu dnnl_cpu_x64)
        get_target_property(sources ${target} SOURCES)
        set(wanted)
        set(hot)
        foreach(source IN LISTS sources)
            onednn_sys_matches(drop "${source}" ${ONEDNN_SYS_DROP})
            if(drop AND source MATCHES "\\.(c|cpp)$")
                math(EXPR dropped "${dropped} + 1")
                continue()
            endif()
            onednn_sys_matches(runs "${source}" ${ONEDNN_SYS_HOT})
            onednn_sys_unlist(source "${source}")
            list(APPEND wanted "${source}")
            if(source MATCHES "\\.(c|cpp)$")
                math(EXPR kept "${kept} + 1")
                if(runs)
                    list(APPEND hot "${source}")
                endif()
            endif()
        endforeach()
        set_target_properties(${target} PROPERTIES SOURCES "${wanted}")
        if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
            target_compile_options(${target} PRIVATE "-O1")
            # A third of the time of a file at -O1 goes into parsing the same headers.
            list(TRANSFORM ONEDNN_SYS_HEADERS_${target} PREPEND "${PROJECT_SOURCE_DIR}/src/" OUTPUT_VARIABLE headers)
            target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:$<JOIN:${headers},$<SEMICOLON>>>")
            # The parsed headers belong to one level of optimisation, so these files parse their own.
            set_property(SOURCE ${hot} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS "-O3")
            set_property(SOURCE ${hot} TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
        endif()
    endforeach()
    message(STATUS "onednn-sys: ${kept} sources to compile, ${dropped} left out")
    # For whoever wants to show progress.
    file(WRITE "${PROJECT_BINARY_DIR}/onednn-sys/sources" "${kept}\n")
endfunction()

cmake_language(DEFER DIRECTORY "${PROJECT_SOURCE_DIR}" CALL onednn_sys_trim)
