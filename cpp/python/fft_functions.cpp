// The fft extension as functions of _core, each with the prefix fft_.
#include "../frontend/fft.hpp"
#include "define.hpp"

namespace arrayx::python {

template <>
struct Parameter<fourier::Norm> {
  static std::string expected() { return "'backward', 'ortho' or 'forward'"; }
  static bool read(PyObject* object, fourier::Norm& out) {
    if (!PyUnicode_Check(object)) return false;
    const auto is = [&](const char* text) {
      return PyUnicode_CompareWithASCIIString(object, text) == 0;
    };
    if (is("backward")) {
      out = fourier::Norm::backward;
    } else if (is("ortho")) {
      out = fourier::Norm::ortho;
    } else if (is("forward")) {
      out = fourier::Norm::forward;
    } else {
      const Ref text = checked(PyObject_Repr(object));
      const char* utf8 = PyUnicode_AsUTF8(text.get());
      if (!utf8) throw PythonError{};
      value_error("norm must be ", expected(), ", not ", utf8);
    }
    return true;
  }
};

void bind_fft(py::module_& m) {
  const auto along_axis = [&m](const char* name, auto function) {
    define(
        m, name,
        [function](const Array& x, std::optional<std::int64_t> n, std::int64_t axis,
                   fourier::Norm norm) { return function(x, n, axis, norm); },
        "x", "n", "axis", "norm");
  };
  along_axis("fft_fft", &fourier::fft);
  along_axis("fft_ifft", &fourier::ifft);
  along_axis("fft_rfft", &fourier::rfft);
  along_axis("fft_irfft", &fourier::irfft);
  along_axis("fft_hfft", &fourier::hfft);
  along_axis("fft_ihfft", &fourier::ihfft);
  const auto along_axes = [&m](const char* name, auto function) {
    define(
        m, name,
        [function](const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
                   fourier::Norm norm) { return function(x, s, axes, norm); },
        "x", "s", "axes", "norm");
  };
  along_axes("fft_fftn", &fourier::fftn);
  along_axes("fft_ifftn", &fourier::ifftn);
  along_axes("fft_rfftn", &fourier::rfftn);
  along_axes("fft_irfftn", &fourier::irfftn);
  define(
      m, "fft_fftfreq",
      [](std::int64_t n, double d, OptionalDType dtype, OnDevice device) {
        return fourier::fftfreq(n, d, dtype, device);
      },
      "n", "d", "dtype", "device");
  define(
      m, "fft_rfftfreq",
      [](std::int64_t n, double d, OptionalDType dtype, OnDevice device) {
        return fourier::rfftfreq(n, d, dtype, device);
      },
      "n", "d", "dtype", "device");
  define(
      m, "fft_fftshift",
      [](const Array& x, const std::optional<Dims>& axes) { return fourier::fftshift(x, axes); },
      "x", "axes");
  define(
      m, "fft_ifftshift",
      [](const Array& x, const std::optional<Dims>& axes) { return fourier::ifftshift(x, axes); },
      "x", "axes");
}

}  // namespace arrayx::python
