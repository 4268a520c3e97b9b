// A program that uses every class of blocktensor.hpp. Arguments: a folder for files, a model and its image's numbers as raw floats.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>

#include "blocktensor.hpp"

namespace bt = blocktensor;

// A line of the report, for the test; the program goes on, and fails at the end.
static int failures = 0;
#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      std::printf("line %d: %s does not hold\n", __LINE__, #condition); \
      failures++;                                                     \
    }                                                                 \
  } while (0)

// Whether the function throws an error of this code, whose text has this part.
template <typename F>
static bool throws(bt_code code, const char *part, F &&function) {
  try {
    function();
  } catch (const bt::Error &e) {
    if (e.code() == code && std::string(e.what()).find(part) != std::string::npos) return true;
    std::printf("%d: %s\n", static_cast<int>(e.code()), e.what());
  }
  return false;
}

static std::vector<float> numbers(size_t count) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; i++) all[i] = static_cast<float>(i * 7919 % 17) - 8.0F;
  return all;
}

static bool near(const bt::Tensor &a, const bt::Tensor &b) {
  const auto x = a.to_strided().read(), y = b.to_strided().read();
  double apart = 0, size = 1e-30;
  for (size_t i = 0; i < x.size() && x.size() == y.size(); i++) {
    apart += std::pow(double(x[i]) - double(y[i]), 2);
    size += std::pow(double(y[i]), 2);
  }
  return x.size() == y.size() && std::sqrt(apart / size) < 1e-5;
}

static void tensors() {
  bt::Tensor x(numbers(96), {2, 3, 4, 4});
  EXPECT((x.dims() == bt::Dims{2, 3, 4, 4}) && x.dtype() == BT_F32 && x.key() == "strided" && x.layout() == "contiguous");
  EXPECT(x.read() == numbers(96));
  const bt::Tensor b = x.to_blocked();
  EXPECT(b.key() == "blocked" && b.to_strided("channels_last").layout() == "channels_last");
  EXPECT(throws(BT_OPAQUE_LAYOUT, "bt_to_strided", [&] { b.read(); }));
  EXPECT(throws(BT_DTYPE_MISMATCH, "another type", [&] { x.read<int8_t>(); }));
  EXPECT(x.cast(BT_S32).read<int32_t>()[1] == static_cast<int32_t>(x.read()[1]));
  EXPECT((x.reshape({6, -1}).dims() == bt::Dims{6, 16}));
  EXPECT(bt::Tensor(std::vector<uint8_t>{1, 2, 3}, {3}).cast(BT_F32).read()[2] == 3.0F);
  const bt::Tensor bytes = bt::Tensor(std::vector<uint8_t>{1, 2, 3}, {3}).quantized({0.5F, 1.0F, 2.0F}, {0, 0, 1}, 0);
  EXPECT(bytes.quantization().axis == 0 && bytes.quantization().scales[2] == 2.0F && bytes.quantization().zero_points[2] == 1);
  EXPECT(bytes.dequantized().read()[2] == 4.0F && bytes.without_quantization().quantization().scales.empty());

  // Moved, not copied; a moved-from object is empty.
  const bt_handle handle = x.handle();
  bt::Tensor y = std::move(x);
  EXPECT(!x && y.handle() == handle);  // NOLINT: the moved-from object is what is tested
  x = std::move(y);
  EXPECT(x.handle() == handle && !y);
  EXPECT(throws(BT_NULL_POINTER, "`t`", [&] { y.dims(); }));
  // To C, an empty object would mean that there is no bias.
  const bt::Tensor rows(numbers(6), {2, 3});
  EXPECT(throws(BT_NULL_POINTER, "`bias`", [&] { bt::Packed::linear(rows, &y, 2); }));
  bt_handle given = bt::Tensor(std::vector<float>{1}, {1}).release();
  EXPECT(bt_free(given) == 0);

  // The caller's memory, with an owner, read and written.
  auto memory = std::make_shared<std::vector<float>>(96, 1.0F);
  const std::weak_ptr<std::vector<float>> watch = memory;
  {
    const bt::Tensor mine = bt::Tensor::wrap(memory->data(), {2, 3, 4, 4}, memory);
    b.reorder_into(mine);
    EXPECT(*memory == x.read());
    bt::call_into("neg", {{"x", x}}, mine);
    EXPECT((*memory)[1] == -x.read()[1]);
    memory.reset();
    EXPECT(!watch.expired());
  }
  EXPECT(watch.expired());
  const std::vector<float> fixed(3, 2.0F);
  const bt::Tensor read_only = bt::Tensor::wrap(fixed.data(), {3});
  EXPECT(throws(BT_ALIASING, "read-only", [&] { bt::call_into("neg", {{"x", read_only}}, read_only); }));
  EXPECT(throws(BT_INVALID_ARGUMENT, "not negative", [] { bt::Description({-1}); }));
}

