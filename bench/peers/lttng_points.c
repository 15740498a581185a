/* SPDX-License-Identifier: MIT */
/* What LTTng-UST needs once in each program that has its events. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "record_lttng.h"
