/* SPDX-License-Identifier: MIT */
/* The client of control sockets, for commands: finds the socket of a process, sends requests,
 * and receives the answers. Functions that take a `struct spex_error` set it whenever they
 * fail, unless stated otherwise. */
#ifndef SPEX_OBSERVE_CONTROL_CLIENT_H
#define SPEX_OBSERVE_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "observe/profile_reader.h"

/* Connects to the control socket of a process, which may be in another PID or mount namespace,
 * within `timeout_ms`; with 0 at once, and the socket is a non-blocking one. A program that is dormant
 * (wire/dormant.h) has a stand-in until something is asked of it that changes what is on. The
 * socket, or -ESRCH:
 * no such process; -ENOENT: it has no socket; -EACCES: it belongs to another user; -ETIMEDOUT: it
 * does not accept the connection; or another negative errno value. */
int spex_client_connect(pid_t process, int timeout_ms, struct spex_error *error);

/* Closes what spex_client_connect has returned; does nothing where that is an error. */
void spex_client_close(int fd);

/* The directory, as an O_PATH descriptor, in which a process of the user has its socket, or an
 * error of spex_client_connect. */
int spex_client_directory(pid_t process, int timeout_ms, struct spex_error *error);

/* How long a program that is dormant is waited for, where it can be left to do what it was asked. */
#define SPEX_CLIENT_IDLE_MS 1000

/* Whether the process is dormant: it has been called, or not, and has executed no probe since. */
bool spex_client_is_dormant(pid_t process);

/* The usual time limits, for connecting and for one answer. */
#define SPEX_CLIENT_CONNECT_MS 1000
#define SPEX_CLIENT_ANSWER_MS  10000

/* From here on the functions that wait return -ECANCELED when `fd`, a descriptor of signals, is
 * readable. -1: none. */
void spex_client_stop_at(int fd);

/* Takes the signals that have come, so that only later ones end a wait. */
void spex_client_stop_later(void);

/* Attempts to connect. A program whose listening socket is lost opens a new one when a client
 * connects; that connection is reset, and must be made again. */
enum { SPEX_CLIENT_CALLS = 3 };

/* Waits for the socket to be readable. 0, -ETIMEDOUT, -ECANCELED, or the error of poll. */
int spex_client_wait(int socket, struct spex_deadline until);

struct spex_client_request {
    enum spex_control_kind kind;
    /* Of the answer, or the holder of a lease. */
    uint32_t number;
    uint32_t interval_ms;
    /* The selection or argument; NULL: none. */
    const char *text;
    /* Text of the request; NULL: none. */
    const int *descriptor;
};

/* Sends a request. 0 or a negative errno value. */
int spex_client_send_request(int socket, const struct spex_client_request *asked,
                             struct spex_error *error);

/* Sends a request. `text`: the selection or argument of the request, or NULL. 0 or a negative
 * errno value. */
int spex_client_send(int socket, enum spex_control_kind kind, uint32_t interval_ms,
                     const char *text, struct spex_error *error);

/* The same with a number, which names the holder of a lease. */
int spex_client_send_as(int socket, uint32_t number, enum spex_control_kind kind,
                        uint32_t interval_ms, const char *text, struct spex_error *error);

/* Receives frames until an answer is complete, within `timeout_ms`. 0: takes what has come, up to a
 * number of frames. 1: the answer is complete. -ETIMEDOUT: it is not; call again to go on.
 * -ECONNRESET: the program has closed the connection. -ECANCELED: spex_client_stop_at; or an error
 * of spex_profile_reader_take. */
int spex_client_receive(int socket, struct spex_profile_reader *reader, int timeout_ms,
                        struct spex_error *error);

/* Connects, sends a request, receives the answer and closes. 0, or a negative errno value,
 * which may be the status of the answer; -EINPROGRESS: the program is dormant, and does what was
 * asked once it executes a probe. */
int spex_client_ask(pid_t process, enum spex_control_kind kind, const char *text,
                    struct spex_profile_reader *reader, struct spex_error *error);

/* The same until a deadline, for callers of several processes. */
int spex_client_ask_until(pid_t process, enum spex_control_kind kind, const char *text,
                          struct spex_profile_reader *reader, struct spex_deadline until,
                          struct spex_error *error);

/* What is to be selected in a process. */
struct spex_client_selection {
    /* In the syntax of selections; with "+" in front it is added. */
    const char *probes;
    /* For so long, by the clock of the program, after which it selects what it did before; the same
     * again in time renews it. 0: until another selection. */
    uint32_t lease_ms;
    /* Number of the client that renews and ends the lease; 0: none does. */
    uint32_t holder;
    /* Children of forks go on with their parent's probes from here on. */
    bool follow;
    /* In front of `probes` stands a budget, as in SPEX_CONTROL_LEASE_BUDGET. */
    bool budgeted;
};

/* Selects probes. `reader` has the answer: its status is how many sites are on. 0, or a negative
 * errno value as of spex_client_ask. */
int spex_client_select(pid_t process, const struct spex_client_selection *selection,
                       struct spex_profile_reader *reader, struct spex_deadline until,
                       struct spex_error *error);

/* Has what the holder has leased hold for `lease_ms` from now on; 0: ends it. 0, or a negative
 * errno value; -ENOENT: it has leased nothing, or no more. */
int spex_client_renew(pid_t process, uint32_t holder, uint32_t lease_ms, struct spex_deadline until,
                      struct spex_error *error);

/* Has a process ask its flight recorder for a dump (spex_dump). 0, or a negative errno value;
 * -ENOENT: nobody records it. */
int spex_client_ask_dump(pid_t process, const char *why, struct spex_error *error);

/* A stream of records that is asked for. */
struct spex_client_stream {
    /* Of these types of probes, as "kernel,llc"; "": of all. */
    const char *types;
    /* And requests for dumps. */
    bool dumps;
    /* The end of a pair (wire/handover.h) by which children of forks stream, too; NULL: they do
     * not. */
    const int *children;
};

/* Connects and asks for a stream. The socket, on which the frames of the stream come, or a negative
 * errno value. */
int spex_client_stream(pid_t process, const struct spex_client_stream *what,
                       struct spex_error *error);

/* Asks for a stream over a connected socket. 0, or a negative errno value. */
int spex_client_stream_over(int socket, const struct spex_client_stream *what,
                            struct spex_error *error);

/* Whether the process has a control socket that this user may connect to: 1, 0, or -EMFILE, -ENFILE
 * or -ENOMEM. Connecting does not disturb the program, and does not wait for it. */
int spex_client_has_socket(pid_t process);

#endif
