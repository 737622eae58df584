// Fourier transforms: plans (factors, twiddles, Bluestein's chirps), kept in a bounded cache, and
// the loops that bring arrays to the kernels.
//
// Many short transforms stand side by side in the SIMD lanes. A long one is split by the four-step
// algorithm (Bailey, "FFTs in external or hierarchical memory", 1990) into two stages of short
// ones, each of which is spread over the threads. Which way is taken follows from the shape alone.
// Transforms of 2 h real numbers are complex ones of length h. An inverse transform is a forward
// one between exchanged real and imaginary parts. All of it computes in float64, for arrays of
// float32 too (see kernels/fft_kernels.hpp).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

#include "engine.hpp"
#include "fork.hpp"
#include "kernels.hpp"
#include "kernels/fft_kernels.hpp"
#include "parallel.hpp"

namespace arrayx::cpu {

namespace {

using std::int64_t;

constexpr int64_t complex_bytes = 2 * sizeof(double);  // of tables and blocks
constexpr int64_t cache_limit = int64_t{128} << 20;    // bytes of tables kept for reuse
constexpr int64_t block_target = int64_t{1}
                                 << 19;  // bytes of a block that the L2 cache still holds
// Bytes of a block that the L1 cache holds twice. The passes over a larger one are done in pairs.
constexpr int64_t pass_target = int64_t{1} << 14;

// ---- tables -----------------------------------------------------------------------------------

// Memory of a plan, aligned for vectors.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(int64_t size)
      : data_(static_cast<char*>(
            ::operator new(static_cast<std::size_t>(size), std::align_val_t{64}))),
        size_(size) {}
  char* data() const { return data_.get(); }
  double* numbers() const { return reinterpret_cast<double*>(data_.get()); }
  int64_t size() const { return size_; }

 private:
  struct Delete {
    void operator()(char* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<char, Delete> data_;
  int64_t size_ = 0;
};

// exp(-2 pi i k / n), rounded once from extended precision. An angle is reduced to an eighth of the
// circle by integers; there it is the product of two from tables of about sqrt(n).
class Roots {
 public:
  using Value = std::complex<long double>;

  explicit Roots(int64_t n) : n_(n) {
    while ((int64_t{1} << (2 * shift_)) <= n) ++shift_;
    const int64_t low_count = int64_t{1} << shift_;
    for (int64_t i = 0; i < low_count; ++i) low_.push_back(exact(i));
    for (int64_t i = 0; i <= n >> shift_; ++i) high_.push_back(exact(i << shift_));
  }

  // 0 <= k < n
  Value operator()(int64_t k) const {
    int64_t x = 8 * k;  // eighths of the step
    const bool below = x < 4 * n_;
    if (!below) x = 8 * n_ - x;
    const bool left = x > 2 * n_;
    if (left) x = 4 * n_ - x;
    const bool steep = x > n_;
    if (steep) x = 2 * n_ - x;
    const Value a = low_[static_cast<std::size_t>(x & ((int64_t{1} << shift_) - 1))];
    const Value b = high_[static_cast<std::size_t>(x >> shift_)];
    long double c = a.real() * b.real() - a.imag() * b.imag();
    long double s = a.real() * b.imag() + a.imag() * b.real();
    if (steep) std::swap(c, s);
    return {left ? -c : c, below ? -s : s};
  }

 private:
  // The angle of x eighths of the step.
  Value exact(int64_t x) const {
    constexpr long double pi = 3.14159265358979323846264338327950288L;
    const long double angle = pi * static_cast<long double>(x) / (4 * static_cast<long double>(n_));
    return {std::cos(angle), std::sin(angle)};
  }

