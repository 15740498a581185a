/* SPDX-License-Identifier: MIT */
/* libspex-preload.so: spex for programs that have none, and load libraries with probes. LD_PRELOAD
 * brings it into each program of an environment, of which most have nothing to do with probes, and
 * some have a spex of their own. So it starts when the first probe registers with it: the probes of
 * a program with a spex of its own register there. */
#include <stdbool.h>

#include <spex/atomic.h>

#include "preload/program_symbols.h"
#include "site/provider.h"
#include "site/registry.h"
#include "start/life.h"
#include "text/message.h"
#include "text/variables.h"

/* A program that was linked without spex calls its functions all the same, as they are looked for
 * when it is loaded. Not so the thread's words: for the linker they lie at the thread's pointer,
 * where libc has its own. */
static bool may_register(const struct spex_site *sites) {
    if (!spex_is_of_program(sites) || spex_program_refers("spex_executed"))
        return true;
    if (spex_variable_text(SPEX_VARIABLE_PROBES))
        spex_message("the program's own probes stay off: it is not linked with spex");
    return false;
}

/* Once in a process and its children, which follow it or call spex_start themselves. */
static void start_with_probes(void) {
    static bool tried;
    bool before = false;
    /* Relaxed: who comes second does nothing. */
    if (spex_sites_of_probes() && spex_cas_relaxed(&tried, &before, true))
        spex_life_begin();
}

/* Libraries that the program is linked with may have registered before. */
__attribute__((constructor)) static void preload(void) {
    static const struct spex_sites_arrival arrival = {may_register, start_with_probes};
    spex_sites_on_arrival(&arrival);
    start_with_probes();
}
