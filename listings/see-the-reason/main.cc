// The text behind an error code, from C++.

// ANCHOR: program
#include <executorch/extension/module/module.h>
#include <executorch/runtime/platform/platform.h>

#include <cstdio>
#include <string>
#include <vector>

using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::PalImpl;
using executorch::runtime::register_pal;

std::vector<std::string> reasons;

// The runtime calls this for each line of its log, in place of its own printing.
void keep(
    et_timestamp_t, et_pal_log_level_t level, const char* /*file*/, const char* /*function*/, size_t /*line*/,
    const char* message, size_t length) {
  if (level == kError || level == kFatal) {
    reasons.emplace_back(message, length);
  }
}

int main() {
  // Before anything else of ExecuTorch, while there is one thread.
  register_pal(PalImpl::create(keep, __FILE__));

  Module module("default.pte");
  const Error error = module.load_forward();
  std::printf("code: 0x%x\n", static_cast<unsigned>(error));
  if (!reasons.empty()) {
    std::printf("reason: %s\n", reasons.front().c_str()); // the cause; the others are the calls that gave up
  }
}
// ANCHOR_END: program
