// The device that stands in for a GPU, for callers in C++ and other languages: libguide_device.so. See ../src/c.rs.
#pragma once

#include <cstddef>

extern "C" {
// Registers allocator, delegate and log with ExecuTorch, and loads its kernels. Null, or why it did not work.
const char* guide_device_install();
// Whether ExecuTorch's copies accept a pointer on the wrong side; they refuse it otherwise.
void guide_device_accept(bool accept);
// A block of `len` floats with these values, or unwritten if `values` is null. Null if there is no memory.
void* guide_device_allocate(const float* values, size_t len);
// Writes all `len` floats of such a block. False, and nothing written, if it is none, or of another length.
bool guide_device_write(const void* block, size_t len, const float* values);
// Frees such a block. False if it is none.
bool guide_device_free(const void* block);
// Waits for all queued work.
void guide_device_synchronize();
// Copies `len` floats to the host, without waiting. False, and nothing copied, if they are in no live block.
bool guide_device_read(const void* source, size_t len, float* values);
// What happened since the last report, as one line of JSON that lives until the next: `device::Report`.
const char* guide_device_report();
}
