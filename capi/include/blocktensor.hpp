/* blocktensor for C++17, over blocktensor.h: objects that free their handles, and errors as exceptions. One file, and the library.
 *
 *   blocktensor::Tensor x(numbers, {1, 64, 56, 56});
 *   auto y = blocktensor::call("relu", {{"x", x.to_blocked()}});
 *
 * Objects are moved, not copied. They free their handles, which handle() returns for calls of blocktensor.h; Tensor(adopt, handle)
 * takes one over. Do not make them inside a bt_scope, which frees the same handles. Where a C function returns a status, these
 * throw blocktensor::Error with the same code and text. Exceptions that leave a function passed to run, with_threads,
 * deny_reorders or record arrive at its caller.
 */
#ifndef BLOCKTENSOR_HPP
#define BLOCKTENSOR_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "blocktensor.h"

namespace blocktensor {

using Dims = std::vector<int64_t>;

// A status that is not 0, with the text of bt_last_error_message.
class Error : public std::runtime_error {
 public:
  Error(bt_status code, const std::string &text) : std::runtime_error(text), code_(static_cast<bt_code>(code)) {}
  bt_code code() const noexcept { return code_; }

 private:
  bt_code code_;
};

// Throws unless the status is 0.
inline void check(bt_status status) {
  if (status == 0) return;
  const bool known = bt_last_error_code() == status;
  throw Error(status, known ? bt_last_error_message() : "status " + std::to_string(status));
}

// Throws unless the library runs programs that were compiled with this header.
inline void check_library() {
  if (!bt_get_api(BT_ABI_VERSION, sizeof(bt_api))) check(bt_last_error_code());
}

namespace detail {

// The handle that a call writes.
template <typename F>
bt_handle made(F &&call) {
  bt_handle out = 0;
  check(call(&out));
  return out;
}

// The text that a call writes.
template <typename F>
std::string text(F &&call) {
  size_t needed = 0;
  check(call(nullptr, size_t{0}, &needed));
  std::string said(needed, '\0');
  check(call(said.data(), said.size(), &needed));
  said.resize(needed - 1);
  return said;
}

// A function of the caller as a bt_body. Nothing is thrown through C.
template <typename F>
struct Body {
  F &function;
  std::exception_ptr thrown;

  static bt_status call(void *context) noexcept {
    auto &self = *static_cast<Body *>(context);
    try {
      self.function();
      return 0;
    } catch (...) {
      self.thrown = std::current_exception();
      return -1;
    }
  }
};

// Calls `scope` with a function of the caller, and throws what that threw.
template <typename F, typename Scope>
void inside(F &function, Scope &&scope) {
  Body<F> body{function, nullptr};
  const bt_status status = scope(&Body<F>::call, static_cast<void *>(&body));
  if (body.thrown) std::rethrow_exception(body.thrown);
  check(status);
}

template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<float> : std::integral_constant<bt_dtype, BT_F32> {};
template <>
struct DtypeOf<uint8_t> : std::integral_constant<bt_dtype, BT_U8> {};
template <>
struct DtypeOf<int8_t> : std::integral_constant<bt_dtype, BT_S8> {};
template <>
struct DtypeOf<int32_t> : std::integral_constant<bt_dtype, BT_S32> {};

}  // namespace detail

// Says that an object takes a handle over: Tensor(adopt, handle).
struct Adopt {
  explicit Adopt() = default;
};
inline constexpr Adopt adopt{};

// Any object of the library.
class Object {
 public:
  Object() noexcept = default;
  Object(Adopt, bt_handle handle) noexcept : handle_(handle) {}
  Object(Object &&other) noexcept : handle_(other.release()) {}
  Object &operator=(Object &&other) noexcept {
    if (this != &other) {
      const bt_handle taken = other.release();
      free();
      handle_ = taken;
    }
    return *this;
  }
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  ~Object() { free(); }

  bt_handle handle() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != 0; }
  // Gives the handle away: the caller frees it.
  bt_handle release() noexcept { return std::exchange(handle_, bt_handle{0}); }
  // bt_describe
  std::string describe() const {
    return detail::text([this](char *to, size_t room, size_t *needed) { return bt_describe(handle_, to, room, needed); });
  }

 private:
  void free() noexcept {
    if (handle_ != 0) bt_free(handle_);
    handle_ = 0;
  }

  bt_handle handle_ = 0;
};

