// A function that its caller holds, called through a pointer: code around it is compiled once, not
// once for each.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace arrayx::cpu {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F&& function)  // implicit, as a reference is made
      : function_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* f, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(f))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(function_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* function_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace arrayx::cpu
