/* SPDX-License-Identifier: MIT */
/* A thread of the library's own in somebody else's program. */
#ifndef SPEX_SERVICE_THREAD_H
#define SPEX_SERVICE_THREAD_H

#include <pthread.h>

/* Starts one that is called `name`, runs at ordinary priority, also where a real-time one starts it, and takes no
 * signals, which are for the program's threads. 0 or a negative errno value. */
int spex_service_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

#endif
