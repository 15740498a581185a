/* SPDX-License-Identifier: MIT */
/* The kernels of this process, as kernel_paths.h asks for them. */
#ifndef SPEX_KERNELS_KERNELS_HERE_H
#define SPEX_KERNELS_KERNELS_HERE_H

#include "kernels/kernel_paths.h"

extern const struct spex_kernels_known spex_kernels_here;

/* The first site of the kernel with this number; spex_sites_count(): the kernel has none. */
uint32_t spex_kernels_here_site(uint16_t kernel);

#endif
