/* SPDX-License-Identifier: MIT */
/* Who may ask the server, by the headers of a request. A page of another site must not reach it
 * through the browser of a user who can: neither by a form or script of its own (Origin, token),
 * nor by a name of its own that suddenly has the server's address (DNS rebinding: Host). */
#ifndef SPEX_TOOLS_SERVE_GUARD_H
#define SPEX_TOOLS_SERVE_GUARD_H

#include <stdbool.h>

struct spex_guard {
    /* The token; NULL: there is none, and nobody may change anything. */
    const char *token;
    /* A name by which the server is called, besides "localhost" and addresses; NULL: none. */
    const char *host;
};

/* Headers of a request; NULL: it has none such. */
struct spex_guard_headers {
    const char *host, *origin, *authorization;
    /* By which a browser tells where a request comes from that names no origin, as that of a
     * picture. */
    const char *site;
};

/* `changes`: the request is to change something. 0, or the HTTP status of the refusal with the
 * reason. */
unsigned spex_guard_check(const struct spex_guard *guard, const struct spex_guard_headers *headers,
                          bool changes, const char **why);

/* The same for what is no secret: the files of the page, which a browser asks for before its user
 * can give the token. */
unsigned spex_guard_check_open(const struct spex_guard *guard,
                               const struct spex_guard_headers *headers, const char **why);

#endif
