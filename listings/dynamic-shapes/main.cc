// A program for 2 to 8 rows, from C++.

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

constexpr int kColumns = 8;

// `rows` rows of 0, 1, 2, … times `factor`, on the device.
float* values(int rows, float factor) {
  std::vector<float> host(rows * kColumns);
  for (size_t i = 0; i < host.size(); ++i) {
    host[i] = i * factor;
  }
  float* data;
  cudaMalloc(&data, host.size() * sizeof(float));
  cudaMemcpy(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  return data;
}

int main() {
  guide_device_install(); // Our stand-in for a GPU. Leave this line out where there is one.

  Module module("planned_output.pte");
  for (const int rows : {8, 2, 5, 9}) {
    float* a = values(rows, 1.0f);
    float* b = values(rows, 2.0f);
    const auto tensor = [rows](float* data) {
      return from_blob(data, {rows, kColumns}, ScalarType::Float, Device(DeviceType::CUDA, 0));
    };
    const auto outputs = module.forward({tensor(a), tensor(b)});
    if (outputs.ok()) {
      cudaDeviceSynchronize();
      const auto& result = outputs->at(0).toTensor();
      std::vector<float> host(result.numel());
      cudaMemcpy(host.data(), result.const_data_ptr(), result.nbytes(), cudaMemcpyDeviceToHost);
      std::printf("%d rows: a result of [%d, %d], its last value %.0f\n", rows,
          static_cast<int>(result.size(0)), static_cast<int>(result.size(1)), host.back());
    } else {
      std::printf("more than the bound: error 0x%x\n", static_cast<unsigned>(outputs.error()));
    }
    cudaFree(a);
    cudaFree(b);
  }
}
// ANCHOR_END: program
