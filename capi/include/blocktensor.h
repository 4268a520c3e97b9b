/* blocktensor for C. Made by cbindgen from capi/src: do not edit.
 *
 * Every function returns a status: 0, or the code of an error whose full text bt_last_error_message has for the thread that
 * made the call. Objects are handles: numbers that only this library makes; one that is 0, was freed or never existed is an
 * error, never a crash. Pointers must be what the functions ask for. Objects may be used from any thread.
 *
 * Strings are UTF-8 and end with NUL. Ops and their arguments: bt_schema. The texts of errors are those of the Rust library,
 * and name its calls: to_blocked is bt_to_blocked here, to_strided bt_to_strided, pack_for bt_pack_conv.
 *
 * Blocked convolutions take activations in nChw16c (nChw8c without AVX-512; nCw16c, nCdhw16c), which bt_to_blocked makes by
 * itself, and weights in OIhw16i16o (OIhw8i8o). Grouped weights have five dimensions, [groups, O/groups, C/groups, h, w], and
 * lie in gOIhw16i16o, depthwise ones in Goihw16g. Blocked weights of a transposed convolution have their outputs first, too:
 * transpose PyTorch's [C, O/groups, ...] before bt_to_blocked. Or pack plain weights once: bt_pack_conv. "padding" is one integer, one a
 * spatial dimension, or one a side (all begins, then all ends). "post_ops" are words with commas between: residual, relu,
 * relu6, leaky_relu(slope), clip(low,high), silu, hardswish, sigmoid, tanh.
 */

#ifndef BLOCKTENSOR_H
#define BLOCKTENSOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Version of what the header says: another one has another ABI.
#define BT_ABI_VERSION 1

// Kinds of errors. They keep their numbers.
enum bt_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // No kernel for the op on tensors of this key, or none that is fast.
  BT_UNSUPPORTED_OP = 1,
  // Data operands of different keys: strided and blocked.
  BT_KEY_MISMATCH = 2,
  // A layout that does not fit the other operands or the kernel.
  BT_LAYOUT_MISMATCH = 3,
  // A type that no kernel takes here.
  BT_UNSUPPORTED_DTYPE = 4,
  // Types that must agree and do not.
  BT_DTYPE_MISMATCH = 5,
  // The wrong number of dimensions.
  BT_RANK_MISMATCH = 6,
  // Sizes that do not fit each other.
  BT_SHAPE_MISMATCH = 7,
  // A parameter outside its range, or an unknown name.
  BT_INVALID_ARGUMENT = 8,
  // Sizes that the machine's integers do not hold.
  BT_OVERFLOW = 9,
  // Strides that reach past the data.
  BT_OUT_OF_BOUNDS = 10,
  // Negative strides, or a view that strides cannot express.
  BT_UNSUPPORTED_STRIDE = 11,
  // A result whose elements share memory with each other.
  BT_OVERLAPPING_OUTPUT = 12,
  // A result whose memory another tensor shares, or that may not be written.
  BT_ALIASING = 13,
  // A question about strides or data to a blocked tensor.
  BT_OPAQUE_LAYOUT = 14,
  // Packed weights with another source, machine or number of threads.
  BT_PACK_MISMATCH = 15,
  // A reorder inside `bt_deny_reorders`.
  BT_REORDER_DENIED = 16,
  // Not met in C.
  BT_REGISTRATION = 17,
  // A file that does not hold together.
  BT_CORRUPT_FILE = 18,
  // A file that cannot be opened or written.
  BT_FILE_ACCESS = 19,
  // Memory could not be had.
  BT_OUT_OF_MEMORY = 20,
  // The engine failed in a way that no check foresaw.
  BT_BACKEND = 21,
  // An address that is not a multiple of its element's size.
  BT_MISALIGNED = 22,
  // A DLPack tensor of another device or type.
  BT_DLPACK_UNSUPPORTED = 23,
  // A DLPack tensor of another major version.
  BT_DLPACK_VERSION = 24,
  // Null, or the handle 0, where something is needed.
  BT_NULL_POINTER = 25,
  // A handle that was freed, is of another kind, or was never given.
  BT_INVALID_HANDLE = 26,
  // A header of another version than the library.
  BT_ABI_MISMATCH = 27,
  // A mistake of the library, stopped at its border.
  BT_PANICKED = 28,
  // A call in a child that was forked after the library was used. Start children with exec, or fork before the first call.
  BT_FORKED_PROCESS = 29,
  // Too little stack left on this thread.
  BT_STACK_TOO_SMALL = 30,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum bt_code bt_code;
