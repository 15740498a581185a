/* SPDX-License-Identifier: MIT */
/* Probes: macros that a developer puts into the code and ships.
 *
 *     void work(void) {
 *         SPEX_LAT_SCOPE("work");      from here to the end of the block
 *         …
 *     }
 *
 *     SPEX_LAT_BEGIN(parse);           what is no block
 *     parse(text);
 *     SPEX_LAT_END(parse);
 *
 * Every probe is off until the program's user switches it on; while it is off it costs one load and
 * one predicted branch. This header needs other spex headers only, and no library at link time: in
 * a program without libspex all probes stay off. C11 or C++11 and later, gcc and clang.
 *
 * Which type answers which question
 *   LAT       How long does it take? How often is it executed?
 *   CNT       How often is it executed? It reads the clock once, and LAT twice.
 *   TPT       What is its throughput? Its figures are those of LAT. Take it beside LAT where users
 *             switch and sample throughput apart from latency (query:tpt, query:lat), or where each
 *             record needs its weight among its fields.
 *   SPAN      How long is it from here to another function or thread?
 *   KERNEL    On what does its time depend, and who calls it? (kernel.h)
 *   SNAPSHOT  What are these values of the program now?
 *   LLC       Does it wait for memory?
 *   FLT       Does it touch new memory?
 *   CTXSW     Does it give its processor to others?
 *   PERFCNTR  How many instructions, or other events of the processor, does it take?
 *
 * Where a probe ends
 *   …_SCOPE         It ends with its block, however that is left: by return, break, goto, in C++
 *                   also by an exception, not by longjmp. SCOPE says how long it lasts; SPEX_LAT
 *                   alone is the type (record.h).
 *   …_BEGIN, …_END  They stand in the same block, each once; those of a SPAN stand anywhere. An
 *                   execution that leaves the block between them makes no record.
 *
 * Arguments: (name) or (name, sc), and pcid or key behind these
 *   name  A string literal; in BEGIN and END, but those of a SPAN, a word without quotes. It has 1
 *         to 61 bytes. Probes of a provider with the same name and type are one probe.
 *   sc    May follow the name: the subsampling counter, an integer constant of 1 to 16777214.
 *         SPEX_LAT_SCOPE("work", 100) makes a record of each 100th execution. Without `sc` each
 *         makes one. Users can choose another period (spex.h). A SNAPSHOT has its values in this
 *         place.
 *   pcid  The last one of a PERFCNTR: its performance counter, below.
 *   key   The last one of a SPAN: what BEGIN and END of one span have in common, below.
 *   Wrong constants do not compile; the message begins with "spex:". Numbers in the place of names
 *   are in paper.h.
 *
 * Probes may be nested and functions with probes may call themselves. While a probe is polled (its
 * executions make no records; a thread of the library looks at regular times which of them are
 * going on), an execution without END lasts until the thread executes that site again, or ends.
 *
 * An execution may end on another thread than it began, as in coroutines and fibers. It is counted
 * and recorded like others, with that other thread's id. LLC, FLT, CTXSW and PERFCNTR have no
 * values then, as each thread counts for itself; while polled it lasts as without END, above.
 *
 * Where the compiler copies code (inlining, loop unrolling) one probe may become several sites.
 * Each site counts its executions by itself.
 *
 * Threads, signals, processes
 *   Probes may be executed in any thread, in signal handlers, before spex_start and after
 *   spex_stop, and in shared libraries that are loaded and unloaded at any time. They never block,
 *   and do not change errno. They make no system call but a futex's wake, unless they count events;
 *   docs/programs.md has the list for sandboxes, of which strict mode allows no probe that is on.
 *   Exceptions:
 *   - Not between vfork and exec, where the child uses its parent's memory.
 *   - A handler that leaves by siglongjmp may have interrupted the reading of a counter. The thread
 *     has no values of that counter from then on.
 *   - With sc above 1, a handler that executes the same site that it interrupts may make the weight
 *     of one record inexact.
 *
 * What is timed or counted contains what the probes nested in it cost; spex_cost_get tells how
 * much.
 *
 * Macros to define before the header
 *   SPEX_NO_SHORT_NAMES  only the names that begin with SPEX_ are defined (paper.h, kernel.h)
 *   SPEX_DISABLE         probes compile to nothing; their arguments are checked, not evaluated
 *   SPEX_SDT             every probe is a USDT probe for bpftrace and perf, too (sdt.h)
 *
 * What a program has in force before the header does not matter: macros with other words than the
 * names of spex, extern "C", #pragma pack, -masm=intel. The header does not stand in a namespace.
 *
 * Limits
 *   - The assembly of gcc's -mcmodel=large does not accept the macros.
 *   - No jump, such as to another case of a switch, leads past a scope or a KERNEL into the rest of
 *     its block: it does not compile. Braces around the code of that case help.
 *   - In a constexpr function, probes stand in `if (!__builtin_is_constant_evaluated()) { … }`.
 *
 * SPEX_REGION(id, weight, …) (region.h) makes many probes with little work between them cost as
 * much as one. */
