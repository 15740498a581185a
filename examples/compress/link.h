/* SPDX-License-Identifier: MIT */
/* The link that compressed blocks leave by: it takes so many bytes a second, of all threads. */
#ifndef COMPRESS_LINK_H
#define COMPRESS_LINK_H

#include <stddef.h>
#include <stdint.h>

/* 0: as many as there are. */
void link_set_speed(int64_t megabytes_per_second);

/* Returns when all that was sent before has left. */
void link_send(size_t bytes);

#endif
