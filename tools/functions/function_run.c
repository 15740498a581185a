/* SPDX-License-Identifier: MIT */
#include "tools/functions/function_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "tools/common/complain.h"

/* Passes on what has come: the program decides whether it ends. */
static bool pass_signals(void *user) {
    struct spex_function_run *run = user;
    spex_passed_signals_pass(&run->signals, &run->program);
    return false;
}

int spex_function_run_start(struct spex_function_run *run, char *const *argv,
                            struct spex_function_watch_request *request) {
    int err = spex_passed_signals_open(&run->signals);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s: cannot wait for signals: %s", request->command,
                             strerror(-err));
    err = spex_launch_held(&run->program, argv, &run->signals.before);
    if (err == -ECHILD)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s has ended before its first instruction",
                             request->command, argv[0]);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s cannot be run: %s", request->command,
                             argv[0], strerror(-err));
    request->process = run->program.process;
    request->held = &run->program;
    request->stop_fd = run->signals.fd;
    request->stopped = pass_signals;
    request->stopping = run;
    return SPEX_EXIT_OK;
}

void spex_function_run_give_up(struct spex_function_run *run) {
    spex_held_kill(&run->program);
}

int spex_function_run_wait(struct spex_function_run *run) {
    while (!spex_launched_ended(&run->program)) {
        struct pollfd both[] = {{.fd = run->program.pidfd, .events = POLLIN},
                                {.fd = run->signals.fd, .events = POLLIN}};
        if (poll(both, 2, -1) > 0 && both[1].revents)
            pass_signals(run);
    }
    return run->program.by_signal ? 128 + run->program.by_signal : run->program.status;
}