  int64_t n_;
  int shift_ = 0;
  std::vector<Value> low_, high_;
};

void put(double* table, int64_t i, Roots::Value value) {
  table[2 * i] = static_cast<double>(value.real());
  table[2 * i + 1] = static_cast<double>(value.imag());
}

// The transform of `total` numbers, `roots` being all of that length, by its definition applied to
// each prime factor: n numbers that stand total / n apart to n contiguous ones.
void transform_exactly(const Roots::Value* in, int64_t n, const std::vector<Roots::Value>& roots,
                       Roots::Value* out) {
  const auto total = static_cast<int64_t>(roots.size()), step = total / n;
  if (n == 1) {
    *out = *in;
    return;
  }
  int64_t radix = 2;
  while (n % radix != 0) ++radix;
  const int64_t m = n / radix;
  for (int64_t k = 0; k < radix; ++k) {
    transform_exactly(in + k * step, m, roots, out + k * m);
  }
  std::vector<Roots::Value> terms(static_cast<std::size_t>(radix));
  for (int64_t j = 0; j < m; ++j) {
    for (int64_t k = 0; k < radix; ++k) terms[static_cast<std::size_t>(k)] = out[k * m + j];
    for (int64_t i = 0; i < radix; ++i) {
      long double re = 0, im = 0;
      int64_t turn = 0;
      for (const Roots::Value x : terms) {
        const Roots::Value w = roots[static_cast<std::size_t>(turn * step)];
        re += x.real() * w.real() - x.imag() * w.imag();
        im += x.real() * w.imag() + x.imag() * w.real();
        turn += i * m + j;
        if (turn >= n) turn -= n;
      }
      out[i * m + j] = {re, im};
    }
  }
}

// ---- factors and costs ------------------------------------------------------------------------

// The radices of a length, in the order of the passes; empty when a prime factor is too large.
bool find_radices(int64_t n, std::vector<int>& radices) {
  const int twos = std::countr_zero(static_cast<std::uint64_t>(n));
  n >>= twos;
  // Eights, but 4 · 4 rather than 8 · 2.
  int eights = twos / 3, fours = 0;
  if (twos % 3 == 2) fours = 1;
  if (twos % 3 == 1 && eights > 0) {
    --eights;
    fours = 2;
  }
  radices.insert(radices.end(), static_cast<std::size_t>(eights), 8);
  radices.insert(radices.end(), static_cast<std::size_t>(fours), 4);
  if (twos == 1) radices.push_back(2);
  std::vector<int> odd;
  for (int64_t p = 3; n > 1; p += 2) {
    if (p * p > n) p = n;
    while (n % p == 0) {
      if (p > max_fft_radix) return false;
      odd.push_back(static_cast<int>(p));
      n /= p;
    }
  }
  radices.insert(radices.end(), odd.rbegin(), odd.rend());
  return true;
}

// Rough operations per element and pass: arithmetic, loads and stores.
double pass_cost(int radix) {
  switch (radix) {
    case 2:
      return 6;
    case 3:
      return 9;
    case 4:
      return 9;
    case 5:
      return 13;
    case 7:
      return 17;
    case 8:
      return 14;
    case 11:
      return 25;
    case 13:
      return 30;
    default:
      return 1.3 * radix + 8;
  }
}
double passes_cost(const std::vector<int>& radices) {
  double cost = 0;
  for (int r : radices) cost += pass_cost(r);
  return cost;
}

// The length of least cost, at least `least`, with no prime factor above 7.
int64_t convolution_length(int64_t least, bool splits) {
  int64_t best = 0;
  double best_cost = 0;
  for (int64_t a = 1; a < 2 * least; a *= 7) {
    for (int64_t b = a; b < 2 * least; b *= 5) {
      for (int64_t c = b; c < 2 * least; c *= 3) {
        int64_t n = c;
        while (n < least) n *= 2;
        // Four-step stages want lengths that fill the lanes.
        if (splits && n % 256 != 0 && n < 2 * least) continue;
        std::vector<int> radices;
        find_radices(n, radices);
        const double cost = static_cast<double>(n) * (passes_cost(radices) + 20);
        if (best == 0 || cost < best_cost) {
          best = n;
          best_cost = cost;
        }
      }
    }
  }
  return best;
}

// The error of a convolution is about half as large again as that of passes, so it must gain
// something.
constexpr double convolution_gain = 0.8;

// Whether NumPy takes passes for this length, by the rule of its pocketfft. The error of its passes
// is smaller than that of a convolution, so transforms of float64 need passes, too; that of its
// convolutions is larger.
bool numpy_takes_passes(int64_t n, bool real) {
  int64_t largest = 0;
  const auto cost = [&](int64_t m) {
    const auto all = static_cast<double>(m);
    double sum = 0;
    for (int64_t p = 2; m > 1; ++p) {
      if (p * p > m) p = m;
      for (; m % p == 0; m /= p) sum += (p <= 5 ? 1 : 1.1) * static_cast<double>(p);
      largest = p;
    }
    return sum * all;
  };
  const double passes = (real ? 0.5 : 1) * cost(n);
  if (n < 50 || largest * largest <= n) return true;
  int64_t length = 2 * n - 1;
  const auto smooth = [](int64_t m) {
    for (const int p : {2, 3, 5, 7, 11}) {
      while (m % p == 0) m /= p;
    }
    return m == 1;
  };
  while (!smooth(length)) ++length;
  return passes <= 3 * cost(length);
}

// Up to this length the spectrum of a chirp is computed in extended precision, which takes a
// millisecond when the plan is made: its own error would be a third of the square of the whole.
constexpr int64_t exact_spectrum = int64_t{1} << 12;

// Up to this length the twiddles between the two stages of a split stand in a table: the product
// of two, which is what longer ones take, is a rounding more among few.
constexpr int64_t whole_table = int64_t{1} << 13;

// Up to this length real transforms of float64 are done as complex ones: the steps between a
// transform of pairs and that of the numbers add up to a sixth to so short a one's error.
constexpr int64_t short_real = 128;

// What a transform of length n costs in a lane, per element, and how long its block is. Passes of
// generic radices cost little in lanes that do not count.
struct LaneCost {
  double per_element = 0, generic = 0;
  int64_t block = 1;
  bool bluestein = false;
  std::vector<int> radices;

  // Where `others` transforms are done in so many lanes.
  double filled(int64_t others, int lanes) const {
    const double ratio =
        static_cast<double>((others + lanes - 1) / lanes * lanes) / static_cast<double>(others);
    return per_element * ratio + generic * std::min(ratio, 1.5);
  }
};
// By passes alone, if so wanted and there are any.
LaneCost lane_cost(int64_t n, bool passes_only) {
  LaneCost out;
  out.block = n;
  const bool passes = find_radices(n, out.radices);
  if (passes) {
    for (const int radix : out.radices) {
      (has_butterfly(radix) ? out.per_element : out.generic) += pass_cost(radix);
    }
    if (passes_only || out.generic == 0) return out;
  }
  // A longer one spreads its error over more elements that are not wanted.
  const int64_t length = convolution_length(passes_only ? 5 * n / 2 : 2 * n - 1, false);
  std::vector<int> radices;
  find_radices(length, radices);
  const double cost =
      (2 * passes_cost(radices) + 20) * static_cast<double>(length) / static_cast<double>(n);
  if (!passes || cost < convolution_gain * (out.per_element + out.generic)) {
    out = {.per_element = cost, .generic = 0, .block = length, .bluestein = true, .radices = {}};
  }
  return out;
}

// ---- plans ------------------------------------------------------------------------------------

struct Plan {
  virtual ~Plan() = default;
  int64_t bytes = 0;  // of its tables
};

// A transform in lanes.
struct LanePlan : Plan {
  FftLanePlan kernel;
  std::vector<FftPass> passes;
  std::vector<Bytes> tables;
  std::shared_ptr<const LanePlan> convolution;

  Bytes& table(int64_t size) {
    tables.emplace_back(size);
    bytes += size;
    return tables.back();
  }
};

// A long complex transform of contiguous data.
struct LongPlan : Plan {
  int64_t n = 0;
  // Four steps: n = n1 n2.
  int64_t n1 = 0, n2 = 0;
  std::shared_ptr<const LanePlan> first, second;
  // See FftKernels::twist. Outer has n1 for each vector of columns, or inner has them all.
  Bytes outer, inner;
  // Or Bluestein's convolution.
  std::shared_ptr<const LongPlan> convolution;
  Bytes chirp, spectrum;
};

// exp(-2 pi i k / n) for 4 k <= n: what a real transform of even length adds.
struct RealPlan : Plan {
  Bytes twiddles;
};

// How a long transform is done, and what it costs per element.
struct LongCost {
  double per_element = 0;
  int64_t n1 = 0;           // of the split,
  int64_t convolution = 0;  // or the length of Bluestein's convolution
};

// What the ways to transform a length cost.
struct Choice : Plan {
  bool halves = false;       // real numbers as half as many pairs
  bool passes_only = false;  // where there are passes
  int64_t n = 0;             // of the complex transform
  LaneCost in_lanes;
  double far = 1;  // what a block beyond the caches costs more
  double split_cost = std::numeric_limits<double>::infinity();
};

// The plans last used, within a bound on the bytes of their tables.
class PlanCache {
 public:
  enum Kind { choice, choice_from_real, choice_to_real, lane, long_, real };
  struct Key {
    Kind kind;
    int64_t n;
    bool variant = false;  // passes only, or for arrays of float32
    auto operator<=>(const Key&) const = default;
  };

