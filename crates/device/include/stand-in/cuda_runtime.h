// In place of CUDA's own header: the calls that the guide's listings in C++ make, on the device that stands in for a GPU.
// Sizes are in bytes, of whole floats. A copy to the host does not wait for queued work, as it would not for a delegate's
// non-blocking stream.
#pragma once

#include <cstddef>

#include "../guide_device.h"

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

template <typename T>
cudaError_t cudaMalloc(T** block, size_t bytes) {
  *block = static_cast<T*>(guide_device_allocate(nullptr, bytes / sizeof(float)));
  return *block == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const size_t len = bytes / sizeof(float);
  const bool copied = kind == cudaMemcpyHostToDevice ? guide_device_write(to, len, static_cast<const float*>(from))
                                                     : guide_device_read(from, len, static_cast<float*>(to));
  return copied ? cudaSuccess : cudaErrorInvalidValue;
}

inline cudaError_t cudaDeviceSynchronize() {
  guide_device_synchronize();
  return cudaSuccess;
}

inline cudaError_t cudaFree(void* block) {
  return guide_device_free(block) ? cudaSuccess : cudaErrorInvalidValue;
}
