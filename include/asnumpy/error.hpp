/* AsNumpy in C++17: a status of the C binding as an exception. The C++ faces
 * (asnumpy/registry.hpp, td/mm/memory_manager.h) throw these. */
#ifndef ASNUMPY_ERROR_HPP_
#define ASNUMPY_ERROR_HPP_

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "AsNumpy's C++ headers are C++17: compile with -std=c++17 or later"
#endif

#include <stdexcept>
#include <string>

#include "asnumpy/asnumpy.h"

namespace asnumpy {

/* What the C library refused, or could not do: its sentence (what was got, what is
 * allowed) and its status (asnumpy/types.h). */
class Error : public std::runtime_error {
  public:
    Error(asnp_status status, const std::string &sentence)
        : std::runtime_error(sentence), status_(status) {}
    asnp_status status() const noexcept { return status_; }

  private:
    asnp_status status_;
};
/* An argument that is not allowed: a value, a type, an index, a null pointer. */
class InvalidArgument : public Error {
    using Error::Error;
};
/* There is no memory for it, or the limit (asnp_mm_set_limit) forbids it. */
class OutOfMemory : public Error {
    using Error::Error;
};
/* The device failed, or does not do this; a name is taken. */
class DeviceError : public Error {
    using Error::Error;
};

namespace detail {
/* Throws the exception of a status that is a failure. */
[[noreturn]] inline void raise(asnp_status status, const std::string &sentence) {
    switch (status) {
    case ASNP_ERROR_MEMORY: throw OutOfMemory(status, sentence);
    case ASNP_ERROR_RUNTIME:
    case ASNP_ERROR_UNSUPPORTED: throw DeviceError(status, sentence);
    default: throw InvalidArgument(status, sentence);
    }
}
inline void check(asnp_status status) {
    if (status != ASNP_OK) raise(status, asnp_message());
}
} // namespace detail

} // namespace asnumpy

#endif