  template <class P, class Make>
  std::shared_ptr<const P> get(Key key, Make make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(key);
      if (found != entries_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        return std::static_pointer_cast<const P>(found->second->plan);
      }
    }
    // Outside the lock: making a plan may take long, or other plans. Two threads may both make one.
    std::shared_ptr<const P> plan = make();
    const std::lock_guard lock(mutex_);
    if (plan->bytes > cache_limit || entries_.contains(key)) return plan;
    order_.push_front({key, plan});
    entries_.emplace(key, order_.begin());
    held_ += plan->bytes;
    while (held_ > cache_limit || order_.size() > 4096) {
      held_ -= order_.back().plan->bytes;
      entries_.erase(order_.back().key);
      order_.pop_back();
    }
    return plan;
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Plan> plan;
  };
  ForkMutex mutex_{0};
  std::list<Entry> order_;  // most recently used first
  std::map<Key, std::list<Entry>::iterator> entries_;
  int64_t held_ = 0;
};

constinit MadeOnce<PlanCache> plans;
PlanCache& cache() {
  return plans.get();
}

// ---- arrays of one precision ------------------------------------------------------------------

struct Engine {
  const FftKernels& array;                     // to and from such arrays
  const FftKernels& wide = *kernels().fft[1];  // to and from float64
  const int lanes = wide.lanes;

  explicit Engine(DType real) : array(*kernels().fft[real == DType::float32 ? 0 : 1]) {}

  // ---- making plans

  std::shared_ptr<const LanePlan> lane_plan(int64_t n, bool passes_only) {
    return cache().get<LanePlan>({PlanCache::lane, n, passes_only},
                                 [&] { return make_lane_plan(n, passes_only); });
  }

  std::shared_ptr<const LanePlan> make_lane_plan(int64_t n, bool passes_only) {
    auto plan = std::make_shared<LanePlan>();
    const LaneCost cost = lane_cost(n, passes_only);
    FftLanePlan& kernel = plan->kernel;
    kernel.n = n;
    kernel.block = cost.block;
    if (cost.bluestein) {
      plan->convolution = lane_plan(cost.block, true);
      plan->bytes += plan->convolution->bytes;
      kernel.convolution = &plan->convolution->kernel;
      kernel.chirp = fill_chirp(plan->table(n * complex_bytes), n);
      Bytes& spectrum = plan->table(cost.block * complex_bytes);
      kernel.spectrum = spectrum.data();
      if (cost.block <= exact_spectrum) {
        fill_spectrum(spectrum, n, cost.block);
        return plan;
      }
      // Transformed in one of the lanes.
      conjugate_chirp(spectrum, static_cast<const double*>(kernel.chirp), n, cost.block);
      const Bytes blocks(2 * block_bytes(plan->convolution->kernel));
      in_lanes(*plan->convolution, spectrum.data(), 1.0 / static_cast<double>(cost.block),
               blocks.data());
      return plan;
    }
    plan->tables.reserve(3 * cost.radices.size());
    int64_t m = n, s = 1;
    for (int radix : cost.radices) {
      m /= radix;
      FftPass pass{radix, m, s, nullptr, nullptr, nullptr, false};
      if (m > 1) {
        const Roots roots(radix * m);
        double* twiddles = plan->table(m * (radix - 1) * complex_bytes).numbers();
        for (int64_t p = 0; p < m; ++p) {
          for (int j = 1; j < radix; ++j) put(twiddles, p * (radix - 1) + j - 1, roots(p * j));
        }
        pass.twiddles = twiddles;
      }
      if (!has_butterfly(radix)) {
        const Roots roots(radix);
        double* table = plan->table(radix * complex_bytes).numbers();
        for (int j = 0; j < radix; ++j) put(table, j, roots(j));
        pass.roots = table;
        const int half = radix / 2;
        const int64_t row = generic_row(radix);
        Bytes& matrix = plan->table(half * row * complex_bytes);
        double* numbers = matrix.numbers();
        std::fill(numbers, numbers + 2 * half * row, 0.0);
        for (int k = 0; k < half; ++k) {
          int turn = 0;
          for (int j = 0; j < half; ++j) {
            turn += k + 1;
            if (turn >= radix) turn -= radix;
            numbers[2 * k * row + j] = table[2 * turn];
            numbers[(2 * k + 1) * row + j] = table[2 * turn + 1];
          }
        }
        pass.matrix = numbers;
      }
      plan->passes.push_back(pass);
      s *= radix;
    }
    kernel.passes = plan->passes.data();
    kernel.pass_count = static_cast<int>(plan->passes.size());
    for (int i = 0; i < kernel.pass_count; ++i, kernel.in_scratch = !kernel.in_scratch) {
      FftPass* pass = &plan->passes[static_cast<std::size_t>(i)];
      pass->with_next = n * lanes * complex_bytes > pass_target && i + 1 < kernel.pass_count &&
                        has_butterfly(pass[0].radix) && has_butterfly(pass[1].radix);
      if (pass->with_next) ++i;
    }
    return plan;
  }

  // Element j of a chirp, exp(-pi i j^2 / n), from the roots of 2 n.
  static Roots::Value chirp_at(const Roots& roots, int64_t n, int64_t j) {
    const auto square = static_cast<unsigned __int128>(j) * static_cast<std::uint64_t>(j);
    return roots(static_cast<int64_t>(square % static_cast<std::uint64_t>(2 * n)));
  }
  static const void* fill_chirp(Bytes& bytes, int64_t n) {
    double* table = bytes.numbers();
    const Roots roots(2 * n);
    const int64_t chunk = 8192;
    parallel_for((n + chunk - 1) / chunk, 16 * n, [&](int64_t c) {
      for (int64_t j = c * chunk; j < std::min(n, (c + 1) * chunk); ++j) {
        put(table, j, chirp_at(roots, n, j));
      }
    });
    return table;
  }
  // Its conjugate at j and length - j, zero between.
  static void conjugate_chirp(Bytes& bytes, const double* chirp, int64_t n, int64_t length) {
    double* out = bytes.numbers();
    std::fill(out, out + 2 * length, 0.0);
    for (int64_t j = 0; j < n; ++j) {
      for (const int64_t i : {j, j == 0 ? 0 : length - j}) {
        out[2 * i] = chirp[2 * j];
        out[2 * i + 1] = -chirp[2 * j + 1];
      }
    }
  }

