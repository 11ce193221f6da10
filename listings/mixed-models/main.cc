// An addition on the device beside a multiplication on the CPU, from C++.

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

// A tensor over memory that is already on the device.
auto on_device(float* data) {
  return from_blob(data, {8, 8}, ScalarType::Float, Device(DeviceType::CUDA, 0));
}

int main() {
  guide_device_install(); // Our stand-in for a GPU. Leave this line out where there is one.

  std::vector<float> host_a(64), host_b(64), c(64);
  for (int i = 0; i < 64; ++i) {
    host_a[i] = i / 8.0f;
    host_b[i] = (63 - i) / 4.0f;
    c[i] = i / 2.0f;
  }
  float *a, *b;
  cudaMalloc(&a, kBytes);
  cudaMalloc(&b, kBytes);
  cudaMemcpy(a, host_a.data(), kBytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, host_b.data(), kBytes, cudaMemcpyHostToDevice);

  Module module("mixed.pte");
  const auto outputs = module.forward({on_device(a), on_device(b), from_blob(c.data(), {8, 8})});
  if (!outputs.ok()) {
    std::printf("forward: error 0x%x\n", static_cast<unsigned>(outputs.error()));
    return 1;
  }
  const float* square = outputs->at(1).toTensor().const_data_ptr<float>();
  std::printf("square on the host: [%.3f, %.3f, %.3f] …\n", square[0], square[1], square[2]);
  cudaDeviceSynchronize();
  float sum[64];
  cudaMemcpy(sum, outputs->at(0).toTensor().const_data_ptr(), kBytes, cudaMemcpyDeviceToHost);
  std::printf("sum on the device: [%.3f, %.3f, %.3f] …\n", sum[0], sum[1], sum[2]);

  cudaFree(a);
  cudaFree(b);
}
// ANCHOR_END: program