static void ops() {
  const bt::Tensor x(numbers(96), {2, 3, 4, 4}), w(numbers(81), {3, 3, 3, 3});
  const auto y = bt::call("conv2d", {{"x", x}, {"weights", w}, {"padding", {1, 1}}, {"post_ops", "relu"}});
  EXPECT(y.dims() == x.dims());
  const auto z = bt::call("relu", {{"x", x}});
  const auto diffs = bt::call_backward("relu", {{"x", x}}, {&z}, {&z}, {"x"});
  EXPECT(diffs.size() == 1 && diffs[0].read() == z.read());
  EXPECT(throws(BT_INVALID_ARGUMENT, "one result has a gradient",
                [&] { bt::call_backward("relu", {{"x", x}}, {&z}, {nullptr}, {"x"}); }));
  EXPECT((bt::call("cat", {{"tensors", std::vector<const bt::Tensor *>{&x, &y}}, {"axis", 1}}).dims()[1] == 6));
  EXPECT(bt::call("leaky_relu", {{"x", x}, {"slope", 0.5}}).read()[0] == -4.0F);
  EXPECT(bt::call("sum", {{"x", x}, {"axes", bt::Dims{1}}, {"keepdim", true}}).dims().size() == 4);
  EXPECT(bt::call("clamp", {{"x", x}, {"min", -1.0}, {"max", 1.0}}).read()[0] == -1.0F);
  // More results than the first room for them.
  const auto rows = bt::call_all("split", {{"x", x.reshape({96, 1})}, {"sizes", bt::Dims(96, 1)}, {"axis", 0}});
  EXPECT(rows.size() == 96 && rows[5].read()[0] == x.read()[5]);
  EXPECT(throws(BT_INVALID_ARGUMENT, "op `chunk` has several results, and this function returns one; call `call_all`",
                [&] { bt::call("chunk", {{"x", x}, {"chunks", 3}, {"axis", 1}}); }));
  EXPECT(throws(BT_KEY_MISMATCH, "blocked", [&] { bt::call("add", {{"a", x}, {"b", x.to_blocked()}}); }));

  const bt::Operator pool("max_pool2d", {"x"}, {{"kernel", {2, 2}}});
  const bt::Description last({2, 3, 4, 4}, "channels_last");
  EXPECT(pool.infer({&last})[0].layout() == "channels_last" && pool.preferred("blocked", {&x})[0].key() == "blocked");
  const bt::Tensor pooled = bt::Tensor::zeros(pool.infer({&x})[0]);
  const bt::Scratchpad scratchpad(pool.scratchpad_bytes({&x}));
  pool.run_into({&x}, {&pooled}, &scratchpad);
  EXPECT(pooled.read() == pool.run({&x}).read());
  EXPECT(pool.describe().find("max_pool2d(x, kernel = [2, 2]") == 0);
}

static void packed(const std::string &folder) {
  const bt::Tensor image(numbers(1 * 3 * 64), {1, 3, 8, 8}), x(numbers(16 * 64), {1, 16, 8, 8});
  const bt::Tensor w(numbers(16 * 16 * 9), {16, 16, 3, 3}), bias(numbers(16), {16}), mean(numbers(16), {16});
  const bt::Tensor var(std::vector<float>(16, 4.0F), {16});
  const bt::Args params = {{"padding", 1}, {"post_ops", "residual,relu"}, {"norm_mean", mean}, {"norm_var", var}};
  const bt::Description like({1, 16, 8, 8}, "blocked");
  const bt::Tensor xb = x.to_blocked();
  const auto conv = bt::Packed::conv(w, &bias, params, like);
  const auto up = bt::Packed::conv_transpose(w, nullptr, {{"stride", 2}}, x);
  const auto linear = bt::Packed::linear(x.reshape({16, 64}), nullptr, 2);
  const bt::Tensor rows(numbers(128), {2, 64});
  auto plain = bt::call("conv2d", {{"x", x}, {"weights", w}, {"bias", bias}, {"padding", 1}});
  plain = bt::call("batch_norm", {{"x", plain}, {"mean", mean}, {"var", var}});
  plain = bt::call("relu", {{"x", bt::call("add", {{"a", plain}, {"b", x}})}});
  bt::deny_reorders([&] {
    bt::run([&] { EXPECT(conv(xb, xb).key() == "blocked"); });
  });
  EXPECT(near(conv(xb, xb), plain));
  EXPECT(near(up(x), bt::call("conv_transpose2d", {{"x", x}, {"weights", w}, {"stride", 2}})));
  EXPECT(near(linear(rows), bt::call("linear", {{"x", rows}, {"weights", x.reshape({16, 64})}})));
  EXPECT(throws(BT_INVALID_ARGUMENT, "take x, residual", [&] { conv(xb); }));
  try {
    const bt::Tensor w3(numbers(16 * 27), {16, 3, 3, 3});
    const auto stem = bt::Packed::stem(w3, nullptr, {{"padding", 1}}, image);
    EXPECT(near(stem(image), bt::call("conv2d", {{"x", image}, {"weights", w3}, {"padding", 1}})));
  } catch (const bt::Error &e) {
    // A library without oneDNN has no stems.
    EXPECT(e.code() == BT_UNSUPPORTED_OP && std::string(bt_version()).find("without oneDNN") != std::string::npos);
  }

  const bt::PackedWriter writer(true);
  writer.add("conv", conv);
  writer.add("up", up);
  const std::string path = folder + "/cpp.packed";
  writer.save(path);
  EXPECT((bt::PackedFile::read(path).names() == std::vector<std::string>{"conv", "up"}));
  EXPECT(bt::PackedFile::map(path, true).get("conv")(xb, xb).to_strided().read() == conv(xb, xb).to_strided().read());
  EXPECT(throws(BT_FILE_ACCESS, "no.file", [&] { bt::PackedFile::read(folder + "/no.file"); }));
}

