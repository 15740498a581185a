/* SPDX-License-Identifier: MIT */
/* Lists of macro arguments, as arrays of uint64_t. Indirect header: programs include spex/probe.h.
 *
 *     SPEX_COUNT_(a, b, c)   3; for up to 16 arguments
 *     SPEX_WORDS_(a, b, c)   (uint64_t)(a), (uint64_t)(b), (uint64_t)(c)
 *     SPEX_FIRST_(a, b, c)   a
 *
 * Each argument appears once in SPEX_WORDS_, so it is evaluated once. */
#ifndef SPEX_DETAIL_VALUES_H
#define SPEX_DETAIL_VALUES_H

#include <spex/detail/names_begin.h>

#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

/* An id is a number, or a name as a string literal. SPEX_NAMED_ tells which, as a constant;
 * SPEX_NUMBER_ is the number, 0 for a name. SPEX_BYTES_ is the size of the type: analysers warn of
 * sizeof with a number. */
#ifdef __cplusplus
extern "C++" {
template <typename Id> struct spex_id_ {
    enum { spex_named_ = 0 };
    static constexpr Id spex_number_of_(Id id) {
        return id;
    }
};
template <size_t bytes> struct spex_id_<const char (&)[bytes]> {
    enum { spex_named_ = 1 };
    static constexpr int spex_number_of_(const char *) {
        return 0;
    }
};
}
#define SPEX_BYTES_(id) sizeof(decltype(id))
#define SPEX_NAMED_(id) spex_id_<decltype(id)>::spex_named_
/* A template's argument is a constant without optimisation, too; clang wants one for
 * <sys/sdt.h>. */
extern "C++" {
template <int64_t value> struct spex_constant_ {
    static constexpr int64_t spex_constant_value_ = value;
};
}
#define SPEX_NUMBER_(id)                                                                           \
    spex_constant_<spex_id_<decltype(id)>::spex_number_of_(id)>::spex_constant_value_
#else
#define SPEX_BYTES_(id)  sizeof(__typeof__(id))
#define SPEX_NAMED_(id)  __builtin_types_compatible_p(__typeof__(id), char[SPEX_BYTES_(id)])
#define SPEX_NUMBER_(id) __builtin_choose_expr(SPEX_NAMED_(id), 0, id)
#endif

/* Converts a value, and an id. C++ has casts of its own, because a C cast warns there with
 * -Wold-style-cast. */
#ifdef __cplusplus
/* In a template, because -Wuseless-cast warns of a cast of a uint64_t elsewhere. */
extern "C++" {
template <typename T> inline uint64_t spex_word_(T value) {
    return static_cast<uint64_t>(value);
}
}
#define SPEX_WORD_(value) spex_word_(value)
#define SPEX_ID_(id)      static_cast<uint16_t>(SPEX_NUMBER_(id))
#else
#define SPEX_WORD_(value) ((uint64_t)(value))
#define SPEX_ID_(id)      ((uint16_t)SPEX_NUMBER_(id))
#endif

/* A SPAN's key: an integer or a pointer. */
#ifdef __cplusplus
extern "C++" {
template <typename Key> inline uint64_t spex_key_(Key key) {
    return static_cast<uint64_t>(key);
}
template <typename Object> inline uint64_t spex_key_(Object *key) {
    return reinterpret_cast<uintptr_t>(key);
}
}
#define SPEX_KEY_(key) spex_key_(key)
#else
#define SPEX_KEY_(key) ((uint64_t)(key))
#endif

/* The arguments push the numbers 16 to 0 to the right; the number that arrives at `picked` is the
 * count. */
#define SPEX_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, picked, ...) picked
#define SPEX_COUNT_(...)                                                                           \
    SPEX_PICK_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

/* One macro for each length; the preprocessor has no recursion. SPEX_WORDS_N_ and SPEX_WORDS_NAMED_
 * expand the count before it becomes a part of a name. */
#define SPEX_WORDS1_(v)               SPEX_WORD_(v)
#define SPEX_WORDS2_(v, ...)          SPEX_WORD_(v), SPEX_WORDS1_(__VA_ARGS__)
#define SPEX_WORDS3_(v, ...)          SPEX_WORD_(v), SPEX_WORDS2_(__VA_ARGS__)
#define SPEX_WORDS4_(v, ...)          SPEX_WORD_(v), SPEX_WORDS3_(__VA_ARGS__)
#define SPEX_WORDS5_(v, ...)          SPEX_WORD_(v), SPEX_WORDS4_(__VA_ARGS__)
#define SPEX_WORDS6_(v, ...)          SPEX_WORD_(v), SPEX_WORDS5_(__VA_ARGS__)
#define SPEX_WORDS7_(v, ...)          SPEX_WORD_(v), SPEX_WORDS6_(__VA_ARGS__)
#define SPEX_WORDS8_(v, ...)          SPEX_WORD_(v), SPEX_WORDS7_(__VA_ARGS__)
#define SPEX_WORDS9_(v, ...)          SPEX_WORD_(v), SPEX_WORDS8_(__VA_ARGS__)
#define SPEX_WORDS10_(v, ...)         SPEX_WORD_(v), SPEX_WORDS9_(__VA_ARGS__)
#define SPEX_WORDS11_(v, ...)         SPEX_WORD_(v), SPEX_WORDS10_(__VA_ARGS__)
#define SPEX_WORDS12_(v, ...)         SPEX_WORD_(v), SPEX_WORDS11_(__VA_ARGS__)
#define SPEX_WORDS13_(v, ...)         SPEX_WORD_(v), SPEX_WORDS12_(__VA_ARGS__)
#define SPEX_WORDS14_(v, ...)         SPEX_WORD_(v), SPEX_WORDS13_(__VA_ARGS__)
#define SPEX_WORDS15_(v, ...)         SPEX_WORD_(v), SPEX_WORDS14_(__VA_ARGS__)
#define SPEX_WORDS16_(v, ...)         SPEX_WORD_(v), SPEX_WORDS15_(__VA_ARGS__)
#define SPEX_WORDS_N_(count, ...)     SPEX_WORDS_NAMED_(count, __VA_ARGS__)
#define SPEX_WORDS_NAMED_(count, ...) SPEX_WORDS##count##_(__VA_ARGS__)
#define SPEX_WORDS_(...)              SPEX_WORDS_N_(SPEX_COUNT_(__VA_ARGS__), __VA_ARGS__)

/* The first argument. Callers pass another one behind it, because C forbids an empty "...". */
#define SPEX_FIRST_(first, ...) first

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
