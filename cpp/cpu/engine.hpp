// The CPU engine: Backend over host memory. Each family of verbs has a file of its own.
#pragma once

#include "../backend.hpp"

namespace arrayx::cpu {

// The one instance.
Backend& instance();

// ---- elementwise.cpp
void elementwise(Op op, DType compute, std::span<const Operand> inputs, const Operand& out);
void elementwise_contiguous(Op op, DType compute, const void* const* inputs, void* out,
                            std::int64_t n);
// ---- copy.cpp
void copy(const Operand& in, const Operand& out);
void join(std::span<const Operand> parts, int axis, const Operand& out);
void arange(const Operand& out, const Element& start, const Element& step);
void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
              bool endpoint);
void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper);
// ---- reduce.cpp
void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
            const Operand* center, const Operand& out);
void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out);
// ---- scan.cpp
void scan(bool product, const Operand& in, int axis, bool include_initial, const Operand& out);
// ---- indexing.cpp
void gather(const Operand& in, const Operand& offsets, const Operand& out);
bool gather_indexed(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                    const Operand& out, std::int64_t* bad);
void compress(const Operand& in, const Operand& mask, const Operand& out);
void repeat(const Operand& in, const Operand& counts, const Operand& out);
void scatter(const Operand& in, const Operand& offsets, const Operand& out);
std::optional<bool> scatter_indexed(const Operand& in, const Operand& index, std::int64_t n,
                                    std::int64_t stride, const Operand& out, std::int64_t* bad);
bool accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                        const Operand& offsets, std::int64_t* bad);
std::int64_t count_nonzero(const Operand& in);
void nonzero(const Operand& in, std::span<const Operand> out);
// ---- sort.cpp
void sort(const Operand& in, int axis, bool descending, const Operand& out);
void argsort(const Operand& in, int axis, bool descending, const Operand& out);
bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values, bool right,
                  const Operand& out);
// ---- unique.cpp
bool unique(const Array& x, bool indices, bool inverse, bool counts, Unique& out);
// ---- matmul.cpp
void matmul(const Operand& a, const Operand& b, const Operand& out);
// ---- cross.cpp
bool cross(const Operand& a, const Operand& b, const Operand& out);
// ---- dots.cpp
void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out);
// ---- linalg.cpp
std::int64_t solve(const Operand& a, const Operand& b, const Operand& out);
std::int64_t inverse(const Operand& a, const Operand& out);
void determinant(const Operand& a, const Operand* det, const Operand* sign, const Operand* log_abs);
std::int64_t cholesky(const Operand& a, const Operand& out, bool upper);
void qr(const Operand& a, const Operand& q, const Operand& r);
std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors);
std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors);
std::int64_t svd(const Operand& a, const Operand* u, const Operand& s, const Operand* vh);
// ---- fft.cpp
void fft(const Operand& in, const Operand& out, int axis, bool inverse, double scale);
void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
          double scale);
void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale);
// ---- memory.cpp
StorageRef allocate(std::int64_t bytes, bool for_zeros = false);
Array new_array(const Layout& layout, DType dtype);  // of a dense layout; its elements are not set
MemoryInfo memory_info();
void set_cache_limit(std::int64_t bytes);
void empty_cache();

}  // namespace arrayx::cpu