static void scopes() {
  const size_t outside = bt::thread_count();
  bt::with_threads(1, [] { EXPECT(bt::thread_count() == 1); });
  EXPECT(bt::thread_count() == outside);
  EXPECT(throws(BT_INVALID_ARGUMENT, "threads", [] { bt::with_threads(0, [] {}); }));
  // What a function throws arrives, whatever its type.
  try {
    bt::run([] { bt::deny_reorders([] { throw std::string("thrown"); }); });
    EXPECT(false);
  } catch (const std::string &text) {
    EXPECT(text == "thrown");
  }
  const bt::Tensor x(numbers(48), {1, 3, 4, 4});
  EXPECT(throws(BT_REORDER_DENIED, "to_blocked", [&] { bt::deny_reorders([&] { x.to_blocked(); }); }));
  EXPECT(bt::record([&] { x.to_blocked(); }).find("1 reorder") != std::string::npos);
  const bt::Tensor b = x.to_blocked();
  const bt::Args sums = {{"x", b}, {"axis", 2}};
  {
    std::string heard;
    const bt::Fallback on("cumsum", [&](std::string_view text) { heard = text; throw 1; });
    EXPECT(bt::call("cumsum", sums).key() == "blocked" && heard.find("cumsum") != std::string::npos);
  }
  EXPECT(throws(BT_UNSUPPORTED_OP, "cumsum", [&] { bt::call("cumsum", sums); }));
}

static void files(const std::string &folder, const std::string &dict, const std::string &path, const std::string &image) {
  for (const bool mapped : {false, true}) {
    const auto weights = mapped ? bt::StateDict::map(dict) : bt::StateDict::load(dict);
    const auto names = weights.names();
    EXPECT(names.size() == 2 && names[0] == std::string("a\0b", 3) && names[1] == "w");
    EXPECT(weights.take_at(0).read()[0] == 1.0F && weights.take("w").read()[0] == 2.0F);
    EXPECT(throws(BT_INVALID_ARGUMENT, "`w`", [&] { weights.take("w"); }));
  }
  std::ifstream file(image, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<float> pixels(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(pixels.data()));
  const int64_t batch = static_cast<int64_t>(pixels.size() / (3 * 44 * 60));
  const bt::Tensor x(pixels, {batch, 3, 44, 60});
  const auto model = bt::Model::load(path);
  bt_value_info input;
  bt::check(bt_model_inputs(model.handle(), &input, 1, nullptr));
  bt::Plan::Sizes sizes;
  if (input.dim_names[0]) sizes.emplace_back(input.dim_names[0], batch);
  const bt::Plan plan(model, sizes);
  EXPECT(near(plan.run({&x}).at(0), model.run({&x}).at(0)));
  // The same numbers one byte off.
  const auto plain = x.read();
  auto odd = std::make_shared<std::vector<char>>(1 + plain.size() * sizeof(float));
  std::memcpy(odd->data() + 1, plain.data(), plain.size() * sizeof(float));
  const std::weak_ptr<std::vector<char>> watch = odd;
  {
    const auto off = bt::Tensor::wrap_input<float>(odd->data() + 1, x.dims(), odd);
    odd.reset();
    EXPECT(plan.run({&off}).at(0).read() == plan.run({&x}).at(0).read());
    EXPECT(!watch.expired());
  }
  EXPECT(watch.expired());
  plan.save(folder + "/cpp.plan");
  EXPECT(bt::Plan::load(folder + "/cpp.plan").run({&x}).at(0).read() == plan.run({&x}).at(0).read());
  const auto results = plan.run({&x});
  const bt::Tensor &result = results.at(0);
  const bt::Tensor place(std::vector<float>(result.read().size(), -1.0F), result.dims());
  plan.run_into({&x}, {&place});
  EXPECT(place.read() == result.read());
  EXPECT(throws(BT_CORRUPT_FILE, "", [] { bt::Model::from_data("no model", 8); }));
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  bt::check_library();
  tensors();
  ops();
  packed(argv[1]);
  scopes();
  files(argv[1], argv[2], argv[3], argv[4]);
  std::printf("failures: %d, live handles: %zu\n", failures, bt_live_handles());
  return failures != 0 || bt_live_handles() != 0;
}
