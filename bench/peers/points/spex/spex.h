/* SPDX-License-Identifier: MIT */
/* There is nothing to start. */
#define spex_start(options) ((void)0)
#define spex_stop()         ((void)0)
