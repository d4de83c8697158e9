/* AsNumpy in C++17: the registry of operators (asnumpy/registry.h), inline over the C
 * binding. An implementation is any callable that makes arrays of arrays:
 *
 *     static asnumpy::Arrays twice(const asnumpy::Arrays &in) {
 *         asnp_array *out = nullptr;
 *         asnumpy::check(asnp_add(in[0].get(), in[0].get(), &out));
 *         return asnumpy::results(out);
 *     }
 *     REGISTER_OPERATOR("npu::twice", twice);
 *
 *     asnumpy::Arrays y = asnumpy::dispatch_operator("npu::twice", {x});
 *
 * Errors are asnumpy::Error and its kinds (error.hpp). An exception that leaves an
 * implementation becomes its status and sentence, and is thrown again where
 * dispatch_operator was called. Any thread may register, remove and dispatch; an
 * implementation is removed when no thread calls it. Link with -lasnumpy.
 */
#ifndef ASNUMPY_REGISTRY_HPP_
#define ASNUMPY_REGISTRY_HPP_

#include "asnumpy/error.hpp"

#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace asnumpy {

/* Throws where a function of the C binding failed. */
using detail::check;

/* Owns a handle of an array; a copy shares the elements. */
class Array {
  public:
    Array() noexcept = default;
    /* Takes the handle. */
    explicit Array(asnp_array *handle) noexcept : handle_(handle) {}
    Array(const Array &other) {
        if (other.handle_) check(asnp_share(other.handle_, &handle_));
    }
    Array(Array &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Array &operator=(Array other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Array() { asnp_release(handle_); }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    asnp_array *get() const noexcept { return handle_; } // borrowed
    asnp_array *release() noexcept { return std::exchange(handle_, nullptr); }

  private:
    asnp_array *handle_ = nullptr;
};

using Arrays = std::vector<Array>;
using Implementation = std::function<Arrays(const Arrays &)>;

/* New handles as an implementation returns them; takes them. */
template <class... Handles> Arrays results(Handles *...handles) {
    Array owned[] = {Array(handles)...};
    return Arrays(std::make_move_iterator(std::begin(owned)),
                  std::make_move_iterator(std::end(owned)));
}

/* What an implementation is for; by default for everything, with priority 0. Each
 * function sets one and returns the options. */
class For {
  public:
    For &dtype(asnp_dtype value) noexcept { return dtype_ = value, *this; }
    For &device(std::string value) { return device_ = std::move(value), *this; }
    For &priority(int32_t value) noexcept { return priority_ = value, *this; }
    /* In the place of the ufunc of the name, too (asnp_replace): asnp_add and its like.
     */
    For &replace(bool value = true) noexcept { return replace_ = value, *this; }

  private:
    friend class Registration;
    asnp_dtype dtype_ = ASNP_DTYPE_NONE;
    std::string device_; // "cpu", "ascend", perhaps with a number; empty: any
    int32_t priority_ = 0;
    bool replace_ = false;
};

namespace detail {
/* The arrays of a call as C hands them over, shared. */
inline Arrays shared(int32_t n, asnp_array *const *in) {
    Arrays arrays;
    arrays.reserve(static_cast<size_t>(n)); // so that no handle is lost below
    for (int32_t i = 0; i < n; i++) {
        asnp_array *handle = nullptr;
        check(asnp_share(in[i], &handle));
        arrays.emplace_back(handle);
    }
    return arrays;
}
/* An implementation as C calls it: no exception leaves it. */
inline asnp_status call(int32_t num_in, asnp_array *const *in, int32_t num_out,
                        asnp_array **out, void *context) noexcept {
    try {
        Arrays made = (*static_cast<Implementation *>(context))(shared(num_in, in));
        if (made.size() != static_cast<size_t>(num_out))
            raise(ASNP_ERROR_VALUE, "the operator has " + std::to_string(made.size()) +
                                        " results; " + std::to_string(num_out) +
                                        " are asked");
        for (const Array &a : made)
            if (!a) raise(ASNP_ERROR_VALUE, "a result of the operator is an empty Array");
        for (size_t i = 0; i < made.size(); i++)
            out[i] = made[i].release();
        return ASNP_OK;
    } catch (const Error &error) {
        return asnp_fail(error.status(), error.what());
    } catch (const std::bad_alloc &error) {
        return asnp_fail(ASNP_ERROR_MEMORY, error.what());
    } catch (const std::exception &error) {
        return asnp_fail(ASNP_ERROR_RUNTIME, error.what());
    } catch (...) {
        return asnp_fail(ASNP_ERROR_RUNTIME, "the operator threw no std::exception");
    }
}
} // namespace detail

/* Keeps an implementation registered as long as it lives; moved, not copied. */
class Registration {
  public:
    Registration() noexcept = default;
    /* InvalidArgument: another device, no callable, a name that replaces nothing.
     * DeviceError: the name is taken for that device, dtype and priority; the sentence
     * says by whom. */
    Registration(std::string name, Implementation function, const For &what = For(),
                 const char *file = nullptr, int line = 0)
        : name_(std::move(name)), what_(what) {
        if (!function)
            detail::raise(ASNP_ERROR_VALUE,
                          "operator '" + name_ + "': an empty function cannot be called");
        auto kept = std::make_unique<Implementation>(std::move(function));
        asnp_registration r{};
        r.name = name_.c_str();
        r.device = device();
        r.dtype = what_.dtype_;
        r.priority = what_.priority_;
        r.function = detail::call;
        r.context = kept.get();
        r.release = [](void *context) { delete static_cast<Implementation *>(context); };
        r.owner = "C++";
        r.file = file;
        r.line = line;
        check(asnp_register(&r));
        kept.release(); // the registry ends it
        active_ = true;
        if (!what_.replace_) return;
        auto status =
            asnp_replace(name_.c_str(), device(), what_.dtype_, what_.priority_, 1);
        if (status == ASNP_OK) return;
        std::string sentence = asnp_message();
        remove(); // whose own success would be the last word
        detail::raise(status, sentence);
    }
    Registration(Registration &&other) noexcept
        : name_(std::move(other.name_)), what_(std::move(other.what_)),
          active_(std::exchange(other.active_, false)) {}
    Registration &operator=(Registration &&other) noexcept {
        Registration taken(std::move(other));
        std::swap(name_, taken.name_);
        std::swap(what_, taken.what_);
        std::swap(active_, taken.active_);
        return *this;
    }
    ~Registration() { remove(); }

    explicit operator bool() const noexcept { return active_; }
    /* Nothing where it was removed already, through the C binding. */
    void remove() noexcept {
        if (std::exchange(active_, false))
            (void)asnp_unregister(name_.c_str(), device(), what_.dtype_, what_.priority_);
    }

  private:
    const char *device() const noexcept {
        return what_.device_.empty() ? nullptr : what_.device_.c_str();
    }
    std::string name_;
    For what_;
    bool active_ = false;
};

/* Registers for everything under a name of ATen's ("mm" and "aten::mm" are one); priority
 * 0 is what is built in. */
inline Registration register_aten_op(const std::string &name, Implementation function,
                                     int32_t priority) {
    std::string full = name.find("::") == std::string::npos ? "aten::" + name : name;
    return Registration(full, std::move(function), For().priority(priority));
}

/* What a dispatch may say beside the arrays. */
struct OperatorContext {
    const char *device = nullptr;       // NULL: the first array's
    asnp_dtype dtype = ASNP_DTYPE_NONE; // NONE: the arrays', promoted
    int32_t num_out = 1;                // results that are asked for
};

/* Calls an operator: the implementation that fits the arrays best. InvalidArgument:
 * nothing fits, an empty Array; and what the implementation throws. With a device or a
 * dtype in the context the implementation is the one that is found for it. */
inline Arrays dispatch_operator(const std::string &name, const Arrays &args,
                                const OperatorContext &context = {}) {
    if (context.num_out < 0)
        detail::raise(ASNP_ERROR_VALUE,
                      "dispatch_operator: " + std::to_string(context.num_out) +
                          " results; it may be 0 or more");
    /* One more than there are, so that none have an address, too. */
    auto num_in = static_cast<int32_t>(args.size());
    std::vector<asnp_array *> in(args.size() + 1, nullptr);
    std::vector<asnp_array *> out(static_cast<size_t>(context.num_out) + 1, nullptr);
    Arrays made;
    made.reserve(out.size()); // so that no handle is lost below
    for (size_t i = 0; i < args.size(); i++)
        in[i] = args[i].get();
    if (context.device || context.dtype != ASNP_DTYPE_NONE)
        check(asnp_call_as(name.c_str(), context.device, context.dtype, num_in, in.data(),
                           context.num_out, out.data()));
    else
        check(asnp_call(name.c_str(), num_in, in.data(), context.num_out, out.data()));
    for (int32_t i = 0; i < context.num_out; i++)
        made.emplace_back(out[static_cast<size_t>(i)]);
    return made;
}

/* ---- registration when a program starts, or a library is loaded */

/* Sentences of the static registrations that failed: nothing is thrown before main. */
class StaticFailures {
  public:
    static std::vector<std::string> list() {
        std::lock_guard<std::mutex> hold(lock());
        return all();
    }
    static void add(const char *sentence) noexcept {
        try {
            std::lock_guard<std::mutex> hold(lock());
            all().emplace_back(sentence);
        } catch (...) { // no memory for a sentence: there is nobody to tell
        }
    }

  private:
    static std::mutex &lock() {
        static std::mutex one;
        return one;
    }
    static std::vector<std::string> &all() {
        static std::vector<std::string> sentences;
        return sentences;
    }
};

namespace detail {
template <class... Arguments>
Registration register_static(Arguments &&...arguments) noexcept {
    try {
        return Registration(std::forward<Arguments>(arguments)...);
    } catch (const std::exception &error) {
        StaticFailures::add(error.what());
        return Registration();
    }
}
} // namespace detail

} // namespace asnumpy

#define ASNUMPY_JOINED_(a, b) a##b
#define ASNUMPY_JOINED(a, b)  ASNUMPY_JOINED_(a, b)
/* At namespace scope: registers `function` when the program starts or the library is
 * loaded, and removes it at the end; for everything, or for what a third argument says:
 * REGISTER_OPERATOR("add", add, asnumpy::For().dtype(ASNP_FLOAT32)). What fails is in
 * asnumpy::StaticFailures::list(). */
#define REGISTER_OPERATOR(...) REGISTER_OPERATOR_(__VA_ARGS__, ::asnumpy::For(), )
#define REGISTER_OPERATOR_(name, function, what, ...)                                    \
    static const ::asnumpy::Registration ASNUMPY_JOINED(asnumpy_operator_,               \
                                                        __COUNTER__) =                   \
        ::asnumpy::detail::register_static(name, function, what, __FILE__, __LINE__)

#endif
