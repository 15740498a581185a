/* SPDX-License-Identifier: MIT */
/* The macros of the program whose names stand in the headers of spex, from here to names_end.h: none.
 * A header that is included by another one finds them gone already: the compiler reads the list once.
 *
 * Written by test/headers/names.py. Indirect header. */
#pragma push_macro("SPEX_NAMES_")
#ifdef SPEX_NAMES_
#undef SPEX_NAMES_
#define SPEX_NAMES_ 2
#else
#define SPEX_NAMES_ 1
#include <spex/detail/names_push.h>
#endif
