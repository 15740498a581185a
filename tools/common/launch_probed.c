/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/common/launch_probed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/variables.h"
#include "tools/common/complain.h"
#include "tools/common/preload.h"

enum { VARIABLES_MAX = 7 };

/* `preload`: the value of LD_PRELOAD; NULL: as it is. */
static int launch(struct spex_launched *program, const struct spex_launch_probed *how,
                  const struct spex_listener *listener, const char *preload, const sigset_t *mask) {
    char output[160], handover[SPEX_DESCRIPTOR_TEXT_BYTES];
    spex_listener_output(listener, how->prefix, output, sizeof(output));
    spex_descriptor_text(&listener->handover.given, handover);
    const struct spex_launch_variable wanted[VARIABLES_MAX] = {
        {spex_variable_name(SPEX_VARIABLE_PROBES), how->probes},
        {spex_variable_name(SPEX_VARIABLE_OUT), output},
        {spex_variable_name(SPEX_VARIABLE_OUT_SOCKET), handover},
        {spex_variable_name(SPEX_VARIABLE_FORKS), how->follow ? "follow" : NULL},
        {spex_variable_name(SPEX_VARIABLE_BUDGET), how->budget},
        {spex_variable_name(SPEX_VARIABLE_THREAD_BUDGET), how->thread_budget},
        {"LD_PRELOAD", preload},
    };
    struct spex_launch_variable variables[VARIABLES_MAX + 1] = {{.name = NULL}}, *next = variables;
    /* Those without a value are left as the environment has them. */
    for (int v = 0; v < VARIABLES_MAX; v++)
        if (wanted[v].value)
            *next++ = wanted[v];
    return spex_launch_program(program, how->argv, variables, listener->handover.given.number,
                               mask);
}

int spex_launch_listen(struct spex_listener *listener, const char *command) {
    struct spex_error error;
    int err = spex_listener_open(listener, &error);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s", command, error.text);
    if (error.text[0])
        spex_complain(0, "%s: %s; it is in %s", command, error.text, listener->listening.path);
    return SPEX_EXIT_OK;
}

int spex_launch_probed(struct spex_launched *program, const struct spex_launch_probed *how,
                       const struct spex_listener *listener, const sigset_t *mask) {
    char *preload = NULL;
    int status =
        how->preload ? spex_preload_value(how->command, how->argv[0], &preload) : SPEX_EXIT_OK;
    int err = status ? 0 : launch(program, how, listener, preload, mask);
    free(preload);
    if (err)
        return spex_complain(err == -ENOENT ? SPEX_EXIT_NOT_FOUND : SPEX_EXIT_NOT_EXECUTABLE,
                             "%s: %s: %s", how->command, how->argv[0], strerror(-err));
    return status;
}

void spex_launch_complain_of_silence(const struct spex_launch_probed *how) {
    spex_complain(0,
                  "no process of %s has connected: each is without spex%s, or has not called "
                  "spex_start, or did so without the SPEX_OUT that it was started with%s, or "
                  "goes on as a daemon, which spex set reaches%s",
                  how->argv[0], how->preload ? " and has loaded no library with probes" : "",
                  how->follow ? "" : ", or works in the child of a fork (--follow-forks)",
                  how->preload ? ""
                               : "; --preload brings spex to a program without it whose libraries "
                                 "have probes, such as Python with extension modules");
}
