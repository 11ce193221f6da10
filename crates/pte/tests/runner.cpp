// Runs methods as a caller of a given kind would, on ExecuTorch's own runtime, and says what the runtime answered.
//
//     runner LIBRARIES CALLER PROGRAM METHOD PLACES... [DATA.ptd]
//
// CALLER is `cpp` (a buffer for every output that has none, through set_output), `rust` (no set_output) or `python` (host
// memory for every output that has none); or `shared`, `cpp` with share_memory_arenas, or `force`, `cpp` with a buffer for
// every output. Inputs are handed over, and buffers brought, where PLACES says: one word an input, `host` or `device` (`-`
// for what is no tensor), then one word an output.
//
// Prints a line a call: `load 0x0`, `set_input 0x10`, … and at the end the first number of every output. The delegate and
// the device are stand-ins: device addresses fault on any access from the host, and the delegate refuses a pointer that is
// not device memory, as the CUDA delegate does. Whatever fails before the delegate is called is the runtime's own doing.

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/device_allocator.h>

using namespace executorch::runtime;
using executorch::extension::from_blob;
using executorch::extension::TensorPtr;
using executorch::extension::module::Module;
using executorch::runtime::etensor::Device;
using executorch::runtime::etensor::DeviceIndex;
using executorch::runtime::etensor::DeviceType;

namespace {

// Two views of the same bytes: one that nobody may touch, whose addresses are the device's, and one for the stand-ins.
class Fenced final : public DeviceAllocator {
 public:
  Fenced() {
    int file = memfd_create("device", 0);
    if (ftruncate(file, kBytes) != 0) {
      abort();
    }
    device_ = static_cast<char*>(mmap(nullptr, kBytes, PROT_NONE, MAP_SHARED, file, 0));
    shadow_ = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  }

  Result<void*> allocate(size_t nbytes, DeviceIndex, size_t) override {
    size_t start = used_;
    used_ += (nbytes + 255) / 256 * 256;
    return nbytes == 0 ? nullptr : device_ + start;
  }

  void deallocate(void*, DeviceIndex) override {}

  Error copy_host_to_device(void* to, const void* from, size_t nbytes, DeviceIndex) override {
    if (!holds(to) || from == nullptr || holds(from)) {
      return Error::InvalidArgument;
    }
    memcpy(shadow(to), from, nbytes);
    return Error::Ok;
  }

  Error copy_device_to_host(void* to, const void* from, size_t nbytes, DeviceIndex) override {
    if (!holds(from) || to == nullptr || holds(to)) {
      return Error::InvalidArgument;
    }
    memcpy(to, shadow(from), nbytes);
    return Error::Ok;
  }

  DeviceType device_type() const override {
    return DeviceType::CUDA;
  }

  bool holds(const void* pointer) const {
    return pointer >= device_ && pointer < device_ + kBytes;
  }

  void* shadow(const void* pointer) const {
    return shadow_ + (static_cast<const char*>(pointer) - device_);
  }

 private:
  static constexpr size_t kBytes = 16 << 20;
  char* device_;
  char* shadow_;
  size_t used_ = 0;
};

Fenced& fenced() {
  static Fenced fenced;
  return fenced;
}

// Adds all inputs into the last argument. Named data that its blob names must be there, as for the CUDA delegate.
class Adder final : public BackendInterface {
 public:
  bool is_available() const override {
    return true;
  }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed, ArrayRef<CompileSpec>) const override {
    std::string names(static_cast<const char*>(processed->data()), processed->size());
    for (size_t start = 0; start < names.size();) {
      size_t end = std::min(names.find('\n', start), names.size());
      std::string name = names.substr(start, end - start);
      auto* data = context.get_named_data_map();
      if (name.find("_blob") != std::string::npos && (data == nullptr || !data->get_data(name).ok())) {
        return Error::NotFound;
      }
      start = end + 1;
    }
    return reinterpret_cast<DelegateHandle*>(const_cast<Adder*>(this));
  }

  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue*> args) const override {
    for (auto* arg : args) {
      auto tensor = arg->toTensor();
      bool on_device = tensor.unsafeGetTensorImpl()->device_type() == DeviceType::CUDA;
      const void* pointer = tensor.const_data_ptr();
      if (!on_device || (pointer != nullptr && !fenced().holds(pointer))) {
        return Error::InvalidArgument;
      }
      if (pointer == nullptr && tensor.nbytes() > 0) {
        return Error::Internal;
      }
    }
    auto out = args[args.size() - 1]->toTensor();
    if (out.nbytes() == 0) {
      return Error::Ok;
    }
    auto* sum = static_cast<float*>(fenced().shadow(out.const_data_ptr()));
    std::vector<float> result(out.numel(), 0.0f);
    for (size_t i = 0; i + 1 < args.size(); ++i) {
      auto tensor = args[i]->toTensor();
      auto* values = static_cast<const float*>(fenced().shadow(tensor.const_data_ptr()));
      for (ssize_t k = 0; k < out.numel(); ++k) {
        result[k] += values[k % tensor.numel()];
      }
    }
    memcpy(sum, result.data(), out.nbytes());
    return Error::Ok;
  }
};

