/* SPDX-License-Identifier: MIT */
/* What is said about a selection that does not do what its items say, by the sites that are
 * loaded. */
#ifndef SPEX_SITE_SELECTION_CHECK_H
#define SPEX_SITE_SELECTION_CHECK_H

#include <stddef.h>

#include "site/selection.h"

enum { SPEX_SELECTION_CHECK_BYTES = 480 };

/* Puts one printable line into `text`, cut where `size` ends, if items match no site:
 *
 *     no probe matches "qurey" (yet); there are: query:lat, query:tpt, 7:cnt, … and 12 more
 *
 * A library that is loaded later may bring what they mean. The number of such items; -ENOMEM. */
int spex_selection_unmatched(const struct spex_selection *selection, char *text, size_t size);

/* Puts one printable line into `text`, cut where `size` ends, if items want SNAPSHOT probes to be
 * probed, which take no time:
 *
 *     snapshots take no time and cannot be polled, so they stay off: state, 7 and 2 more
 *
 * The number of such probes; -ENOMEM. */
int spex_selection_unpolled(const struct spex_selection *selection, char *text, size_t size);

#endif