namespace detail {

// The handle of an object that a call cannot do without: to C, 0 would mean that there is none.
inline bt_handle given(const Object &object, const char *what) {
  if (!object) throw Error(BT_NULL_POINTER, std::string("`") + what + "`: an empty object, which was moved from; pass a full one");
  return object.handle();
}

// The same of an object that may be left out.
inline bt_handle optional(const Object *object, const char *what) { return object ? given(*object, what) : 0; }

}  // namespace detail

// What tensors and descriptions have in common: sizes, type and layout.
class Described : public Object {
 public:
  using Object::Object;

  bt_info info() const {
    bt_info info = bt_info();
    info.struct_size = sizeof info;
    check(bt_tensor_info(handle(), &info));
    return info;
  }
  Dims dims() const {
    const bt_info i = info();
    return Dims(i.dims, i.dims + i.rank);
  }
  bt_dtype dtype() const { return static_cast<bt_dtype>(info().dtype); }
  std::string key() const { return info().key; }
  std::string layout() const {
    return detail::text([this](char *to, size_t room, size_t *needed) { return bt_layout_name(handle(), to, room, needed); });
  }
};

// A tensor without its elements (bt_desc_new).
class Description : public Described {
 public:
  using Described::Described;
  explicit Description(const Dims &dims, const char *layout = nullptr, bt_dtype dtype = BT_F32)
      : Described(adopt, detail::made([&](bt_handle *out) { return bt_desc_new(dtype, dims.size(), dims.data(), layout, out); })) {}
};

// Scales and zero points (bt_tensor_quantization): one pair (axis -1), or one for each index of an axis. No pairs: the tensor has none.
struct Quantization {
  int64_t axis = -1;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
};

class Tensor : public Described {
 public:
  using Described::Described;

  // A copy of the numbers, in row-major order.
  template <typename T>
  Tensor(const std::vector<T> &data, const Dims &dims)
      : Described(adopt, detail::made([&](bt_handle *out) {
          const bt_dtype dtype = detail::DtypeOf<T>::value;
          return bt_tensor_from_data(dtype, dims.size(), dims.data(), nullptr, data.data(), data.size() * sizeof(T), out);
        })) {}

  // Zeros, like a tensor or a description.
  static Tensor zeros(const Described &like) {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_tensor_zeros(like.handle(), out); }));
  }

  // The caller's memory, without a copy. It must live, and nobody else may write to it, until `owner` is released; without an
  // owner, as long as a tensor uses it.
  template <typename T>
  static Tensor wrap(T *data, const Dims &dims, std::shared_ptr<void> owner = nullptr) {
    using Number = std::remove_const_t<T>;
    return owned(std::move(owner), [&](void *context, bt_release release, bt_handle *out) {
      return bt_tensor_wrap(detail::DtypeOf<Number>::value, dims.size(), dims.data(), nullptr, const_cast<Number *>(data),
                            !std::is_const<T>::value, context, release, out);
    });
  }

  // Memory at any address as an input of runs of plans, which copy what is not aligned (bt_input_wrap): of numbers `T` in row-major order.
  template <typename T>
  static Tensor wrap_input(const void *data, const Dims &dims, std::shared_ptr<void> owner = nullptr) {
    return owned(std::move(owner), [&](void *context, bt_release release, bt_handle *out) {
      return bt_input_wrap(detail::DtypeOf<T>::value, dims.size(), dims.data(), data, context, release, out);
    });
  }

  // The elements of a strided tensor, in row-major order.
  template <typename T = float>
  std::vector<T> read() const {
    const bt_info i = info();
    size_t count = 1;
    for (size_t axis = 0; axis < i.rank; axis++) count *= static_cast<size_t>(i.dims[axis]);
    if (i.dtype != detail::DtypeOf<T>::value) throw Error(BT_DTYPE_MISMATCH, "Tensor::read: the tensor has another type");
    std::vector<T> numbers(count);
    check(bt_tensor_read(handle(), numbers.data(), count * sizeof(T)));
    return numbers;
  }

  Tensor to_blocked(const char *layout = nullptr) const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_to_blocked(handle(), layout, out); }));
  }
  Tensor to_strided(const char *format = nullptr) const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_to_strided(handle(), format, out); }));
  }
  Tensor cast(bt_dtype dtype) const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_cast(handle(), dtype, out); }));
  }
  Tensor reshape(const Dims &dims) const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_reshape(handle(), dims.size(), dims.data(), out); }));
  }
  // One scale and zero point for the whole tensor (axis -1), or one of each for each index of an axis.
  Tensor quantized(const std::vector<float> &scales, const std::vector<int32_t> &zero_points, int64_t axis = -1) const {
    if (scales.size() != zero_points.size()) throw std::invalid_argument("there is one zero point for each scale");
    return Tensor(adopt, detail::made([&](bt_handle *out) {
      return bt_tensor_quantized(handle(), axis, scales.size(), scales.data(), zero_points.data(), out);
    }));
  }
  Quantization quantization() const {
    Quantization of;
    size_t count = 0;
    check(bt_tensor_quantization(handle(), &of.axis, 0, nullptr, nullptr, &count));
    of.scales.resize(count);
    of.zero_points.resize(count);
    check(bt_tensor_quantization(handle(), &of.axis, count, of.scales.data(), of.zero_points.data(), &count));
    return of;
  }
  // bt_tensor_without_quantization
  Tensor without_quantization() const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_tensor_without_quantization(handle(), out); }));
  }
  // bt_tensor_dequantized
  Tensor dequantized() const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_tensor_dequantized(handle(), out); }));
  }
  // bt_reorder_into
  void reorder_into(const Tensor &dst) const { check(bt_reorder_into(handle(), dst.handle())); }

 private:
  // A call that releases the owner, also where it fails.
  template <typename Wrap>
  static Tensor owned(std::shared_ptr<void> owner, const Wrap &wrap) {
    auto kept = std::make_unique<std::shared_ptr<void>>(std::move(owner));
    const bt_release release = [](void *context) { delete static_cast<std::shared_ptr<void> *>(context); };
    return Tensor(adopt, detail::made([&](bt_handle *out) { return wrap(kept.release(), release, out); }));
  }
};

