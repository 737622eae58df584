// The exceptions of the core. The bindings map each kind to the Python exception of that name.
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace arrayx {

enum class ErrorKind {
  value,
  type,
  index,
  overflow,
  memory,
  buffer,
  not_implemented,
  runtime,
  linalg,  // arrayx.linalg.LinAlgError
};

// Visible, so that it is one type in the extension module and in an engine's own library.
class __attribute__((visibility("default"))) Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
};

// Concatenates anything printable: raise(ErrorKind::value, "axis ", axis, " is out of range …").
template <class... Parts>
[[noreturn]] void raise(ErrorKind kind, const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  throw Error(kind, out.str());
}
template <class... Parts>
[[noreturn]] void value_error(const Parts&... parts) {
  raise(ErrorKind::value, parts...);
}
template <class... Parts>
[[noreturn]] void type_error(const Parts&... parts) {
  raise(ErrorKind::type, parts...);
}
template <class... Parts>
[[noreturn]] void index_error(const Parts&... parts) {
  raise(ErrorKind::index, parts...);
}

}  // namespace arrayx
