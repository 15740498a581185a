/* SPDX-License-Identifier: MIT */
/* Places for connections: who gets one, who loses it, and the listening socket. A client that is
 * silent, or does not read its answer, must not keep others out, so its place is taken after a
 * while: soon if somebody waits for it, later if not. Subscribers, and the command that this
 * process has called, keep theirs. */
#define _GNU_SOURCE
#include "serve/clients.h"

#include <errno.h>
#include <sys/mman.h>

/* Nanoseconds. */
#define MS 1000000u

/* Time after which a client goes that sends no request, and one that does not read its answer. */
#define SILENT_NS (10000ull * MS)
#define STUCK_NS  (30000ull * MS)

/* The same while other clients wait for a place. */
#define SILENT_PLACE_NS (200ull * MS)
#define STUCK_PLACE_NS  (2000ull * MS)

void spex_clients_drop(struct spex_control *c, struct spex_connection *connection) {
    c->orphaned |= connection->ours;
    spex_connection_close(connection);
}

/* `now` may be older than the connection's last packet, which is stamped when it is handled. */
static uint64_t quiet_ns(const struct spex_connection *connection, uint64_t now) {
    return now > connection->active_ns ? now - connection->active_ns : 0;
}

/* Returns whether another client may have its place. */
static bool may_be_replaced(const struct spex_connection *connection, uint64_t now) {
    return !connection->ours && !connection->reports &&
           quiet_ns(connection, now) >
               (spex_connection_busy(connection) ? STUCK_PLACE_NS : SILENT_PLACE_NS);
}

/* Memory of the heap would make the C library set up a heap for the control thread. */
static bool room_make(struct spex_control *c) {
    void *room = c->room;
    if (!room)
        room = mmap(NULL, sizeof(*c->room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    if (room != MAP_FAILED)
        c->room = room;
    return c->room;
}

static struct spex_connection *place_make(struct spex_control *c) {
    if (!room_make(c))
        return NULL;
    struct spex_connection *connection = &c->connections[c->places];
    connection->socket = connection->passed = SPEX_NO_DESCRIPTOR;
    connection->text = c->room->texts[c->places++];
    return connection;
}

/* The client that has been silent the longest loses its place, so a client that is being served
 * keeps it. */
struct spex_connection *spex_clients_place(struct spex_control *c, uint64_t now) {
    struct spex_connection *silent = NULL;
    for (int i = 0; i < c->places; i++) {
        struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection))
            return connection;
        if (may_be_replaced(connection, now) &&
            (!silent || connection->active_ns < silent->active_ns))
            silent = connection;
    }
    return c->places < SPEX_CONTROL_CONNECTIONS ? place_make(c) : silent;
}

/* Returns whether all places belong to subscribers, so that waiting for one does not help. */
static bool subscribed_out(const struct spex_control *c) {
    int stay = 0;
    for (int i = 0; i < c->places; i++)
        stay += c->connections[i].ours || c->connections[i].reports;
    return stay == SPEX_CONTROL_CONNECTIONS;
}

/* Opens a new listening socket. Where that fails, the old one stays as long as its descriptor is
 * still the socket's. */
static void door_reopen(struct spex_control *c) {
    struct spex_error error;
    struct spex_listening_socket fresh;
    bool opened = spex_listening_socket_open(&fresh, c->chosen, &error) == 0;
    if (c->has_door && (opened || !spex_descriptor_is_ours(&c->door.socket))) {
        spex_listening_socket_close(&c->door);
        c->has_door = false;
    }
    if (opened) {
        c->door = fresh;
        c->has_door = true;
    }
}

uint64_t spex_clients_look_ns(const struct spex_control *c, uint64_t now) {
    uint64_t part = now > c->opened_ns ? (now - c->opened_ns) / SPEX_CONTROL_LOOK_PART : 0;
    part = part < SPEX_CONTROL_LOOK_MOST_NS ? part : SPEX_CONTROL_LOOK_MOST_NS;
    return part > SPEX_CONTROL_LOOK_NS ? part : SPEX_CONTROL_LOOK_NS;
}

void spex_clients_look_after_door(struct spex_control *c, uint64_t now) {
    if (!c->wants_door || now < c->look_ns)
        return;
    if (!c->has_door || !spex_listening_socket_is_there(&c->door)) {
        c->opened_ns = now;
        door_reopen(c);
    }
    c->look_ns = now + spex_clients_look_ns(c, now);
}

/* Accepts one connection. False: no more are accepted for now. Where subscribers have all places,
 * the client is accepted and told so. Where a place will be free soon, the client stays in the
 * socket's queue and accepting pauses for SPEX_CONTROL_REST_NS, because poll would report the
 * socket again at once. */
static bool let_one_in(struct spex_control *c, uint64_t now) {
    struct spex_connection *connection = spex_clients_place(c, now);
    bool away = !connection && subscribed_out(c);
    if (!connection && !away) {
        c->rest_ns = now + SPEX_CONTROL_REST_NS;
        return false;
    }
    struct spex_descriptor socket = spex_listening_socket_accept(&c->door);
    if (socket.number == -EBADF)
        door_reopen(c);
    else if (socket.number < 0 && socket.number != -EAGAIN && socket.number != -EPERM)
        /* No descriptor is left; the client stays in the queue. */
        c->rest_ns = now + SPEX_CONTROL_REST_NS;
    if (socket.number < 0)
        return socket.number == -EPERM;
    if (away) {
        spex_connection_turn_away(socket, c->room->buffer);
        return true;
    }
    if (spex_connection_there(connection))
        spex_clients_drop(c, connection);
    spex_connection_open(connection, socket, false);
    return true;
}

/* At most one connection for each place in a call, so that a flood of clients does not keep those
 * who are connected waiting. */
void spex_clients_let_in(struct spex_control *c, uint64_t now) {
    for (int n = 0; n < SPEX_CONTROL_CONNECTIONS && let_one_in(c, now); n++)
        continue;
}

/* A client to which an answer is under way gets more time, because its process may be stopped in a
 * debugger or slow at drawing. */
uint64_t spex_clients_quiet_most(const struct spex_connection *connection) {
    return spex_connection_busy(connection) ? STUCK_NS : SILENT_NS;
}

/* A subscriber may be silent for ever while no answer is under way: it has nothing to send. */
bool spex_clients_expired(const struct spex_connection *connection, uint64_t now) {
    return !connection->ours && (spex_connection_busy(connection) || !connection->reports) &&
           quiet_ns(connection, now) > spex_clients_quiet_most(connection);
}
