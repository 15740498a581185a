/* SPDX-License-Identifier: MIT */
/* Items of a selection that match no probe, a slip of the pen mostly: what is said about them. */
#ifndef SPEX_UNMATCHED_H
#define SPEX_UNMATCHED_H

#include <stddef.h>

#include "selection.h"

enum { SPEX_UNMATCHED_BYTES = 480 };

/* Puts one printable line into `text`, cut where `size` ends, if items match no site that is loaded:
 *
 *     no probe matches "qurey" (yet); there are: query:lat, query:tpt, 7:cnt, … and 12 more
 *
 * A library loaded later may bring what they mean. The number of such items; -ENOMEM. */
int spex_unmatched(const struct spex_selection *selection, char *text, size_t size);

#endif
