/* SPDX-License-Identifier: MIT */
/* Kernels are points as the others. */
#include "probe.h"
