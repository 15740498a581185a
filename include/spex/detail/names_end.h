/* SPDX-License-Identifier: MIT */
/* Gives back what names_begin.h has taken away.
 *
 * Written by test/headers/names.py. Indirect header. */
#ifdef SPEX_NAMES_
#if SPEX_NAMES_ == 1
#include <spex/detail/names_pop.h>
#endif
#pragma pop_macro("SPEX_NAMES_")
#endif
