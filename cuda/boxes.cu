// Copies of small items between operands that are fastest in different dimensions, box by box: a
// box goes on along several dimensions, so that its rows in both operands are long where single
// sides are short. It lies in shared memory as in the input, is turned there into rows of the
// output, and leaves by packs, wherever those rows begin.
#include "boxes.hpp"

#include "loop.hpp"
#include "rows.cuh"

namespace arrayx::cuda {

namespace {

// Items of a box, in bytes at most; fewer than so many of an array leave multiprocessors idle.
constexpr std::int64_t box_bytes = 16384, least_boxed_bytes = 1 << 23;
constexpr std::int64_t most_boxed_side = 24;

constexpr int box_threads = 256;
constexpr int box_dims = 4;  // a box has more than one element along at most so many

// A place in two dimensions of a box: the first, whose size divides, and the next.
struct BoxDigits {
  Divisor size;   // of a box along the first one
  int dim[2];     // of the loop
  i64 stride[2];  // bytes of an operand
  int shared[2];  // bytes of the box in shared memory, as it lies in the input
  int turned[2];  // and as rows of the output
};

// The loop's first box_dims dimensions count boxes. Rows of the input are counted by `rows`, those
// of the output by `columns`. A box is turned by words: of `places`, which follow each other in the
// output, and of `lines`, which do so in the input.
struct Boxes {
  Loop loop;                               // count: boxes
  u32 extent[box_dims], length[box_dims];  // of a box; of the operands
  BoxDigits rows, columns, places, lines;
  u32 run_dims[2];               // bits: dimensions of which rows of either operand consist
  Divisor packs, granules;       // of a row of the input, of the output
  int pitch, turned_pitch;       // bytes from row to row in shared memory
  int turned_at;                 // where the output's rows begin there
  int lanes_over;                // log2 of a warp's threads along columns
  bool aligned_in, aligned_out;  // rows begin at packs
  bool words_in, words_out;      // items of a word lie in a word of shared memory
};

template <class M>
__global__ void __launch_bounds__(box_threads, resident_blocks_of(box_threads, 5))
    copy_boxes(const __grid_constant__ Boxes boxes) {
  wait_for_earlier();
  constexpr int size = int(sizeof(M)), N = pack_bytes / size, W = 4 / size, loads = 4;
  constexpr int warps = box_threads / 32;
  extern __shared__ __align__(16) unsigned char box_memory[];
  const Loop& loop = boxes.loop;
  u32 actual[box_dims];
  i64 origin[1][2] = {};
  u32 outer[1] = {blockIdx.x};
#pragma unroll
  for (int d = 0; d < box_dims; ++d) {
    const u32 next = loop.dim[d].size.divide(outer[0]),
              at = outer[0] - next * loop.dim[d].size.divisor;
    origin[0][0] += at * loop.dim[d].stride[0];
    origin[0][1] += at * loop.dim[d].stride[1];
    actual[d] = min(boxes.extent[d], boxes.length[d] - at * boxes.extent[d]);
    outer[0] = next;
  }
  if (loop.ndim > box_dims) locate(loop, box_dims, outer, origin);
  const auto actual_of = [&](int d) {
    u32 n = 1;
#pragma unroll
    for (int e = 0; e < box_dims; ++e) n = d == e ? actual[e] : n;
    return n;
  };
  int run = size, length = 1;
#pragma unroll
  for (int d = 0; d < box_dims; ++d) {
    if (boxes.run_dims[0] >> d & 1) run *= int(actual[d]);
    if (boxes.run_dims[1] >> d & 1) length *= int(actual[d]);
  }
  {
    const char* const in = loop.data[0] + origin[0][0];
    const BoxDigits& rows = boxes.rows;
    const u32 size0 = actual_of(rows.dim[0]), size1 = actual_of(rows.dim[1]);
    const u32 parts = rows.size.divisor * size1 * boxes.packs.divisor;
#pragma unroll 1
    for (u32 begin = threadIdx.x; begin < parts; begin += loads * box_threads) {
      uint4 x[loads];
      u32 after[loads];
      int to[loads], at[loads], shift[loads];
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        const u32 i = begin + l * box_threads;
        const u32 row = boxes.packs.divide(i), pack = i - row * boxes.packs.divisor;
        const u32 row1 = rows.size.divide(row), row0 = row - row1 * rows.size.divisor;
        const char* const p = in + row0 * rows.stride[0] + row1 * rows.stride[1];
        const int lead = boxes.aligned_in ? 0 : int(reinterpret_cast<u64>(p) & (pack_bytes - 1));
        shift[l] = lead % 4 * 8;
        at[l] = int(pack) * pack_bytes - lead / 4 * 4;
        to[l] = int(row) * boxes.pitch;
        // Of the row, the pack has bytes from at - lead % 4 on.
        if (row0 >= size0 || row1 >= size1) at[l] = run + pack_bytes;
        const int rest = run - (at[l] - lead % 4);
        if (rest <= 0) continue;
        const char* const q = p + (at[l] - lead % 4);
        x[l] = *reinterpret_cast<const uint4*>(q);
        if (!boxes.aligned_in) {
          after[l] = rest > pack_bytes ? *reinterpret_cast<const u32*>(q + pack_bytes) : 0;
        }
      }
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        u32 w[5] = {x[l].x, x[l].y, x[l].z, x[l].w, after[l]};
        if (!boxes.aligned_in) {
#pragma unroll
          for (int j = 0; j < 4; ++j) w[j] = __funnelshift_r(w[j], w[j + 1], shift[l]);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int o = at[l] + 4 * j;
          if (o >= 0 && o < run) *reinterpret_cast<u32*>(box_memory + to[l] + o) = w[j];
        }
      }
    }
  }
  __syncthreads();
  const BoxDigits& columns = boxes.columns;
  const u32 columns0 = actual_of(columns.dim[0]), columns1 = actual_of(columns.dim[1]);
  const u32 count = columns1 > 1 ? columns.size.divisor * columns1 : columns0;
  unsigned char* const turned = box_memory + boxes.turned_at;
  {
    const BoxDigits &lines = boxes.lines, &places = boxes.places;
    const u32 lines0 = actual_of(lines.dim[0]), lines1 = actual_of(lines.dim[1]);
    const int places0 = int(actual_of(places.dim[0]) * actual_of(places.dim[1]));
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, over = boxes.lanes_over;
    const int along = 5 - over, lane_place = lane & ((1 << along) - 1), lane_line = lane >> along;
    const int all_lines = int(lines1 > 1 ? lines.size.divisor * lines1 : lines0);
    const int words0 = (places0 + W - 1) / W, words1 = (all_lines + W - 1) / W;
    const int groups0 = (words0 + (1 << along) - 1) >> along;
    const int groups1 = (words1 + (1 << over) - 1) >> over;
    const int groups = groups0 * groups1;
    int group = warp * groups / warps;
    const int end = (warp + 1) * groups / warps;
    int group0 = group / groups1, group1 = group - group0 * groups1;
    int from[W], word = 0;
    const auto start = [&] {
      word = (group0 << along) + lane_place;
#pragma unroll
      for (int i = 0; i < W; ++i) {
        const u32 place = u32(min(word * W + i, places0 - 1));
        const u32 next = places.size.divide(place);
        from[i] = int(place - next * places.size.divisor) * places.shared[0] +
                  int(next) * places.shared[1];
      }
    };
    start();
#pragma unroll 1
    for (; group < end; ++group) {
      const int line_word = (group1 << over) + lane_line;
      if (word < words0 && line_word < words1) {
        const u32 line = u32(line_word * W), next = lines.size.divide(line);
        const int line0 = int(line - next * lines.size.divisor);
        const int at = line0 * lines.shared[0] + int(next) * lines.shared[1];
        u32 x[W], y[W];
        if (boxes.words_in) {
#pragma unroll
          for (int i = 0; i < W; ++i) {
            x[i] = *reinterpret_cast<const u32*>(box_memory + from[i] + at);
          }
        } else {
#pragma unroll
          for (int i = 0; i < W; ++i) {
            const int byte = from[i] + at;
            const u32* const p = reinterpret_cast<const u32*>(box_memory + (byte & ~3));
            x[i] = __funnelshift_r(p[0], p[1], byte % 4 * 8);
          }
        }
        turn<W>(x, y);
        if (boxes.words_out) {
          unsigned char* const to =
              turned + line0 * lines.turned[0] + int(next) * lines.turned[1] + word * 4;
#pragma unroll
          for (int i = 0; i < W; ++i) *reinterpret_cast<u32*>(to + i * lines.turned[0]) = y[i];
        } else {
#pragma unroll
          for (int i = 0; i < W; ++i) {
            if (int(line) + i >= all_lines) break;
            int next_line = int(next), own = line0 + i;
            while (own >= int(lines.size.divisor)) {
              own -= int(lines.size.divisor);
              ++next_line;
            }
            unsigned char* const to =
                turned + own * lines.turned[0] + next_line * lines.turned[1] + word * 4;
#pragma unroll
            for (int j = 0; j < W; ++j) {
              if (word * W + j < places0) {
                *reinterpret_cast<M*>(to + j * size) = static_cast<M>(y[i] >> 8 * j * size);
              }
            }
          }
        }
      }
      if (++group1 == groups1) {
        group1 = 0;
        ++group0;
        start();
      }
    }
  }
  __syncthreads();
  char* const out = loop.data[1] + origin[0][1];
  const u32 parts = count * boxes.granules.divisor;
#pragma unroll 2
  for (u32 i = threadIdx.x; i < parts; i += box_threads) {
    const u32 column = boxes.granules.divide(i), at = i - column * boxes.granules.divisor;
    const u32 column1 = columns.size.divide(column);
    const u32 column0 = column - column1 * columns.size.divisor;
    if (column0 >= columns0 || column1 >= columns1) continue;
    char* const row = out + column0 * columns.stride[0] + column1 * columns.stride[1];
    const Granule granule = granule_at<M, N>(row, at, u32(length));
    if (granule.hi <= granule.lo) continue;
    const unsigned char* const p = turned + int(column) * boxes.turned_pitch + granule.start * size;
    Run<M, N> x;
    if (boxes.aligned_out) {
      const auto bits = *reinterpret_cast<const uint4*>(p);
      memcpy(x.w, &bits, sizeof bits);
    } else {
      x = load_run<M, N>(reinterpret_cast<const char*>(p), granule.lo, granule.hi);
    }
    store_granule(row, granule, x.pack());
  }
}