// A named argument: {"x", tensor}, {"tensors", std::vector<const Tensor *>{&a, &b}}, {"axis", 1}, {"padding", {1, 1}}, {"eps", 1e-5},
// {"keepdim", true}, {"post_ops", "relu"}. Tensors must live until the call.
class Arg {
 public:
  Arg(const char *name, const Tensor &t) : arg_(bt_t(name, t.handle())) {}
  Arg(const char *name, const std::vector<const Tensor *> &list) : arg_(bt_ts(name, nullptr, list.size())) {
    for (const Tensor *t : list) tensors_.push_back(t->handle());
  }
  template <typename I, std::enable_if_t<std::is_integral<I>::value && !std::is_same<I, bool>::value, int> = 0>
  Arg(const char *name, I value) : arg_(bt_i(name, static_cast<int64_t>(value))) {}
  template <typename B, std::enable_if_t<std::is_same<B, bool>::value, long> = 0>
  Arg(const char *name, B value) : arg_(bt_b(name, value)) {}
  Arg(const char *name, double value) : arg_(bt_f(name, value)) {}
  Arg(const char *name, std::initializer_list<int64_t> values) : Arg(name, Dims(values)) {}
  Arg(const char *name, Dims values) : arg_(bt_is(name, nullptr, values.size())), integers_(std::move(values)) {}
  Arg(const char *name, const char *value) : arg_(bt_s(name, nullptr)), text_(value) {}
  Arg(const char *name, std::string value) : arg_(bt_s(name, nullptr)), text_(std::move(value)) {}

  // The argument for C, valid as long as this one is unchanged. Its name must live as long.
  bt_arg get() const {
    bt_arg a = arg_;
    if (a.kind == BT_ARG_STRING) a.text = text_.c_str();
    if (a.kind == BT_ARG_INTS) a.integers = integers_.data();
    if (a.kind == BT_ARG_TENSORS) a.tensors = tensors_.data();
    return a;
  }

 private:
  bt_arg arg_;
  Dims integers_;
  std::vector<bt_handle> tensors_;
  std::string text_;
};

using Args = std::vector<Arg>;

namespace detail {

inline std::vector<bt_arg> arguments(const Args &args) {
  std::vector<bt_arg> list;
  for (const Arg &a : args) list.push_back(a.get());
  return list;
}

template <typename T>
std::vector<bt_handle> handles(const std::vector<const T *> &objects) {
  std::vector<bt_handle> list;
  for (const T *object : objects) list.push_back(object->handle());
  return list;
}

// The objects that a call gives: again with more room, if there was too little.
template <typename T, typename F>
std::vector<T> results(F &&call) {
  std::vector<bt_handle> outs(8);
  size_t count = 0;
  bt_status status = call(outs.data(), outs.size(), &count);
  if (status == BT_INVALID_ARGUMENT && count > outs.size()) {
    outs.resize(count);
    status = call(outs.data(), outs.size(), &count);
  }
  check(status);
  std::vector<T> objects;
  for (size_t i = 0; i < count; i++) objects.emplace_back(adopt, outs[i]);
  return objects;
}

// The one result of an op, or of an operator (null); `all` is the function that returns several.
inline Tensor only(std::vector<Tensor> results, const char *op, const char *all) {
  if (results.size() != 1) {
    const std::string what = op ? std::string("op `") + op + "`" : "the operator";
    throw Error(BT_INVALID_ARGUMENT, what + " has several results, and this function returns one; call `" + all + "`");
  }
  return std::move(results.front());
}

}  // namespace detail

