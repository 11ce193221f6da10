// The tutorial's model, with its activations on the host and then on the device, from C++.

// ANCHOR: program
#include <cuda_runtime.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

using executorch::aten::Device;
using executorch::aten::DeviceType;
using executorch::aten::ScalarType;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::extension::TensorPtr;

// Where the result is. It is queued; somebody has to wait for it.
const float* run(Module& module, const TensorPtr& x) {
  const auto outputs = module.forward(x);
  if (!outputs.ok()) {
    std::printf("forward: error 0x%x\n", static_cast<unsigned>(outputs.error()));
    std::exit(1);
  }
  return outputs->at(0).toTensor().const_data_ptr<float>();
}

void print(const char* what, const float* values) {
  std::printf("%s: [%.3f, %.3f, %.3f] …\n", what, values[0], values[1], values[2]);
}

int main() {
  guide_device_install(); // Our stand-in for a GPU. Leave this line out where there is one.

  std::vector<float> host_x(16);
  for (int i = 0; i < 16; ++i) {
    host_x[i] = (i % 5 - 2) / 8.0f;
  }
  // Step 3: host memory in and out.
  Module on_host("default.pte", "aoti_cuda_blob.ptd");
  print("result on the host", run(on_host, from_blob(host_x.data(), {1, 16})));

  // Steps 5 and 6: the input is on the device, the result stays there.
  const size_t bytes = host_x.size() * sizeof(float);
  float* x;
  cudaMalloc(&x, bytes);
  cudaMemcpy(x, host_x.data(), bytes, cudaMemcpyHostToDevice);
  const auto input = from_blob(x, {1, 16}, ScalarType::Float, Device(DeviceType::CUDA, 0));
  Module on_device("device.pte", "aoti_cuda_blob.ptd");
  const float* first = run(on_device, input);
  cudaDeviceSynchronize();
  float result[8];
  cudaMemcpy(result, first, sizeof result, cudaMemcpyDeviceToHost);
  print("result on the device", result);

  // Step 7: once more.
  std::printf("same address: %s\n", run(on_device, input) == first ? "true" : "false");
  cudaDeviceSynchronize();
  cudaFree(x);
}
// ANCHOR_END: program
