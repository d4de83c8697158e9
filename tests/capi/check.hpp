// What the tests of the C++ faces share: checks that print what failed and count it.
#ifndef TESTS_CAPI_CHECK_HPP_
#define TESTS_CAPI_CHECK_HPP_

#include <atomic>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "asnumpy/error.hpp"

static std::atomic<int> failures;

static void check(bool ok, const char *what) {
    if (ok) return;
    std::printf("%s (%s)\n", what, asnp_message());
    failures++;
}

// call() throws a Kind (or one of its own kinds) whose sentence has `text`; one of the
// library's says which status it was.
template <class Kind, class Call> static void refuses(Call call, const char *text) {
    try {
        call();
    } catch (const Kind &error) {
        bool has_status = true;
        if constexpr (std::is_base_of_v<asnumpy::Error, Kind>)
            has_status = error.status() != ASNP_OK;
        if (std::strstr(error.what(), text) && has_status) return;
        std::printf("'%s' is not in: %s\n", text, error.what());
        failures++;
        return;
    } catch (const std::exception &error) {
        std::printf("another exception for '%s': %s\n", text, error.what());
        failures++;
        return;
    }
    std::printf("nothing was thrown: %s\n", text);
    failures++;
}

#endif
