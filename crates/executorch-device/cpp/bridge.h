// What the bridge of ../src/bridge.rs declares. Everything here is one call into ExecuTorch, or one call back into Rust;
// decisions are made in Rust. An error is the number of executorch::runtime::Error, 0 for none.
#pragma once

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/device_allocator.h>

#include <memory>
#include <string>

#include "rust/cxx.h"

namespace executorch_device {

using executorch::aten::Tensor;
using executorch::extension::Module;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Method;
using Args = executorch::runtime::Span<EValue*>;
using CompileSpecs = executorch::runtime::ArrayRef<executorch::runtime::CompileSpec>;

struct AllocatorShim;
struct DelegateShim;
struct Slot;
struct Tag;

// Registries. The caller has checked that the slot is free, and holds the lock that makes this safe.
bool has_allocator(int8_t device_type);
void register_allocator(int8_t device_type, rust::Box<AllocatorShim> shim);
bool has_delegate(const std::string& name);
uint32_t register_delegate(const std::string& name, rust::Box<DelegateShim> shim);

// What a delegate is given.
rust::Slice<const uint8_t> method_name(const BackendInitContext& context);
rust::Slice<const uint8_t> executing_method_name(const BackendExecutionContext& context);
std::unique_ptr<FreeableBuffer> named_data(const BackendInitContext& context, rust::Str key, uint32_t& code);
rust::Slice<const uint8_t> buffer_bytes(const FreeableBuffer& buffer);
size_t spec_count(const CompileSpecs& specs);
rust::Slice<const uint8_t> spec_key(const CompileSpecs& specs, size_t index);
rust::Slice<const uint8_t> spec_value(const CompileSpecs& specs, size_t index);
size_t arg_count(const Args& args);
const EValue& arg(const Args& args, size_t index);
uint32_t resize(const EValue& value, rust::Slice<const int32_t> sizes);

// Values and tensors.
std::shared_ptr<Tensor> tensor_over(
    uint8_t* data, rust::Slice<const int32_t> sizes, rust::Slice<const uint8_t> dim_order,
    rust::Slice<const int32_t> strides, int8_t scalar_type, int8_t device_type, int8_t device_index);
const Tensor& tensor_of(const EValue& value);
Tag tag(const Tensor& tensor);
template <typename T>
std::unique_ptr<EValue> value_of(T value) { return std::make_unique<EValue>(value); }
inline std::unique_ptr<EValue> value_of_tensor(const Tensor& tensor) { return std::make_unique<EValue>(tensor); }
inline std::unique_ptr<EValue> value_of_none() { return std::make_unique<EValue>(); }

// Module. `method` gives null when the method cannot be loaded.
const Method* method(Module& module, const std::string& name);
uint32_t set_input(Module& module, const std::string& method, const EValue& value, size_t index);
uint32_t set_output(Module& module, const std::string& method, const Tensor& tensor, size_t index);
uint32_t execute(Module& module, const std::string& method);
Slot input_slot(const Method& method, size_t index);
Slot output_slot(const Method& method, size_t index);

} // namespace executorch_device