#else
typedef int32_t bt_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Types of elements.
enum bt_dtype
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // IEEE binary32.
  BT_F32 = 0,
  // bfloat16.
  BT_BF16 = 1,
  // IEEE binary16.
  BT_F16 = 2,
  // Unsigned 8-bit integer.
  BT_U8 = 3,
  // Signed 8-bit integer.
  BT_S8 = 4,
  // Signed 32-bit integer.
  BT_S32 = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum bt_dtype bt_dtype;
#else
typedef int32_t bt_dtype;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an argument is.
enum bt_arg_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // One tensor: `tensors[0]`.
  BT_ARG_TENSOR = 1,
  // `count` tensors.
  BT_ARG_TENSORS = 2,
  // `number`.
  BT_ARG_INT = 3,
  // `count` integers.
  BT_ARG_INTS = 4,
  // `real`.
  BT_ARG_FLOAT = 5,
  // `number` is not 0.
  BT_ARG_BOOL = 6,
  // `text`.
  BT_ARG_STRING = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum bt_arg_kind bt_arg_kind;
#else
typedef int32_t bt_arg_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// 0 is success; others are a `bt_code`.
typedef int32_t bt_status;

// A handle of any object; 0 is none.
typedef uint64_t bt_handle;

// Called with the context of a wrapped tensor when its memory is no longer used, on any thread.
typedef void (*bt_release)(void*);

// What a tensor tells of itself. The caller sets `struct_size` to `sizeof(bt_info)`.
typedef struct bt_info {
  // Size of the structure that the caller knows, in bytes.
  size_t struct_size;
  // A `bt_dtype`.
  int32_t dtype;
  // Number of dimensions.
  size_t rank;
  // Sizes, in logical order.
  int64_t dims[12];
  // Name of the dispatch key: `strided`, `blocked`.
  char key[32];
  // Name of the layout or memory format: `nChw16c`, `contiguous`.
  char layout[32];
} bt_info;

// One argument of a call. What its kind does not use is not looked at.
typedef struct bt_arg {
  // The argument's name in the op's schema.
  const char *name;
  // A `bt_arg_kind`.
  int32_t kind;
  // An integer or a flag.
  int64_t number;
  // A number.
  double real;
  // A word.
  const char *text;
  // Integers.
  const int64_t *integers;
  // Handles of tensors.
  const bt_handle *tensors;
  // How many integers or tensors.
  size_t count;
} bt_arg;

// A function of the caller's: it gets the context, and returns a status, which the scope's function returns in turn. A
// status of its own making has no text.
typedef bt_status (*bt_body)(void*);

// Address of a `DLManagedTensorVersioned` or `DLManagedTensor` of `dlpack.h`.
typedef void *bt_dlpack;

