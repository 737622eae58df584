// Views of equal layout and content on the host and on the device, so that a verb of the CUDA
// engine can be compared with the CPU engine's.
#pragma once

#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "../../cpp/cpu/engine.hpp"
#include "../../cuda/engine.hpp"

namespace arrayx::testing {

extern std::mt19937_64 generator;
extern long checks, failures;

inline std::int64_t random_integer(std::int64_t low, std::int64_t high) {  // inclusive
  return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
}
inline bool chance(double p) {
  return std::uniform_real_distribution<double>(0, 1)(generator) < p;
}

// With specials; within ±100; within (0, 100); within (0, 1); close to 1; mostly zeros.
enum class Values { any, small, positive, unit, near_one, sparse };

// A storage of one dtype on both sides, and a view of it.
struct View {
  DType dtype = DType::float64;
  Layout layout;
  std::int64_t elements = 0;  // of the storage
  std::vector<char> host;
  StorageRef device;

  Operand on_host() const {
    Operand o;
    o.data = const_cast<char*>(host.data()) + layout.offset * itemsize(dtype);
    o.layout = &layout;
    o.dtype = dtype;
    return o;
  }
  Operand on_device() const {
    Operand o = on_host();
    o.data = static_cast<char*>(device->data) + layout.offset * itemsize(dtype);
    return o;
  }
};

struct LayoutOptions {
  bool repeats = true;  // dimensions of stride zero
  bool plain = false;   // contiguous
};

void fill_random(DType dtype, char* data, std::int64_t count, Values values);
View random_view(DType dtype, const Dims& shape, LayoutOptions options, Values values);
Dims random_shape(std::int64_t most);

// Whether the whole storage is the same on both sides; NaNs are equal. `ulps` are allowed between
// floating numbers, relative to the larger of two parts, the least normal number or `least`.
void expect_same(const View& view, const std::string& what, double ulps = 0, double least = 0);
void expect(bool condition, const std::string& what);

std::string text(const Layout& layout);

void check_elementwise(int rounds);
void check_copies(int rounds);
void check_joins(int rounds);
void check_rows(int rounds);
void check_transposed(int rounds);
void check_ranges(int rounds);
// Apart, so that racecheck ends with the others in good time.
void check_long_lines(int rounds);
void check_reductions(int rounds);
void check_scans(int rounds);
void check_scan_order(int rounds);
void check_indexing(int rounds);
void check_columns(int rounds);
void check_winners(int rounds);
void check_long_masks(int rounds);
void check_assignments(int rounds);
void check_sorts(int rounds);
void check_products(int rounds);
// Apart by dtype and size, so that racecheck ends with each in good time.
void check_small_factorisations(DType dtype, int rounds);
void check_large_factorisations(DType dtype, int rounds);
void check_fourier(int rounds);
void check_large();
// Of one group (calls, reductions, others, elementwise, sweep) or all.
void measure(const std::string& wanted, const std::string& group);

}  // namespace arrayx::testing
