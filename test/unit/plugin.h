/* SPDX-License-Identifier: MIT */
/* What the shared library with probes has to offer: executes each of its probes so many times. */
#ifndef SPEX_TEST_PLUGIN_H
#define SPEX_TEST_PLUGIN_H

unsigned plugin_work(unsigned times);

#endif
