// The few lines of test framework that the core's own tests need: TEST registers a function that
// tests/core/main.cpp runs, CHECK and CHECK_RAISES note a failure and go on.
#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace arrayx::testing {

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

// Failed checks of the running test.
inline long& failures() {
  static long count = 0;
  return count;
}

// The first failures of a test are printed; a loop over thousands of cases would bury them.
inline void fail(const char* file, int line, const std::string& what) {
  if (++failures() <= 5) std::printf("%s:%d: %s\n", file, line, what.c_str());
}

}  // namespace arrayx::testing

#define TEST(name)                                                                  \
  static void test_##name();                                                        \
  static const ::arrayx::testing::Registration register_##name(#name, test_##name); \
  static void test_##name()

#define CHECK(...)                                                                         \
  do {                                                                                     \
    if (!(__VA_ARGS__)) ::arrayx::testing::fail(__FILE__, __LINE__, "not: " #__VA_ARGS__); \
  } while (false)

// The expression must raise an exception whose message contains `words`.
#define CHECK_RAISES(expression, words)                                               \
  do {                                                                                \
    try {                                                                             \
      static_cast<void>(expression);                                                  \
      ::arrayx::testing::fail(__FILE__, __LINE__, "no exception from " #expression);  \
    } catch (const std::exception& error) {                                           \
      if (std::string(error.what()).find(words) == std::string::npos) {               \
        ::arrayx::testing::fail(__FILE__, __LINE__,                                   \
                                std::string(#expression " raised: ") + error.what()); \
      }                                                                               \
    }                                                                                 \
  } while (false)