// Every function, for programs that load the library with `dlopen`: they look up `bt_get_api` alone. Functions are added at
// the end only.
typedef struct bt_api {
  // Size of this structure in bytes.
  size_t struct_size;
  // The ABI version of this table.
  uint32_t table_version;
  // `bt_abi_version`.
  uint32_t (*abi_version)(void);
  // `bt_version`.
  const char *(*version)(void);
  // `bt_last_error_code`.
  bt_status (*last_error_code)(void);
  // `bt_last_error_message`.
  const char *(*last_error_message)(void);
  // `bt_free`.
  bt_status (*free)(bt_handle handle);
  // `bt_live_handles`.
  size_t (*live_handles)(void);
  // `bt_tensor_from_data`.
  bt_status (*tensor_from_data)(int32_t dtype,
                                size_t rank,
                                const int64_t *dims,
                                const int64_t *strides,
                                const void *data,
                                size_t bytes,
                                bt_handle *out);
  // `bt_tensor_wrap`.
  bt_status (*tensor_wrap)(int32_t dtype,
                           size_t rank,
                           const int64_t *dims,
                           const int64_t *strides,
                           void *data,
                           bool writable,
                           void *context,
                           bt_release release,
                           bt_handle *out);
  // `bt_tensor_info`.
  bt_status (*tensor_info)(bt_handle t, struct bt_info *info);
  // `bt_tensor_read`.
  bt_status (*tensor_read)(bt_handle t, void *data, size_t bytes);
  // `bt_tensor_data`.
  bt_status (*tensor_data)(bt_handle t, const void **data, int64_t *strides);
  // `bt_to_blocked`.
  bt_status (*to_blocked)(bt_handle t, const char *layout, bt_handle *out);
  // `bt_to_strided`.
  bt_status (*to_strided)(bt_handle t, const char *format, bt_handle *out);
  // `bt_call`.
  bt_status (*call)(const char *op,
                    const struct bt_arg *args,
                    size_t arg_count,
                    bt_handle *outs,
                    size_t room,
                    size_t *count);
  // `bt_pack_conv`.
  bt_status (*pack_conv)(bt_handle weights,
                         bt_handle bias,
                         const struct bt_arg *params,
                         size_t param_count,
                         bt_handle like,
                         bt_handle *out);
  // `bt_pack_linear`.
  bt_status (*pack_linear)(bt_handle weights, bt_handle bias, size_t rows, bt_handle *out);
  // `bt_packed_run`.
  bt_status (*packed_run)(bt_handle packed, bt_handle x, bt_handle residual, bt_handle *out);
  // `bt_dict_load`.
  bt_status (*dict_load)(const char *path, bt_handle *out);
  // `bt_dict_take`.
  bt_status (*dict_take)(bt_handle dict, const char *name, bt_handle *out);
  // `bt_run`.
  bt_status (*run)(bt_body body, void *context);
  // `bt_deny_reorders`.
  bt_status (*deny_reorders)(bt_body body, void *context);
  // `bt_record`.
  bt_status (*record)(bt_body body, void *context, bt_handle *out);
  // `bt_describe`.
  bt_status (*describe)(bt_handle handle, char *text, size_t room, size_t *needed);
  // `bt_tensor_from_dlpack`.
  bt_status (*tensor_from_dlpack)(bt_dlpack managed, bt_handle *out);
  // `bt_tensor_from_dlpack_unversioned`.
  bt_status (*tensor_from_dlpack_unversioned)(bt_dlpack managed, bt_handle *out);
  // `bt_tensor_to_dlpack`.
  bt_status (*tensor_to_dlpack)(bt_handle t, bt_dlpack *out);
  // `bt_tensor_into_dlpack_unversioned`.
  bt_status (*tensor_into_dlpack_unversioned)(bt_handle t, bt_dlpack *out);
  // `bt_blocked_to_dlpack`.
  bt_status (*blocked_to_dlpack)(bt_handle t, bt_dlpack *out);
  // `bt_schema`.
  bt_status (*schema)(const char *op, char *text, size_t room, size_t *needed);
  // `bt_clear_cache`.
  void (*clear_cache)(void);
  // `bt_build_info`.
  bt_status (*build_info)(char *text, size_t room, size_t *needed);
  // `bt_dict_map`.
  bt_status (*dict_map)(const char *path, bt_handle *out);
} bt_api;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Code of the last error of this thread; 0 where there was none. A success does not clear it.
bt_status bt_last_error_code(void);

// Text of the last error of this thread; empty where there was none. Valid until the next call of this thread that fails.
const char *bt_last_error_message(void);

// Frees an object of any kind. A second time is an error, and harmless.
bt_status bt_free(bt_handle handle);

// How many handles are alive in this process; 0 in a forked child.
size_t bt_live_handles(void);

// Drops the primitives that unpacked convolutions and linear layers keep for the shapes that they met, at most 1024; packed
// weights keep theirs.
void bt_clear_cache(void);

// A tensor with a copy of `bytes` bytes of data.
//
// # Safety
// `dims` holds `rank` sizes, `strides` is null (row-major) or holds `rank` steps in elements, `data` holds `bytes` bytes,
// which may be more than they reach.
bt_status bt_tensor_from_data(int32_t dtype,
                              size_t rank,
                              const int64_t *dims,
                              const int64_t *strides,
                              const void *data,
                              size_t bytes,
                              bt_handle *out);

