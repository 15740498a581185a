/* SPDX-License-Identifier: MIT */
/* The build ID of a program: a note in the ELF file, by which its builds differ. */
#ifndef SPEX_EXPLORE_STORE_BUILD_ID_H
#define SPEX_EXPLORE_STORE_BUILD_ID_H

/* Sets *id to the ID in hexadecimal digits, to be freed; NULL when the file has none or is not ELF.
 * 0 or -ENOMEM. */
int spex_build_id(int fd, char **id);

#endif
