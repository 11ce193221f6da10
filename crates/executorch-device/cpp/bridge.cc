#include "executorch-device/cpp/bridge.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/platform.h>

#include <cstring>
#include <utility>

#include "executorch-device/src/bridge.rs.h"

// `Method::get_input` is deprecated in favour of `MethodMeta`, which does not know the device of a tensor.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace executorch_device {
namespace {

namespace et = executorch::runtime;
using et::Error;
using et::Result;
using et::etensor::DeviceIndex;
using et::etensor::DeviceType;

uint32_t code(Error error) { return static_cast<uint32_t>(error); }
uint8_t* bytes(void* pointer) { return static_cast<uint8_t*>(pointer); }
const uint8_t* bytes(const void* pointer) { return static_cast<const uint8_t*>(pointer); }
rust::Slice<const uint8_t> text(const char* c_string) {
  return {bytes(c_string), c_string == nullptr ? 0 : std::strlen(c_string)};
}

class Allocator final : public et::DeviceAllocator {
 public:
  Allocator(DeviceType type, rust::Box<AllocatorShim> shim) : type_(type), shim_(std::move(shim)) {}
  Result<void*> allocate(size_t nbytes, DeviceIndex index, size_t alignment) override {
    const Allocation made = shim_->allocate(nbytes, index, alignment);
    if (made.code != 0) {
      return static_cast<Error>(made.code);
    }
    return static_cast<void*>(made.address);
  }
  void deallocate(void* ptr, DeviceIndex index) override { shim_->deallocate(bytes(ptr), index); }
  Error copy_host_to_device(void* dst, const void* src, size_t nbytes, DeviceIndex index) override {
    return static_cast<Error>(shim_->copy_host_to_device(bytes(dst), bytes(src), nbytes, index));
  }
  Error copy_device_to_host(void* dst, const void* src, size_t nbytes, DeviceIndex index) override {
    return static_cast<Error>(shim_->copy_device_to_host(bytes(dst), bytes(src), nbytes, index));
  }
  DeviceType device_type() const override { return type_; }

 private:
  DeviceType type_;
  rust::Box<AllocatorShim> shim_;
};

class Backend final : public et::BackendInterface {
 public:
  explicit Backend(rust::Box<DelegateShim> shim) : shim_(std::move(shim)) {}
  bool is_available() const override { return shim_->is_available(); }
  Result<et::DelegateHandle*> init(
      BackendInitContext& context, FreeableBuffer* processed, CompileSpecs specs) const override {
    const Initialized made = shim_->init(context, buffer_bytes(*processed), specs);
    if (made.code != 0) {
      return static_cast<Error>(made.code);
    }
    processed->Free(); // Rust was lent the bytes for the call only
    return static_cast<et::DelegateHandle*>(made.handle);
  }
  Error execute(BackendExecutionContext& context, et::DelegateHandle* handle, Args args) const override {
    return static_cast<Error>(shim_->execute(context, static_cast<DelegateHandle*>(handle), args));
  }
  void destroy(et::DelegateHandle* handle) const override {
    shim_->destroy(static_cast<DelegateHandle*>(handle));
  }

 private:
  rust::Box<DelegateShim> shim_;
};

// Installed before `main`, when there is one thread: `register_pal` is not synchronised. With no sink set in Rust,
// the runtime's own printing goes on as before.
const pal_emit_log_message_method print = et::get_pal_impl()->emit_log_message;
void emit(
    et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename, const char* function, size_t line,
    const char* message, size_t length) {
  if (!log_line(static_cast<uint32_t>(level), {bytes(message), length})) {
    print(timestamp, level, filename, function, line, message, length);
  }
}
[[maybe_unused]] const bool installed = et::register_pal(et::PalImpl::create(emit, "executorch-device"));

Slot slot(const EValue& value, const Result<et::TensorInfo>& info) {
  if (!value.isTensor() || !info.ok()) {
    return Slot{false, false, false, 0, 0, 0, 0};
  }
  const auto device = value.toTensor().device();
  return Slot{
      true, info->is_memory_planned(), false, static_cast<int8_t>(device.type()), device.index(),
      static_cast<int8_t>(info->scalar_type()), info->nbytes()};
}

} // namespace

