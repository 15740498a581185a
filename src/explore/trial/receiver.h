/* SPDX-License-Identifier: MIT */
/* Receives a program's stream (wire/stream_format.h): checks every frame and returns records in the
 * order of their time, once no collector can send an earlier one. For one thread. */
#ifndef SPEX_EXPLORE_TRIAL_RECEIVER_H
#define SPEX_EXPLORE_TRIAL_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>

#include <spex/record.h>

#include "base/descriptor.h"
#include "kernels/kernel_paths.h"
#include "probe/contexts.h"
#include "text/error.h"
#include "wire/stream_format.h"

struct spex_receiver;

/* Listens at `path`, and over a pair of sockets for a program that cannot reach it. 0 or a negative
 * errno value. */
int spex_receiver_open(const char *path, struct spex_receiver **out, struct spex_error *error);

/* Makes a receiver of a socket to which the program is connected already. The receiver owns the
 * socket, unless this fails. 0 or -ENOMEM. */
int spex_receiver_of(int socket, struct spex_receiver **out, struct spex_error *error);
void spex_receiver_close(struct spex_receiver *receiver);

/* What the program inherits, with its text as SPEX_OUT_SOCKET. */
const struct spex_descriptor *spex_receiver_handover(const struct spex_receiver *receiver);

/* Descriptors to poll for input: the listening socket, the end of the pair, and the program's; -1
 * for a closed one. */
#define SPEX_RECEIVER_FDS 3
void spex_receiver_fds(const struct spex_receiver *receiver, int fds[SPEX_RECEIVER_FDS]);

/* Receives what has arrived, without waiting. 0; 1 when there may be more; -EPROTO when the stream
 * breaks the format; -ENOMEM. */
int spex_receiver_take(struct spex_receiver *receiver, struct spex_error *error);

/* The records that are in order, oldest first; each is returned once. Valid until the next call.
 * With `all`, also records that earlier ones could still follow. */
const struct spex_record *spex_receiver_records(struct spex_receiver *receiver, bool all,
                                                size_t *count);

bool spex_receiver_connected(const struct spex_receiver *receiver); /* has connected once */
bool spex_receiver_ended(const struct spex_receiver *receiver); /* with or without an END frame */

/* Returns whether a frame was received over a second after it was sent: this process was held up (a
 * stop signal, an overloaded machine), and the program may have given up the connection
 * meanwhile. */
bool spex_receiver_late(const struct spex_receiver *receiver);

/* The probes told so far, by id, as "query:tpt, 7:lat"; "none". */
void spex_receiver_list_probes(const struct spex_receiver *receiver, char *list, size_t size);

/* The sites told so far; valid until the next spex_receiver_take. */
const struct spex_stream_site *spex_receiver_sites(const struct spex_receiver *receiver,
                                                   size_t *count);

/* The context of a number in a record. False when the program has not told it. A context's parent
 * has a lower number. */
bool spex_receiver_context(const struct spex_receiver *receiver, uint64_t number,
                           struct spex_context_node *node);

/* The program's kernels, for functions of kernels/kernel_paths.h. */
struct spex_kernels_known spex_receiver_kernels(const struct spex_receiver *receiver);

/* Records that the program has lost up to its last frame. */
uint64_t spex_receiver_lost(const struct spex_receiver *receiver);

#endif
