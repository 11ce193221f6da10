// The caller in C++: ExecuTorch's own `Module`. Reads a case a line from standard input and forks for each, so that a
// case may end its process; says what it saw as lines of JSON, after each call. See ../src/observe.rs.
//
// Argument: the path of libguide_device.so, the device that stands in for a GPU.

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "guide_device.h"

namespace {

using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::etensor::Device;
using executorch::runtime::etensor::DeviceType;

constexpr size_t kColumns = 8;
constexpr unsigned kSeconds = 60; // a case takes milliseconds

struct Library {
  decltype(&guide_device_install) install;
  decltype(&guide_device_accept) accept;
  decltype(&guide_device_allocate) allocate;
  decltype(&guide_device_synchronize) synchronize;
  decltype(&guide_device_read) read;
  decltype(&guide_device_report) report;
};

struct Case {
  std::string pte, method, inputs, output, policy, caller, values;
  size_t rows[2];
};

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "caller in C++: " << why << '\n';
  std::exit(2);
}

template <typename F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) {
    give_up(dlerror());
  }
}

Library load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    give_up(dlerror());
  }
  Library made{};
  find(library, "guide_device_install", made.install);
  find(library, "guide_device_accept", made.accept);
  find(library, "guide_device_allocate", made.allocate);
  find(library, "guide_device_synchronize", made.synchronize);
  find(library, "guide_device_read", made.read);
  find(library, "guide_device_report", made.report);
  return made;
}

Case parse(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, '\t');) {
    words.push_back(word);
  }
  if (words.size() != 10) {
    give_up("no case: " + line);
  }
  return {words[0], words[1], words[2], words[3], words[4], words[5], words[8], {std::stoul(words[6]), std::stoul(words[7])}};
}

void say(
    const Library& device, const char* call, Error error, const std::vector<const void*>& given,
    const std::string& result = "null") {
  std::ostringstream line;
  line << R"({"call":")" << call << R"(","failure":)";
  if (error == Error::Ok) {
    line << "null";
  } else {
    line << R"({"code":)" << static_cast<uint32_t>(error) << '}';
  }
  line << R"(,"given":[)";
  for (size_t i = 0; i < given.size(); ++i) {
    line << (i == 0 ? "" : ",") << reinterpret_cast<uintptr_t>(given[i]);
  }
  line << R"(],"report":)" << device.report() << R"(,"result":)" << result << "}\n";
  const std::string text = line.str();
  if (write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    give_up("standard output is closed");
  }
}

// The result where it is; `bits` is null where the host cannot read it.
std::string describe(const Library& device, const executorch::aten::Tensor& tensor) {
  const void* data = tensor.const_data_ptr();
  std::vector<float> values(tensor.numel());
  device.synchronize();
  const bool on_device = device.read(data, values.size(), values.data());
  const bool readable = on_device || (tensor.device().type() == DeviceType::CPU && data != nullptr);
  if (!on_device && readable) {
    std::memcpy(values.data(), data, tensor.nbytes());
  }
  std::ostringstream text;
  text << R"({"data":)" << reinterpret_cast<uintptr_t>(data) << R"(,"sizes":[)";
  for (ssize_t i = 0; i < tensor.dim(); ++i) {
    text << (i == 0 ? "" : ",") << tensor.size(i);
  }
  text << R"(],"on_device":)" << (on_device ? "true" : "false") << R"(,"bits":)";
  if (!readable) {
    text << "null}";
    return text.str();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof bits);
    text << (i == 0 ? '[' : ',') << bits;
  }
  text << "]}";
  return text.str();
}

TensorPtr tensor(void* data, size_t rows, bool cuda) {
  return executorch::extension::make_tensor_ptr(
      {static_cast<int>(rows), static_cast<int>(kColumns)}, data, {}, {}, executorch::aten::ScalarType::Float,
      Device(cuda ? DeviceType::CUDA : DeviceType::CPU, 0));
}

void run(const Library& device, const Case& asked) {
  if (const char* why = device.install()) {
    give_up(why);
  }
  device.accept(asked.policy == "accept");
  std::ifstream file(asked.values, std::ios::binary);
  // All memory lives until the process ends: the method may hold its addresses.
  std::vector<std::vector<float>> host;
  std::vector<void*> inputs;
  for (const size_t rows : asked.rows) {
    for (int input = 0; input < 2; ++input) {
      std::vector<float> values(rows * kColumns);
      file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
      host.push_back(std::move(values));
      const bool on_host = asked.inputs == "host-tensor" || asked.inputs == "host-as-cuda";
      inputs.push_back(on_host ? host.back().data() : device.allocate(host.back().data(), host.back().size()));
    }
  }
  if (!file) {
    give_up(asked.values + ": too few values");
  }
  const bool cuda = asked.inputs == "device-tensor" || asked.inputs == "host-as-cuda";
  const size_t size = asked.rows[0] * kColumns;
  std::vector<float> host_output(size);

  Module module(asked.pte);
  Error error = module.load_method(asked.method);
  say(device, "load", error, {});
  if (error != Error::Ok) {
    return;
  }
  if (asked.output != "no-set-output") {
    const bool on_device = asked.output == "set-output-device";
    void* memory = on_device ? device.allocate(nullptr, size) : host_output.data();
    const auto output = tensor(memory, asked.rows[0], on_device);
    error = module.set_output(asked.method, EValue(*output), 0);
    say(device, "set-output", error, {memory});
    if (error != Error::Ok) {
      return;
    }
  }
  for (int execution = 0; execution < 2; ++execution) {
    void* const a = inputs[2 * execution];
    void* const b = inputs[2 * execution + 1];
    const auto first = tensor(a, asked.rows[execution], cuda);
    const auto second = tensor(b, asked.rows[execution], cuda);
    const auto outputs = module.execute(asked.method, {EValue(*first), EValue(*second)});
    say(device, "execute", outputs.error(), {a, b},
        outputs.ok() ? describe(device, outputs->at(0).toTensor()) : "null");
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    give_up("expected the path of libguide_device.so");
  }
  const Library device = load(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const pid_t child = fork();
    if (child < 0) {
      give_up("cannot fork");
    }
    if (child == 0) {
      alarm(kSeconds);
      run(device, parse(line));
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) {
      give_up("cannot wait");
    }
    const int ended = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    std::cout << R"({"ended":)" << ended << '}' << std::endl;
  }
  return 0;
}
