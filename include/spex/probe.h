/* SPDX-License-Identifier: MIT */
/* Probe macros: what a developer puts into the code and ships. Needs nothing but spex headers;
 * works in C11 and C++17 with gcc and clang.
 *
 *     LAT_PROBE_BEGIN(QUERY, 1);
 *     run_query();
 *     LAT_PROBE_END(QUERY);
 *
 * Every probe is off until its user switches it on, and costs one load and one predicted branch
 * while it is off. `id` is an integer constant of 0 to 65535 that is one token (7, or QUERY where
 * QUERY is a macro or an enumerator); `sc`, the subsampling counter, is a constant of at least 1:
 * so many executions make one record. BEGIN and END stand in the same block, each once; leaving the
 * block between them (return, break, exception) makes no record of that execution; the scoped forms,
 * SPEX_LAT_SCOPE(id, sc) and its like, make one then, too. Recursion and
 * nesting of different ids are fine. Where the compiler
 * copies code (inlining, loop unrolling) a probe may become several sites, each counting by itself.
 *
 * Safe in any thread and in signal handlers, before spex_start and after spex_stop (inert), in
 * shared libraries and in programs without spex (inert).
 *
 * SPEX_NO_SHORT_NAMES leaves only the SPEX_… names; SPEX_DISABLE compiles every probe to nothing.
 */
#ifndef SPEX_PROBE_H
#define SPEX_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/compiler.h>
#include <spex/record.h>
#include <spex/site.h>

#if defined(__x86_64__)
#include <spex/arch/x86_64.h>
#elif defined(__aarch64__)
#include <spex/arch/aarch64.h>
#else
#error "spex: this version supports x86-64 and aarch64 only"
#endif

#ifdef __cplusplus
#define SPEX_STATIC_ASSERT_ static_assert
#else
#define SPEX_STATIC_ASSERT_ _Static_assert
#endif

/* An enclosing probe's state between BEGIN and END, on the stack. */
struct spex_span {
    uint64_t begin_ticks;
    uint64_t weight; /* executions that a record made at END stands for; 0: make none */
};

SPEX_EXTERN_C_BEGIN

/* The recording half, in libspex; reached only from a site that is on. Any thread, signal handlers
 * too; none of them blocks, allocates from the heap or changes errno. */
SPEX_PROBE_API struct spex_span spex_span_begin(struct spex_site *site);
SPEX_PROBE_API void spex_cnt_end(struct spex_site *site, struct spex_span span);
SPEX_PROBE_API void spex_lat_end(struct spex_site *site, struct spex_span span);
SPEX_PROBE_API void spex_tpt_end(struct spex_site *site, struct spex_span span);
SPEX_PROBE_API void spex_snapshot(struct spex_site *site, struct spex_span span,
                                  const uint64_t *values, size_t count);

SPEX_EXTERN_C_END

/* The linker's bounds of this object's sections; null where there is none. */
extern struct spex_site spex_sites_begin_[] __asm__("__start_spex_sites")
    __attribute__((weak, visibility("hidden")));
extern struct spex_site spex_sites_end_[] __asm__("__stop_spex_sites")
    __attribute__((weak, visibility("hidden")));
extern const struct spex_probe_name spex_names_begin_[] __asm__("__start_spex_names")
    __attribute__((weak, visibility("hidden")));
extern const struct spex_probe_name spex_names_end_[] __asm__("__stop_spex_names")
    __attribute__((weak, visibility("hidden")));

#if !defined(SPEX_DISABLE) && !defined(SPEX_BUILDING)
__attribute__((constructor)) static void spex_module_enter_(void) {
    if (spex_module_register)
        spex_module_register(spex_sites_begin_, spex_sites_end_, spex_names_begin_,
                             spex_names_end_);
}

__attribute__((destructor)) static void spex_module_leave_(void) {
    if (spex_module_unregister)
        spex_module_unregister(spex_sites_begin_);
}
#endif

SPEX_INLINE struct spex_span spex_begin_(struct spex_site *site) {
    struct spex_span off = {0, 0};
    if (SPEX_UNLIKELY(spex_load_relaxed(&site->control)))
        return spex_span_begin(site);
    return off;
}

/* An enclosing probe that ends with its block. */
struct spex_scope {
    struct spex_site *site;
    struct spex_span span;
};

SPEX_INLINE void spex_cnt_scope_end_(const struct spex_scope *scope) {
    if (SPEX_UNLIKELY(scope->span.weight))
        spex_cnt_end(scope->site, scope->span);
}

SPEX_INLINE void spex_lat_scope_end_(const struct spex_scope *scope) {
    if (SPEX_UNLIKELY(scope->span.weight))
        spex_lat_end(scope->site, scope->span);
}

