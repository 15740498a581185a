/* SPDX-License-Identifier: MIT */
#include "sites.h"

#include <spex/probe.h>

/* clang-format off */
#define SITE(t, u)                                                                                 \
    case t * 10 + u: {                                                                             \
        SPEX_LAT_SCOPE(FIRST + t * 10 + u, 1);                                                     \
        *number = site_work(*number, steps);                                                       \
        break;                                                                                     \
    }
#define TEN(t)                                                                                     \
    SITE(t, 0) SITE(t, 1) SITE(t, 2) SITE(t, 3) SITE(t, 4)                                         \
    SITE(t, 5) SITE(t, 6) SITE(t, 7) SITE(t, 8) SITE(t, 9)

/* Analysers have enough of ten. */
#if defined(__cppcheck__) || defined(__clang_analyzer__)
#define TENS TEN(0)
#else
#define TENS TEN(0) TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)
#endif

/* A hundred sites, whose probes have the numbers from `first` on. */
#define HUNDRED(first)                                                                             \
    static void sites_from_##first(uint64_t *number, unsigned site, unsigned steps) {              \
        enum { FIRST = first };                                                                    \
        switch (site) {                                                                            \
            TENS                                                                                   \
            default: break;                                                                        \
        }                                                                                          \
    }

/* NOLINTBEGIN(readability-function-size) */
HUNDRED(100) HUNDRED(200) HUNDRED(300) HUNDRED(400) HUNDRED(500)
HUNDRED(600) HUNDRED(700) HUNDRED(800) HUNDRED(900) HUNDRED(1000)
/* NOLINTEND(readability-function-size) */
    /* clang-format on */

    void site_execute(uint64_t *number, unsigned site, unsigned steps) {
    static void (*const hundreds[])(uint64_t *, unsigned, unsigned) = {
        sites_from_100, sites_from_200, sites_from_300, sites_from_400, sites_from_500,
        sites_from_600, sites_from_700, sites_from_800, sites_from_900, sites_from_1000};
    hundreds[site / 100](number, site % 100, steps);
}
