/* SPDX-License-Identifier: MIT */
/* The kernels of this process, for who asks by number. */
#ifndef SPEX_KERNELS_HERE_H
#define SPEX_KERNELS_HERE_H

#include "kernel_paths.h"

extern const struct spex_kernels_known spex_kernels_here;

#endif
