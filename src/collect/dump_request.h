/* SPDX-License-Identifier: MIT */
/* A request of this process to its flight recorder, from spex_dump to the sinks. One at a time. */
#ifndef SPEX_COLLECT_DUMP_REQUEST_H
#define SPEX_COLLECT_DUMP_REQUEST_H

#include "wire/stream_format.h"

/* A sink that takes requests has come, or gone. Any thread. */
void spex_dump_takers_add(int change);

/* A chore of the first collector (collector.h): hands a request that waits to the sinks. */
void spex_dump_request_pass(void);

/* In the child of a fork: forgets a request of the parent. */
void spex_dump_request_forget(void);

#endif
