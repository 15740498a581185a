/* SPDX-License-Identifier: MIT */
/* A shared library that contains all of spex, for a test that unloads it. */
#include <spex/probe.h>
#include <spex/spex.h>

enum { CARRIED = 22 };

SPEX_PROBE_NAME(CARRIED, "carrier.work");

/* Records made of so many executions, or a negative errno value. */
__attribute__((visibility("default"))) int carrier_collect(unsigned times);

/* Executes so many times, whatever is on. */
__attribute__((visibility("default"))) void carrier_work(unsigned times);

/* As spex_start; the control socket is in this directory. */
__attribute__((visibility("default"))) int carrier_start(const char *control);

int carrier_start(const char *control) {
    const struct spex_options options = {.size = sizeof(options), .control = control};
    return spex_start(&options);
}

void carrier_work(unsigned times) {
    while (times-- > 0) {
        LAT_PROBE_BEGIN(CARRIED, 1);
        LAT_PROBE_END(CARRIED);
    }
}

int carrier_collect(unsigned times) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "carrier.*", .out = "/dev/null"};
    struct spex_status before = {.size = sizeof(before)}, now = before;
    int err = spex_status_get(&before);
    err = err ? err : spex_start(&options);
    if (err)
        return err;
    carrier_work(times);
    spex_stop();
    err = spex_status_get(&now);
    return err ? err : (int)(now.consumed - before.consumed);
}
