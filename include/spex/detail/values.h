/* SPDX-License-Identifier: MIT */
/* Lists of macro arguments, as arrays of uint64_t. Indirect header: programs include spex/probe.h.
 *
 *     SPEX_COUNT_(a, b, c)   3; for up to 16 arguments
 *     SPEX_WORDS_(a, b, c)   the 64 bits of each, each evaluated once
 *     SPEX_KINDS_(name, a, b, c)   declares the constant `name`: what the bits of b and c are
 *     SPEX_FIRST_(a, b, c)   a
 *     SPEX_WITH_SC_(a), SPEX_WITH_SC_(a, b)   `a, 1` and `a, b`
 *     SPEX_WITH_SC_AND_(a, c), SPEX_WITH_SC_AND_(a, b, c)   `a, 1, c` and `a, b, c`
 *
 * An integer has the bits of its value modulo 2^64, a floating-point number those of the double
 * next to it. */
#ifndef SPEX_DETAIL_VALUES_H
#define SPEX_DETAIL_VALUES_H

#include <spex/detail/names_begin.h>

#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/record.h>

SPEX_HEADER_BEGIN_

/* C and C++ have different names for it. */
#ifdef __cplusplus
#define SPEX_STATIC_ASSERT_ static_assert
#else
#define SPEX_STATIC_ASSERT_ _Static_assert
#endif

/* The text of a macro's value. */
#define SPEX_NUMBER_TEXT_(number) SPEX_TOKENS_TEXT_(number)
#define SPEX_TOKENS_TEXT_(tokens) #tokens

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

/* Converts an id. C++ has casts of its own, because a C cast warns there with -Wold-style-cast. */
#ifdef __cplusplus
#define SPEX_ID_(id) static_cast<uint16_t>(SPEX_NUMBER_(id))
#else
#define SPEX_ID_(id) ((uint16_t)SPEX_NUMBER_(id))
#endif

/* What is no value: an integer of more than 64 bits, a complex number, a structure. */
#define SPEX_KIND_REFUSED_ 3

SPEX_INLINE uint64_t spex_double_bits_(double value) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

#ifdef __cplusplus
extern "C++" {
/* The type of a value as a number: that of an enumeration, and to what an object is converted.
 * Objects with an explicit conversion alone are taken as unsigned. */
template <typename T>
inline auto spex_promoted_(int) -> decltype(+*static_cast<const T *>(nullptr));
template <typename T> inline uint64_t spex_promoted_(long);
template <typename T, bool is_enum = __is_enum(T)> struct spex_number_ {
    typedef decltype(spex_promoted_<T>(0)) type;
};
template <typename T> struct spex_number_<T, true> { typedef __underlying_type(T) type; };

template <typename Number> struct spex_kind_ {
    static constexpr bool real = static_cast<Number>(0.5) > static_cast<Number>(0);
    static constexpr bool is_signed = static_cast<Number>(-1) < static_cast<Number>(1);
    static constexpr bool is_wide = sizeof(Number) > sizeof(uint64_t);
    static constexpr int whole = is_wide ? SPEX_KIND_REFUSED_ : is_signed;
    static constexpr int spex_kind_value_ = real ? static_cast<int>(SPEX_KIND_FLOATING) : whole;
};
template <typename Object> struct spex_kind_<Object *> {
    static constexpr int spex_kind_value_ = SPEX_KIND_UNSIGNED;
};

/* The bits of a number by its kind. */
template <typename Number, int kind> struct spex_bits_ {
    SPEX_INLINE uint64_t of(Number number) {
        return static_cast<uint64_t>(number);
    }
};
template <typename Number> struct spex_bits_<Number, SPEX_KIND_FLOATING> {
    SPEX_INLINE uint64_t of(Number number) {
        return spex_double_bits_(static_cast<double>(number));
    }
};
template <typename Object> struct spex_bits_<Object *, SPEX_KIND_UNSIGNED> {
    SPEX_INLINE uint64_t of(Object *object) {
        return reinterpret_cast<uintptr_t>(object);
    }
};

template <typename T> SPEX_INLINE uint64_t spex_word_(const T &value) {
    typedef typename spex_number_<T>::type number;
    return spex_bits_<number, spex_kind_<number>::spex_kind_value_>::of(static_cast<number>(value));
}

/* The kinds of all values but the first, which is no value. */
template <typename... T> struct spex_kinds_ { static constexpr int spex_kind_value_ = 0; };
template <typename T, typename... More> struct spex_kinds_<T, More...> {
    static constexpr int spex_kind_value_ =
        spex_kind_<typename spex_number_<T>::type>::spex_kind_value_ |
        spex_kinds_<More...>::spex_kind_value_ << 2;
};
template <typename First, typename... T>
inline const spex_kinds_<T...> *spex_kinds_of_(const First &, const T &...) {
    return nullptr;
}
template <typename Kinds> struct spex_kinds_value_;
template <typename Kinds> struct spex_kinds_value_<const Kinds *const> {
    static constexpr int spex_kind_value_ = Kinds::spex_kind_value_;
};
}
#define SPEX_WORD_(v) spex_word_(v)
/* The call is never executed. It is no operand of decltype, where C++ before C++20 has no lambdas;
 * the variable is static, so that C++ jumps past it. */
