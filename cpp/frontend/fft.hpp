// The fft extension of the standard: what n, s, axes and norm mean. The sample frequencies and the
// shifts are here as well.
#pragma once

#include "common.hpp"

namespace arrayx::fourier {

// What a transform is divided by: nothing; its length; the square root of it. `backward` divides
// the inverse transforms, `forward` the others.
enum class Norm { backward, ortho, forward };

using Length = std::optional<std::int64_t>;

// Along one axis. n crops or pads with zeros; absent, it is the axis's size (for irfft and hfft
// 2 (size - 1)).
Array fft(const Array& x, Length n, std::int64_t axis, Norm norm);
Array ifft(const Array& x, Length n, std::int64_t axis, Norm norm);
Array rfft(const Array& x, Length n, std::int64_t axis, Norm norm);
Array irfft(const Array& x, Length n, std::int64_t axis, Norm norm);
Array hfft(const Array& x, Length n, std::int64_t axis, Norm norm);
Array ihfft(const Array& x, Length n, std::int64_t axis, Norm norm);

// Along several; a real transform's real axis is the last of them. A length of -1 is the axis's
// size.
Array fftn(const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
           Norm norm);
Array ifftn(const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
            Norm norm);
Array rfftn(const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
            Norm norm);
Array irfftn(const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
             Norm norm);

// The frequencies of the elements of fft (rfft) of n samples that are d apart.
Array fftfreq(std::int64_t n, double d, OptionalDType dtype, Device device);
Array rfftfreq(std::int64_t n, double d, OptionalDType dtype, Device device);

// The zero frequency moved to the middle, and back; over all axes when none are given.
Array fftshift(const Array& x, const std::optional<Dims>& axes);
Array ifftshift(const Array& x, const std::optional<Dims>& axes);

}  // namespace arrayx::fourier
