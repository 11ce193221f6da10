// Prints what ExecuTorch's runtime itself says about programs: one JSON object a file, on a line of its own.
//
//     method_meta FILE...
//
// The public MethodMeta and nothing else, so that the tests compare with what any caller could ask the runtime.

#include <cinttypes>
#include <cstdio>
#include <string>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::extension::FileDataLoader;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Tag;
using executorch::runtime::TensorInfo;

namespace {

std::string number(int64_t value) {
  return std::to_string(value);
}

// Names here are the exporter's own words: no character in them needs more than this.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + '"';
}

template <typename Each>
std::string list(size_t count, Each each) {
  std::string out = "[";
  for (size_t i = 0; i < count; ++i) {
    out += (i ? "," : "") + each(i);
  }
  return out + "]";
}

std::string tensor(const Result<TensorInfo>& info) {
  if (!info.ok()) {
    return "{\"error\":" + number(static_cast<int>(info.error())) + "}";
  }
  return "{\"dtype\":" + number(static_cast<int>(info->scalar_type())) +
      ",\"sizes\":" + list(info->sizes().size(), [&](size_t i) { return number(info->sizes()[i]); }) +
      ",\"dim_order\":" + list(info->dim_order().size(), [&](size_t i) { return number(info->dim_order()[i]); }) +
      ",\"nbytes\":" + number(info->nbytes()) + ",\"planned\":" + (info->is_memory_planned() ? "true" : "false") +
      ",\"name\":" + quoted(info->name()) + "}";
}

std::string value(const Result<Tag>& tag, const Result<TensorInfo>& info) {
  if (!tag.ok()) {
    return "{\"error\":" + number(static_cast<int>(tag.error())) + "}";
  }
  return *tag == Tag::Tensor ? tensor(info) : "{\"tag\":" + number(static_cast<int>(*tag)) + "}";
}

std::string arena(const MethodMeta& meta, size_t index) {
  auto device = meta.memory_planned_buffer_device(index);
  return "{\"nbytes\":" + number(*meta.memory_planned_buffer_size(index)) +
      ",\"device_type\":" + number(static_cast<int>(device->type())) +
      ",\"device_index\":" + number(device->index()) + "}";
}

std::string method(const MethodMeta& meta) {
  return "{\"name\":" + quoted(meta.name()) +
      ",\"inputs\":" + list(meta.num_inputs(), [&](size_t i) { return value(meta.input_tag(i), meta.input_tensor_meta(i)); }) +
      ",\"outputs\":" + list(meta.num_outputs(), [&](size_t i) { return value(meta.output_tag(i), meta.output_tensor_meta(i)); }) +
      ",\"attributes\":" + list(meta.num_attributes(), [&](size_t i) { return tensor(meta.attribute_tensor_meta(i)); }) +
      ",\"arenas\":" + list(meta.num_memory_planned_buffers(), [&](size_t i) { return arena(meta, i); }) +
      ",\"backends\":" + list(meta.num_backends(), [&](size_t i) { return quoted(*meta.get_backend_name(i)); }) +
      ",\"instructions\":" + number(meta.num_instructions()) + "}";
}

std::string program(const char* path) {
  auto loader = FileDataLoader::from(path);
  if (!loader.ok()) {
    return "{\"error\":" + number(static_cast<int>(loader.error())) + "}";
  }
  auto program = Program::load(&loader.get(), Program::Verification::InternalConsistency);
  if (!program.ok()) {
    return "{\"error\":" + number(static_cast<int>(program.error())) + "}";
  }
  return "{\"methods\":" + list(program->num_methods(), [&](size_t i) {
           return method(*program->method_meta(*program->get_method_name(i)));
         }) + "}";
}

} // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  for (int i = 1; i < argc; ++i) {
    puts(program(argv[i]).c_str());
    fflush(stdout);
  }
}
