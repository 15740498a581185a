/* SPDX-License-Identifier: MIT */
#ifndef ALLOCATE_FOOTPRINT_H
#define ALLOCATE_FOOTPRINT_H

/* A thread's work, as for crew_add(): looks 1,000 times a second how much memory the process
 * has. */
void *footprint_watch(void *unused);

#endif
