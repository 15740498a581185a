/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/common/launch_probed.h"

#include <errno.h>
#include <string.h>

#include "text/variables.h"
#include "tools/common/complain.h"

/* Variables without a value given are left as the environment has them. */
int spex_launch_probed(struct spex_launched *program, const struct spex_launch_probed *how,
                       const struct spex_listener *listener, const sigset_t *mask) {
    char output[160], handover[SPEX_DESCRIPTOR_TEXT_BYTES];
    spex_listener_output(listener, how->prefix, output, sizeof(output));
    spex_descriptor_text(&listener->handover.given, handover);
    struct spex_launch_variable variables[7] = {
        {spex_variable_name(SPEX_VARIABLE_PROBES), how->probes},
        {spex_variable_name(SPEX_VARIABLE_OUT), output},
        {spex_variable_name(SPEX_VARIABLE_OUT_SOCKET), handover},
    };
    struct spex_launch_variable *next = &variables[3];
    if (how->follow)
        *next++ = (struct spex_launch_variable){spex_variable_name(SPEX_VARIABLE_FORKS), "follow"};
    if (how->budget)
        *next++ =
            (struct spex_launch_variable){spex_variable_name(SPEX_VARIABLE_BUDGET), how->budget};
    if (how->thread_budget)
        *next = (struct spex_launch_variable){spex_variable_name(SPEX_VARIABLE_THREAD_BUDGET),
                                              how->thread_budget};
    int err =
        spex_launch_program(program, how->argv, variables, listener->handover.given.number, mask);
    if (err)
        return spex_complain(err == -ENOENT ? SPEX_EXIT_NOT_FOUND : SPEX_EXIT_NOT_EXECUTABLE,
                             "%s: %s: %s", how->command, how->argv[0], strerror(-err));
    return SPEX_EXIT_OK;
}

void spex_launch_complain_of_silence(const char *program, bool follow) {
    spex_complain(0,
                  "no process of %s has connected: each is without spex, or has not called "
                  "spex_start, or did so without the SPEX_OUT that it was started with%s, or "
                  "goes on as a daemon, which spex set reaches",
                  program, follow ? "" : ", or works in the child of a fork (--follow-forks)");
}