  // The transform of that of the exact chirp, over length, rounded once.
  static void fill_spectrum(Bytes& bytes, int64_t n, int64_t length) {
    const Roots chirp_roots(2 * n), length_roots(length);
    std::vector<Roots::Value> padded(static_cast<std::size_t>(length)), roots(padded.size()),
        spectrum(padded.size());
    for (int64_t j = 0; j < length; ++j) roots[static_cast<std::size_t>(j)] = length_roots(j);
    for (int64_t j = 0; j < n; ++j) {
      const Roots::Value value = std::conj(chirp_at(chirp_roots, n, j));
      padded[static_cast<std::size_t>(j)] = value;
      if (j > 0) padded[static_cast<std::size_t>(length - j)] = value;
    }
    transform_exactly(padded.data(), length, roots, spectrum.data());
    for (int64_t j = 0; j < length; ++j) {
      put(bytes.numbers(), j,
          spectrum[static_cast<std::size_t>(j)] / static_cast<long double>(length));
    }
  }

  int64_t block_bytes(const FftLanePlan& plan, int64_t elements = 0) const {
    return std::max(plan.block, elements) * lanes * complex_bytes;
  }

  // One contiguous transform in place, in all lanes alike; `blocks` has room for two.
  void in_lanes(const LanePlan& plan, char* data, double scale, char* blocks) const {
    const int64_t bytes = block_bytes(plan.kernel), n = plan.kernel.n;
    const std::vector<char*> base(static_cast<std::size_t>(lanes), data);
    const int used = 1;
    const FftMove move{base.data(),      1,     &used, complex_bytes, n, n, bytes, 0,
                       FftForm::complex, false, false, scale};
    wide.gather(move, blocks);
    wide.transform(plan.kernel, blocks, blocks, blocks + bytes, lanes);
    wide.scatter(move, blocks + (plan.kernel.in_scratch ? bytes : 0));
  }