SPEX_INLINE void spex_tpt_scope_end_(const struct spex_scope *scope) {
    if (SPEX_UNLIKELY(scope->span.weight))
        spex_tpt_end(scope->site, scope->span);
}

/* Puts one struct spex_site into this object and points `site` at it. Assembly, because a static
 * object with a section of its own cannot stand in an inline function or template of C++; "?" keeps
 * the site in its function's group, so that the two are discarded together. */
#define SPEX_SITE_(site, type_, id_, sc_)                                                          \
    SPEX_STATIC_ASSERT_((id_) >= 0 && (id_) <= 65535, "spex: a probe id is 0 to 65535");           \
    SPEX_STATIC_ASSERT_((sc_) >= 1 && (sc_) <= SPEX_CONTROL_PERIOD_MAX,                            \
                        "spex: a subsampling counter is 1 to 16777215");                           \
    struct spex_site *site;                                                                        \
    __asm__(".pushsection spex_sites, \"aw?\", %%progbits\n"                                       \
            ".balign 8\n"                                                                          \
            "991: .4byte 0, 0, %c[subsample], %c[line]\n"                                          \
            ".2byte %c[id]\n"                                                                      \
            ".byte %c[type], 0, 0, 0, 0, 0\n"                                                      \
            ".8byte %c[file] - .\n"                                                                \
            ".popsection\n" SPEX_ASM_ADDRESS_("%0")                                                \
            : "=r"(site)                                                                           \
            : [subsample] "i"(sc_), [line] "i"(__LINE__), [id] "i"(id_), [type] "i"(type_),        \
              [file] SPEX_ASM_SYMBOL_(__FILE__))

/* Up to 9 values, each as uint64_t; the static assertion below says when they are too many. */
#ifdef __cplusplus
#define SPEX_WORD_(value) static_cast<uint64_t>(value)
#else
#define SPEX_WORD_(value) ((uint64_t)(value))
#endif
#define SPEX_WORDS1_(v)                                    SPEX_WORD_(v)
#define SPEX_WORDS2_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS1_(__VA_ARGS__)
#define SPEX_WORDS3_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS2_(__VA_ARGS__)
#define SPEX_WORDS4_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS3_(__VA_ARGS__)
#define SPEX_WORDS5_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS4_(__VA_ARGS__)
#define SPEX_WORDS6_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS5_(__VA_ARGS__)
#define SPEX_WORDS7_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS6_(__VA_ARGS__)
#define SPEX_WORDS8_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS7_(__VA_ARGS__)
#define SPEX_WORDS9_(v, ...)                               SPEX_WORD_(v), SPEX_WORDS8_(__VA_ARGS__)
#define SPEX_TENTH_(a, b, c, d, e, f, g, h, i, macro, ...) macro
#define SPEX_WORDS_(...)                                                                           \
    SPEX_TENTH_(__VA_ARGS__, SPEX_WORDS9_, SPEX_WORDS8_, SPEX_WORDS7_, SPEX_WORDS6_, SPEX_WORDS5_, \
                SPEX_WORDS4_, SPEX_WORDS3_, SPEX_WORDS2_, SPEX_WORDS1_, 0)                         \
    (__VA_ARGS__)

#ifndef SPEX_DISABLE

