/* SPDX-License-Identifier: MIT */
/* The recording half of the probes; the rest of its interface is <spex/probe.h>. Programs reach
 * that by weak references, which take nothing out of an archive: this one does. */
#ifndef SPEX_PROBE_PROBES_H
#define SPEX_PROBE_PROBES_H

#include <stdbool.h>
#include <stddef.h>

#include "ring/rings.h"

/* Maps what probes write to: rings as spex_rings_init, and the threads' states. `calibrate`: the
 * cost of each type is measured before its sites go on. 0, -ENOMEM, or as spex_rings_init. */
int spex_probes_prepare(size_t ring_records, unsigned ring_cpus, enum spex_commit commit,
                        bool calibrate);

#endif
