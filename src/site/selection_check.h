/* SPDX-License-Identifier: MIT */
/* Checks a selection against the sites that are loaded, for messages about items without an effect.
 * Any thread, not signal handlers. */
#ifndef SPEX_SITE_SELECTION_CHECK_H
#define SPEX_SITE_SELECTION_CHECK_H

#include <stddef.h>

#include "site/selection.h"

/* Bytes for the text of each function. */
enum { SPEX_SELECTION_CHECK_BYTES = 480 };

/* If items match no site, writes one printable line to `text`, cut to `size` bytes:
 *
 *     no probe matches "qurey" (yet); there are: query:lat, query:tpt, 7:cnt, … and 12 more
 *
 * "(yet)", because a library with such probes may be loaded later. Returns the number of these
 * items, or -ENOMEM. */
int spex_selection_unmatched(const struct spex_selection *selection, char *text, size_t size);

/* If items match no registered site, but one that was refused, writes one printable line to `text`,
 * cut to `size` bytes:
 *
 *     p4999 stays off: no more than 4096 sites can be managed
 *
 * These are not among those that match none. Returns the number of these items, or -ENOMEM. */
int spex_selection_refused(const struct spex_selection *selection, char *text, size_t size);

/* If items want SNAPSHOT or SPAN probes polled, which no thread is ever within, writes one
 * printable line to `text`, cut to `size` bytes:
 *
 *     snapshots and spans cannot be polled, so they stay off: state, 7 and 2 more
 *
 * Returns the number of these probes, or -ENOMEM. */
int spex_selection_unpolled(const struct spex_selection *selection, char *text, size_t size);

#endif
