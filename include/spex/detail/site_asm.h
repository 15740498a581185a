/* SPDX-License-Identifier: MIT */
/* How a macro leaves a probe site in the object file. Indirect header: programs include
 * spex/probe.h. spex/site.h has the layout of a site.
 *
 * The assembly puts one struct spex_site into the section `spex_sites` and its address into a
 * variable. It has no instructions apart from the load of that address. */
#ifndef SPEX_DETAIL_SITE_ASM_H
#define SPEX_DETAIL_SITE_ASM_H

#include <stddef.h>

#include <spex/detail/values.h>
#include <spex/region.h>
#include <spex/site.h>
#include <spex/ticks.h>

/* SPEX_CHECK_FILE_SCOPE_(condition, text) ends a macro for file scope, behind which users write a
 * semicolon. Where it is missing, clang says so in the line of the macro. gcc would blame the next
 * declaration, so for gcc the semicolon may be missing: `;` and declarations may both follow
 * __extension__, without a warning. */
#ifdef __clang__
#define SPEX_CHECK_FILE_SCOPE_ SPEX_STATIC_ASSERT_
#else
#define SPEX_CHECK_FILE_SCOPE_(condition, text)                                                    \
    SPEX_STATIC_ASSERT_(condition, text);                                                          \
    __extension__
#endif

#define SPEX_CHECK_ID_(id_)                                                                        \
    SPEX_STATIC_ASSERT_(SPEX_NUMBER_(id_) >= 0 && SPEX_NUMBER_(id_) <= 65535,                      \
                        "spex: a probe id is 0 to 65535");                                         \
    SPEX_STATIC_ASSERT_(!SPEX_NAMED_(id_) ||                                                       \
                            (SPEX_BYTES_(id_) > 1 && SPEX_BYTES_(id_) <= SPEX_NAME_BYTES),         \
                        "spex: a probe name has 1 to 61 bytes")

/* The same for a word behind spex_ and `kind`, as `var` has it. */
#define SPEX_CHECK_WORD_(var, kind)                                                                \
    SPEX_STATIC_ASSERT_(sizeof(#var) < sizeof("spex_" #kind) + SPEX_NAME_BYTES,                    \
                        "spex: a probe name has 1 to 61 bytes")

/* One of two string literals. */
#ifdef __cplusplus
#define SPEX_TEXT_OF_(id_, text_, named_) (SPEX_NAMED_(id_) ? (named_) : (text_))
#else
#define SPEX_TEXT_OF_(id_, text_, named_) __builtin_choose_expr(SPEX_NAMED_(id_), named_, text_)
#endif

/* Puts one struct spex_site into this object and points `site` at it.
 *
 * Assembly, because a static object with a section of its own cannot stand in an inline function or
 * in a template of C++. "?" puts the site into the section group of the function around it, so that
 * the linker keeps or discards both. The control word is 0: the library sets it, and the index,
 * which holds the kinds of the values until then. `text_` is the site's text, and `named_` the one
 * with the name (`name_`, as the source has it), for a probe that has one in the place of its id. */
#define SPEX_SITE_ASM_(site, type_, detail_, kinds_, id_, sc_, name_)                              \
    SPEX_SITE_TEXT_ASM_(site, type_, detail_, kinds_, id_, sc_, __FILE__, __FILE__ "\0\0" name_)
#define SPEX_SITE_TEXT_ASM_(site, type_, detail_, kinds_, id_, sc_, text_, named_)                 \
    __asm__(                                                                                       \
        ".pushsection spex_sites, \"aw?\", %%progbits\n"                                           \
        ".balign 8\n"                                                                              \
        "991: .4byte 0, %c[spex_kinds_at_], %c[spex_subsample_], %c[spex_line_]\n"                 \
        ".2byte %c[spex_id_]\n"                                                                    \
        ".byte %c[spex_type_], %c[spex_detail_]\n"                                                 \
        ".2byte %c[spex_region_], 0\n"                                                             \
        ".8byte %c[spex_file_] - .\n"                                                              \
        ".popsection\n" SPEX_ASM_ADDRESS_("%0")                                                    \
        : "=r"(site)                                                                               \
        : [spex_kinds_at_] "i"(kinds_), [spex_subsample_] "i"(sc_), [spex_line_] "i"(__LINE__),    \
          [spex_id_] "i"(SPEX_NUMBER_(id_)),                                                       \
          [spex_type_] "i"(SPEX_TYPE_NUMBER_(type_) | (SPEX_NAMED_(id_) ? SPEX_SITE_NAMED : 0)),   \
          [spex_detail_] "i"(detail_), [spex_region_] "i"(spex_region_id_),                        \
          [spex_file_] SPEX_ASM_SYMBOL_(SPEX_TEXT_OF_(id_, text_, named_)))

/* Checks the constants of a probe, declares `site` and sets it. The fast copy of a region has no
 * sites: there `site` is null. No variable of BEGIN and END has an initialiser, because C++ does
 * not jump past one: to another case of a switch, or to a label behind END. */
#define SPEX_SITE_(site, type_, detail_, kinds_, id_, sc_)                                         \
    SPEX_CHECK_ID_(id_);                                                                           \
    SPEX_CHECKED_SITE_(site, type_, detail_, kinds_, id_, sc_, #id_)
#define SPEX_CHECKED_SITE_(site, type_, detail_, kinds_, id_, sc_, name_)                          \
    SPEX_TEXT_SITE_(site, type_, detail_, kinds_, id_, sc_, __FILE__, __FILE__ "\0\0" name_)

/* The same for a probe whose values or parameters have names: `values_` is the text of them, behind
 * one argument that is none. */
#define SPEX_VALUES_SITE_(site, type_, detail_, kinds_, id_, sc_, values_, name_)                  \
    SPEX_TEXT_SITE_(site, type_, detail_, kinds_, id_, sc_, __FILE__ "\0" values_,                 \
                    __FILE__ "\0" values_ "\0" name_)
#define SPEX_TEXT_SITE_(site, type_, detail_, kinds_, id_, sc_, text_, named_)                     \
    SPEX_STATIC_ASSERT_((sc_) >= 1 && (sc_) <= SPEX_CONTROL_PERIOD_MAX,                            \
                        "spex: a subsampling counter is 1 to 16777214");                           \
    struct spex_site *site;                                                                        \
    if (spex_region_copy_ != 1)                                                                    \
        SPEX_SITE_TEXT_ASM_(site, type_, detail_, kinds_, id_, sc_, text_, named_);                \
    else                                                                                           \
        site = SPEX_NULL_

#endif