void say(const char* call, Error error) {
  printf("%s 0x%x\n", call, static_cast<int>(error));
  fflush(stdout);
}

// A tensor of ones, on the host or on the device.
TensorPtr ones(const TensorInfo& info, bool on_device) {
  std::vector<int> sizes(info.sizes().begin(), info.sizes().end());
  if (!on_device) {
    return executorch::extension::ones({sizes.begin(), sizes.end()}, info.scalar_type());
  }
  void* memory = *fenced().allocate(info.nbytes(), 0, 256);
  auto* values = static_cast<float*>(fenced().shadow(memory));
  std::fill(values, values + info.nbytes() / sizeof(float), 1.0f);
  return from_blob(memory, {sizes.begin(), sizes.end()}, info.scalar_type(), Device(DeviceType::CUDA, 0));
}

} // namespace

int main(int argc, char** argv) {
  auto load = [&](const char* library) {
    return dlopen((std::string(argv[1]) + "/" + library).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
  };
  if (argc < 5 || !load("libexecutorch_kernels_optimized.so") || !load("libexecutorch_backend_xnnpack.so")) {
    fprintf(stderr, "usage: runner LIBRARIES CALLER PROGRAM METHOD PLACES... [DATA.ptd]\n");
    return 2;
  }
  DeviceAllocatorRegistry::instance().register_allocator(&fenced());
  static Adder adder;
  for (const char* id : {"CudaBackend", "BackendWithCompilerDemo"}) {
    (void)register_backend({id, &adder});
  }
  std::string caller = argv[2], path = argv[3], method = argv[4], data;
  std::vector<std::string> places(argv + 5, argv + argc);
  if (!places.empty() && places.back().size() > 4 && places.back().substr(places.back().size() - 4) == ".ptd") {
    data = places.back();
    places.pop_back();
  }
  bool share = caller == "shared";
  auto mode = Module::LoadMode::File;
  auto module = data.empty() ? std::make_unique<Module>(path, mode, nullptr, nullptr, nullptr, share)
                             : std::make_unique<Module>(path, data, mode, nullptr, nullptr, nullptr, share);
  Error loaded = module->load_method(method);
  say("load", loaded);
  if (loaded != Error::Ok) {
    return 0;
  }
  auto meta = module->method_meta(method);
  std::vector<TensorPtr> held;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    if (places[i] == "-") {
      continue;
    }
    held.push_back(ones(*meta->input_tensor_meta(i), places[i] == "device"));
    Error set = module->set_input(method, held.back(), i);
    say("set_input", set);
    if (set != Error::Ok) {
      return 0;
    }
  }
  for (size_t i = 0; i < meta->num_outputs() && caller != "rust"; ++i) {
    auto info = meta->output_tensor_meta(i);
    if (!info.ok() || (info->is_memory_planned() && caller != "force")) {
      continue;
    }
    held.push_back(ones(*info, caller != "python" && places[meta->num_inputs() + i] == "device"));
    Error set = module->set_output(method, held.back(), i);
    say("set_output", set);
    if (set != Error::Ok) {
      return 0;
    }
  }
  auto outputs = module->execute(method);
  say("execute", outputs.error());
  if (!outputs.ok()) {
    return 0;
  }
  for (const auto& output : *outputs) {
    if (output.isTensor() && output.toTensor().numel() > 0 &&
        output.toTensor().scalar_type() == executorch::aten::ScalarType::Float) {
      const void* pointer = output.toTensor().const_data_ptr();
      const void* bytes = fenced().holds(pointer) ? fenced().shadow(pointer) : pointer;
      printf("output %g\n", *static_cast<const float*>(bytes));
    }
  }
}
