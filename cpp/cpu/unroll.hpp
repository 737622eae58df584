// Pragmas that unroll the loop that follows. At -O2 GCC leaves loops as they are, which keeps
// arrays of registers in memory, and the counting of some costs as much as what they do.
#pragma once

// All of up to sixteen turns. Sanitizer builds do without: the checks of sixteen copies take
// minutes to compile.
#if defined(__SANITIZE_ADDRESS__)
#define ARRAYX_UNROLL
#elif defined(__clang__)
#define ARRAYX_UNROLL _Pragma("unroll")
#else
#define ARRAYX_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__clang__)
#define ARRAYX_UNROLL_4 _Pragma("unroll 4")
#else
#define ARRAYX_UNROLL_4 _Pragma("GCC unroll 4")
#endif
