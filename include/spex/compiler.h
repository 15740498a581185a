/* SPDX-License-Identifier: MIT */
/* What spex needs from the compiler (gcc or clang): visibility, weak references, branch hints, and
 * the differences between C and C++. */
#ifndef SPEX_COMPILER_H
#define SPEX_COMPILER_H

#if !defined(__GNUC__)
#error "spex needs gcc or clang"
#endif

/* Around declarations of functions, for C++. */
#ifdef __cplusplus
#define SPEX_EXTERN_C_BEGIN extern "C" {
#define SPEX_EXTERN_C_END   }
#else
#define SPEX_EXTERN_C_BEGIN
#define SPEX_EXTERN_C_END
#endif

/* Around the declarations of a macro that stands behind statements. C projects may have a warning of
 * that on for their own code. */
#ifdef __cplusplus
#define SPEX_LATE_BEGIN_
#define SPEX_LATE_END_
#else
#define SPEX_LATE_BEGIN_                                                                           \
    _Pragma("GCC diagnostic push")                                                                 \
        _Pragma("GCC diagnostic ignored \"-Wdeclaration-after-statement\"")
#define SPEX_LATE_END_ _Pragma("GCC diagnostic pop")
#endif

/* Around the declarations of a header: structures are laid out as in libspex, whatever `#pragma pack`
 * the program has in force. */
#define SPEX_HEADER_BEGIN_ _Pragma("pack(push)") _Pragma("pack()") SPEX_LATE_BEGIN_
#define SPEX_HEADER_END_   SPEX_LATE_END_ _Pragma("pack(pop)")

/* A C cast would be an old-style cast in C++. */
#ifdef __cplusplus
#define SPEX_CAST_(type, value) static_cast<type>(value)
#else
#define SPEX_CAST_(type, value) ((type)(value))
#endif

/* A null pointer, of which no compiler warns. */
#ifdef __cplusplus
#define SPEX_NULL_ nullptr
#else
#define SPEX_NULL_ ((void *)0)
#endif

/* A function that libspex exports. */
#define SPEX_API __attribute__((__visibility__("default")))

/* An inline function, which -finstrument-functions leaves out. */
#define SPEX_INLINE static __inline__ __attribute__((__always_inline__, __no_instrument_function__))

/* Which way a branch usually goes. */
#define SPEX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SPEX_LIKELY(x)   __builtin_expect(!!(x), 1)

/* A function that runs seldom: it is made small, and stands apart from those that records run
 * through. */
#define SPEX_COLD __attribute__((__cold__))

/* The compiler warns where the result is ignored. */
#define SPEX_MUST_CHECK __attribute__((__warn_unused_result__))

/* Keeps an object that nothing refers to, also where the linker drops unused sections
 * (--gc-sections). lld needs "retain": it does not count references to a section's bounds. */
#define SPEX_KEEP __attribute__((__used__))
#ifdef __has_attribute
#if __has_attribute(__retain__)
#undef SPEX_KEEP
#define SPEX_KEEP __attribute__((__used__, __retain__))
#endif
#endif

/* A function that probes call. The reference is weak, so that an object with probes can be linked
 * and loaded without libspex. It is then null; it is never called, since all sites stay off. */
#ifdef SPEX_BUILDING
#define SPEX_PROBE_API SPEX_API
#else
#define SPEX_PROBE_API SPEX_API __attribute__((__weak__))
#endif

#endif
