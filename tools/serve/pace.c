/* SPDX-License-Identifier: MIT */
#include "tools/serve/pace.h"

#include <stddef.h>

struct spex_pace_connection *spex_pace_open(struct spex_pace *pace, int socket, uint64_t now_ns) {
    for (unsigned c = 0; c < SPEX_PACE_CONNECTIONS; c++) {
        struct spex_pace_connection *connection = &pace->connections[c];
        if (connection->state != SPEX_PACE_NONE)
            continue;
        *connection = (struct spex_pace_connection){
            .state = SPEX_PACE_REQUEST, .socket = socket, .since_ns = now_ns};
        pace->count++;
        return connection;
    }
    return NULL;
}

void spex_pace_close(struct spex_pace *pace, struct spex_pace_connection *connection) {
    *connection = (struct spex_pace_connection){.state = SPEX_PACE_NONE};
    pace->count--;
}

void spex_pace_enter(struct spex_pace_connection *connection, enum spex_pace_state state,
                     uint64_t now_ns) {
    connection->state = state;
    connection->since_ns = now_ns;
}

/* Where half of the places are taken, who has not sent a request soon makes room for others. Where
 * all are, others wait: they have their turn in the order in which they came, 640 a second. */
static uint64_t limit_of(const struct spex_pace *pace,
                         const struct spex_pace_connection *connection) {
    if (connection->state == SPEX_PACE_ANSWER)
        return SPEX_PACE_ANSWER_NS;
    if (pace->count == SPEX_PACE_CONNECTIONS)
        return SPEX_PACE_FULL_NS;
    return pace->count > SPEX_PACE_CONNECTIONS / 2 ? SPEX_PACE_SCARCE_NS : SPEX_PACE_REQUEST_NS;
}

/* A connection that was dropped is closed soon; until then its place begins anew. */
uint64_t spex_pace_drop(struct spex_pace *pace, uint64_t now_ns, void (*drop)(int socket)) {
    uint64_t next = UINT64_MAX;
    for (unsigned c = 0; c < SPEX_PACE_CONNECTIONS; c++) {
        struct spex_pace_connection *connection = &pace->connections[c];
        if (connection->state == SPEX_PACE_NONE)
            continue;
        if (now_ns >= connection->since_ns + limit_of(pace, connection)) {
            drop(connection->socket);
            connection->since_ns = now_ns;
        }
        uint64_t end = connection->since_ns + limit_of(pace, connection);
        next = end < next ? end : next;
    }
    return next;
}
