/* SPDX-License-Identifier: MIT */
/* The numbers of this machine's CPUs. */
#ifndef SPEX_BASE_CPUS_H
#define SPEX_BASE_CPUS_H

/* Returns 1 + the highest number that a CPU can have until the next boot, including CPUs that can
 * be added while the system runs. */
unsigned spex_cpus_possible(void);

#endif