// All results of an op by name.
inline std::vector<Tensor> call_all(const char *op, const Args &args) {
  const auto list = detail::arguments(args);
  return detail::results<Tensor>([&](bt_handle *outs, size_t room, size_t *count) {
    return bt_call(op, list.data(), list.size(), outs, room, count);
  });
}

// The one result of an op by name.
inline Tensor call(const char *op, const Args &args) { return detail::only(call_all(op, args), op, "call_all"); }

// bt_call_into, for one result.
inline void call_into(const char *op, const Args &args, const Tensor &out) {
  const auto list = detail::arguments(args);
  const bt_handle handle = out.handle();
  check(bt_call_into(op, list.data(), list.size(), &handle, 1));
}

// The gradients of the tensors that `wanted` names, as bt_call_backward: `diff_dst` has one for each result, null for zero.
inline std::vector<Tensor> call_backward(const char *op, const Args &args, const std::vector<const Tensor *> &results,
                                         const std::vector<const Tensor *> &diff_dst,
                                         const std::vector<const char *> &wanted) {
  if (diff_dst.size() != results.size()) throw Error(BT_INVALID_ARGUMENT, "each result has a gradient, or a null pointer");
  const auto list = detail::arguments(args);
  const auto forward = detail::handles(results);
  std::vector<bt_handle> diffs;
  for (const Tensor *diff : diff_dst) diffs.push_back(diff ? diff->handle() : 0);
  return detail::results<Tensor>([&](bt_handle *outs, size_t room, size_t *count) {
    return bt_call_backward(op, list.data(), list.size(), forward.data(), diffs.data(), forward.size(), wanted.data(),
                            wanted.size(), outs, room, count);
  });
}

class Scratchpad : public Object {
 public:
  using Object::Object;
  explicit Scratchpad(size_t bytes = 0)
      : Object(adopt, detail::made([&](bt_handle *out) { return bt_scratchpad_new(bytes, out); })) {}
};

// An op bound to its parameters, or packed weights.
class Operator : public Object {
 public:
  using Object::Object;
  using Inputs = std::vector<const Described *>;
  using Tensors = std::vector<const Tensor *>;

  Operator(const char *op, const std::vector<const char *> &inputs, const Args &params = {})
      : Object(adopt, detail::made([&](bt_handle *out) {
          const auto list = detail::arguments(params);
          return bt_op_new(op, inputs.data(), inputs.size(), list.data(), list.size(), out);
        })) {}

  std::vector<Description> infer(const Inputs &inputs) const {
    const auto list = detail::handles(inputs);
    return detail::results<Description>([&](bt_handle *outs, size_t room, size_t *count) {
      return bt_op_infer(handle(), list.data(), list.size(), outs, room, count);
    });
  }
  // Empty if the op has no kernel for the key.
  std::vector<Description> preferred(const char *key, const Inputs &inputs) const {
    const auto list = detail::handles(inputs);
    return detail::results<Description>([&](bt_handle *outs, size_t room, size_t *count) {
      return bt_op_preferred(handle(), key, list.data(), list.size(), outs, room, count);
    });
  }
  size_t scratchpad_bytes(const Inputs &inputs) const {
    const auto list = detail::handles(inputs);
    size_t bytes = 0;
    check(bt_op_scratchpad_bytes(handle(), list.data(), list.size(), &bytes));
    return bytes;
  }
  std::vector<Tensor> run_all(const Tensors &inputs) const {
    const auto list = detail::handles(inputs);
    return detail::results<Tensor>([&](bt_handle *outs, size_t room, size_t *count) {
      return bt_op_run(handle(), list.data(), list.size(), outs, room, count);
    });
  }
  Tensor run(const Tensors &inputs) const { return detail::only(run_all(inputs), nullptr, "run_all"); }
  void run_into(const Tensors &inputs, const Tensors &outs, const Scratchpad *scratchpad = nullptr) const {
    const auto list = detail::handles(inputs), results = detail::handles(outs);
    const bt_handle pad = detail::optional(scratchpad, "scratchpad");
    check(bt_op_run_into(handle(), list.data(), list.size(), results.data(), results.size(), pad));
  }
};

