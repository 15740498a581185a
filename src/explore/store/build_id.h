/* SPDX-License-Identifier: MIT */
/* What tells one build of a program from another: the note that linkers put in. */
#ifndef SPEX_EXPLORE_STORE_BUILD_ID_H
#define SPEX_EXPLORE_STORE_BUILD_ID_H

/* The ID in hexadecimal digits, to be freed; NULL when the file has none or is no ELF object. */
char *spex_build_id(int fd);

#endif
