/* SPDX-License-Identifier: MIT */
/* What spex asks of the compiler: visibility, weak references, branch hints, C/C++ differences. */
#ifndef SPEX_COMPILER_H
#define SPEX_COMPILER_H

#if !defined(__GNUC__)
#error "spex needs gcc or clang"
#endif

#ifdef __cplusplus
#define SPEX_EXTERN_C_BEGIN extern "C" {
#define SPEX_EXTERN_C_END   }
#else
#define SPEX_EXTERN_C_BEGIN
#define SPEX_EXTERN_C_END
#endif

#define SPEX_API         __attribute__((visibility("default")))
/* -finstrument-functions knows nothing of them. */
#define SPEX_INLINE      static inline __attribute__((always_inline, unused, no_instrument_function))
#define SPEX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SPEX_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SPEX_MUST_CHECK  __attribute__((warn_unused_result))

/* Kept by linkers that drop what nobody refers to (--gc-sections), lld being one that does not count the
 * section's bounds. */
#define SPEX_KEEP __attribute__((used))
#ifdef __has_attribute
#if __has_attribute(retain)
#undef SPEX_KEEP
#define SPEX_KEEP __attribute__((used, retain))
#endif
#endif

/* An object with probes also loads where no spex is: there these references stay null, and since
 * nobody can switch a site on, none of them is followed. */
#ifdef SPEX_BUILDING
#define SPEX_PROBE_API SPEX_API
#else
#define SPEX_PROBE_API SPEX_API __attribute__((weak))
#endif

#endif
