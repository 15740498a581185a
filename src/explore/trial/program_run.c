/* SPDX-License-Identifier: MIT */
/* What trials and trainings have in common: the files of a run, the agent around the program, one
 * poll() over all descriptors, and the order in which everything ends. */
#define _GNU_SOURCE
#include "explore/trial/program_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explore/space/config_file.h"
#include "text/waits.h"

/* After this the run may be ended, whatever was not begun. */
void spex_program_run_init(struct spex_program_run *run, const char *directory, int stop_fd) {
    *run = (struct spex_program_run){.directory = directory, .stop_fd = stop_fd};
    run->program.pid = run->program.pidfd = run->program.output = -1;
    run->config_file = SPEX_NO_DESCRIPTOR;
}

/* What the program reads if it cannot search the directory. Without a descriptor for it the path
 * alone is left. */
static void config_file_open(struct spex_program_run *run) {
    int fd = open(run->config, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        run->config_file = spex_descriptor_of(fd);
}

int spex_program_run_configure(struct spex_program_run *run, const struct spex_space *space,
                               const size_t *levels, struct spex_error *error) {
    if (asprintf(&run->config, "%s/" SPEX_TRIAL_CONFIG, run->directory) < 0)
        run->config = NULL;
    if (!run->config)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_config_write(run->config, space, levels, error);
    if (!err)
        config_file_open(run);
    return err;
}

/* The socket must listen before the program is launched, which connects in spex_start. */
int spex_program_run_prepare(struct spex_program_run *run, const struct spex_space *space,
                             const size_t *levels, struct spex_error *error) {
    if (asprintf(&run->socket, "%s/" SPEX_TRIAL_SOCKET, run->directory) < 0)
        run->socket = NULL;
    if (!run->socket)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_program_run_configure(run, space, levels, error);
    return err ? err : spex_receiver_open(run->socket, &run->receiver, error);
}

int spex_program_run_begin(struct spex_program_run *run, const struct spex_space_file *file,
                           char *const *argv, const size_t *levels, const char *probes,
                           const cpu_set_t *cpus, struct spex_error *error) {
    struct spex_launch launch = {.config = run->config, .cpus = cpus};
    int over =
        spex_trial_agent_init(&run->around, file, argv, levels, &launch, run->stop_fd, error);
    over = over ? over : spex_trial_agent_begin(&run->around, run->directory, error);
    if (over)
        return over;
    launch.argv = run->around.filled.argv;
    launch.variables = run->around.filled.variables;
    launch.descriptor = file->agent->descriptor;
    launch.probes = probes;
    launch.socket = run->socket;
    launch.handover = run->receiver ? spex_receiver_handover(run->receiver) : NULL;
    launch.take = run->take;
    launch.user = run->user;
    launch.config_file = &run->config_file;
    /* Before a teardown command, the program's processes are ended. Without one,
     * spex_trial_agent_end's search at the end of the run is enough. */
    launch.sweep = run->around.filled.teardown != NULL;
    return spex_program_launch(&run->program, &launch, error) ? 1 : 0;
}

/* Descriptors that are closed are -1, which poll ignores. */
int spex_program_run_wait(const struct spex_program_run *run, struct pollfd fds[SPEX_RUN_FDS],
                          int timeout_ms, struct spex_error *error) {
    const int wanted[] = {[SPEX_RUN_STOP] = run->stop_fd,
                          [SPEX_RUN_OUTPUT] = run->program.output,
                          [SPEX_RUN_ERRORS] = spex_program_errors(&run->program),
                          [SPEX_RUN_PROGRAM] = run->program.pidfd};
    int streams[SPEX_RECEIVER_FDS];
    spex_receiver_fds(run->receiver, streams);
    spex_trial_agent_fds(&run->around, fds + SPEX_RUN_AROUND);
    for (int f = 0; f < SPEX_RUN_AROUND; f++)
        fds[f] = (struct pollfd){
            .fd = f < SPEX_RUN_STREAM ? wanted[f] : streams[f - SPEX_RUN_STREAM], .events = POLLIN};
    int ready = spex_wait_ready(fds, SPEX_RUN_FDS, timeout_ms);
    if (ready < 0 && errno != EINTR)
        return spex_fail(error, -errno, "cannot wait for the program: %s", strerror(errno));
    return ready < 0 ? 0 : ready;
}

/* The stream is closed first: the program's collector would wait for this process while the program
 * ends. */
int spex_program_run_end(struct spex_program_run *run, int err, struct spex_trial *trial,
                         struct spex_error *error) {
    struct spex_error left;
    spex_receiver_close(run->receiver);
    if (spex_program_teardown(&run->program, &left))
        err = spex_fail(error, -EPERM, "%s", left.text);
    trial->usage = run->program.usage;
    if (run->around.agent && spex_trial_agent_end(&run->around, trial) && !err)
        err = spex_fail(error, -ENOMEM, "out of memory");
    return err;
}

/* Files that were not made are no error. */
void spex_program_run_release(struct spex_program_run *run) {
    if (run->socket)
        unlink(run->socket);
    if (run->config)
        unlink(run->config);
    spex_descriptor_close(&run->config_file);
    free(run->socket);
    free(run->config);
}
