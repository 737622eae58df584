// Runs the core's own tests: all of them, or those whose names contain the first argument.
#include <chrono>

#include "check.hpp"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const std::string wanted = argc > 1 ? argv[1] : "";
  const Clock::time_point start = Clock::now();
  int passed = 0, failed = 0;
  for (const auto& test : arrayx::testing::tests()) {
    if (std::string(test.name).find(wanted) == std::string::npos) continue;
    arrayx::testing::failures() = 0;
    try {
      test.body();
    } catch (const std::exception& error) {
      arrayx::testing::fail(test.name, 0, std::string("uncaught exception: ") + error.what());
    }
    const long failures = arrayx::testing::failures();
    if (failures == 0) {
      ++passed;
      std::printf("passed  %s\n", test.name);
    } else {
      ++failed;
      std::printf("FAILED  %s (%ld failed checks)\n", test.name, failures);
    }
    std::fflush(stdout);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("==== core tests: %d passed, %d failed in %.2fs ====\n", passed, failed, seconds);
  return failed != 0 || passed == 0;
}
