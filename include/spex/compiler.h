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

/* A function that libspex exports. */
#define SPEX_API __attribute__((visibility("default")))

/* An inline function, which -finstrument-functions leaves out. */
#define SPEX_INLINE static inline __attribute__((always_inline, unused, no_instrument_function))

/* Which way a branch usually goes. */
#define SPEX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SPEX_LIKELY(x)   __builtin_expect(!!(x), 1)

/* A function that runs seldom: it is made small, and stands apart from those that records run
 * through. */
#define SPEX_COLD __attribute__((cold))

/* The compiler warns where the result is ignored. */
#define SPEX_MUST_CHECK __attribute__((warn_unused_result))

/* Keeps an object that nothing refers to, also where the linker drops unused sections
 * (--gc-sections). lld needs "retain": it does not count references to a section's bounds. */
#define SPEX_KEEP __attribute__((used))
#ifdef __has_attribute
#if __has_attribute(retain)
#undef SPEX_KEEP
#define SPEX_KEEP __attribute__((used, retain))
#endif
#endif

/* A function that probes call. The reference is weak, so that an object with probes can be linked
 * and loaded without libspex. It is then null; it is never called, since all sites stay off. */
#ifdef SPEX_BUILDING
#define SPEX_PROBE_API SPEX_API
#else
#define SPEX_PROBE_API SPEX_API __attribute__((weak))
#endif

#endif
