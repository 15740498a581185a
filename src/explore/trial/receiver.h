/* SPDX-License-Identifier: MIT */
/* The command's end of a program's stream (../stream_format.h): checks every frame and hands
 * records out in the order of their time, once no collector can bring an earlier one. */
#ifndef SPEX_EXPLORE_TRIAL_RECEIVER_H
#define SPEX_EXPLORE_TRIAL_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>

#include <spex/record.h>

#include "kernels/kernel_paths.h"
#include "probe/contexts.h"
#include "text/error.h"
#include "wire/stream_format.h"

struct spex_receiver;

/* Listens at `path`. 0, or as making the socket failed. */
int spex_receiver_open(const char *path, struct spex_receiver **out, struct spex_error *error);

/* Of a program that is connected already; takes over its socket when it succeeds. */
int spex_receiver_of(int socket, struct spex_receiver **out, struct spex_error *error);
void spex_receiver_close(struct spex_receiver *receiver);

/* What to poll for input: the listening socket and the program's, -1 for one that is closed. */
#define SPEX_RECEIVER_FDS 2
void spex_receiver_fds(const struct spex_receiver *receiver, int fds[SPEX_RECEIVER_FDS]);

/* Takes what has come, without waiting. 0; 1 when there may be more; -EPROTO for a stream that
 * breaks the format; -ENOMEM. */
int spex_receiver_take(struct spex_receiver *receiver, struct spex_error *error);

/* The records that are complete, oldest first, valid until the next call; none are handed out
 * twice. With `all`, also those that earlier ones could still follow. */
const struct spex_record *spex_receiver_records(struct spex_receiver *receiver, bool all,
                                                size_t *count);

bool spex_receiver_connected(const struct spex_receiver *receiver); /* ever */
bool spex_receiver_ended(const struct spex_receiver *receiver);     /* orderly or not */

/* Whether a frame was taken over a second after it had been sent: something has held us up (a stop
 * signal, a machine that is far too busy), and the program may have given us up meanwhile. */
bool spex_receiver_late(const struct spex_receiver *receiver);

/* "query:tpt, 7:lat", by id: the probes told so far; "none". */
void spex_receiver_list_probes(const struct spex_receiver *receiver, char *list, size_t size);

/* Sites told so far. */
const struct spex_stream_site *spex_receiver_sites(const struct spex_receiver *receiver,
                                                   size_t *count);

/* Of a number that a record holds. False: the program has told of none such. A node's parent has a
 * lower number. */
bool spex_receiver_context(const struct spex_receiver *receiver, uint64_t number,
                           struct spex_context_node *node);

/* Its kernels, as it has told of them. */
struct spex_kernels_known spex_receiver_kernels(const struct spex_receiver *receiver);

/* Records the program has lost so far, as of its last frame. */
uint64_t spex_receiver_lost(const struct spex_receiver *receiver);

#endif
