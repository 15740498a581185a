/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "observe/passed_signals.h"

#include <errno.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Faults are our own. */
static const int not_passed[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

int spex_passed_signals_open(struct spex_passed_signals *signals) {
    sigset_t mask;
    *signals = (struct spex_passed_signals){.fd = -1};
    sigfillset(&mask);
    for (size_t i = 0; i < sizeof(not_passed) / sizeof(not_passed[0]); i++)
        sigdelset(&mask, not_passed[i]);
    sigprocmask(SIG_BLOCK, &mask, &signals->before);
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, nobody hears how the program has ended */
    signals->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? -errno : 0;
}

static bool is_stop(int number) {
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* Whether a process has sent it that does not mean us: not the terminal; not ourselves, who write to pipes
 * that nobody reads; not the program, which sends signals to its own group. */
static bool is_for_program(const struct signalfd_siginfo *info,
                           const struct spex_launched *program) {
    return info->ssi_code <= 0 && info->ssi_pid != (uint32_t)getpid() &&
           info->ssi_pid != (uint32_t)program->process;
}

static void pass(struct spex_passed_signals *signals, const struct signalfd_siginfo *info,
                 const struct spex_launched *program) {
    int number = (int)info->ssi_signo;
    if (number == SIGCHLD)
        return;
    if (number == SIGCONT)
        signals->stop_asked = false;
    if (is_stop(number))
        signals->stop_asked = true;
    /* Whoever continues a job continues all of it; the program need not hear of it twice. */
    if (is_for_program(info, program) && (number != SIGCONT || spex_launched_stopped(program)))
        pidfd_send_signal(program->pidfd, number, NULL, 0);
}

void spex_passed_signals_pass(struct spex_passed_signals *signals,
                              const struct spex_launched *program) {
    struct signalfd_siginfo info;
    while (read(signals->fd, &info, sizeof(info)) == sizeof(info))
        pass(signals, &info, program);
    if (!signals->stop_asked || !spex_launched_stopped(program))
        return;
    signals->stop_asked = false;
    kill(getpid(), SIGSTOP);
}
