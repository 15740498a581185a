/* SPDX-License-Identifier: MIT */
/* What spex's start and stop let its own threads do. */
#ifndef SPEX_LIFE_H
#define SPEX_LIFE_H

#include <stddef.h>
#include <stdint.h>

#include "descriptor.h"

/* As spex_set, for a user of the control socket: what is to be said goes into `answer`. -EBUSY, at once, while another
 * thread starts, sets or stops; it may wait for this one. */
int spex_life_select(const char *probes, char *answer, size_t size);

/* Streams records of these types (a mask) to the other end of `socket`, which is spex's then. 0; -EBUSY as above; -EUSERS
 * when there are as many streams as may be, -EPERM before spex_start, -ENOMEM: as `answer` says. */
int spex_life_stream(struct spex_descriptor socket, uint32_t types, char *answer, size_t size);

/* Has kernels that are probed sampled by the models at this path, so many times an execution, for so much of the
 * program's time (0: what its budget is); NULL: by what it was started with. 0; -EBUSY as above; or why not, as `answer`
 * says. */
int spex_life_models(const char *path, double samples, double share, char *answer, size_t size);

/* Switches on what the process itself needs, whatever is selected: sites of which the selection says nothing go by
 * `probes`. 0; -EPERM where spex has not been started or has stopped; or as spex_start, with the reason. */
int spex_life_need(const char *probes, char *why, size_t why_size);

#endif
