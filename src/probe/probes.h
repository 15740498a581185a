/* SPDX-License-Identifier: MIT */
/* Prepares the memory that probes write to. The other functions of probes.c are declared in
 * <spex/probe.h>, to which programs refer weakly; the call of spex_probes_prepare is what links
 * probes.c out of a static library. */
#ifndef SPEX_PROBE_PROBES_H
#define SPEX_PROBE_PROBES_H

#include <stdbool.h>
#include <stddef.h>

#include "ring/rings.h"

/* Maps the rings, with parameters as of spex_rings_init, and the threads' states. With `calibrate`
 * the cost of each type is measured before its first site goes on. Returns 0, -ENOMEM, or as
 * spex_rings_init. */
int spex_probes_prepare(size_t ring_records, unsigned ring_cpus, enum spex_commit commit,
                        bool calibrate);

#endif
