/* SPDX-License-Identifier: MIT */
/* Uses the macros in C: first with the probes off, then, where there are any, with all of them on.
 */
#include "usage.h"

#include <spex/spex.h>

static int fails(int step) {
    spex_stop();
    return step;
}

int main(void) {
    struct spex_status status = {.size = sizeof(status)};
    struct spex_options options = {.size = sizeof(options), .out = "/dev/null"};
    if (!usage_all() || usage_evaluated != 0)
        return fails(1);
    if (spex_start(&options) != 0)
        return fails(2);
#ifdef SPEX_DISABLE
    if (spex_status_get(&status) != 0 || status.sites != 0)
        return fails(3);
    if (!usage_all() || usage_evaluated != 0)
        return fails(4);
#else
    if (spex_set("*@1") <= 0)
        return fails(5);
    if (!usage_all() || usage_evaluated != 3)
        return fails(6);
    if (spex_status_get(&status) != 0 || status.produced == 0 || status.sites != status.sites_on)
        return fails(7);
    uint64_t before = status.produced;
    if (spex_set("6:lat@1") <= 0 || usage_scopes(3) != 3)
        return fails(8);
    if (spex_status_get(&status) != 0 || status.produced - before != 5)
        return fails(9);
#endif
    return spex_stop();
}