// Packed weights. `bias` may be null. `like` is a tensor such as they will meet, or a description.
class Packed : public Operator {
 public:
  using Operator::Operator;

  static Packed conv(const Tensor &weights, const Tensor *bias, const Args &params, const Described &like) {
    return packed(bt_pack_conv, weights, bias, params, like);
  }
  static Packed conv_transpose(const Tensor &weights, const Tensor *bias, const Args &params, const Described &like) {
    return packed(bt_pack_conv_transpose, weights, bias, params, like);
  }
  static Packed stem(const Tensor &weights, const Tensor *bias, const Args &params, const Described &like,
                     const char *layout = nullptr) {
    const auto pack = [layout](bt_handle w, bt_handle b, const bt_arg *args, size_t count, bt_handle l, bt_handle *out) {
      return bt_pack_stem(w, b, args, count, l, layout, out);
    };
    return packed(pack, weights, bias, params, like);
  }
  static Packed linear(const Tensor &weights, const Tensor *bias, size_t rows) {
    const bt_handle b = detail::optional(bias, "bias");
    return Packed(adopt, detail::made([&](bt_handle *out) { return bt_pack_linear(weights.handle(), b, rows, out); }));
  }

  Tensor operator()(const Tensor &x) const { return one(x, 0); }
  Tensor operator()(const Tensor &x, const Tensor &residual) const { return one(x, detail::given(residual, "residual")); }

 private:
  template <typename F>
  static Packed packed(F &&pack, const Tensor &weights, const Tensor *bias, const Args &params, const Described &like) {
    const auto list = detail::arguments(params);
    const bt_handle b = detail::optional(bias, "bias");
    return Packed(adopt, detail::made(
        [&](bt_handle *out) { return pack(weights.handle(), b, list.data(), list.size(), like.handle(), out); }));
  }
  Tensor one(const Tensor &x, bt_handle residual) const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_packed_run(handle(), x.handle(), residual, out); }));
  }
};

// What state dicts and packed files have in common: names.
class Named : public Object {
 public:
  using Object::Object;
  std::vector<std::string> names() const {
    size_t count = 0;
    check(bt_dict_len(handle(), &count));
    std::vector<std::string> list;
    for (size_t i = 0; i < count; i++) {
      const char *name = nullptr;
      size_t length = 0;
      check(bt_dict_name(handle(), i, &name, &length));
      list.emplace_back(name, length);
    }
    return list;
  }
};

class StateDict : public Named {
 public:
  using Named::Named;
  static StateDict load(const std::string &path) {
    return StateDict(adopt, detail::made([&](bt_handle *out) { return bt_dict_load(path.c_str(), out); }));
  }
  // Nobody may change the file meanwhile: bt_dict_map.
  static StateDict map(const std::string &path) {
    return StateDict(adopt, detail::made([&](bt_handle *out) { return bt_dict_map(path.c_str(), out); }));
  }
  Tensor take(const std::string &name) const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_dict_take(handle(), name.c_str(), out); }));
  }
  // By the index in names().
  Tensor take_at(size_t index) const {
    return Tensor(adopt, detail::made([&](bt_handle *out) { return bt_dict_take_at(handle(), index, out); }));
  }
};

class PackedWriter : public Object {
 public:
  using Object::Object;
  explicit PackedWriter(bool keep_plain = false)
      : Object(adopt, detail::made([&](bt_handle *out) { return bt_packed_writer_new(keep_plain, out); })) {}
  void add(const std::string &name, const Packed &packed) const {
    check(bt_packed_writer_add(handle(), name.c_str(), packed.handle()));
  }
  void save(const std::string &path) const { check(bt_packed_writer_save(handle(), path.c_str())); }
};

class PackedFile : public Named {
 public:
  using Named::Named;
  static PackedFile read(const std::string &path, bool repack = false) {
    return PackedFile(adopt, detail::made([&](bt_handle *out) { return bt_packed_file_read(path.c_str(), repack, out); }));
  }
  // Nobody may change the file meanwhile: bt_packed_file_map.
  static PackedFile map(const std::string &path, bool repack = false) {
    return PackedFile(adopt, detail::made([&](bt_handle *out) { return bt_packed_file_map(path.c_str(), repack, out); }));
  }
  Packed get(const std::string &name) const {
    return Packed(adopt, detail::made([&](bt_handle *out) { return bt_packed_file_get(handle(), name.c_str(), out); }));
  }
};

