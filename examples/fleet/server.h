/* SPDX-License-Identifier: MIT */
/* HTTP by libmicrohttpd on loopback: one thread for the network, and workers that write the pages.
 * A request waits in a queue for a worker; the span `request` is its whole time, from its header to
 * when its answer is sent. */
#ifndef EXAMPLES_FLEET_SERVER_H
#define EXAMPLES_FLEET_SERVER_H

#include <stdint.h>

struct server_settings {
    uint16_t port;
    const char *database;
    /* The time for which a worker waits with each page: for a database on another machine, or a
     * bank. */
    double wait_seconds;
};

/* Ends the program with one line where it cannot listen. */
void server_start(const struct server_settings *settings);

/* A worker, for crew_add(); ends when the crew does. The argument is the settings. */
void *server_work(void *argument);

void server_stop(void);

#endif