// A tensor of the caller's memory, without a copy. `release` is called once, when it is no longer used, also on an error.
//
// # Safety
// As `bt_tensor_from_data`; every element that sizes and strides reach may be read, and written if `writable`, until
// `release` is called, and nobody else writes to it meanwhile.
bt_status bt_tensor_wrap(int32_t dtype,
                         size_t rank,
                         const int64_t *dims,
                         const int64_t *strides,
                         void *data,
                         bool writable,
                         void *context,
                         bt_release release,
                         bt_handle *out);

// Tells sizes, type, key and layout of a tensor.
//
// # Safety
// `info` points to a structure of `info->struct_size` bytes.
bt_status bt_tensor_info(bt_handle t, struct bt_info *info);

// Copies the elements of a strided tensor, in row-major order, into `bytes` bytes: exactly as many as they are.
//
// # Safety
// `data` may be written for `bytes` bytes.
bt_status bt_tensor_read(bt_handle t,
                         void *data,
                         size_t bytes);

// The address of the first element of a strided tensor, for reading while its handle lives, and its strides in elements.
//
// # Safety
// `data` and `strides` may be written, the latter for as many values as the tensor has dimensions; either may be null.
bt_status bt_tensor_data(bt_handle t,
                         const void **data,
                         int64_t *strides);

// The same elements in a blocked layout, by name; null is the activation layout that suits this machine (never weights').
//
// # Safety
// `layout` is null or a string.
bt_status bt_to_blocked(bt_handle t,
                        const char *layout,
                        bt_handle *out);

// The same elements as a strided tensor: `contiguous`, `channels_last`, `channels_last_3d` or `channels_last_1d`; null is
// `contiguous`.
//
// # Safety
// `format` is null or a string.
bt_status bt_to_strided(bt_handle t,
                        const char *format,
                        bt_handle *out);

// Calls an op by name with named arguments; what is left out takes its default. The results' handles go into `outs`, which
// has room for `room`, and their number into `count`; with too little room nothing is given.
//
// # Safety
// `op` is a string, `args` holds `arg_count` arguments whose names, texts and arrays are as their fields say, `outs` may be
// written for `room` handles, `count` is null or may be written.
bt_status bt_call(const char *op,
                  const struct bt_arg *args,
                  size_t arg_count,
                  bt_handle *outs,
                  size_t room,
                  size_t *count);

// Packs the plain weights of a convolution, `[O, C/groups, k...]`, and its bias (0 for none), for sources like `like`, on
// the threads of this process. `params` are `stride`, `padding`, `dilation`, `groups`, `post_ops`, as of the op.
//
// # Safety
// `params` holds `param_count` arguments, as `bt_call` asks; `out` may be written.
bt_status bt_pack_conv(bt_handle weights,
                       bt_handle bias,
                       const struct bt_arg *params,
                       size_t param_count,
                       bt_handle like,
                       bt_handle *out);

// Packs the weights of a linear layer, `[O, K]`, and its bias (0 for none), for inputs of `rows` rows.
//
// # Safety
// `out` may be written.
bt_status bt_pack_linear(bt_handle weights, bt_handle bias, size_t rows, bt_handle *out);

// Runs packed weights on `x`; `residual` is the operand of a `residual` post-op, 0 without one.
//
// # Safety
// `out` may be written.
bt_status bt_packed_run(bt_handle packed, bt_handle x, bt_handle residual, bt_handle *out);

// Reads a safetensors file of plain weights into memory.
//
// # Safety
// `path` is a string, `out` may be written.
bt_status bt_dict_load(const char *path, bt_handle *out);

// Maps a safetensors file of plain weights: as `bt_dict_load`, without the copy. While the state dict, or a tensor that was
// taken out of it, is in use, nobody may change the file: neither this process nor another one may write to it or make it
// shorter. A new file of the same name may take its place, and it may be deleted.
//
// # Safety
// `path` is a string, `out` may be written. The file stays as it is, as said above: else reading a tensor may end the process
// or has undefined behaviour.
bt_status bt_dict_map(const char *path,
                      bt_handle *out);

