/* SPDX-License-Identifier: MIT */
/* The version of spex whose headers these are. */
#ifndef SPEX_VERSION_H
#define SPEX_VERSION_H

#define SPEX_VERSION "0.1.0"

#endif
