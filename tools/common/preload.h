/* SPDX-License-Identifier: MIT */
/* libspex-preload.so, which brings spex to programs that have none. */
#ifndef SPEX_TOOLS_COMMON_PRELOAD_H
#define SPEX_TOOLS_COMMON_PRELOAD_H

/* The value of LD_PRELOAD with which a program gets it, behind what the environment has there, in
 * *value: free it. Says so where nothing can be preloaded into `program`. An exit status. */
int spex_preload_value(const char *command, const char *program, char **value);

#endif
