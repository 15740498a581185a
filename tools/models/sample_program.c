/* SPDX-License-Identifier: MIT */
/* Starts the program with SPEX_OUT set to a socket in a private directory, to which it streams
 * its records, or by the descriptor that it inherits. */
#define _GNU_SOURCE
#include "tools/models/sample_program.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/variables.h"
#include "text/waits.h"
#include "tools/common/complain.h"

/* Variables besides SPEX_OUT and SPEX_OUT_SOCKET. */
enum { VARIABLES_MAX = 8 };

/* Listens in a directory that only this user can enter. 0, or a negative errno value with the
 * reason. */
static int receiver_listen(struct spex_sample_program *run, struct spex_error *error) {
    int err = spex_private_directory("sample", run->directory, error);
    if (err)
        return err;
    snprintf(run->socket, sizeof(run->socket), "%s/records", run->directory);
    return spex_receiver_open(run->socket, &run->receiver, error);
}

/* Signals are blocked before the program starts, so that none is lost in between. */
int spex_sample_program_start(struct spex_sample_program *run, char *const *argv,
                              const struct spex_launch_variable *variables) {
    struct spex_launch_variable all[VARIABLES_MAX + 3] = {{.name = NULL}};
    char output[sizeof(run->socket) + 8], handover[SPEX_DESCRIPTOR_TEXT_BYTES];
    struct spex_error error;
    size_t count = 0;
    *run = (struct spex_sample_program){.signals.fd = -1, .program.pidfd = -1};
    int err = spex_passed_signals_open(&run->signals);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "sample: cannot wait for signals: %s",
                             strerror(-err));
    if (receiver_listen(run, &error))
        return spex_complain(SPEX_EXIT_FAILED, "sample: %s", error.text);
    snprintf(output, sizeof(output), "unix:%s", run->socket);
    all[count++] = (struct spex_launch_variable){spex_variable_name(SPEX_VARIABLE_OUT), output};
    spex_descriptor_text(spex_receiver_handover(run->receiver), handover);
    all[count++] =
        (struct spex_launch_variable){spex_variable_name(SPEX_VARIABLE_OUT_SOCKET), handover};
    for (; variables->name && count < VARIABLES_MAX + 2; variables++)
        all[count++] = *variables;
    err = spex_launch_program(&run->program, argv, all,
                              spex_receiver_handover(run->receiver)->number, &run->signals.before);
    if (err)
        return spex_complain(err == -ENOENT ? SPEX_EXIT_NOT_FOUND : SPEX_EXIT_NOT_EXECUTABLE,
                             "sample: %s: %s", argv[0], strerror(-err));
    return SPEX_EXIT_OK;
}

/* poll ignores descriptors that are -1. */
bool spex_sample_program_wait(struct spex_sample_program *run, bool wanted) {
    int streams[SPEX_RECEIVER_FDS];
    struct pollfd fds[2 + SPEX_RECEIVER_FDS] = {{.fd = run->signals.fd, .events = POLLIN},
                                                {.fd = run->program.pidfd, .events = POLLIN}};
    spex_receiver_fds(run->receiver, streams);
    for (int s = 0; s < SPEX_RECEIVER_FDS; s++)
        fds[2 + s] = (struct pollfd){.fd = wanted ? streams[s] : -1, .events = POLLIN};
    spex_wait_ready(fds, 2 + SPEX_RECEIVER_FDS, -1);
    spex_passed_signals_pass(&run->signals, &run->program);
    return spex_launched_ended(&run->program);
}

void spex_sample_program_close(struct spex_sample_program *run) {
    spex_receiver_close(run->receiver);
    if (run->socket[0])
        unlink(run->socket);
    if (run->directory[0])
        rmdir(run->directory);
}
