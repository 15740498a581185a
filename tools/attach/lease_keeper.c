/* SPDX-License-Identifier: MIT */
#include "tools/attach/lease_keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "text/waits.h"

enum { DAY_MS = 86400000 };

static int until_ms(uint64_t due_ns) {
    uint64_t now = spex_clock_ns(CLOCK_BOOTTIME);
    uint64_t ms = due_ns > now ? (due_ns - now) / 1000000 + 1 : 0;
    return ms < DAY_MS ? (int)ms : DAY_MS;
}

static void *keep(void *user) {
    struct spex_lease_keeper *keeper = user;
    struct pollfd fds[2] = {{.fd = keeper->end, .events = POLLIN}};
    while (!fds[0].revents) {
        uint64_t due_ns = spex_held_lease_step(keeper->lease);
        fds[1] = (struct pollfd){.fd = keeper->lease->socket, .events = POLLIN};
        spex_wait_ready(fds, 2, until_ms(due_ns));
    }
    return NULL;
}

/* Signals are for the command. */
int spex_lease_keeper_start(struct spex_lease_keeper *keeper, struct spex_held_lease *lease) {
    sigset_t all, before;
    *keeper = (struct spex_lease_keeper){.lease = lease, .end = eventfd(0, EFD_CLOEXEC)};
    if (keeper->end < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&keeper->thread, NULL, keep, keeper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    keeper->runs = !err;
    if (err)
        close(keeper->end);
    return -err;
}

void spex_lease_keeper_stop(struct spex_lease_keeper *keeper) {
    if (!keeper->runs)
        return;
    eventfd_write(keeper->end, 1);
    pthread_join(keeper->thread, NULL);
    close(keeper->end);
    keeper->runs = false;
}
