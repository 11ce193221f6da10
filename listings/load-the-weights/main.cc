// A program and its data file, from C++.

// ANCHOR: program
#include <cuda_runtime.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <vector>

using executorch::aten::Device;
using executorch::aten::DeviceType;
using executorch::aten::ScalarType;
using executorch::extension::from_blob;
using executorch::extension::Module;

constexpr size_t kBytes = 64 * sizeof(float);

int main() {
  guide_device_install(); // Our stand-in for a GPU. Leave this line out where there is one.

  std::vector<float> host(64);
  for (int i = 0; i < 64; ++i) {
    host[i] = i / 8.0f;
  }
  float* x;
  cudaMalloc(&x, kBytes);
  cudaMemcpy(x, host.data(), kBytes, cudaMemcpyHostToDevice);

  Module module("weights.pte", "aoti_cuda_blob.ptd");
  const auto outputs =
      module.forward(from_blob(x, {8, 8}, ScalarType::Float, Device(DeviceType::CUDA, 0)));
  if (!outputs.ok()) {
    std::printf("forward: error 0x%x\n", static_cast<unsigned>(outputs.error()));
    return 1;
  }
  cudaDeviceSynchronize();
  cudaMemcpy(
      host.data(), outputs->at(0).toTensor().const_data_ptr(), kBytes, cudaMemcpyDeviceToHost);
  std::printf("result: [%.3f, %.3f, %.3f] …\n", host[0], host[1], host[2]);

  // A path at which there is nothing is an error when the method loads.
  Module without("weights.pte", "none.ptd");
  std::printf("none.ptd: error 0x%x\n", static_cast<unsigned>(without.load_method("forward")));
  cudaFree(x);
}
// ANCHOR_END: program
