// Runs a model once with the provider, and once with ONNX Runtime's CPU provider: run_model LIBRARY MODEL
//
// HEADERS is the folder of onnxruntime_cxx_api.h, which ONNX Runtime's archives and its NuGet package have; the Python package has the
// library without headers, in onnxruntime/capi.
//
//     g++ -std=c++17 -IHEADERS crates/onnxruntime-ep/examples/run_model.cpp -LLIBRARIES -lonnxruntime -o run_model
#include <onnxruntime_cxx_api.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

static const char* const kProvider = "BlocktensorExecutionProvider";

// Numbers for a session's only input, f32: sizes without a number are 1.
static std::vector<float> run(Ort::Session& session) {
    Ort::AllocatorWithDefaultOptions allocator;
    auto input = session.GetInputNameAllocated(0, allocator);
    auto output = session.GetOutputNameAllocated(0, allocator);
    auto dims = session.GetInputTypeInfo(0).GetTensorTypeAndShapeInfo().GetShape();
    size_t count = 1;
    for (auto& size : dims) {
        size = size < 0 ? 1 : size;
        count *= static_cast<size_t>(size);
    }
    std::vector<float> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = std::sin(0.37f * static_cast<float>(i));
    auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    auto value = Ort::Value::CreateTensor<float>(memory, numbers.data(), count, dims.data(), dims.size());
    const char* inputs[] = {input.get()};
    const char* outputs[] = {output.get()};
    auto results = session.Run(Ort::RunOptions{nullptr}, inputs, &value, 1, outputs, 1);
    const float* data = results[0].GetTensorData<float>();
    return {data, data + results[0].GetTensorTypeAndShapeInfo().GetElementCount()};
}

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fprintf(stderr, "run_model LIBRARY MODEL\n");
        return 2;
    }
    Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "run_model");
    env.RegisterExecutionProviderLibrary("blocktensor", argv[1]);
    std::vector<Ort::ConstEpDevice> devices;
    for (auto device : env.GetEpDevices()) {
        if (std::string(device.EpName()) == kProvider) devices.push_back(device);
    }
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(1);
    options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");
    options.AppendExecutionProvider_V2(env, devices, std::unordered_map<std::string, std::string>{{"threads", "1"}});
    Ort::Session ours(env, argv[2], options);
    Ort::Session theirs(env, argv[2], Ort::SessionOptions());

    auto got = run(ours);
    auto want = run(theirs);
    double difference = 0, norm = 0;
    for (size_t i = 0; i < want.size(); ++i) {
        difference += (got[i] - want[i]) * (got[i] - want[i]);
        norm += want[i] * want[i];
    }
    double relative = std::sqrt(difference / norm);
    std::printf("%zu results, %.1e from the CPU provider\n", got.size(), relative);
    return relative <= 3e-5 ? 0 : 1;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
