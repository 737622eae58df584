// Ways of a large copy of which a machine takes one or none: transposes in strips straight on, and
// in long pieces by way of a scratch; rows that change places, each to a run of its own.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "cpp/cpu/kernels.hpp"
#include "cpp/cpu/prefetch.hpp"

using namespace arrayx::cpu;

namespace {

char byte_at(std::int64_t i) {
  return static_cast<char>(i * 37 + (i >> 8) * 11 + (i >> 16));
}

// The first of `bytes` that begins a line, of which there are enough for a line more than is used.
char* first_line(std::vector<char>& bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  return bytes.data() + (line_bytes - at % line_bytes) % line_bytes;
}

// A matrix of rows × columns items, whose columns lie `apart` items from each other in memory and
// whose transpose begins `offset` bytes past a line, in strips of `width` columns, of which `box`
// bytes are asked for at a time.
void transpose(int itemsize, std::int64_t rows, std::int64_t columns, std::int64_t width,
               std::int64_t offset, std::int64_t gap, bool in_pieces) {
  const std::int64_t box = rows % 2 == 0 ? 128 : 1024;
  const std::int64_t apart = rows + 3, row_bytes = (columns + gap) * itemsize;
  std::vector<char> in(apart * columns * itemsize);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = byte_at(static_cast<std::int64_t>(i));
  std::vector<char> memory(rows * row_bytes + 4 * line_bytes, 'x');
  char* const out = first_line(memory) + offset;
  std::vector<char> expected = memory;
  char* const wanted = expected.data() + (out - memory.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      std::memcpy(wanted + r * row_bytes + c * itemsize, in.data() + (c * apart + r) * itemsize,
                  itemsize);
    }
  }
  std::vector<std::int64_t> offsets(columns);
  for (std::int64_t c = 0; c < columns; ++c) offsets[c] = c * apart * itemsize;
  std::vector<char> scratch(streamed_scratch + line_bytes);
  char* const room = first_line(scratch);
  for (std::int64_t first = 0; first < columns; first += width) {
    const auto strip = [&](std::int64_t c) {
      return StripColumns{in.data(), offsets.data() + c, std::min(width, columns - c)};
    };
    const StripColumns here = strip(first);
    const std::int64_t following = first + width < columns ? first + width : 0;
    kernels().stream_transpose[item_class(itemsize)](
        {here, out + first * itemsize, row_bytes, rows, first == 0, columns - first - here.count,
         strip(following), std::min(box, rows * itemsize), box, in_pieces ? room : nullptr});
  }
  kernels().stream_fence();
  CHECK(memory == expected);
}

// `count` rows of so many bytes of each of `runs` runs, which begin `offset` bytes past a line and
// lie `gap` bytes further apart than they are long, with or without gaps between their rows.
void put_runs(std::int64_t runs, std::int64_t count, std::int64_t bytes, std::int64_t offset,
              std::int64_t gap, bool goes_on) {
  const std::int64_t row = goes_on ? bytes : bytes + 5, run = count * row + gap;
  std::vector<char> in(runs * count * bytes);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = byte_at(static_cast<std::int64_t>(i));
  std::vector<char> memory(runs * run + 4 * line_bytes, 'x');
  char* const out = first_line(memory) + offset;
  std::vector<char> expected = memory;
  std::vector<char> begun((3 * runs + 1) * line_bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t r = 0; r < runs; ++r) {
      std::memcpy(expected.data() + (out - memory.data()) + r * run + i * row,
                  in.data() + (i * runs + r) * bytes, bytes);
    }
    kernels().stream_runs({in.data() + i * runs * bytes, bytes, out + i * row, run, runs, bytes,
                           !goes_on || i == 0, !goes_on || i == count - 1, in.data(), bytes,
                           i % 2 == 0 ? runs : 0, begun.data()});
  }
  kernels().stream_fence();
  CHECK(memory == expected);
}

}  // namespace

TEST(rows_that_change_places_go_to_runs) {
  for (const std::int64_t bytes : {1, 24, 63, 64, 65, 104, 127, 128, 260, 1000, 2048}) {
    for (const std::int64_t offset : {0, 1, 24, 63}) {
      for (const bool goes_on : {true, false}) {
        put_runs(3, 7, bytes, offset, 0, goes_on);
        put_runs(5, 1, bytes, offset, 9, goes_on);
        put_runs(1, 4, bytes, offset, 64, goes_on);
      }
    }
  }
}

TEST(rows_that_lie_backwards_go_past_the_caches) {
  for (const int itemsize : {1, 2, 4, 8, 16}) {
    for (const std::int64_t n : {1, 5, 63, 64, 65, 300, 4096, 4097}) {
      for (const std::int64_t offset : {0, 8, 48}) {
        std::vector<char> in(n * itemsize), memory(n * itemsize + 4 * line_bytes, 'x');
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = byte_at(static_cast<std::int64_t>(i));
        char* const out = memory.data() + offset;
        std::vector<char> expected = memory;
        const char* const last = in.data() + (n - 1) * itemsize;
        for (std::int64_t i = 0; i < n; ++i) {
          std::memcpy(expected.data() + offset + i * itemsize, last - i * itemsize, itemsize);
        }
        kernels().stream_backwards[item_class(itemsize)](last, out, n, nullptr);
        kernels().stream_fence();
        CHECK(memory == expected);
      }
    }
  }
}

TEST(large_transposes_in_strips_and_in_pieces) {
  for (const int itemsize : {1, 2, 4, 8, 16}) {
    const std::int64_t line = line_bytes / itemsize;
    for (const bool in_pieces : {false, true}) {
      const std::int64_t most = in_pieces ? streamed_columns(itemsize) : most_strip_columns;
      const std::int64_t tall = 2 * streamed_rows(itemsize) + 5;
      for (const std::int64_t rows : {std::int64_t{16}, std::int64_t{17}, std::int64_t{63}, tall}) {
        // Whole lines; rows that begin anywhere; short ones after each other, and apart.
        transpose(itemsize, rows, 2 * most, most, 0, 0, in_pieces);
        transpose(itemsize, rows, most + line + 1, most, 0, 0, in_pieces);
        transpose(itemsize, rows, 2 * most + 1, most, itemsize, 1, in_pieces);
        transpose(itemsize, rows, most + line, most + line, itemsize, 0, in_pieces);
        transpose(itemsize, rows, line, line, 0, 0, in_pieces);
        transpose(itemsize, rows, line + 1, line + 1, itemsize, 3, in_pieces);
        transpose(itemsize, rows, most + 1, most, 0, line - 1, in_pieces);
      }
    }
  }
}
