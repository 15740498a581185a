/* SPDX-License-Identifier: MIT */
/* Gives back what names_begin.h has taken away.
 *
 * Written by test/headers/names.py. Indirect header. */
#if defined(SPEX_NAMES_) && SPEX_NAMES_ == 1
#include <spex/detail/names_pop.h>
#endif
#pragma pop_macro("SPEX_NAMES_")
