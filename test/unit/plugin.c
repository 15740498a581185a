/* SPDX-License-Identifier: MIT */
/* A shared library with probes, for tests that load and unload it. Not linked with spex. */
#include <spex/probe.h>

#include "plugin.h"

enum { PLUGIN = 21 };

SPEX_PROBE_NAME(PLUGIN, "plugin.work");

__attribute__((visibility("default"))) unsigned plugin_work(unsigned times) {
    unsigned done = 0;
    while (done < times) {
        LAT_PROBE_BEGIN(PLUGIN, 1);
        done++;
        LAT_PROBE_END(PLUGIN);
        SNAPSHOT_PROBE(PLUGIN, 1, done);
    }
    return done;
}
