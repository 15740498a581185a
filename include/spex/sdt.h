/* SPDX-License-Identifier: MIT */
/* USDT: with -DSPEX_SDT every probe is a USDT probe, too. bpftrace, perf and other tools find it in
 * the object's notes (readelf -n) and switch it on by themselves, whether the probe of spex is on
 * or off. Until then it is a nop. Needs <sys/sdt.h> (SystemTap) when compiling. Indirect header:
 * programs include spex/probe.h.
 *
 *     spex:lat_7_begin     at BEGIN, and where a scope begins  arg0: id
 *     spex:lat_7_end       at END                              arg0: id
 *     spex:lat_scope_end   where a scope ends                  arg0: id
 *     spex:span_7_begin    at BEGIN of a SPAN, so at its END   arg0: id; arg1: key
 *     spex:snapshot_9      at SNAPSHOT                         arg0: id; arg1 …: up to 11 values
 *
 * A floating-point value has the bits of the double. A probe with a name in the place of its id has
 * the number 0 here. The other types have the same names with their own prefix. USDT probes stand
 * outside of what is timed or counted. All scopes of a type end in one function, so the name of
 * their end has no id; arg0 has it. With SPEX_SDT every execution of a SNAPSHOT or SPAN evaluates
 * its values or its key, once, and END is a statement instead of an expression. */
#ifndef SPEX_SDT_H
#define SPEX_SDT_H

#if defined(SPEX_SDT) && !defined(SPEX_DISABLE)

#if !__has_include(<sys/sdt.h>)
#error "spex: SPEX_SDT needs <sys/sdt.h>, which is in Debian's package systemtap-sdt-dev"
#endif
#ifdef __cplusplus
extern "C++" {
#include <sys/sdt.h>
}
#else
#include <sys/sdt.h>
#endif

/* A site has a nop, which the kernel emulates, and behind it one of 10 bytes, which kernels from mid-2026 on make a call in place
 * of a breakpoint: tracers look for both, as libbpf does. Bytes without commas, as it is an argument of macros. It also holds for
 * other probes of <sys/sdt.h> in the same source. */
#if defined(__x86_64__) && defined(_SDT_NOP)
#undef _SDT_NOP
#define _SDT_NOP                                                                                   \
    nop;                                                                                           \
    .8byte 0x841f0f2e66;                                                                           \
    .2byte 0
#endif

/* The macros of <sys/sdt.h> call a variadic macro without variable arguments. clang's -Wpedantic
 * warns about that at the probe, which may be an argument of another macro, where no pragma can
 * stand. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

/* An id may be an enumerator, whose number the preprocessor does not know. So the compiler writes
 * it into the name: %c[_SDT_A1] is the constant that is the first operand, arg0. */
/* clang-format off */
#define SPEX_SDT_BEGIN_NAME_(kind) kind%c[_SDT_A1]_begin
#define SPEX_SDT_END_NAME_(kind)   kind%c[_SDT_A1]_end
#define SPEX_SDT_SNAPSHOT_NAME_    snapshot_%c[_SDT_A1]
/* clang-format on */

#define SPEX_SDT_ID_(id) SPEX_CAST_(uint64_t, SPEX_NUMBER_(id))

#define SPEX_SDT_PROBE_(count, ...)                                                                \
    do {                                                                                           \
        STAP_PROBE##count(spex, __VA_ARGS__);                                                      \
    } while (0)

#define SPEX_SDT_BEGIN_(kind, id) SPEX_SDT_PROBE_(1, SPEX_SDT_BEGIN_NAME_(kind), SPEX_SDT_ID_(id))
#define SPEX_SDT_END_(ended, kind, id)                                                             \
    do {                                                                                           \
        ended;                                                                                     \
        SPEX_SDT_PROBE_(1, SPEX_SDT_END_NAME_(kind), SPEX_SDT_ID_(id));                            \
    } while (0)
