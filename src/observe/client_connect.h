/* SPDX-License-Identifier: MIT */
/* Calls dormant programs, for the client of control sockets. */
#ifndef SPEX_OBSERVE_CLIENT_CONNECT_H
#define SPEX_OBSERVE_CLIENT_CONNECT_H

#include "observe/profile_reader.h"
#include "text/error.h"

/* Calls the program behind a stand-in (stand_in.h), and connects to it: the socket gets the
 * descriptor of the stand-in. 0; -ECONNRESET: the program has gone; or another negative errno
 * value. */
int spex_client_wake(int fd, struct spex_error *error);

/* Takes what a stand-in says, if it is due; where the program has woken up, it is asked itself. As
 * spex_profile_reader_take, or -ECONNRESET: the program has gone; or another negative errno
 * value. */
int spex_client_stand_in_take(int fd, struct spex_profile_reader *reader, struct spex_error *error);

#endif