// Takes a tensor out of a state dict, by name: it is no longer in there. `bt_describe` lists the names.
//
// # Safety
// `name` is a string, `out` may be written.
bt_status bt_dict_take(bt_handle dict, const char *name, bt_handle *out);

// Keeps the threads as a team while `body` runs: parallel sections of the ops in it cost no wake-up.
//
// # Safety
// `body` may be called with `context`, and returns normally.
bt_status bt_run(bt_body body, void *context);

// Makes an error of every reorder while `body` runs.
//
// # Safety
// As `bt_run`.
bt_status bt_deny_reorders(bt_body body, void *context);

// Writes down every reorder and kernel run of this thread while `body` runs. `out` receives a text, a table of them, for
// `bt_describe`; nothing when the body fails.
//
// # Safety
// As `bt_run`; `out` may be written.
bt_status bt_record(bt_body body,
                    void *context,
                    bt_handle *out);

// Writes what an object is, or a text, into `room` bytes, NUL included and cut where it must be; `needed` receives how many
// bytes all of it takes.
//
// # Safety
// `text` may be written for `room` bytes; `needed` is null or may be written.
bt_status bt_describe(bt_handle handle,
                      char *text,
                      size_t room,
                      size_t *needed);

// Writes the signature of an op into `room` bytes, as `bt_describe` does: the names of its arguments, what they are, their
// defaults. With a null `op` the names of all ops, one a line.
//
// # Safety
// `op` is null or a string; `text` may be written for `room` bytes; `needed` is null or may be written.
bt_status bt_schema(const char *op,
                    char *text,
                    size_t room,
                    size_t *needed);

// Another library's tensor (`DLManagedTensorVersioned`), without a copy. Its deleter is called once: when it is no longer
// used, or at once on an error.
//
// # Safety
// A live tensor that nobody else consumes, whose memory nobody else writes to; any thread may call its deleter.
bt_status bt_tensor_from_dlpack(bt_dlpack managed,
                                bt_handle *out);

// As `bt_tensor_from_dlpack`, of the form before version 1 (`DLManagedTensor`).
//
// # Safety
// As `bt_tensor_from_dlpack`.
bt_status bt_tensor_from_dlpack_unversioned(bt_dlpack managed, bt_handle *out);

// A strided tensor for another library (`DLManagedTensorVersioned`), read-only, without a copy. A blocked one is refused with
// the reorder to call.
//
// # Safety
// `out` may be written. The receiver calls the deleter once.
bt_status bt_tensor_to_dlpack(bt_handle t,
                              bt_dlpack *out);

// A strided tensor for another library that knows only the form before version 1 (`DLManagedTensor`), which has no flag for
// read-only: so the receiver gets a copy of its own.
//
// # Safety
// `out` may be written. The receiver calls the deleter once.
bt_status bt_tensor_into_dlpack_unversioned(bt_handle t,
                                            bt_dlpack *out);

// A blocked tensor's memory as it lies, for another library, read-only: N, ceil(C / block), spatial sizes, block.
//
// # Safety
// `out` may be written. The receiver calls the deleter once.
bt_status bt_blocked_to_dlpack(bt_handle t,
                               bt_dlpack *out);

// The ABI version of the library: compare it with the header's `BT_ABI_VERSION`.
uint32_t bt_abi_version(void);

// Versions of the library and of oneDNN, and the instruction set: `blocktensor 0.1.0, oneDNN 3.14.1 (...)`.
const char *bt_version(void);

// Writes how the library was built and what it runs on into `room` bytes, as `bt_describe` does: versions, the engine's
// threading runtime, instruction sets, threads; for a build that is not optimised, the remedy too.
//
// # Safety
// `text` may be written for `room` bytes; `needed` is null or may be written.
bt_status bt_build_info(char *text,
                        size_t room,
                        size_t *needed);

// The table, for a caller that was compiled with a header of `version` whose `bt_api` has `struct_size` bytes. Null, and an
// error, where this library is older than that.
const struct bt_api *bt_get_api(uint32_t version,
                                size_t struct_size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BLOCKTENSOR_H */
