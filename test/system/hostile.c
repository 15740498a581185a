/* SPDX-License-Identifier: MIT */
/* A program whose probes have names that are script and control sequences, for who shows them. */
#include <stdio.h>
#include <time.h>

#include <spex/probe.h>
#include <spex/spex.h>

SPEX_PROBE_NAME(1, "<img src=x onerror=document.title=1>");
SPEX_PROBE_NAME(2, "\"><script>document.title=2</script>");
SPEX_PROBE_NAME(3, "{a|b}${document.title=3}</td><td>&lt;");
SPEX_PROBE_NAME(4, "__proto__");
SPEX_PROBE_NAME(5,
                "\033]0;title\007%s%n\342\200\256txt"); /* NOLINT(misc-misleading-bidirectional) */

static void work(void) {
    const struct timespec pause = {.tv_nsec = 1000000};
    LAT_PROBE_BEGIN(1, 1);
    LAT_PROBE_BEGIN(2, 1);
    LAT_PROBE_BEGIN(3, 1);
    LAT_PROBE_BEGIN(4, 1);
    LAT_PROBE_BEGIN(5, 1);
    nanosleep(&pause, NULL);
    LAT_PROBE_END(5);
    LAT_PROBE_END(4);
    LAT_PROBE_END(3);
    LAT_PROBE_END(2);
    LAT_PROBE_END(1);
}

/* Runs until it is killed. */
int main(void) {
    if (spex_start(NULL) != 0 || puts("ready") < 0 || fflush(stdout) != 0)
        return 1;
    for (;;)
        work();
}
