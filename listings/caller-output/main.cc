// The output in the caller's own device buffer, from C++.

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

  std::vector<float> host_a(64), host_b(64);
  for (int i = 0; i < 64; ++i) {
    host_a[i] = i / 8.0f;
    host_b[i] = (63 - i) / 4.0f;
  }
  float *a, *b, *sum;
  cudaMalloc(&a, kBytes);
  cudaMalloc(&b, kBytes);
  cudaMalloc(&sum, kBytes);
  cudaMemcpy(a, host_a.data(), kBytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, host_b.data(), kBytes, cudaMemcpyHostToDevice);

  Module module("caller_output.pte");
  if (module.set_output("forward", on_device(sum)) != executorch::runtime::Error::Ok) {
    std::puts("set_output: refused");
    return 1;
  }
  const auto outputs = module.forward({on_device(a), on_device(b)});
  if (!outputs.ok()) {
    std::printf("forward: error 0x%x\n", static_cast<unsigned>(outputs.error()));
    return 1;
  }
  cudaDeviceSynchronize();
  const bool ours = outputs->at(0).toTensor().const_data_ptr() == sum;
  std::printf("the result is at the caller's address: %s\n", ours ? "true" : "false");
  float result[64];
  cudaMemcpy(result, sum, kBytes, cudaMemcpyDeviceToHost);
  std::printf("result: [%.3f, %.3f, %.3f] …\n", result[0], result[1], result[2]);

  cudaFree(a);
  cudaFree(b);
  cudaFree(sum);
}
// ANCHOR_END: program
