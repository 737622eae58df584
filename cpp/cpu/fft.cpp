#include "engine.hpp"
namespace arrayx::cpu {
void fft(const Operand&, const Operand&, int, bool, double) {}
void rfft(const Operand&, const Operand&, std::int64_t, int, bool, double) {}
void irfft(const Operand&, const Operand&, int, bool, double) {}
}  // namespace arrayx::cpu
