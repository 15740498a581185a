/* SPDX-License-Identifier: MIT */
/* -DSPEX_SDT: every probe is a USDT probe too, which bpftrace, perf and others find in the object's
 * notes (readelf -n) and switch on by themselves, whether the probe of spex is on or off; it is a nop
 * until then. Indirect header: programs include spex/probe.h.
 *
 *     spex:lat_7_begin     at BEGIN, and where a scope begins  arg0: id
 *     spex:lat_7_end       at END                              arg0: id
 *     spex:lat_scope_end   where a scope ends                  arg0: id
 *     spex:snapshot_9      at SNAPSHOT                         arg0: id; arg1 …: up to 11 values
 *
 * and so for every type. They stand outside of what is timed or counted. All scopes of a type end in one
 * function, which learns the id when it runs. With SPEX_SDT the values of a SNAPSHOT are evaluated by every
 * execution, once, and END is a statement. */
#ifndef SPEX_SDT_H
#define SPEX_SDT_H

#if defined(SPEX_SDT) && !defined(SPEX_DISABLE)

#if !__has_include(<sys/sdt.h>)
#error "spex: SPEX_SDT needs <sys/sdt.h>, which is in Debian's package systemtap-sdt-dev"
#endif
#include <sys/sdt.h>

/* What sdt.h expands to calls a variadic macro without variable arguments; clang's -Wpedantic says so
 * where a probe stands, which may be in another macro's arguments: no pragma can stand around it. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

/* An id may be an enumerator, whose number only the compiler knows. So the compiler writes it into the
 * name: %c[_SDT_A1] stands for the constant that is sdt.h's first operand, arg0. */
/* clang-format off */
#define SPEX_SDT_BEGIN_NAME_(kind) kind##_%c[_SDT_A1]_begin
#define SPEX_SDT_END_NAME_(kind)   kind##_%c[_SDT_A1]_end
#define SPEX_SDT_SNAPSHOT_NAME_    snapshot_%c[_SDT_A1]
/* clang-format on */

#define SPEX_SDT_PROBE_(count, ...)                                                                \
    do {                                                                                           \
        STAP_PROBE##count(spex, __VA_ARGS__);                                                      \
    } while (0)

#define SPEX_SDT_BEGIN_(kind, id) SPEX_SDT_PROBE_(1, SPEX_SDT_BEGIN_NAME_(kind), SPEX_WORD_(id))
#define SPEX_SDT_END_(ended, kind, id)                                                             \
    do {                                                                                           \
        ended;                                                                                     \
        SPEX_SDT_PROBE_(1, SPEX_SDT_END_NAME_(kind), SPEX_WORD_(id));                              \
    } while (0)
#define SPEX_SDT_SCOPE_END_(kind, scope) SPEX_SDT_PROBE_(1, kind##_scope_end, (scope)->probe_id)

/* values[0] is the subsampling counter; in its place the probe has the id. */
#define SPEX_SDT_VALUES_(id, ...)                                                                  \
    const uint64_t spex_values_[] = {SPEX_WORDS_(__VA_ARGS__)};                                    \
    SPEX_SDT_SNAPSHOT_(SPEX_SDT_COUNT_(__VA_ARGS__), SPEX_WORD_(id), spex_values_)
#define SPEX_SDT_RECORD_VALUES_(...) (void)0
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
#define SPEX_SDT_RECORD_VALUES_(...)     const uint64_t spex_values_[] = {SPEX_WORDS_(__VA_ARGS__)}

#endif
#endif