// An ONNX model.
class Model : public Object {
 public:
  using Object::Object;
  static Model load(const std::string &path) {
    return Model(adopt, detail::made([&](bt_handle *out) { return bt_model_load(path.c_str(), out); }));
  }
  static Model from_data(const void *data, size_t bytes) {
    return Model(adopt, detail::made([&](bt_handle *out) { return bt_model_from_data(data, bytes, out); }));
  }
  std::vector<Tensor> run(const std::vector<const Tensor *> &inputs) const {
    const auto list = detail::handles(inputs);
    return detail::results<Tensor>([&](bt_handle *outs, size_t room, size_t *count) {
      return bt_model_run(handle(), list.data(), list.size(), outs, room, count);
    });
  }
};

// A plan of a model: bt_plan_new, or bt_plan_load.
class Plan : public Object {
 public:
  using Object::Object;
  using Sizes = std::vector<std::pair<std::string, int64_t>>;

  explicit Plan(const Model &model, const Sizes &sizes = {}, const char *options = nullptr,
                const std::vector<const char *> &outputs = {})
      : Object(adopt, detail::made([&](bt_handle *out) {
          std::vector<bt_named_size> list;
          for (const auto &[name, size] : sizes) list.push_back(bt_named_size{name.c_str(), size});
          return bt_plan_new(model.handle(), options, list.data(), list.size(), outputs.data(), outputs.size(), out);
        })) {}
  static Plan load(const std::string &path, bool replan = false) {
    return Plan(adopt, detail::made([&](bt_handle *out) { return bt_plan_load(path.c_str(), replan, out); }));
  }
  void save(const std::string &path, bool keep_plain = false) const {
    check(bt_plan_save(handle(), path.c_str(), keep_plain));
  }
  std::vector<Tensor> run(const std::vector<const Tensor *> &inputs) const {
    const auto list = detail::handles(inputs);
    return detail::results<Tensor>([&](bt_handle *outs, size_t room, size_t *count) {
      return bt_plan_run(handle(), list.data(), list.size(), outs, room, count);
    });
  }
  void run_into(const std::vector<const Tensor *> &inputs, const std::vector<const Tensor *> &outs) const {
    const auto list = detail::handles(inputs), results = detail::handles(outs);
    check(bt_plan_run_into(handle(), list.data(), list.size(), results.data(), results.size()));
  }
};

// bt_run
template <typename F>
void run(F &&function) {
  detail::inside(function, [](bt_body body, void *context) { return bt_run(body, context); });
}

// bt_run_with_threads
template <typename F>
void with_threads(size_t threads, F &&function) {
  detail::inside(function, [&](bt_body body, void *context) { return bt_run_with_threads(threads, body, context); });
}

// bt_deny_reorders
template <typename F>
void deny_reorders(F &&function) {
  detail::inside(function, [](bt_body body, void *context) { return bt_deny_reorders(body, context); });
}

// bt_record: what ran, as text.
template <typename F>
std::string record(F &&function) {
  bt_handle book = 0;
  detail::inside(function, [&](bt_body body, void *context) { return bt_record(body, context, &book); });
  return Object(adopt, book).describe();
}

// bt_thread_count
inline size_t thread_count() {
  size_t count = 0;
  check(bt_thread_count(&count));
  return count;
}

// bt_allow_fallback: on as long as the object lives. `tell` is called on the threads of the calls, and what it throws is dropped. No
// call that may fall back may be under way when the object is destroyed.
class Fallback {
 public:
  using Tell = std::function<void(std::string_view)>;
  explicit Fallback(const char *op = nullptr, Tell tell = {})
      : tell_(std::make_unique<Tell>(std::move(tell))),
        on_(adopt, detail::made([&](bt_handle *out) { return bt_allow_fallback(op, hear, tell_.get(), out); })) {}

 private:
  static void hear(void *context, const char *text) noexcept {
    const auto &tell = *static_cast<const Tell *>(context);
    try {
      if (tell) tell(text);
    } catch (...) {
    }
  }

  // Destroyed after the fallback is off.
  std::unique_ptr<Tell> tell_;
  Object on_;
};

}  // namespace blocktensor

#endif  // BLOCKTENSOR_HPP
