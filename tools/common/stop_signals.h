/* SPDX-License-Identifier: MIT */
/* The signals that end a command early, as a descriptor to poll. */
#ifndef SPEX_TOOLS_COMMON_STOP_SIGNALS_H
#define SPEX_TOOLS_COMMON_STOP_SIGNALS_H

/* Opens a descriptor that is readable after SIGINT, SIGTERM or SIGHUP, which no longer end the
 * process but end its waits for programs (spex_client_stop_at). Ignores SIGXFSZ and SIGPIPE, so
 * that a full file or a reader that has gone makes writing fail instead. -1 with errno set, as
 * signalfd. */
int spex_stop_signals_open(void);

#endif
