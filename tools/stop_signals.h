/* SPDX-License-Identifier: MIT */
#ifndef SPEX_STOP_SIGNALS_H
#define SPEX_STOP_SIGNALS_H

/* Signals that ask us to end become input on the descriptor that this opens; what would end us because a file or a reader
 * is full or gone becomes an error of writing. -1 as signalfd. */
int spex_stop_signals_open(void);

#endif
