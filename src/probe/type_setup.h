/* SPDX-License-Identifier: MIT */
/* Prepares a probe type before the first of its sites goes on. */
#ifndef SPEX_PROBE_TYPE_SETUP_H
#define SPEX_PROBE_TYPE_SETUP_H

#include <stdbool.h>

/* From now on the registry has each type prepared: memory for its records, the counter that it
 * reads, and, with `calibrate`, what it costs. That takes up to some milliseconds. */
void spex_type_setup_begin(bool calibrate);

#endif