// How a plan is cut into boxes. Dimensions that boxes may be long in: 0 is the output's fastest, 1
// the input's; after them those that follow each in memory, or another one.
struct Boxing {
  int size;  // of an item
  int dims = 0, next_out = -1, next_in = -1;
  int from[box_dims];  // of the plan
  std::int64_t length[box_dims], extent[box_dims];
  bool aligned_in = false, aligned_out = false;  // strides and starts but the runs'
  bool joins = true;                             // runs go on along what follows them
  // What follows from the extents.
  unsigned in_run, out_run;  // bits
  int row[2], column[2], place[2], line[2];
  int rows, columns, run, out_length, pitch, turned_pitch, shared_bytes;
  int shared[box_dims], turned[box_dims];
  bool words_in, words_out;
  double cost;  // of the whole copy, as bytes

  bool arrange();
};

std::int64_t parts_for(std::int64_t n, std::int64_t most) {
  return (n - 1) / most + 1;
}

bool Boxing::arrange() {
  in_run = 2;
  out_run = 1;
  if (joins && next_in >= 0 && extent[1] == length[1] && extent[next_in] > 1)
    in_run |= 1u << next_in;
  if (joins && next_out >= 0 && extent[0] == length[0] && extent[next_out] > 1)
    out_run |= 1u << next_out;
  const auto list = [&](unsigned without, int first, int second, int (&digits)[2]) {
    int n = 0;
    digits[0] = digits[1] = -1;
    const auto add = [&](int d) {
      if (d < 0 || extent[d] == 1 || without >> d & 1) return true;
      for (int i = 0; i < n; ++i) {
        if (digits[i] == d) return true;
      }
      if (n == 2) return false;
      digits[n++] = d;
      return true;
    };
    bool fits = add(first) && add(second);
    for (int d = 0; d < dims; ++d) fits = fits && add(d);
    return fits;
  };
  if (!list(in_run, 0, next_out, row) || !list(out_run, 1, next_in, column)) return false;
  if (!list(~out_run, 0, next_out, place)) return false;
  const auto product = [&](const int (&digits)[2]) {
    std::int64_t n = 1;
    for (int d : digits) n *= d < 0 ? 1 : extent[d];
    return n;
  };
  std::int64_t items = 1, boxes = 1, run_items = 1;
  for (int d = 0; d < dims; ++d) {
    items *= extent[d];
    boxes *= parts_for(length[d], extent[d]);
    if (in_run >> d & 1) run_items *= extent[d];
  }
  rows = static_cast<int>(product(row));
  columns = static_cast<int>(product(column));
  out_length = static_cast<int>(product(place));
  run = static_cast<int>(run_items);
  // Eight threads' words of neighbouring rows, and four of each row, lie in all banks.
  int words_of_row = (run * size + 3) / 4;
  if (size == 1) {
    words_of_row |= 1;
  } else {
    words_of_row += (6 - words_of_row % 4) % 4;
  }
  pitch = words_of_row * 4;
  const int packs = (out_length * size - 1) / pack_bytes + 1;
  turned_pitch = (packs | 1) * pack_bytes;
  for (int d = 0; d < dims; ++d) {
    shared[d] = d == 1            ? size
                : in_run >> d & 1 ? static_cast<int>(extent[1]) * size
                : row[1] == d     ? static_cast<int>(extent[row[0]]) * pitch
                                  : pitch;
  }
  // Items that follow each other in the input: the turning's words are theirs.
  const int each = 4 / size;
  if (out_run >> 1 & 1) {
    if (column[1] >= 0) return false;
    line[0] = 1;
    line[1] = column[0];
    place[0] = extent[0] > 1 ? 0 : -1;
    place[1] = -1;
  } else {
    if (column[0] != 1) return false;
    line[0] = 1;
    line[1] = column[1];
  }
  for (int d = 0; d < dims; ++d) {
    turned[d] = (out_run >> d & 1) ? (d == 0 ? size : static_cast<int>(extent[0]) * size)
                : column[1] == d   ? static_cast<int>(extent[column[0]]) * turned_pitch
                                   : turned_pitch;
  }
  words_in = true;
  for (int d : place) words_in = words_in && (d < 0 || shared[d] % 4 == 0);
  // A word of lines goes on in the next ones where those follow in both.
  bool goes_on = true;
  words_out = turned[1] % 4 == 0;
  if (line[1] >= 0 && extent[1] % each != 0) {
    goes_on = shared[line[1]] == extent[1] * size;
    words_out = words_out && turned[line[1]] == extent[1] * turned[1];
  }
  if (!goes_on) return false;
  words_in = words_in && (line[1] < 0 || extent[1] % each != 0 || shared[line[1]] % 4 == 0);
  if (!words_out && line[1] >= 0 && extent[1] % each != 0 && extent[1] < length[1]) return false;
  if (words_out && (out_run >> 1 & 1) && extent[0] * size % 4 != 0) words_out = false;
  const int in_bytes = (rows * pitch + 4 + pack_bytes - 1) / pack_bytes * pack_bytes;
  shared_bytes = in_bytes + (columns + each - 1) / each * each * turned_pitch + 4 * pack_bytes +
                 ((out_run >> 1 & 1) ? each * static_cast<int>(extent[0]) * size : 0);
  // A warp's eight places, four words of lines each: how many of them meet in a bank.
  const int step = place[0] < 0 ? 1 : shared[place[0]] / size;
  int common = 32;
  while (step % common != 0) common /= 2;
  const double meet = std::max(8.0 / std::min(8, 32 / common), 4.0 / std::min(common, 4));
  const double turning = 6.6 * (each * meet * (words_in ? 1 : 2) + each * (words_out ? 1 : 4)) /
                         (16.0 * 32) * 4 / each;
  const double bytes = static_cast<double>(items) * size;
  const bool cut_in = extent[1] * size % pack_bytes != 0 && (extent[1] < length[1]);
  const bool cut_out = extent[0] * size % pack_bytes != 0 && (extent[0] < length[0]);
  const double edge_in = aligned_in && !cut_in && run * size % pack_bytes == 0 ? 0 : 24;
  const double edge_out = aligned_out && !cut_out && out_length * size % pack_bytes == 0 ? 0 : 40;
  // Rows cost by themselves, and so do blocks, of which a multiprocessor has fewer where they take
  // more shared memory.
  const double room = std::max(1.0, shared_bytes / 40960.0);
  cost = static_cast<double>(boxes) *
         (rows * (edge_in + 12) + columns * (edge_out + 16) +
          2 * bytes * (1 + 0.3 * turning + std::max(0.0, turning - 0.5)) * room + 1500);
  return true;
}

