/* SPDX-License-Identifier: MIT */
/* The inside of a connection, for the files of this room. */
#ifndef SPEX_FLEET_LINK_LINK_PARTS_H
#define SPEX_FLEET_LINK_LINK_PARTS_H

#include <pthread.h>

#include <nats/nats.h>

#include "fleet/link/link.h"

struct spex_link {
    natsConnection *connection;
    natsOptions *options;
    jsCtx *stream;
    /* The bucket that was used last. */
    kvStore *store;
    char bucket[SPEX_LINK_NAME_BYTES];
    /* Events that the threads of the library report. */
    pthread_mutex_t lock;
    uint64_t connects;
    /* The last thing that the server has not permitted. */
    char denied[256];
};

int spex_link_err_of(natsStatus status);

/* The same with the reason. What the server does not permit, it tells beside the request, which is
 * then not answered. */
int spex_link_explain(struct spex_link *link, natsStatus status, const char *what,
                      struct spex_error *error);

/* Copies what has come; false: no memory, or more than is ever sent. */
bool spex_link_copy(const char *subject, const char *reply, const void *data, int size,
                    struct spex_link_message *message);

#endif
