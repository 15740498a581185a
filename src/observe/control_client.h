/* SPDX-License-Identifier: MIT */
/* The commands' end of control sockets: finds that of a process, asks, takes the answers. */
#ifndef SPEX_OBSERVE_CONTROL_CLIENT_H
#define SPEX_OBSERVE_CONTROL_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/profile_reader.h"

/* Connects to a process's control socket, also in another PID or mount namespace. The socket, or a negative errno
 * value with the reason: -ESRCH no such process, -ENOENT it has no socket, -EACCES not ours, -ETIMEDOUT it does not
 * let us in. */
int spex_client_connect(pid_t process, char *why, size_t why_size);

/* Sends a request; `text` of a selection, or NULL. 0 or a negative errno value with the reason. */
int spex_client_send(int socket, enum spex_control_kind kind, uint32_t interval_ms,
                     const char *text, char *why, size_t why_size);

/* Takes in what has come, waiting up to `timeout_ms` for the next frame (-1: for ever). 1 when an answer is complete,
 * 0 when there is more to come, or, after the time, -ETIMEDOUT; -ECONNRESET when the program has gone; or as
 * spex_profile_reader_take. */
int spex_client_receive(int socket, struct spex_profile_reader *reader, int timeout_ms, char *why,
                        size_t why_size);

/* All of it: connects, asks, waits for the answer, closes. 0, or a negative errno value, of the program's answer too,
 * with the reason. */
int spex_client_ask(pid_t process, enum spex_control_kind kind, const char *text,
                    struct spex_profile_reader *reader, char *why, size_t why_size);

/* Connects and asks for a stream of records of these types of probes ("kernel,llc"; "": all). The socket, on which the
 * stream's frames come, or a negative errno value with the reason; -ENOSYS from a release that has no such streams. */
int spex_client_stream(pid_t process, const char *types, char *why, size_t why_size);

/* The same over a socket that is connected: 0, or what stands in the way. */
int spex_client_stream_over(int socket, const char *types, char *why, size_t why_size);

/* Processes of this user, or, for root, of all, that have a control socket here: their numbers into `processes`, to be
 * freed. How many, or -ENOMEM. */
long spex_client_list(pid_t **processes);

#endif
