/* SPDX-License-Identifier: MIT */
/* CPUs of this machine. */
#ifndef SPEX_BASE_CPUS_H
#define SPEX_BASE_CPUS_H

/* One more than the highest number that a CPU can have until the next boot, those not there yet
 * included. */
unsigned spex_cpus_possible(void);

#endif