#define SPEX_BEGIN_(var, type, id, sc)                                                             \
    (void)0; /* so that a label may stand before it */                                             \
    SPEX_SITE_(var##_site, type, id, sc);                                                          \
    struct spex_span var = spex_begin_(var##_site)

#define SPEX_END_(var, end)                                                                        \
    do {                                                                                           \
        if (SPEX_UNLIKELY(var.weight))                                                             \
            end(var##_site, var);                                                                  \
    } while (0)

#define SPEX_SCOPE_(var, type, id, sc, end)                                                        \
    (void)0;                                                                                       \
    SPEX_SITE_(var##_site, type, id, sc);                                                          \
    const struct spex_scope var                                                                    \
        __attribute__((cleanup(end), unused)) = {var##_site, spex_begin_(var##_site)}

/* values[0] is the subsampling counter, so that a snapshot of no values is an array all the same.
 */
#define SPEX_SNAPSHOT_(id, sc, ...)                                                                \
    do {                                                                                           \
        SPEX_SITE_(spex_site_, SPEX_SNAPSHOT, id, sc);                                             \
        struct spex_span spex_span_ = spex_begin_(spex_site_);                                     \
        if (SPEX_UNLIKELY(spex_span_.weight)) {                                                    \
            const uint64_t spex_values_[] = {SPEX_WORDS_(__VA_ARGS__)};                            \
            SPEX_STATIC_ASSERT_(sizeof(spex_values_) <= (SPEX_MAX_FIELDS + 1) * sizeof(uint64_t),  \
                                "spex: too many values for one snapshot");                         \
            spex_snapshot(spex_site_, spex_span_, spex_values_ + 1,                                \
                          sizeof(spex_values_) / sizeof(spex_values_[0]) - 1);                     \
        }                                                                                          \
    } while (0)

/* At file scope: the name under which users see the probes with this id. */
#define SPEX_PROBE_NAME(id, text)                                                                  \
    SPEX_STATIC_ASSERT_(sizeof(text) <= SPEX_NAME_BYTES,                                           \
                        "spex: a probe name has 61 bytes at most");                                \
    static const struct spex_probe_name spex_name_##id##_                                          \
        __attribute__((section("spex_names"), used)) = {id, text}

#else /* SPEX_DISABLE: arguments are checked by the compiler, and evaluated never */

#define SPEX_BEGIN_(var, type, id, sc)                                                             \
    (void)0;                                                                                       \
    enum { var = (id) + 0 * (sc) }
#define SPEX_END_(var, end) ((void)var)
#define SPEX_SCOPE_(var, type, id, sc, end)                                                        \
    (void)0;                                                                                       \
    SPEX_STATIC_ASSERT_((id) >= 0 && (sc) >= 1, "spex: an id and a subsampling counter")
#define SPEX_SNAPSHOT_(id, sc, ...)                                                                \
    do {                                                                                           \
        if (0) {                                                                                   \
            uint64_t spex_values_[] = {(id), SPEX_WORDS_(__VA_ARGS__)};                            \
            (void)spex_values_;                                                                    \
        }                                                                                          \
    } while (0)
#define SPEX_PROBE_NAME(id, text)                                                                  \
    SPEX_STATIC_ASSERT_(sizeof(text) <= SPEX_NAME_BYTES, "spex: a probe name has 61 bytes at "     \
                                                         "most")

#endif

/* CNT: how often the enclosed code has executed. */
#define SPEX_CNT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_cnt_##id, SPEX_CNT, id, sc)
#define SPEX_CNT_PROBE_END(id)       SPEX_END_(spex_cnt_##id, spex_cnt_end)

/* LAT: how many ticks the enclosed code takes. */
#define SPEX_LAT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_lat_##id, SPEX_LAT, id, sc)
#define SPEX_LAT_PROBE_END(id)       SPEX_END_(spex_lat_##id, spex_lat_end)

/* TPT: how often the enclosed code has executed and the ticks it has taken. */
#define SPEX_TPT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_tpt_##id, SPEX_TPT, id, sc)
#define SPEX_TPT_PROBE_END(id)       SPEX_END_(spex_tpt_##id, spex_tpt_end)

/* The same from where they stand to the end of the block, however it is left: return, break, goto, in
 * C++ also an exception. Not longjmp. One a line. */
#define SPEX_CNT_SCOPE(id, sc) SPEX_SCOPE_AT_(__LINE__, SPEX_CNT, id, sc, spex_cnt_scope_end_)
#define SPEX_LAT_SCOPE(id, sc) SPEX_SCOPE_AT_(__LINE__, SPEX_LAT, id, sc, spex_lat_scope_end_)
#define SPEX_TPT_SCOPE(id, sc) SPEX_SCOPE_AT_(__LINE__, SPEX_TPT, id, sc, spex_tpt_scope_end_)

/* Scopes may be nested: a line has a name of its own. */
#define SPEX_SCOPE_AT_(line, type, id, sc, end)    SPEX_SCOPE_NAMED_(line, type, id, sc, end)
#define SPEX_SCOPE_NAMED_(line, type, id, sc, end) SPEX_SCOPE_(spex_scope_##line, type, id, sc, end)

/* SNAPSHOT(id, sc, v0, …): up to SPEX_MAX_FIELDS values, converted to uint64_t, evaluated once,
 * only by an execution that makes a record. */
#define SPEX_FIRST_(first, ...)      first
#define SPEX_SNAPSHOT_PROBE(id, ...) SPEX_SNAPSHOT_(id, SPEX_FIRST_(__VA_ARGS__, 0), __VA_ARGS__)

#ifndef SPEX_NO_SHORT_NAMES
#define CNT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_cnt_##id, SPEX_CNT, id, sc)
#define CNT_PROBE_END(id)       SPEX_END_(spex_cnt_##id, spex_cnt_end)
#define LAT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_lat_##id, SPEX_LAT, id, sc)
#define LAT_PROBE_END(id)       SPEX_END_(spex_lat_##id, spex_lat_end)
#define TPT_PROBE_BEGIN(id, sc) SPEX_BEGIN_(spex_tpt_##id, SPEX_TPT, id, sc)
#define TPT_PROBE_END(id)       SPEX_END_(spex_tpt_##id, spex_tpt_end)
#define SNAPSHOT_PROBE(id, ...) SPEX_SNAPSHOT_(id, SPEX_FIRST_(__VA_ARGS__, 0), __VA_ARGS__)
#endif

#endif