// False where there are none.
bool choose_boxes(const Plan& plan, int size, bool aligned_in, bool aligned_out, Boxing& best) {
  const int n = plan.ndim(), inner = n - 1;
  Boxing b;
  b.size = size;
  b.aligned_in = aligned_in;
  b.aligned_out = aligned_out;
  const auto place_of = [&](int d) {
    for (int i = 0; i < b.dims; ++i) {
      if (b.from[i] == d) return i;
    }
    if (b.dims == box_dims) return -1;
    b.from[b.dims] = d;
    b.length[b.dims] = plan.size[d];
    return b.dims++;
  };
  place_of(inner);
  place_of(plan.tile_dim);
  for (int d = inner; d >= 0; --d) {
    if (d != inner && plan.stride[1][d] == plan.size[inner]) b.next_out = place_of(d);
    if (d != plan.tile_dim && plan.stride[0][d] == plan.size[plan.tile_dim]) {
      b.next_in = place_of(d);
    }
  }
  int other = -1;
  for (int d = inner; d >= 0 && other < 0; --d) {
    bool known = false;
    for (int i = 0; i < b.dims; ++i) known |= b.from[i] == d;
    if (!known) other = place_of(d);
    if (!known && other < 0) break;
  }
  for (int i = 0; i < b.dims; ++i) {
    if (b.length[i] > most_counted) return false;
  }
  const std::int64_t most = box_bytes / size, lanes = pack_bytes / size;
  bool found = false;
  static constexpr int runs[] = {32, 64, 128, 192, 256, 384, 512, 1024, 2048};
  const auto extend = [&](int first, int next, std::int64_t items) {
    const std::int64_t length = b.length[first];
    if (length > items || next < 0) {
      std::int64_t e = parts_for(length, parts_for(length, items));
      if (e < length) e = std::min(length, (e + lanes - 1) / lanes * lanes);
      b.extent[first] = std::max(b.extent[first], e);
    } else {
      const std::int64_t over = b.length[next];
      b.extent[first] = length;
      b.extent[next] =
          std::max(b.extent[next],
                   parts_for(over, parts_for(over, std::max<std::int64_t>(1, items / length))));
    }
  };
  std::int64_t tried[16][box_dims];
  int tries = 0;
  for (const int out_bytes : runs) {
    for (const int in_bytes : runs) {
      std::fill(b.extent, b.extent + box_dims, 1);
      extend(0, b.next_out, out_bytes / size);
      extend(1, b.next_in, in_bytes / size);
      std::int64_t items = 1;
      for (int d = 0; d < b.dims; ++d) items *= b.extent[d];
      if (items > most) break;
      if (other >= 0 && 2 * items <= most) {
        const std::int64_t length = b.length[other];
        b.extent[other] = parts_for(length, parts_for(length, most / items));
      }
      bool known = false;
      for (int t = 0; t < std::min(tries, 16); ++t) {
        known |= std::equal(tried[t], tried[t] + b.dims, b.extent);
      }
      if (known) continue;
      std::copy(b.extent, b.extent + b.dims, tried[tries++ % 16]);
      for (const bool joins : {true, false}) {
        b.joins = joins;
        if (!b.arrange() || b.shared_bytes > 3 * box_bytes) continue;
        if (found && b.cost >= best.cost) continue;
        best = b;
        found = true;
      }
    }
  }
  return found;
}

