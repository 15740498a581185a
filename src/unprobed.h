/* SPDX-License-Identifier: MIT */
/* Items of a selection that want SNAPSHOT probes to be probed, which take no time: what is said about them. */
#ifndef SPEX_UNPROBED_H
#define SPEX_UNPROBED_H

#include <stddef.h>

#include "selection.h"

/* Puts one printable line into `text`, cut where `size` ends, if items have no other meaning for sites that are loaded:
 *
 *     snapshots take no time and cannot be probed, so they stay off: state, 7 and 2 more
 *
 * The number of such probes; -ENOMEM. */
int spex_unprobed(const struct spex_selection *selection, char *text, size_t size);

#endif
