/* SPDX-License-Identifier: MIT */
/* The kernels of this process, for who asks by number. */
#ifndef SPEX_KERNELS_KERNELS_HERE_H
#define SPEX_KERNELS_KERNELS_HERE_H

#include "kernels/kernel_paths.h"

extern const struct spex_kernels_known spex_kernels_here;

/* The first site of the kernel with this id; as many as there are sites: it has none. */
uint32_t spex_kernels_here_site(uint16_t kernel);

#endif