// Longer sides fill the loop's own tiles. Rows of two items, and those few of the output of which
// the next ones follow in the input, are read as well element by element.
bool box_pays(const Plan& plan, int size) {
  const int inner = plan.ndim() - 1;
  const std::int64_t in = plan.size[plan.tile_dim], out = plan.size[inner];
  const bool follows = plan.stride[1][plan.tile_dim] == out;
  return (in > 2 && in <= most_boxed_side && in * size < sector_bytes) ||
         (out <= most_boxed_side && (out >= pack_bytes / 2 || !follows));
}

}  // namespace

bool run_boxes(const Plan& plan, const Operand& in, const Operand& out) {
  const int size = itemsize(out.dtype), n = plan.ndim();
  if (plan.kind != LoopKind::transposed || size > 2 || plan.tile_dim == n - 1 ||
      plan.stride[1][n - 1] != 1 || plan.stride[0][plan.tile_dim] != 1 ||
      plan.count() * size < least_boxed_bytes) {
    return false;
  }
  char* const data[] = {in.data + plan.base[0] * size, out.data + plan.base[1] * size};
  Boxing b;
  if (!box_pays(plan, size) ||
      !choose_boxes(plan, size, has_aligned_rows(plan, 0, plan.tile_dim, in.data, size),
                    has_aligned_rows(plan, 1, n - 1, out.data, size), b)) {
    return false;
  }
  // Neighbours are at work together along the shorter sides, so that all of a row is.
  int order[box_dims] = {0, 1, 2, 3};
  std::int64_t boxes_along[box_dims];
  for (int i = 0; i < box_dims; ++i) {
    boxes_along[i] = i < b.dims ? parts_for(b.length[i], b.extent[i]) : 1;
  }
  std::stable_sort(order, order + b.dims,
                   [&](int i, int j) { return boxes_along[i] < boxes_along[j]; });
  Boxes all{};
  int at[box_dims];  // in the loop
  Plan outer = plan;
  outer.size = {};
  for (int k = 0; k < 2; ++k) outer.stride[k] = {};
  for (int d = 0; d < n; ++d) {
    bool boxed = false;
    for (int i = 0; i < b.dims; ++i) boxed |= b.from[i] == d;
    if (boxed) continue;
    outer.size.push_back(plan.size[d]);
    for (int k = 0; k < 2; ++k) outer.stride[k].push_back(plan.stride[k][d]);
  }
  for (int place = box_dims - 1; place >= 0; --place) {
    const int i = order[place];
    const bool is = i < b.dims;
    at[i] = place;
    outer.size.push_back(boxes_along[i]);
    for (int k = 0; k < 2; ++k) {
      outer.stride[k].push_back(is ? plan.stride[k][b.from[i]] * b.extent[i] : 0);
    }
    all.extent[place] = is ? static_cast<u32>(b.extent[i]) : 1;
    all.length[place] = is ? static_cast<u32>(b.length[i]) : 1;
    if (is && b.in_run >> i & 1) all.run_dims[0] |= 1u << place;
    if (is && b.out_run >> i & 1) all.run_dims[1] |= 1u << place;
  }
  const std::int64_t count = outer.count();
  if (count > most_counted) return false;
  all.loop.data[0] = data[0];
  all.loop.data[1] = data[1];
  all.loop.count = static_cast<u32>(count);
  const int sizes[] = {size, size};
  std::optional<Scratch> more;
  set_dims(all.loop, outer, sizes, more);
  const auto digits = [&](const int (&of)[2], int k) {
    BoxDigits d{};
    for (int j = 0; j < 2; ++j) {
      d.dim[j] = of[j] < 0 ? -1 : at[of[j]];
      if (of[j] < 0) continue;
      d.stride[j] = plan.stride[k][b.from[of[j]]] * size;
      d.shared[j] = b.shared[of[j]];
      d.turned[j] = b.turned[of[j]];
    }
    d.size = Divisor(of[0] < 0 ? 1 : static_cast<u32>(b.extent[of[0]]));
    return d;
  };
  all.rows = digits(b.row, 0);
  all.columns = digits(b.column, 1);
  all.places = digits(b.place, 1);
  all.lines = digits(b.line, 1);
  for (int k = 0; k < 2; ++k) {
    // Runs begin at packs if boxes do, and what the operand's other dimensions add.
    bool is = is_aligned_to(data[k], pack_bytes);
    const unsigned run = k == 0 ? b.in_run : b.out_run;
    for (int d = 0; d < n; ++d) {
      std::int64_t step = plan.stride[k][d] * size;
      for (int i = 0; i < b.dims; ++i) {
        if (b.from[i] == d && (run >> i & 1)) step *= b.extent[i] == b.length[i] ? 0 : b.extent[i];
      }
      is &= step % pack_bytes == 0;
    }
    (k == 0 ? all.aligned_in : all.aligned_out) = is;
  }
  const std::int64_t lanes = pack_bytes / size;
  all.packs = Divisor(static_cast<u32>(granules_of(b.run, lanes, all.aligned_in)));
  all.granules = Divisor(static_cast<u32>(granules_of(b.out_length, lanes, all.aligned_out)));
  all.pitch = b.pitch;
  all.turned_pitch = b.turned_pitch;
  all.words_in = b.words_in;
  all.words_out = b.words_out;
  all.turned_at = (b.rows * b.pitch + 4 + pack_bytes - 1) / pack_bytes * pack_bytes;
  std::int64_t lines = 1;
  for (int d : b.line) lines *= d < 0 ? 1 : b.extent[d];
  lines = (lines * size + 3) / 4;
  all.lanes_over = lines >= 4 ? 2 : lines >= 2 ? 1 : 0;
  void* arguments[] = {&all};
  const void* kernel = size == 1 ? reinterpret_cast<const void*>(&copy_boxes<u8>)
                                 : reinterpret_cast<const void*>(&copy_boxes<u16>);
  launch(kernel, all.loop.count, arguments, static_cast<std::size_t>(b.shared_bytes), "copy",
         box_threads);
  return true;
}

}  // namespace arrayx::cuda
