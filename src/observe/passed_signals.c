/* SPDX-License-Identifier: MIT */
/* Receives the signals of this process by a signalfd, so that the loop that polls the program
 * handles them too, and sends them on by the pidfd of the program, which cannot be the pidfd of
 * another process. */
#define _GNU_SOURCE
#include "observe/passed_signals.h"

#include <errno.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Faults of this process, which the program must not get. */
static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

/* Blocks all signals but faults before the program starts, so that none is lost until the first
 * poll. */
int spex_passed_signals_open(struct spex_passed_signals *signals) {
    *signals = (struct spex_passed_signals){.fd = -1};
    sigset_t *mask = &signals->received;
    sigfillset(mask);
    for (size_t i = 0; i < sizeof(fault_signals) / sizeof(fault_signals[0]); i++)
        sigdelset(mask, fault_signals[i]);
    sigprocmask(SIG_BLOCK, mask, &signals->before);
    spex_launch_take_children();
    signals->fd = signalfd(-1, mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? -errno : 0;
}

void spex_passed_signals_keep(struct spex_passed_signals *signals, int number) {
    sigdelset(&signals->received, number);
    signalfd(signals->fd, &signals->received, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The signals by which a terminal stops a job. SIGSTOP cannot be received. */
static bool is_stop(int number) {
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* Whether a process has sent the signal to this process alone. Signals of the terminal
 * (ssi_code > 0) reach the whole group. SIGPIPE of our own writes, and signals that the program
 * sends to its group, are not passed. */
static bool is_for_program(const struct signalfd_siginfo *info,
                           const struct spex_launched *program) {
    return info->ssi_code <= 0 && info->ssi_pid != (uint32_t)getpid() &&
           info->ssi_pid != (uint32_t)program->process;
}

/* SIGCHLD only wakes the poll. A stop is not passed here unless a process has sent it; this
 * process stops once the program has stopped. */
static void signal_pass(struct spex_passed_signals *signals, const struct signalfd_siginfo *info,
                        const struct spex_launched *program) {
    int number = (int)info->ssi_signo;
    if (number == SIGCHLD)
        return;
    if (number == SIGCONT)
        signals->stop_asked = false;
    if (is_stop(number))
        signals->stop_asked = true;
    /* A shell sends SIGCONT to the whole job, so that the program has it already unless it is still
     * stopped. */
    if (is_for_program(info, program) && (number != SIGCONT || spex_launched_stopped(program)))
        pidfd_send_signal(program->pidfd, number, NULL, 0);
}

/* SIGSTOP stops this process as the shell expects of a job whose program has stopped. */
void spex_passed_signals_pass(struct spex_passed_signals *signals,
                              const struct spex_launched *program) {
    struct signalfd_siginfo info;
    while (read(signals->fd, &info, sizeof(info)) == sizeof(info))
        signal_pass(signals, &info, program);
    if (!signals->stop_asked || !spex_launched_stopped(program))
        return;
    signals->stop_asked = false;
    kill(getpid(), SIGSTOP);
}
