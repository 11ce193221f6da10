// Addresses of the caller's own, from C++.

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
using executorch::runtime::Error;

constexpr size_t kBytes = 64 * sizeof(float);

void check(Error error) {
  if (error != Error::Ok) {
    std::printf("error 0x%x\n", static_cast<unsigned>(error));
    std::exit(1);
  }
}

// A tensor over memory that is already on the device. It may go as soon as it is set.
auto on_device(float* data) {
  return from_blob(data, {8, 8}, ScalarType::Float, Device(DeviceType::CUDA, 0));
}

// Executes with what is set, and prints the first three values at `sum`.
void run(Module& module, const char* what, const float* sum) {
  check(module.forward().error());
  cudaDeviceSynchronize();
  float result[64];
  cudaMemcpy(result, sum, kBytes, cudaMemcpyDeviceToHost);
  std::printf("%s: [%.3f, %.3f, %.3f] …\n", what, result[0], result[1], result[2]);
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

  {
    Module module("your_memory.pte");
    check(module.set_input("forward", on_device(a), 0));
    check(module.set_input("forward", on_device(b), 1));
    check(module.set_output("forward", on_device(sum), 0));
    run(module, "result", sum);

    // Other values in the same memory, and nothing set anew.
    cudaMemcpy(a, host_b.data(), kBytes, cudaMemcpyHostToDevice);
    run(module, "new values at the same address", sum);
  } // The module goes first: it has the three addresses.

  cudaFree(a);
  cudaFree(b);
  cudaFree(sum);
}
// ANCHOR_END: program
