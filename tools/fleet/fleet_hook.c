/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/fleet/fleet_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text/printable.h"

/* A command that takes longer is killed; what is still there is removed again after that time. */
#define LONGEST_SECONDS 60.0
#define REMOVE_SECONDS  30.0

/* Most instances that one call names. */
enum { REMOVE_MOST = 256 };

/* The child gets the signals as a program expects them, nothing to read, and its output among the
 * messages. */
static int start(char **arguments, pid_t *process) {
    posix_spawnattr_t how;
    posix_spawn_file_actions_t files;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    int err = posix_spawnp(process, arguments[0], &files, &how, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return -err;
}

static bool run(struct spex_fleet_hook *hook, char **arguments, double now) {
    int err = start(arguments, &hook->process);
    hook->since = now;
    if (!err)
        return false;
    hook->process = 0;
    snprintf(hook->last, sizeof(hook->last), "%s cannot be started: %s", hook->command,
             strerror(-err));
    spex_make_printable(hook->last);
    return true;
}

static bool run_add(struct spex_fleet_hook *hook, double now) {
    char count[24];
    snprintf(count, sizeof(count), "%zu", hook->add);
    char *arguments[] = {(char *)(uintptr_t)hook->command, (char *)(uintptr_t) "add", count, NULL};
    hook->add = 0;
    return run(hook, arguments, now);
}

/* Names the instances that are to leave. */
static bool run_remove(struct spex_fleet_hook *hook, struct spex_lead *lead, double now) {
    char names[REMOVE_MOST][SPEX_LEAD_NAME_BYTES];
    char *arguments[REMOVE_MOST + 3] = {(char *)(uintptr_t)hook->command,
                                        (char *)(uintptr_t) "remove"};
    size_t count = 0;
    if (spex_lead_look(lead) != 0)
        return false;
    for (size_t p = 0; p < lead->place_count && count < REMOVE_MOST; p++) {
        const struct spex_fleet_instance *instance =
            spex_fleet_instance_find(&lead->state, lead->places[p].id);
        if (!instance || !instance->leaving)
            continue;
        spex_lead_name(&lead->places[p], names[count], sizeof(names[count]));
        arguments[2 + count] = names[count];
        count++;
    }
    hook->removed = now;
    return count && run(hook, arguments, now);
}

bool spex_fleet_hook_look(struct spex_fleet_hook *hook, double now) {
    int status = 0;
    if (!hook->process)
        return false;
    pid_t ended = waitpid(hook->process, &status, WNOHANG);
    if (!ended) {
        if (now - hook->since > LONGEST_SECONDS)
            kill(-hook->process, SIGKILL);
        return false;
    }
    hook->process = 0;
    bool good = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (good)
        snprintf(hook->last, sizeof(hook->last), "%s has ended", hook->command);
    else if (ended > 0 && WIFEXITED(status))
        snprintf(hook->last, sizeof(hook->last), "%s has failed with status %d", hook->command,
                 WEXITSTATUS(status));
    else
        snprintf(hook->last, sizeof(hook->last), "%s was killed by signal %d", hook->command,
                 ended > 0 ? WTERMSIG(status) : 0);
    spex_make_printable(hook->last);
    return true;
}

bool spex_fleet_hook_step(struct spex_fleet_hook *hook, struct spex_lead *lead, double now) {
    const struct spex_fleet_decision *d = &lead->decision;
    if (!hook->command)
        return false;
    hook->add = lead->state.starting ? hook->add + d->add : d->add;
    bool remove = d->remove || (lead->state.leaving && now - hook->removed > REMOVE_SECONDS);
    if (d->remove)
        hook->removed = -REMOVE_SECONDS;
    if (hook->process)
        return false;
    if (hook->add)
        return run_add(hook, now);
    return remove && run_remove(hook, lead, now);
}