bool has_allocator(int8_t type) { return et::get_device_allocator(static_cast<DeviceType>(type)) != nullptr; }
void register_allocator(int8_t type, rust::Box<AllocatorShim> shim) {
  // The registry keeps the pointer for the life of the process.
  et::register_device_allocator(new Allocator(static_cast<DeviceType>(type), std::move(shim)));
}
bool has_delegate(const std::string& name) { return et::get_backend_class(name.c_str()) != nullptr; }
uint32_t register_delegate(const std::string& name, rust::Box<DelegateShim> shim) {
  auto kept = std::make_unique<std::string>(name); // the registry keeps both pointers for the life of the process
  auto backend = std::make_unique<Backend>(std::move(shim));
  const Error error = et::register_backend({kept->c_str(), backend.get()});
  if (error == Error::Ok) {
    kept.release();
    backend.release();
  }
  return code(error);
}

rust::Slice<const uint8_t> method_name(const BackendInitContext& context) { return text(context.get_method_name()); }
rust::Slice<const uint8_t> executing_method_name(const BackendExecutionContext& context) {
  return text(context.get_method_name());
}
std::unique_ptr<FreeableBuffer> named_data(const BackendInitContext& context, rust::Str key, uint32_t& out) {
  const auto* map = context.get_named_data_map();
  if (map == nullptr) {
    out = code(Error::NotFound);
    return nullptr;
  }
  // As a C string: FlatTensorDataMap compares `key.data()` up to its NUL.
  auto found = map->get_data(std::string(key));
  out = code(found.error());
  return found.ok() ? std::make_unique<FreeableBuffer>(std::move(*found)) : nullptr;
}
rust::Slice<const uint8_t> buffer_bytes(const FreeableBuffer& buffer) {
  const auto data = buffer.data_safe(); // `data` would abort for a buffer in another core's memory
  return {data.ok() ? bytes(*data) : nullptr, data.ok() && *data != nullptr ? buffer.size() : 0};
}
size_t spec_count(const CompileSpecs& specs) { return specs.size(); }
rust::Slice<const uint8_t> spec_key(const CompileSpecs& specs, size_t index) { return text(specs[index].key); }
rust::Slice<const uint8_t> spec_value(const CompileSpecs& specs, size_t index) {
  return {bytes(specs[index].value.buffer), specs[index].value.nbytes};
}
size_t arg_count(const Args& args) { return args.size(); }
const EValue& arg(const Args& args, size_t index) { return *args[index]; }
uint32_t resize(const EValue& value, rust::Slice<const int32_t> sizes) {
  return value.isTensor() ? code(et::resize_tensor(value.toTensor(), {sizes.data(), sizes.size()}))
                          : code(Error::InvalidType);
}

std::shared_ptr<Tensor> tensor_over(
    uint8_t* data, rust::Slice<const int32_t> sizes, rust::Slice<const uint8_t> dim_order,
    rust::Slice<const int32_t> strides, int8_t scalar_type, int8_t device_type, int8_t device_index) {
  return executorch::extension::make_tensor_ptr(
      {sizes.begin(), sizes.end()}, data, {dim_order.begin(), dim_order.end()}, {strides.begin(), strides.end()},
      static_cast<et::etensor::ScalarType>(scalar_type), {static_cast<DeviceType>(device_type), device_index},
      et::TensorShapeDynamism::STATIC);
}
const Tensor& tensor_of(const EValue& value) { return value.toTensor(); }
Tag tag(const Tensor& tensor) {
  const auto device = tensor.device();
  return {static_cast<int8_t>(tensor.scalar_type()), static_cast<int8_t>(device.type()), device.index()};
}

const Method* method(Module& module, const std::string& name) {
  const auto method = module.method(name);
  return method.ok() ? *method : nullptr;
}
uint32_t set_input(Module& module, const std::string& method, const EValue& value, size_t index) {
  return code(module.set_input(method, value, index));
}
uint32_t set_output(Module& module, const std::string& method, const Tensor& tensor, size_t index) {
  return code(module.set_output(method, EValue(tensor), index));
}
uint32_t execute(Module& module, const std::string& method) { return code(module.execute(method).error()); }
Slot input_slot(const Method& method, size_t index) {
  const EValue& value = method.get_input(index);
  Slot made = slot(value, method.method_meta().input_tensor_meta(index));
  for (size_t output = 0; output < method.outputs_size(); ++output) {
    made.returned |= &method.get_output(output) == &value;
  }
  return made;
}
Slot output_slot(const Method& method, size_t index) {
  return slot(method.get_output(index), method.method_meta().output_tensor_meta(index));
}

} // namespace executorch_device
