// Two methods of one program, from C++.

// ANCHOR: program
#include <cuda_runtime.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <vector>

using executorch::extension::from_blob;
using executorch::extension::Module;

int main() {
  guide_device_install(); // Our stand-in for a GPU. Leave this line out where there is one.

  std::vector<float> a(64), b(64);
  for (int i = 0; i < 64; ++i) {
    a[i] = i / 8.0f;
    b[i] = (63 - i) / 4.0f;
  }

  Module module("per_method.pte");
  const auto state =
      module.execute("encode", {from_blob(a.data(), {8, 8}), from_blob(b.data(), {8, 8})});
  if (!state.ok()) {
    std::printf("encode: error 0x%x\n", static_cast<unsigned>(state.error()));
    return 1;
  }
  cudaDeviceSynchronize();
  const auto outputs = module.execute("decode", state.get());
  if (!outputs.ok()) {
    std::printf("decode: error 0x%x\n", static_cast<unsigned>(outputs.error()));
    return 1;
  }
  const float* result = outputs->at(0).toTensor().const_data_ptr<float>();
  std::printf("result: [%.3f, %.3f, %.3f] …\n", result[0], result[1], result[2]);
}
// ANCHOR_END: program
