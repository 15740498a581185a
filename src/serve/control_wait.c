/* SPDX-License-Identifier: MIT */
#include "serve/control_wait.h"

#include "base/last_thread.h"

/* Nanoseconds. */
#define MS 1000000u

/* The thread may use 1/CPU_SHARE of a CPU. */
#define CPU_SHARE 4

void spex_control_wait_earn(struct spex_control *c, uint64_t now, uint64_t used_ns) {
    c->allowance_ns += (int64_t)((now - c->earned_ns) / CPU_SHARE) - (int64_t)used_ns;
    if (c->allowance_ns > SPEX_CONTROL_WAIT_ALLOWANCE_NS)
        c->allowance_ns = SPEX_CONTROL_WAIT_ALLOWANCE_NS;
    c->earned_ns = now;
}

/* poll ignores entries with descriptor -1. */
static int descriptors_of(const struct spex_control *c, uint64_t now, struct pollfd *fds) {
    fds[SPEX_CONTROL_WAIT_WOKEN] = (struct pollfd){.fd = c->woken.number, .events = POLLIN};
    if (c->allowance_ns < 0)
        return SPEX_CONTROL_WAIT_WOKEN + 1;
    fds[SPEX_CONTROL_WAIT_DOOR] = (struct pollfd){
        .fd = spex_clients_door_open(c, now) ? c->door.socket.number : -1, .events = POLLIN};
    for (int i = 0; i < c->places; i++) {
        const struct spex_connection *connection = &c->connections[i];
        fds[SPEX_CONTROL_WAIT_FIRST + i] = (struct pollfd){
            .fd = connection->waits ? -1 : connection->socket.number,
            .events = connection->reply.next ? POLLOUT : POLLIN,
        };
    }
    return SPEX_CONTROL_WAIT_FIRST + c->places;
}

static void make_sooner(uint64_t *when, uint64_t other) {
    if (other < *when)
        *when = other;
}

/* The next time at which something is due though no descriptor is ready. */
static uint64_t next_time(const struct spex_control *c, uint64_t now) {
    uint64_t when = now + spex_clients_look_ns(c, now);
    make_sooner(&when, now + spex_last_thread_wait_ns());
    if (c->allowance_ns < 0)
        return now + (uint64_t)-c->allowance_ns * CPU_SHARE;
    if (c->orphaned)
        when = now + MS;
    if (c->has_door && !spex_clients_door_open(c, now))
        make_sooner(&when, c->rest_ns);
    for (int i = 0; i < c->places; i++) {
        const struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection))
            continue;
        if (connection->waits)
            make_sooner(&when, now + MS);
        if (connection->reports && !spex_connection_busy(connection))
            make_sooner(&when, connection->due_ns);
        else if (!connection->ours)
            make_sooner(&when, connection->active_ns + spex_clients_quiet_most(connection));
    }
    return when;
}

/* Rounds up: poll must not return before the time, or the thread would spin until it has come. */
static int timeout_ms(uint64_t when, uint64_t now) {
    return when <= now ? 0 : (int)((when - now) / MS) + 1;
}

void spex_control_wait_prepare(struct spex_control_wait *waiting, const struct spex_control *c,
                               uint64_t now) {
    waiting->timeout_ms = timeout_ms(next_time(c, now), now);
    waiting->count = descriptors_of(c, now, waiting->fds);
}

/* The lock was free while the thread slept, so another thread may have added, closed or replaced a
 * connection: events count only for the descriptor that was polled. */
short spex_control_wait_events(const struct spex_control *c, int place,
                               const struct spex_control_wait *waiting) {
    const struct pollfd *fd = &waiting->fds[SPEX_CONTROL_WAIT_FIRST + place];
    bool polled = SPEX_CONTROL_WAIT_FIRST + place < waiting->count &&
                  fd->fd == c->connections[place].socket.number;
    return polled ? fd->revents : 0;
}