#define SPEX_SDT_SCOPE_END_(kind, scope) SPEX_SDT_PROBE_(1, kind##scope_end, (scope)->probe_id)

/* values[0] is no value; in its place the probe has the id. */
#define SPEX_SDT_VALUES_(id, ...)                                                                  \
    const uint64_t spex_values_[] = {SPEX_WORDS_(__VA_ARGS__)};                                    \
    SPEX_SDT_SNAPSHOT_(SPEX_SDT_COUNT_(__VA_ARGS__), SPEX_SDT_ID_(id), spex_values_)
#define SPEX_SDT_RECORD_VALUES_(...) (void)0

/* A SPAN's probes have the key as their second argument. */
#define SPEX_SDT_KEY_(name, id, key)                                                               \
    const uint64_t spex_sdt_key_ = SPEX_KEY_(key);                                                 \
    SPEX_SDT_PROBE_(2, name, SPEX_SDT_ID_(id), spex_sdt_key_)
#define SPEX_SDT_KEY_ONCE_(key) spex_sdt_key_
#define SPEX_SDT_COUNT_(...)                                                                       \
    SPEX_PICK_(__VA_ARGS__, 12, 12, 12, 12, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SPEX_SDT_SNAPSHOT_(count, id, v) SPEX_SDT_SNAPSHOT_N_(count, id, v)
#define SPEX_SDT_SNAPSHOT_N_(count, id, v)                                                         \
    SPEX_SDT_PROBE_(count, SPEX_SDT_SNAPSHOT_NAME_, SPEX_SDT_ARGUMENTS##count##_(id, v))
#define SPEX_SDT_ARGUMENTS1_(id, v)  id
#define SPEX_SDT_ARGUMENTS2_(id, v)  SPEX_SDT_ARGUMENTS1_(id, v), (v)[1]
#define SPEX_SDT_ARGUMENTS3_(id, v)  SPEX_SDT_ARGUMENTS2_(id, v), (v)[2]
#define SPEX_SDT_ARGUMENTS4_(id, v)  SPEX_SDT_ARGUMENTS3_(id, v), (v)[3]
#define SPEX_SDT_ARGUMENTS5_(id, v)  SPEX_SDT_ARGUMENTS4_(id, v), (v)[4]
#define SPEX_SDT_ARGUMENTS6_(id, v)  SPEX_SDT_ARGUMENTS5_(id, v), (v)[5]
#define SPEX_SDT_ARGUMENTS7_(id, v)  SPEX_SDT_ARGUMENTS6_(id, v), (v)[6]
#define SPEX_SDT_ARGUMENTS8_(id, v)  SPEX_SDT_ARGUMENTS7_(id, v), (v)[7]
#define SPEX_SDT_ARGUMENTS9_(id, v)  SPEX_SDT_ARGUMENTS8_(id, v), (v)[8]
#define SPEX_SDT_ARGUMENTS10_(id, v) SPEX_SDT_ARGUMENTS9_(id, v), (v)[9]
#define SPEX_SDT_ARGUMENTS11_(id, v) SPEX_SDT_ARGUMENTS10_(id, v), (v)[10]
#define SPEX_SDT_ARGUMENTS12_(id, v) SPEX_SDT_ARGUMENTS11_(id, v), (v)[11]

#else

#define SPEX_SDT_BEGIN_(kind, id)        (void)0
#define SPEX_SDT_END_(ended, kind, id)   ended
#define SPEX_SDT_SCOPE_END_(kind, scope) (void)0
#define SPEX_SDT_VALUES_(id, ...)        (void)0
#define SPEX_SDT_KEY_(name, id, key)     (void)0
#define SPEX_SDT_KEY_ONCE_(key)          SPEX_KEY_(key)
#define SPEX_SDT_RECORD_VALUES_(...)     const uint64_t spex_values_[] = {SPEX_WORDS_(__VA_ARGS__)}

#endif
#endif
