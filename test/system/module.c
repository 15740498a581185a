/* SPDX-License-Identifier: MIT */
/* A library with probes that brings spex with it, and starts it. */
#include <spex/spex.h>

#include "../unit/plugin.h"

enum { MODULE = 22 };

SPEX_PROBE_NAME(MODULE, "module.work");

__attribute__((visibility("default"))) unsigned plugin_work(unsigned times) {
    if (spex_start(NULL) != 0)
        return 0;
    for (unsigned i = 0; i < times; i++) {
        CNT_PROBE_BEGIN(MODULE, 1);
        CNT_PROBE_END(MODULE);
    }
    return times;
}
