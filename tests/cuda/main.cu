// Compares verbs of the CUDA engine with the CPU engine over random layouts, and measures them
// against the copy bandwidth:
//   arrayx_cuda_tests [check [rounds [group]] | large | speed [words [group]]]
#include <cstdlib>
#include <cstring>

#include "harness.hpp"

int main(int argc, char** argv) {
  using namespace arrayx::testing;
  using arrayx::DType;
  const arrayx::cuda::OnDevice here(0);
  const std::string what = argc > 1 ? argv[1] : "check";
  try {
    if (what == "check") {
      const int rounds = argc > 2 ? std::atoi(argv[2]) : 4;
      const std::string only = argc > 3 ? argv[3] : "";
      const auto run = [&](const char* name, auto&& body) {
        if (std::string(name).find(only) == std::string::npos) return;
        const long before = failures, checks_before = checks;
        try {
          body(rounds);
        } catch (const std::exception& error) {
          expect(false, std::string(name) + ": exception: " + error.what());
        }
        std::printf("%-34s %ld checks, %ld failed\n", name, checks - checks_before,
                    failures - before);
        std::fflush(stdout);
      };
      run("copies", check_copies);
      run("joins", check_joins);
      run("rows", check_rows);
      run("transposed", check_transposed);
      run("elementwise", check_elementwise);
      run("ranges", check_ranges);
      run("reductions", check_reductions);
      run("long lines", check_long_lines);
      run("scans", check_scans);
      run("scan order", check_scan_order);
      run("indexing", check_indexing);
      run("columns", check_columns);
      run("winners", check_winners);
      run("long masks", check_long_masks);
      run("assignments", check_assignments);
      run("sorts", check_sorts);
      run("products", check_products);
      for (const DType d : {DType::float32, DType::float64, DType::complex64, DType::complex128}) {
        const std::string what = "factorisations of " + std::string(arrayx::name(d));
        run(("small " + what).c_str(), [d](int n) { check_small_factorisations(d, n); });
        run(("large " + what).c_str(), [d](int n) { check_large_factorisations(d, n); });
      }
      run("fourier", check_fourier);
    } else if (what == "large") {
      check_large();
    } else {
      measure(argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
    }
  } catch (const std::exception& error) {
    expect(false, std::string("exception: ") + error.what());
  }
  std::printf("==== %ld checks, %ld failed ====\n", checks, failures);
  return failures != 0;
}