#ifndef SPEX_PROBE_H
#define SPEX_PROBE_H

#include <spex/detail/names_begin.h>

#include <stdint.h>

#include <spex/compiler.h>
#include <spex/detail/module.h>
#include <spex/record.h>
#include <spex/region.h>
#include <spex/ticks.h>
#ifdef SPEX_DISABLE
#include <spex/detail/disabled.h>
#else
#include <spex/detail/enabled.h>
#endif

SPEX_HEADER_BEGIN_

/* LAT: the time that the enclosed code takes. Record: {ticks}; ticks.h has the unit. */
#define SPEX_LAT_BEGIN(...)                                                                        \
    SPEX_BEGIN_WORD_(lat_, SPEX_LAT, #__VA_ARGS__, SPEX_WITH_SC_(spex_lat_##__VA_ARGS__))
#define SPEX_LAT_END(name)  SPEX_END_(spex_lat_##name, lat_, #name)
#define SPEX_LAT_SCOPE(...) SPEX_SCOPE_AT_(__COUNTER__, lat_, SPEX_LAT, SPEX_WITH_SC_(__VA_ARGS__))

/* CNT: counts executions of the enclosed code. Record: {weight}. */
#define SPEX_CNT_BEGIN(...)                                                                        \
    SPEX_BEGIN_WORD_(cnt_, SPEX_CNT, #__VA_ARGS__, SPEX_WITH_SC_(spex_cnt_##__VA_ARGS__))
#define SPEX_CNT_END(name)  SPEX_END_(spex_cnt_##name, cnt_, #name)
#define SPEX_CNT_SCOPE(...) SPEX_SCOPE_AT_(__COUNTER__, cnt_, SPEX_CNT, SPEX_WITH_SC_(__VA_ARGS__))

/* TPT: throughput, from executions of the enclosed code and the time of the recorded one. Record:
 * {weight, ticks}. */
#define SPEX_TPT_BEGIN(...)                                                                        \
    SPEX_BEGIN_WORD_(tpt_, SPEX_TPT, #__VA_ARGS__, SPEX_WITH_SC_(spex_tpt_##__VA_ARGS__))
#define SPEX_TPT_END(name)  SPEX_END_(spex_tpt_##name, tpt_, #name)
#define SPEX_TPT_SCOPE(...) SPEX_SCOPE_AT_(__COUNTER__, tpt_, SPEX_TPT, SPEX_WITH_SC_(__VA_ARGS__))

/* LLC: the thread's references to the last-level cache and its misses. Record: {references,
 * misses}, or no values where the processor counts neither. spex_describe names the processor's
 * events. */
#define SPEX_LLC_BEGIN(...)                                                                        \
    SPEX_COUNTER_BEGIN_WORD_(llc_, SPEX_LLC, #__VA_ARGS__, SPEX_WITH_SC_(spex_llc_##__VA_ARGS__), 0)
#define SPEX_LLC_END(name) SPEX_COUNTER_END_(spex_llc_##name, llc_, #name)
#define SPEX_LLC_SCOPE(...)                                                                        \
    SPEX_COUNTER_SCOPE_AT_(__COUNTER__, llc_, SPEX_LLC, SPEX_WITH_SC_(__VA_ARGS__), 0)

/* FLT: the thread's page faults, minor and major together. Record: {faults}. */
#define SPEX_FLT_BEGIN(...)                                                                        \
    SPEX_BEGIN_WORD_(flt_, SPEX_FLT, #__VA_ARGS__, SPEX_WITH_SC_(spex_flt_##__VA_ARGS__))
#define SPEX_FLT_END(name)  SPEX_END_(spex_flt_##name, flt_, #name)
#define SPEX_FLT_SCOPE(...) SPEX_SCOPE_AT_(__COUNTER__, flt_, SPEX_FLT, SPEX_WITH_SC_(__VA_ARGS__))

/* CTXSW: the thread's context switches, voluntary and involuntary together. Record: {switches}. */
#define SPEX_CTXSW_BEGIN(...)                                                                      \
    SPEX_BEGIN_WORD_(ctxsw_, SPEX_CTXSW, #__VA_ARGS__, SPEX_WITH_SC_(spex_ctxsw_##__VA_ARGS__))
#define SPEX_CTXSW_END(name) SPEX_END_(spex_ctxsw_##name, ctxsw_, #name)
#define SPEX_CTXSW_SCOPE(...)                                                                      \
    SPEX_SCOPE_AT_(__COUNTER__, ctxsw_, SPEX_CTXSW, SPEX_WITH_SC_(__VA_ARGS__))

/* PERFCNTR: the thread's events of performance counter `pcid`, a constant of 0 to
 * SPEX_PERFCNTRS - 1: SPEX_PERFCNTR_SCOPE("parse", 0), or with `sc` SPEX_PERFCNTR_SCOPE("parse",
 * 10, 0). Record: {events}, or no values where the event cannot be counted.
 *
 * SPEX_SET_PERFCNTR_NAME chooses the event at run time. It is an expression with the value of
 * spex_perfcntr_set_name, below, or 0 without libspex. */
#define SPEX_PERFCNTR_BEGIN(...)                                                                   \
    SPEX_COUNTER_BEGIN_WORD_(perfcntr_, SPEX_PERFCNTR, #__VA_ARGS__,                               \
                             SPEX_WITH_SC_AND_(spex_perfcntr_##__VA_ARGS__))
#define SPEX_PERFCNTR_END(name) SPEX_COUNTER_END_(spex_perfcntr_##name, perfcntr_, #name)
#define SPEX_PERFCNTR_SCOPE(...)                                                                   \
    SPEX_COUNTER_SCOPE_AT_(__COUNTER__, perfcntr_, SPEX_PERFCNTR, SPEX_WITH_SC_AND_(__VA_ARGS__))
#define SPEX_SET_PERFCNTR_NAME(pcid, event) SPEX_SET_PERFCNTR_NAME_(pcid, event)

/* SPEX_SNAPSHOT("queue", length, …): a single statement that records up to SPEX_MAX_FIELDS values
 * of the developer's choice: integers of up to 64 bits, floating-point numbers, pointers. Tables,
 * traces and exports have each as what it is, floating-point numbers as the double next to them.
 * Each value is evaluated at most once, and only by an execution that makes a record (with
 * SPEX_SDT: by every execution). With `sc` it is SPEX_SNAPSHOT_PROBE("queue", 100, length). Tables,
 * the page and JSON name values as they stand here. Record: {v0, …}. */
#define SPEX_SNAPSHOT(...) SPEX_SNAPSHOT_(SPEX_FIRST_(__VA_ARGS__, 0), 1, #__VA_ARGS__, __VA_ARGS__)

/* SPAN: the time from BEGIN to the END with the same key, wherever the two stand: a request that is
 * taken up in one function and answered in another one, perhaps by another thread. Record: {ticks,
 * key}; thread, CPU and timestamp are those of END.
 *
 *     void on_readable(struct request *r) { SPEX_SPAN_BEGIN("request", r); … }
 *     void on_written(struct request *r)  { SPEX_SPAN_END("request", r); … }
 *
 * BEGIN and END are statements of their own, as often as needed, in any functions, threads and
 * libraries. They belong together by provider, by name, and by key: an integer or a pointer, such
 * as the request's address, its number or its descriptor. A key is free again after END. It is
 * evaluated at most once, and only while the probe is on (with SPEX_SDT: always). With `sc` it is
 * SPEX_SPAN_BEGIN("request", 100, r).
 *
 * Executions are counted, and chosen for records, at BEGIN. The process keeps the chosen spans that
 * are open, SPEX_SPANS_OPEN of them at most. What else may happen is counted (docs/probes.md):
 *   unrecorded  BEGIN without room; an open span that is older than a minute, the oldest one, first
 *               gives up its place where that is needed
 *   abandoned   a span that lost its place so, or whose key another BEGIN has taken
 *   unmatched   END of a key that is not open, while each BEGIN makes a record
 *   open        spans that have not ended yet
 * A span makes no record if the probe has been off between its BEGIN and END, nor one of a parent
 * process that ends in the child of a fork.
 *
 * A SPAN that is off costs one load and one branch at BEGIN and at END. It stands in no
 * SPEX_REGION, and is not polled. A signal handler that leaves by siglongjmp may have interrupted a
 * BEGIN; one place of the table is then lost until spex_stop. */
#define SPEX_SPAN_BEGIN(...)     SPEX_SPAN_BEGIN_AT_(SPEX_WITH_SC_AND_(__VA_ARGS__))
#define SPEX_SPAN_END(name, key) SPEX_SPAN_END_(name, key)

/* SPEX_PROVIDER("liba"); at file scope, once in a program or library: whose probes these are. Ids
 * and names are the provider's own: users see and select probes of several providers as liba/query,
 * libb/query. Without it the provider is the name of the object's file, without ".so" and what
 * follows: "libparse" of libparse.so.1. The provider is a string literal of at most 60 bytes,
 * without "/". */
#define SPEX_PROVIDER(text) SPEX_PROVIDER_(text)

SPEX_EXTERN_C_BEGIN

/* Chooses the event that performance counter `pcid` counts. Threads use the new event from their
 * next BEGIN on. After a call before spex_start, the event's cost is measured with the others.
 *
 * spex_perfcntr_set takes the processor's code. On x86 `event` is the event select (8 bits, AMD 12)
 * and `mask` the unit mask, with Intel's further bits above it (24 bits); elsewhere `mask` is 0.
 * spex_perfcntr_set_name takes a name of libpfm4, such as "perf::TASK-CLOCK" or "INST_RETIRED:u".
 *
 * Any thread; not in signal handlers; takes a lock. Returns 0; -EINVAL for a `pcid`, code or name
 * that does not exist; while one of its probes is on, also the errno value with which the event
 * cannot be counted here. An error writes one line to standard error. */
SPEX_PROBE_API int spex_perfcntr_set(unsigned pcid, uint64_t event, uint64_t mask);
SPEX_PROBE_API int spex_perfcntr_set_name(unsigned pcid, const char *name);

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#include <spex/paper.h>

#endif