  // What the two stages cost, per element of a transform that fills the lanes.
  double split_cost(int64_t n1, int64_t n2, bool passes_only) const {
    const auto stage = [&](int64_t n, int64_t others) {
      const LaneCost cost = lane_cost(n, passes_only);
      double per_element = cost.filled(others, lanes) + 10;
      const int64_t bytes = cost.block * lanes * complex_bytes;
      if (bytes > block_target) {
        per_element *= 1 + 0.5 * std::log2(static_cast<double>(bytes) / block_target);
      }
      return per_element;
    };
    return stage(n1, n2) + stage(n2, n1);
  }
  // The best split of n, or n1 = 0 when there is none.
  double best_split(int64_t n, bool passes_only, int64_t& n1) const {
    // Divisors near the root first; far ones are not worth a look.
    double best = 0;
    n1 = 0;
    int tried = 0;
    for (auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n))); d >= 2; --d) {
      if (n % d != 0) continue;
      if (++tried > 8 && n1 != 0) break;
      for (const int64_t candidate : {d, n / d}) {
        const double cost = split_cost(candidate, n / candidate, passes_only);
        if (n1 == 0 || cost < best) {
          best = cost;
          n1 = candidate;
        }
      }
    }
    return best;
  }

  std::shared_ptr<const LongPlan> long_plan(int64_t n, bool passes_only) {
    return cache().get<LongPlan>({PlanCache::long_, n, passes_only},
                                 [&] { return make_long_plan(n, passes_only); });
  }

  LongCost long_cost(int64_t n, bool passes_only) const {
    LongCost out;
    out.per_element = best_split(n, passes_only, out.n1);
    if (out.n1 != 0 && out.per_element < 150) return out;
    std::vector<int> radices;
    if (out.n1 != 0 && passes_only && find_radices(n, radices)) return out;
    const int64_t length = convolution_length(2 * n - 1, true);
    int64_t ignored;
    const double cost = (2 * best_split(length, true, ignored) + 30) * static_cast<double>(length) /
                        static_cast<double>(n);
    if (out.n1 == 0 || cost < convolution_gain * out.per_element) {
      out = {.per_element = cost, .n1 = 0, .convolution = length};
    }
    return out;
  }

  std::shared_ptr<const LongPlan> make_long_plan(int64_t n, bool passes_only) {
    auto plan = std::make_shared<LongPlan>();
    plan->n = n;
    const LongCost cost = long_cost(n, passes_only);
    if (const int64_t length = cost.convolution; length != 0) {
      plan->convolution = long_plan(length, true);
      plan->chirp = Bytes(n * complex_bytes);
      plan->spectrum = Bytes(length * complex_bytes);
      fill_chirp(plan->chirp, n);
      if (length <= exact_spectrum) {
        fill_spectrum(plan->spectrum, n, length);
      } else {
        conjugate_chirp(plan->spectrum, plan->chirp.numbers(), n, length);
        four_step(*plan->convolution, wide, plan->spectrum.data(), length, wide,
                  plan->spectrum.data(), false, false, 1.0 / static_cast<double>(length));
      }
      plan->bytes = plan->chirp.size() + plan->spectrum.size() + plan->convolution->bytes;
      return plan;
    }
    const int64_t n1 = cost.n1, n2 = n / n1, column_blocks = (n2 + lanes - 1) / lanes;
    plan->n1 = n1;
    plan->n2 = n2;
    plan->first = lane_plan(n1, passes_only);
    plan->second = lane_plan(n2, passes_only);
    const int64_t tables = n <= whole_table ? column_blocks : 1;
    plan->inner = Bytes(tables * n1 * lanes * complex_bytes);
    const Roots roots(n);
    for (int64_t i = 0; i < tables * n1; ++i) {
      double* inner = plan->inner.numbers() + 2 * lanes * i;
      for (int l = 0; l < lanes; ++l) {
        const Roots::Value value = roots((i / n1 * lanes + l) * (i % n1) % n);
        inner[l] = static_cast<double>(value.real());
        inner[lanes + l] = static_cast<double>(value.imag());
      }
    }
    if (tables == 1) {
      plan->outer = Bytes(column_blocks * n1 * complex_bytes);
      double* outer = plan->outer.numbers();
      parallel_for(column_blocks, 16 * column_blocks * n1, [&](int64_t c) {
        for (int64_t j = 0; j < n1; ++j) put(outer, c * n1 + j, roots(c * lanes * j % n));
      });
    }
    plan->bytes =
        plan->outer.size() + plan->inner.size() + plan->first->bytes + plan->second->bytes;
    return plan;
  }

  std::shared_ptr<const RealPlan> real_plan(int64_t n) {
    return cache().get<RealPlan>({PlanCache::real, n}, [&] {
      auto plan = std::make_shared<RealPlan>();
      const int64_t count = n / 4 + 1;
      plan->twiddles = Bytes(count * complex_bytes);
      plan->bytes = plan->twiddles.size();
      double* table = plan->twiddles.numbers();
      const Roots roots(n);
      const int64_t chunk = 8192;
      parallel_for((count + chunk - 1) / chunk, 16 * count, [&](int64_t c) {
        for (int64_t j = c * chunk; j < std::min(count, (c + 1) * chunk); ++j) {
          put(table, j, roots(j));
        }
      });
      return plan;
    });
  }

  // ---- long transforms

  // The work of one stage over `elements` complex numbers, in the units of parallel_for.
  static int64_t work(int64_t elements) { return elements * complex_bytes; }

  // Contiguous in (its first `count` elements; n, or with zeros up to a full row of n2) to out,
  // which may be in; of the real types that `source` and `target` move.
  void four_step(const LongPlan& plan, const FftKernels& source, const char* in, int64_t count,
                 const FftKernels& target, char* out, bool swap_in, bool swap_out,
                 double scale) const {
    const int64_t in_bytes = 2 * source.item, out_bytes = 2 * target.item;
    const int64_t n1 = plan.n1, n2 = plan.n2;
    const int64_t row_bytes = n2 * lanes * complex_bytes;  // of a block of rows
    const int64_t row_blocks = (n1 + lanes - 1) / lanes, column_blocks = (n2 + lanes - 1) / lanes;
    const StorageRef middle = allocate(row_blocks * row_bytes);
    char* rows = static_cast<char*>(middle->data);

    const char* outer = plan.outer.data();
    const FftLanePlan& first = plan.first->kernel;
    const int64_t first_bytes = block_bytes(first);
    const int64_t first_groups = group_count(first_bytes);
    parallel_for((column_blocks + first_groups - 1) / first_groups, work(plan.n), [&](int64_t c) {
      const int64_t from = c * first_groups;
      const int groups = static_cast<int>(std::min(first_groups, column_blocks - from));
      const StorageRef memory = allocate((groups + 1) * first_bytes);
      char* blocks = static_cast<char*>(memory->data);
      std::vector<char*> base(static_cast<std::size_t>(groups * lanes));
      std::vector<int> used(static_cast<std::size_t>(groups));
      for (int i = 0; i < groups * lanes; ++i) {
        const int64_t column = std::min(from * lanes + i, n2 - 1);
        used[static_cast<std::size_t>(i / lanes)] += from * lanes + i < n2;
        base[static_cast<std::size_t>(i)] = const_cast<char*>(in) + column * in_bytes;
      }
      FftMove move{base.data(),           groups,  used.data(), n2 * in_bytes,
                   (count + n2 - 1) / n2, n1,      first_bytes, groups * lanes * in_bytes,
                   FftForm::complex,      swap_in, false,       1};
      source.gather(move, blocks);
      const char* results =
          transform_groups(first, blocks, first_bytes, blocks, groups, first_bytes, used.data());
      for (int g = 0; g < groups; ++g) {
        const int64_t block = from + g, column = block * lanes;
        wide.twist(results + g * first_bytes, n1,
                   static_cast<int>(std::min<int64_t>(lanes, n2 - column)),
                   outer ? outer + block * n1 * complex_bytes : nullptr,
                   plan.inner.data() + (outer ? 0 : block * n1 * lanes * complex_bytes),
                   rows + column * lanes * complex_bytes, row_bytes);
      }
    });

    const FftLanePlan& second = plan.second->kernel;
    const int64_t second_bytes = block_bytes(second);
    const int64_t second_groups = group_count(second_bytes);
    parallel_for((row_blocks + second_groups - 1) / second_groups, work(plan.n), [&](int64_t c) {
      const int64_t from = c * second_groups;
      const int groups = static_cast<int>(std::min(second_groups, row_blocks - from));
      const StorageRef memory = allocate((groups + 1) * second_bytes);
      char* blocks = static_cast<char*>(memory->data);
      std::vector<char*> base(static_cast<std::size_t>(groups * lanes));
      std::vector<int> used(static_cast<std::size_t>(groups));
      for (int i = 0; i < groups * lanes; ++i) {
        base[static_cast<std::size_t>(i)] = out + std::min(from * lanes + i, n1 - 1) * out_bytes;
        used[static_cast<std::size_t>(i / lanes)] += from * lanes + i < n1;
      }
      const char* results = transform_groups(second, rows + from * row_bytes, row_bytes, blocks,
                                             groups, second_bytes, used.data());
      const FftMove move{base.data(),
                         groups,
                         used.data(),
                         n1 * out_bytes,
                         n2,
                         n2,
                         second_bytes,
                         groups * lanes * out_bytes,
                         FftForm::complex,
                         swap_out,
                         false,
                         scale};
      target.scatter(move, results);
    });
  }

  // Blocks that are moved at once, so that more than one cache line of each row is.
  static int64_t group_count(int64_t bytes) {
    return std::clamp<int64_t>(block_target / bytes, 1, 4);
  }

  // Transforms `groups` blocks that stand `pitch` bytes apart into `blocks`, which may be `in` and
  // have room for one more; used[g] of its lanes count. Where the first result is.
  char* transform_groups(const FftLanePlan& plan, const char* in, int64_t pitch, char* blocks,
                         int groups, int64_t bytes, const int* used) const {
    char* const spare = blocks + groups * bytes;
    for (int g = groups - 1; g >= 0; --g) {
      char* block = blocks + g * bytes;
      wide.transform(plan, in + g * pitch, block, plan.in_scratch ? block + bytes : spare, used[g]);
    }
    return blocks + (plan.in_scratch ? bytes : 0);
  }

  void long_transform(const LongPlan& plan, const FftKernels& source, const char* in,
                      const FftKernels& target, char* out, bool swap_in, bool swap_out,
                      double scale) const {
    if (!plan.convolution) {
      four_step(plan, source, in, plan.n, target, out, swap_in, swap_out, scale);
      return;
    }
    const LongPlan& inner = *plan.convolution;
    const int64_t n = plan.n, length = inner.n;
    const StorageRef memory = allocate(length * complex_bytes);
    char* z = static_cast<char*>(memory->data);
    in_chunks(n, [&](int64_t at, int64_t count) {
      source.multiply_in(in + at * 2 * source.item, plan.chirp.data() + at * complex_bytes,
                         z + at * complex_bytes, count, swap_in, false, 1);
    });
    const int64_t padded = std::min(length, (n + inner.n2 - 1) / inner.n2 * inner.n2);
    std::memset(z + n * complex_bytes, 0, static_cast<std::size_t>((padded - n) * complex_bytes));
    four_step(inner, wide, z, padded, wide, z, false, false, 1);
    in_chunks(length, [&](int64_t at, int64_t count) {
      char* values = z + at * complex_bytes;
      wide.multiply_in(values, plan.spectrum.data() + at * complex_bytes, values, count, false,
                       true, 1);
    });
    four_step(inner, wide, z, length, wide, z, false, false, 1);
    in_chunks(n, [&](int64_t at, int64_t count) {
      target.multiply_out(z + at * complex_bytes, plan.chirp.data() + at * complex_bytes,
                          out + at * 2 * target.item, count, true, swap_out, scale);
    });
  }

  // body(first, count) for the parts of n elements.
  template <class Body>
  static void in_chunks(int64_t n, Body&& body) {
    const int64_t chunk = 16384;
    parallel_for((n + chunk - 1) / chunk, 3 * n * complex_bytes,
                 [&](int64_t c) { body(c * chunk, std::min(chunk, n - c * chunk)); });
  }
  // body(first, last) for the parts of 0 … h / 2.
  template <class Body>
  static void for_halves(int64_t h, Body&& body) {
    const int64_t count = h / 2 + 1, chunk = 8192;
    parallel_for((count + chunk - 1) / chunk, 2 * h * complex_bytes,
                 [&](int64_t c) { body(c * chunk, std::min(count, (c + 1) * chunk)); });
  }

  // Contiguous real numbers to n / 2 + 1 complex ones, n even.
  void long_rfft(const LongPlan& plan, const RealPlan& real, const char* in, char* out,
                 bool inverse, double scale) const {
    const int64_t h = plan.n;
    StorageRef memory;
    char* z = out;
    if (array.item != wide.item) {
      memory = allocate(h * complex_bytes);
      z = static_cast<char*>(memory->data);
    }
    long_transform(plan, array, in, wide, z, false, false, scale);
    for_halves(h, [&](int64_t first, int64_t last) {
      array.real_after_long(z, out, h, real.twiddles.data(), first, last, inverse);
    });
  }
  // And back.
  void long_irfft(const LongPlan& plan, const RealPlan& real, const char* in, char* out,
                  bool inverse, double scale) const {
    const int64_t h = plan.n;
    const StorageRef memory = allocate(h * complex_bytes);
    char* pairs = static_cast<char*>(memory->data);
    for_halves(h, [&](int64_t first, int64_t last) {
      array.real_before_long(in, pairs, h, real.twiddles.data(), first, last, !inverse);
    });
    long_transform(plan, wide, pairs, array, out, false, true, scale);
  }

  // ---- all transforms along an axis

  enum class Way { complex, real_to_complex, complex_to_real };

  struct Call {
    Way way;
    int64_t n;  // of the transform
    bool inverse;
    double scale;
  };

  std::shared_ptr<const Choice> choice(const Call& call) const {
    const bool real = call.way != Way::complex, single = array.item != wide.item;
    const PlanCache::Kind kind = call.way == Way::complex           ? PlanCache::choice
                                 : call.way == Way::real_to_complex ? PlanCache::choice_from_real
                                                                    : PlanCache::choice_to_real;
    return cache().get<Choice>({kind, call.n, single}, [&] {
      auto out = std::make_shared<Choice>();
      // An error of a whole array's rounding hides all others.
      out->passes_only = !single && numpy_takes_passes(call.n, real);
      const bool halves = real && call.n % 2 == 0 && (single || call.n > short_real);
      const bool convolves = choose(*out, call.n, halves);
      // The error of a convolution to real numbers done in full is mostly in the imaginary parts,
      // which are dropped.
      if (halves && !single && call.way == Way::complex_to_real && convolves &&
          call.n > exact_spectrum) {
        choose(*out, call.n, false);
      }
      return out;
    });
  }
  // Returns whether it may be by a convolution.
  bool choose(Choice& out, int64_t n, bool halves) const {
    out.halves = halves;
    out.n = halves ? n / 2 : n;
    out.in_lanes = lane_cost(out.n, out.passes_only);
    const int64_t bytes = out.in_lanes.block * lanes * complex_bytes;
    out.far = 1 + 0.5 * std::log2(std::max(1.0, static_cast<double>(bytes) / (2 * block_target)));
    out.split_cost = std::numeric_limits<double>::infinity();
    if (out.n <= 64) return out.in_lanes.bluestein;
    const LongCost split = long_cost(out.n, out.passes_only);
    const bool worse = out.passes_only && !out.in_lanes.bluestein && split.convolution != 0;
    if (!worse) out.split_cost = split.per_element;
    return out.in_lanes.bluestein || (split.convolution != 0 && !worse);
  }

  // The transforms of an array, one after the other in row-major order of the other dimensions.
  struct Walk {
    Dims shape, in_strides, out_strides;  // bytes
    int64_t count = 1, in_step, out_step;
    char *in, *out;

    Walk(const Operand& source, const Operand& target, int axis) {
      const int in_size = itemsize(source.dtype), out_size = itemsize(target.dtype);
      in = source.data;
      out = target.data;
      in_step = source.layout->strides[axis] * in_size;
      out_step = target.layout->strides[axis] * out_size;
      for (int d = 0; d < target.layout->ndim(); ++d) {
        const int64_t size = target.layout->shape[d];
        if (d == axis || size == 1) continue;
        const int64_t in_stride = source.layout->strides[d] * in_size;
        const int64_t out_stride = target.layout->strides[d] * out_size;
        count *= size;
        const int last = shape.size() - 1;
        if (last >= 0 && in_strides[last] == size * in_stride &&
            out_strides[last] == size * out_stride) {  // the two dimensions are one
          shape[last] *= size;
          in_strides[last] = in_stride;
          out_strides[last] = out_stride;
          continue;
        }
        shape.push_back(size);
        in_strides.push_back(in_stride);
        out_strides.push_back(out_stride);
      }
    }
    // How the transforms are cut into blocks of neighbours: by rows of the last dimension where
    // that wastes few lanes, for a block across the end of a row is moved number by number.
    int64_t row(int lanes) const {
      const int64_t size = shape.empty() ? 1 : shape[shape.size() - 1];
      const int64_t filled = (size + lanes - 1) / lanes * lanes;
      return (filled - size) * 8 <= size ? size : count;
    }
    // Where transforms i … i + n - 1 start.
    void at(int64_t i, int n, char** from, char** to) const {
      int done = 0;
      while (done < n) {
        char *source = in, *target = out;
        int64_t rest = i, run = 1, in_stride = 0, out_stride = 0;
        for (int d = shape.size() - 1; d >= 0; --d) {
          const int64_t index = rest % shape[d];
          rest /= shape[d];
          source += index * in_strides[d];
          target += index * out_strides[d];
          if (d + 1 == shape.size()) {  // along the last dimension they are evenly spaced
            run = shape[d] - index;
            in_stride = in_strides[d];
            out_stride = out_strides[d];
          }
        }
        for (run = std::min<int64_t>(run, n - done), i += run; run > 0; --run, ++done) {
          from[done] = source;
          to[done] = target;
          source += in_stride;
          target += out_stride;
        }
      }
    }
  };

  void run(const Operand& in, const Operand& out, int axis, const Call& call) {
    if (out.layout->size == 0) return;
    const Walk walk(in, out, axis);
    const auto chosen = choice(call);
    const double in_lanes = chosen->in_lanes.filled(walk.count, lanes) * chosen->far + 10;
    if (chosen->split_cost < in_lanes) {
      run_long(in, out, axis, call, *chosen);
    } else {
      run_lanes(walk, in.layout->shape[axis], call, *chosen);
    }
  }

  void run_lanes(const Walk& walk, int64_t in_length, const Call& call, const Choice& chosen) {
    const int64_t n = chosen.n;
    const bool halves = chosen.halves;
    const auto plan = lane_plan(n, chosen.passes_only);
    const auto real = halves ? real_plan(call.n) : nullptr;
    const FftLanePlan& kernel = plan->kernel;
    const int64_t bytes = block_bytes(kernel, n + 1);
    const char* twiddles = real ? real->twiddles.data() : nullptr;
    const int64_t half = call.n / 2 + 1;  // complex numbers of a real transform

    const bool to_real = call.way == Way::complex_to_real;
    const bool from_real = call.way == Way::real_to_complex;
    FftMove in_move{}, out_move{};
    in_move.stride = walk.in_step;
    in_move.pitch = out_move.pitch = bytes;
    in_move.count = std::min(in_length, to_real ? half : call.n);
    in_move.n = to_real ? half : n;
    out_move.stride = walk.out_step;
    out_move.count = out_move.n = from_real ? half : call.n;
    in_move.form = !from_real ? FftForm::complex : halves ? FftForm::real_pairs : FftForm::real;
    out_move.form = !to_real ? FftForm::complex : halves ? FftForm::real_pairs : FftForm::real;
    out_move.scale = call.scale;
    switch (call.way) {
      case Way::complex:
        in_move.swap = out_move.swap = call.inverse;
        break;
      case Way::real_to_complex:
        out_move.conjugate = call.inverse;
        break;
      case Way::complex_to_real:
        // The steps before the transform exchange the parts.
        in_move.conjugate = !call.inverse;
        out_move.swap = true;
        break;
    }

    // Several blocks at once where lanes are neighbours in memory and share cache lines.
    const int64_t row = walk.row(lanes), per_row = (row + lanes - 1) / lanes;
    const int64_t most = walk.count / row * per_row;
    const bool columns = walk.in_step > 2 * array.item || walk.out_step > 2 * array.item;
    const int64_t groups = columns ? std::min(most, group_count(bytes)) : 1;
    const int64_t per_chunk = std::max<int64_t>(groups, 131072 / bytes / groups * groups);
    const int64_t all = walk.count * n * (std::bit_width(static_cast<std::uint64_t>(n)) + 4) / 4;
    parallel_for((most + per_chunk - 1) / per_chunk, all * complex_bytes, [&](int64_t c) {
      const StorageRef memory = allocate((groups + 1) * bytes);
      char* blocks = static_cast<char*>(memory->data);
      std::vector<char*> from(static_cast<std::size_t>(groups * lanes)), to(from.size());
      std::vector<int> used(static_cast<std::size_t>(groups));
      FftMove source = in_move, target = out_move;
      source.base = from.data();
      target.base = to.data();
      source.used = target.used = used.data();
      for (int64_t at = c * per_chunk; at < std::min(most, (c + 1) * per_chunk); at += groups) {
        const int count = static_cast<int>(std::min(groups, most - at));
        for (int g = 0; g <= count; ++g) {
          const int64_t block = std::min(at + g, most - 1), start = block % per_row * lanes;
          const int filled = static_cast<int>(std::min<int64_t>(lanes, row - start));
          const int64_t transform = block / per_row * row + start;
          if (g == count) {
            char *next_from, *next_to;
            walk.at(transform, 1, &next_from, &next_to);
            source.ahead = next_from - from[0];
            target.ahead = next_to - to[0];
            break;
          }
          char **first_from = from.data() + g * lanes, **first_to = to.data() + g * lanes;
          walk.at(transform, filled, first_from, first_to);
          // Lanes beyond the last transform do the last one again.
          std::fill(first_from + filled, first_from + lanes, first_from[filled - 1]);
          std::fill(first_to + filled, first_to + lanes, first_to[filled - 1]);
          used[static_cast<std::size_t>(g)] = filled;
        }
        source.groups = target.groups = count;
        array.gather(source, blocks);
        if (to_real) {
          for (int g = 0; g < count; ++g) {
            if (halves) {
              wide.real_before(blocks + g * bytes, n, twiddles);
            } else {
              wide.hermitian(blocks + g * bytes, n);
            }
          }
        }
        char* results = transform_groups(kernel, blocks, bytes, blocks, count, bytes, used.data());
        if (from_real && halves) {
          for (int g = 0; g < count; ++g) wide.real_after(results + g * bytes, n, twiddles);
        }
        array.scatter(target, results);
      }
    });
  }

  void run_long(const Operand& in, const Operand& out, int axis, const Call& call,
                const Choice& chosen) {
    const int64_t n = chosen.n;
    const bool halves = chosen.halves;
    // The kernels take contiguous transforms that are neither cropped nor padded.
    const int64_t half = call.n / 2 + 1;
    const int64_t wanted = call.way == Way::complex_to_real ? half : call.n;
    const int64_t given = out.layout->shape[axis];
    const bool whole = call.way != Way::complex && !halves;  // real, but a complex transform
    const DType complex_type = complex_dtype(out.dtype);
    const auto contiguous = [&](int64_t length) {
      Layout layout = *out.layout;
      const int last = layout.ndim() - 1;
      layout.shape.erase(axis);
      layout.shape.push_back(length);
      layout = Layout::contiguous(layout.shape);
      // Back to the order of the array's dimensions.
      const int64_t size = layout.shape[last], stride = layout.strides[last];
      layout.shape.erase(last);
      layout.strides.erase(last);
      layout.shape.insert(axis, size);
      layout.strides.insert(axis, stride);
      return layout;
    };
    const auto part = [&](const Operand& operand, Layout& layout, int64_t start, int64_t count) {
      layout = slice_axis(*operand.layout, axis, start, 1, count);
      Operand view = operand;
      view.data += (layout.offset - operand.layout->offset) * itemsize(operand.dtype);
      layout.offset = 0;
      view.layout = &layout;
      return view;
    };

    Operand source = in;
    Layout source_layout, target_layout, view_layout, other_layout;
    StorageRef source_memory, target_memory;
    const int64_t in_length = in.layout->shape[axis];
    if (in.layout->strides[axis] != 1 || in_length < wanted || whole) {
      source_layout = contiguous(whole ? call.n : wanted);
      source.dtype = whole ? complex_type : in.dtype;
      source_memory = allocate(source_layout.size * itemsize(source.dtype));
      source.data = static_cast<char*>(source_memory->data);
      source.layout = &source_layout;
      const int64_t count = std::min(in_length, wanted);
      cpu::copy(part(in, view_layout, 0, count), part(source, other_layout, 0, count));
      if (count < source_layout.shape[axis]) {
        const Operand rest = part(source, other_layout, count, source_layout.shape[axis] - count);
        Element zero;
        zero.dtype = source.dtype;
        Layout scalar_layout = other_layout;
        scalar_layout.strides = Dims(other_layout.ndim(), 0);
        Operand zeros(zero);
        zeros.layout = &scalar_layout;
        zeros.host_scalar = false;
        cpu::copy(zeros, rest);
      }
    }
    Operand target = out;
    if (out.layout->strides[axis] != 1 || whole) {
      target_layout = contiguous(whole ? call.n : given);
      target.dtype = whole ? complex_type : out.dtype;
      target_memory = allocate(target_layout.size * itemsize(target.dtype));
      target.data = static_cast<char*>(target_memory->data);
      target.layout = &target_layout;
    }

    const auto plan = long_plan(n, chosen.passes_only);
    const auto real = halves ? real_plan(call.n) : nullptr;
    const Walk walk(source, target, axis);
    // Long ones use all threads each; shorter ones are spread over them.
    const bool one_by_one = n >= int64_t{1} << 16;
    const auto one = [&](int64_t i) {
      char *from, *to;
      walk.at(i, 1, &from, &to);
      if (call.way == Way::complex) {
        long_transform(*plan, array, from, array, to, call.inverse, call.inverse, call.scale);
      } else if (whole) {
        const bool to_real = call.way == Way::complex_to_real;
        if (to_real && array.item == sizeof(float)) {
          complete(reinterpret_cast<float*>(from), n, call.inverse);
        } else if (to_real) {
          complete(reinterpret_cast<double*>(from), n, call.inverse);
        }
        const bool swap = !to_real && call.inverse;
        long_transform(*plan, array, from, array, to, swap, swap, call.scale);
      } else if (call.way == Way::real_to_complex) {
        long_rfft(*plan, *real, from, to, call.inverse, call.scale);
      } else {
        long_irfft(*plan, *real, from, to, call.inverse, call.scale);
      }
    };
    if (one_by_one) {
      for (int64_t i = 0; i < walk.count; ++i) one(i);
    } else {
      parallel_for(walk.count, 4 * work(n) * walk.count, one);
    }
    if (target_memory) {
      if (call.way == Way::complex_to_real && whole) {
        // The real parts: every second real number.
        Layout reals = target_layout;
        for (int d = 0; d < reals.ndim(); ++d) reals.strides[d] *= 2;
        Operand view = target;
        view.dtype = out.dtype;
        view.layout = &reals;
        cpu::copy(view, out);
      } else {
        cpu::copy(part(target, view_layout, 0, given), out);
      }
    }
  }

  // The first n / 2 + 1 of n elements completed by their conjugates; for a forward transform to be
  // the inverse, conjugated as well.
  template <class T>
  static void complete(T* z, int64_t n, bool inverse) {
    z[1] = T(0);
    if (n % 2 == 0) z[n + 1] = T(0);
    for (int64_t i = 1; 2 * i < n; ++i) {
      const T im = inverse ? -z[2 * i + 1] : z[2 * i + 1];
      z[2 * i + 1] = im;
      z[2 * (n - i)] = z[2 * i];
      z[2 * (n - i) + 1] = -im;
    }
  }
};

void run(const Operand& in, const Operand& out, int axis, const Engine::Call& call) {
  Engine(real_dtype(out.dtype)).run(in, out, axis, call);
}

}  // namespace

void fft(const Operand& in, const Operand& out, int axis, bool inverse, double scale) {
  run(in, out, axis, {Engine::Way::complex, out.layout->shape[axis], inverse, scale});
}

void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
          double scale) {
  run(in, out, axis, {Engine::Way::real_to_complex, n, inverse, scale});
}

void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale) {
  run(in, out, axis, {Engine::Way::complex_to_real, out.layout->shape[axis], inverse, scale});
}

}  // namespace arrayx::cpu