#define SPEX_KINDS_(name, ...)                                                                     \
    static const auto *const name##at_ = true ? nullptr : spex_kinds_of_(__VA_ARGS__);             \
    enum { name = spex_kinds_value_<decltype(name##at_)>::spex_kind_value_ };                      \
    SPEX_CHECK_KINDS_(name)
#else
/* gcc's classes of types, which clang has, too: integers, with those of C++, a pointer, and a real
 * number. */
#define SPEX_CLASS_(v)      __builtin_classify_type(v)
#define SPEX_WHOLE_(v)      (SPEX_CLASS_(v) >= 1 && SPEX_CLASS_(v) <= 4)
#define SPEX_POINTER_(v)    (SPEX_CLASS_(v) == 5)
#define SPEX_REAL_(v)       (SPEX_CLASS_(v) == 8)
/* The type of an integer in calculations: bit-fields have none of their own. */
#define SPEX_WHOLE_TYPE_(v) __typeof__(__builtin_choose_expr(SPEX_WHOLE_(v), v, 0) + 0)
#define SPEX_KIND_(v)                                                                              \
    (SPEX_REAL_(v)                                        ? SPEX_KIND_FLOATING                     \
     : SPEX_POINTER_(v)                                   ? SPEX_KIND_UNSIGNED                     \
     : !SPEX_WHOLE_(v) || sizeof(SPEX_WHOLE_TYPE_(v)) > 8 ? SPEX_KIND_REFUSED_                     \
     : (SPEX_WHOLE_TYPE_(v)) - 1 < (SPEX_WHOLE_TYPE_(v))1 ? SPEX_KIND_SIGNED                       \
                                                          : SPEX_KIND_UNSIGNED)
#define SPEX_WORD_(v)                                                                              \
    __builtin_choose_expr(SPEX_REAL_(v),                                                           \
                          spex_double_bits_((double)__builtin_choose_expr(SPEX_REAL_(v), v, 0.0)), \
                          (uint64_t) __builtin_choose_expr(SPEX_REAL_(v), 0, v))
#define SPEX_KINDS_(name, ...)                                                                     \
    enum { name = (SPEX_KINDS_N_(SPEX_COUNT_(__VA_ARGS__), __VA_ARGS__)) >> 2 };                   \
    SPEX_CHECK_KINDS_(name)
#endif

/* A SPAN's key. */
#define SPEX_KEY_(key) SPEX_WORD_(key)

/* 3 is the greatest kind. */
#define SPEX_CHECK_KINDS_(kinds)                                                                   \
    SPEX_STATIC_ASSERT_(((kinds) & (kinds) >> 1 & 0x55555555) == 0,                                \
                        "spex: a value is an integer of at most 64 bits, a floating-point number " \
                        "or a pointer")

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

#ifndef __cplusplus
/* The same for kinds, two bits each. */
#define SPEX_KINDS1_(v)               (unsigned)SPEX_KIND_(v)
#define SPEX_KINDS2_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS1_(__VA_ARGS__)) << 2
#define SPEX_KINDS3_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS2_(__VA_ARGS__)) << 2
#define SPEX_KINDS4_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS3_(__VA_ARGS__)) << 2
#define SPEX_KINDS5_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS4_(__VA_ARGS__)) << 2
#define SPEX_KINDS6_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS5_(__VA_ARGS__)) << 2
#define SPEX_KINDS7_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS6_(__VA_ARGS__)) << 2
#define SPEX_KINDS8_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS7_(__VA_ARGS__)) << 2
#define SPEX_KINDS9_(v, ...)          (unsigned)SPEX_KIND_(v) | (SPEX_KINDS8_(__VA_ARGS__)) << 2
#define SPEX_KINDS10_(v, ...)         (unsigned)SPEX_KIND_(v) | (SPEX_KINDS9_(__VA_ARGS__)) << 2
#define SPEX_KINDS11_(v, ...)         (unsigned)SPEX_KIND_(v) | (SPEX_KINDS10_(__VA_ARGS__)) << 2
#define SPEX_KINDS12_(v, ...)         (unsigned)SPEX_KIND_(v) | (SPEX_KINDS11_(__VA_ARGS__)) << 2
#define SPEX_KINDS13_(v, ...)         (unsigned)SPEX_KIND_(v) | (SPEX_KINDS12_(__VA_ARGS__)) << 2
#define SPEX_KINDS14_(v, ...)         (unsigned)SPEX_KIND_(v) | (SPEX_KINDS13_(__VA_ARGS__)) << 2
#define SPEX_KINDS15_(v, ...)         (unsigned)SPEX_KIND_(v) | (SPEX_KINDS14_(__VA_ARGS__)) << 2
#define SPEX_KINDS16_(v, ...)         (unsigned)SPEX_KIND_(v) | (SPEX_KINDS15_(__VA_ARGS__)) << 2
#define SPEX_KINDS_N_(count, ...)     SPEX_KINDS_NAMED_(count, __VA_ARGS__)
#define SPEX_KINDS_NAMED_(count, ...) SPEX_KINDS##count##_(__VA_ARGS__)
#endif

/* The first argument. Callers pass another one behind it, because C forbids an empty "...". */
#define SPEX_FIRST_(first, ...) first

/* A subsampling counter where none is given. Other numbers of arguments stay as they are: they are
 * too few or too many for the macro that takes them. */
#define SPEX_WITH_SC_(...)                                                                         \
    SPEX_SC_N_(SPEX_PICK_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0),         \
               __VA_ARGS__)
#define SPEX_WITH_SC_AND_(...)                                                                     \
    SPEX_SC_N_(SPEX_PICK_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0),         \
               __VA_ARGS__)
#define SPEX_SC_N_(lacking, ...)     SPEX_SC_NAMED_(lacking, __VA_ARGS__)
#define SPEX_SC_NAMED_(lacking, ...) SPEX_SC##lacking##_(__VA_ARGS__)
#define SPEX_SC0_(...)               __VA_ARGS__
#define SPEX_SC1_(id)                id, 1
#define SPEX_SC2_(id, last)          id, 1, last

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
