/* SPDX-License-Identifier: MIT */
/* The options of commands that reach NATS, and what their usage says of them. */
#ifndef SPEX_FLEET_LINK_LINK_OPTIONS_H
#define SPEX_FLEET_LINK_LINK_OPTIONS_H

#include "fleet/link/link.h"

/* Rows of a table of struct spex_option (tools/common/options.h), stored in a struct
 * spex_link_options. */
#define SPEX_LINK_OPTIONS(options)                                                                 \
    {"nats", .text = &(options)->url}, {"credentials", .text = &(options)->credentials},           \
        {"tls-ca", .text = &(options)->authorities},                                               \
        {"tls-cert", .text = &(options)->certificate}, {                                           \
        "tls-key", .text = &(options)->key                                                         \
    }

#define SPEX_LINK_USAGE                                                                            \
    "  --nats URL           the NATS server, nats://HOST:PORT or, which is needed off\n"           \
    "                       loopback, tls://HOST:PORT\n"                                           \
    "  --credentials FILE   USER:PASSWORD, a token, or a .creds file of NATS; its\n"               \
    "                       owner alone can read it\n"                                             \
    "  --tls-ca FILE        certificates that sign the server's, instead of the\n"                 \
    "                       system's\n"                                                            \
    "  --tls-cert FILE      the client's certificate\n"                                            \
    "  --tls-key FILE       and its key\n"

/* The missing part, for a message; NULL: nothing is missing. */
static inline const char *spex_link_missing(const struct spex_link_options *options) {
    if (!options->url)
        return "--nats was expected";
    return !options->certificate == !options->key
               ? NULL
               : "--tls-cert and --tls-key were expected together";
}

#endif
