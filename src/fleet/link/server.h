/* SPDX-License-Identifier: MIT */
/* Which server a connection goes to, and how it proves to be allowed. */
#ifndef SPEX_FLEET_LINK_SERVER_H
#define SPEX_FLEET_LINK_SERVER_H

#include <nats/nats.h>

#include "fleet/link/link.h"

/* Checks the address, the credentials and the certificates, and enters them into `options`. 0 or a
 * negative errno value with the reason. */
int spex_link_server_set(natsOptions *options, const struct spex_link_options *from,
                         struct spex_error *error);

#endif
