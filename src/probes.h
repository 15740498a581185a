/* SPDX-License-Identifier: MIT */
/* The recording half of the probes; the rest of its interface is <spex/probe.h>. Programs reach that by
 * weak references, which take nothing out of an archive: this one does. */
#ifndef SPEX_PROBES_H
#define SPEX_PROBES_H

#include "environment.h"

/* Maps what probes write to. 0, -ENOMEM, or as spex_rings_init. */
int spex_probes_prepare(const struct spex_settings *settings);

#endif
