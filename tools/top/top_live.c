/* SPDX-License-Identifier: MIT */
/* The loop of `spex top` on a terminal. The mode says what keys mean: in the list they are
 * commands, elsewhere they are typed text. Each turn draws the screen, waits, and then takes
 * signals, answers, reports and keys. */
#define _GNU_SOURCE
#include "tools/top/top_live.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "text/waits.h"
#include "tools/common/complain.h"
#include "tools/top/top_screen.h"
#include "tools/top/top_switch.h"
#include "tools/top/top_view.h"

const char *const spex_top_live_lacks = NULL;

/* FILTER and DELAY: the user types the text of the filter, or the seconds of the delay. */
enum mode { LIST, HELP, FILTER, DELAY };

struct live {
    struct spex_top_feed *feed;
    struct spex_top_switch by;
    struct spex_top_view view;
    enum mode mode;
    bool paused;
    bool alarming;
    /* The loop ends after this turn; `status` is the exit status. */
    bool over;
    int status;
    int signals;
    unsigned long reports;
    char typed[SPEX_TOP_FILTER_BYTES];
    char message[SPEX_CONTROL_ANSWER_BYTES];
};

/* Ends the loop after this turn. */
static void live_end(struct live *live, int status) {
    live->over = true;
    live->status = status;
}

/* Shows a message until the next one. `alarming`: in the colour of alarms. */
static void live_say(struct live *live, const char *text, bool alarming) {
    snprintf(live->message, sizeof(live->message), "%s", text);
    live->alarming = alarming;
}

/* Gives the screen what is not in the view: mode, message and prompt. */
static void live_draw(const struct live *live) {
    struct spex_top_picture picture = {
        .help = live->mode == HELP,
        .paused = live->paused,
        .alarming = live->alarming,
        .delay = live->feed->interval_ms / 1000.0,
        .message = live->message,
        .prompt = live->mode == FILTER  ? "filter (Esc shows all): "
                  : live->mode == DELAY ? "delay in seconds: "
                                        : NULL,
        .typed = live->typed,
    };
    spex_top_screen_draw(&live->view, &picture);
}

/* Sends the selection that a key has made of a row; with `err`, shows `selection`, which is the
 * reason why there is none. */
static void live_switch_probe(struct live *live, int err, const char *selection) {
    struct spex_error error;
    if (err)
        live_say(live, selection, true);
    else if (live->feed->state == SPEX_TOP_ENDED)
        live_say(live, "the program has ended", true);
    else if (live->feed->source)
        live_say(live, "functions are chosen with -e, and switched by the budget", true);
    else if (spex_top_switch_send(&live->by, selection, &error) != 0)
        live_say(live, error.text, true);
    else
        live_say(live, selection, false);
}

/* Switches the row under the cursor on or off. */
static void live_toggle_probe(struct live *live) {
    char selection[128];
    struct spex_top_row *row = spex_top_view_current(&live->view);
    if (row)
        live_switch_probe(live, spex_top_row_toggle(row, selection, sizeof(selection)), selection);
}

/* Doubles or halves the period of the row under the cursor. */
static void live_change_period(struct live *live, bool longer) {
    char selection[128];
    struct spex_top_row *row = spex_top_view_current(&live->view);
    if (row)
        live_switch_probe(live, spex_top_row_period(row, longer, selection, sizeof(selection)),
                          selection);
}

/* A filter is changed, a delay is typed anew. */
static void live_begin_typing(struct live *live, enum mode mode) {
    live->mode = mode;
    live->typed[0] = '\0';
    if (mode == FILTER)
        memcpy(live->typed, live->view.filter, sizeof(live->typed));
}

/* A letter while the list is shown. */
static void live_list_letter(struct live *live, char letter) {
    struct spex_top_view *view = &live->view;
    switch (letter) {
    case ' ':
        live_toggle_probe(live);
        break;
    case '+':
    case '-':
        live_change_period(live, letter == '+');
        break;
    case 's':
    case '>':
    case '<':
        spex_top_view_sort(view, letter == '<' ? -1 : 1);
        break;
    case 'r':
        view->reversed = !view->reversed;
        spex_top_view_arrange(view);
        break;
    case 't':
        view->span = view->span == SPEX_TOP_START ? SPEX_TOP_INTERVAL : SPEX_TOP_START;
        spex_top_view_arrange(view);
        break;
    case 'p':
        live->paused = !live->paused;
        break;
    case '/':
        live_begin_typing(live, FILTER);
        break;
    case 'd':
        live_begin_typing(live, DELAY);
        break;
    case 'h':
    case '?':
        live->mode = HELP;
        break;
    case 'q':
        live_end(live, SPEX_EXIT_OK);
        break;
    default:
        break;
    }
}

/* Shows only the rows that contain the text. */
static void live_filter(struct live *live, const char *text) {
    snprintf(live->view.filter, sizeof(live->view.filter), "%s", text);
    spex_top_view_arrange(&live->view);
}

/* A key while the list is shown. */
static void live_list_key(struct live *live, enum spex_top_key key, const char *text) {
    struct spex_top_view *view = &live->view;
    switch (key) {
    case SPEX_TOP_KEY_TEXT:
        live_list_letter(live, text[1] ? '\0' : text[0]);
        break;
    case SPEX_TOP_KEY_UP:
    case SPEX_TOP_KEY_DOWN:
        spex_top_view_move(view, key == SPEX_TOP_KEY_UP ? -1 : 1);
        break;
    case SPEX_TOP_KEY_PAGE_UP:
    case SPEX_TOP_KEY_PAGE_DOWN:
        spex_top_view_move(view, (key == SPEX_TOP_KEY_PAGE_UP ? -1 : 1) * spex_top_screen_page());
        break;
    case SPEX_TOP_KEY_HOME:
    case SPEX_TOP_KEY_END:
        spex_top_view_move(view, (key == SPEX_TOP_KEY_HOME ? -1 : 1) * (long)view->row_count);
        break;
    case SPEX_TOP_KEY_LEFT:
    case SPEX_TOP_KEY_RIGHT:
        spex_top_view_sort(view, key == SPEX_TOP_KEY_LEFT ? -1 : 1);
        break;
    case SPEX_TOP_KEY_ESCAPE:
        live_filter(live, "");
        break;
    default:
        break;
    }
}

/* No text leaves the delay as it is. */
static void live_change_delay(struct live *live) {
    double seconds;
    if (spex_top_delay(live->typed, &seconds))
        spex_top_feed_subscribe(live->feed, (uint32_t)lround(seconds * 1000));
    else if (live->typed[0])
        live_say(live, "a delay of 0.05 to 3600 seconds was expected", true);
}

/* Removes the last character: its bytes 10xxxxxx in UTF-8, and the byte before them. */
static void typed_erase_letter(char *typed) {
    size_t length = strlen(typed);
    while (length && ((unsigned char)typed[--length] & 0xc0) == 0x80)
        continue;
    typed[length] = '\0';
}

/* A key while text is typed. The filter takes effect with every key. */
static void live_typing_key(struct live *live, enum spex_top_key key, const char *text) {
    enum mode mode = live->mode;
    size_t length = strlen(live->typed), more = strlen(text);
    if (key == SPEX_TOP_KEY_TEXT && length + more < sizeof(live->typed))
        memcpy(live->typed + length, text, more + 1);
    if (key == SPEX_TOP_KEY_ERASE)
        typed_erase_letter(live->typed);
    if (key == SPEX_TOP_KEY_ESCAPE)
        live->typed[0] = '\0';
    if (key == SPEX_TOP_KEY_ENTER || key == SPEX_TOP_KEY_ESCAPE)
        live->mode = LIST;
    if (mode == FILTER)
        live_filter(live, live->typed);
    else if (key == SPEX_TOP_KEY_ENTER)
        live_change_delay(live);
}

/* Any key leaves the help. */
static void live_take_keys(struct live *live) {
    char text[SPEX_TOP_LETTER_BYTES];
    enum spex_top_key key;
    while (!live->over && (key = spex_top_screen_key(text)) != SPEX_TOP_KEY_NONE) {
        if (live->mode == HELP)
            live->mode = LIST;
        else if (live->mode == LIST)
            live_list_key(live, key, text);
        else
            live_typing_key(live, key, text);
    }
}

/* Reports that are taken before keys and signals are. */
enum { REPORTS_MAX = 16 };

/* Reports that come while the display is paused are counted and not shown. */
static void live_take_reports(struct live *live, unsigned long count) {
    struct spex_top_feed *feed = live->feed;
    enum spex_top_state before = feed->state;
    unsigned found = feed->found;
    bool silent = feed->silent;
    for (int n = 0; n < REPORTS_MAX && spex_top_feed_take(feed); n++) {
        if (!live->paused &&
            spex_top_view_fill(&live->view, &feed->now,
                               feed->has_difference ? &feed->difference : NULL) != 0)
            live_say(live, "out of memory", true);
        if (count && feed->has_difference && ++live->reports == count)
            live_end(live, SPEX_EXIT_OK);
    }
    if (feed->silent && !silent)
        live_say(live, "the program does not answer", true);
    else if (silent && !feed->silent)
        live_say(live, "the program answers again", false);
    if (feed->found != found)
        live_say(live, "found again: the program has started spex anew", false);
    if (feed->state == before)
        return;
    if (feed->state == SPEX_TOP_ENDED)
        live_say(live, "the program has ended; q quits", true);
    else if (feed->state == SPEX_TOP_LEFT)
        live_say(live, feed->error.text, true);
    else if (feed->state == SPEX_TOP_SEARCHES)
        live_say(live, "the program has gone; looking for it again", true);
}

/* After a refusal a new report is requested, since the row was changed as if the program had
 * taken the selection. */
static void live_take_answers(struct live *live) {
    char line[sizeof(live->message)];
    int status;
    while ((status = spex_top_switch_take(&live->by, line, sizeof(line))) != -EAGAIN) {
        live_say(live, line, status < 0);
        if (status < 0)
            spex_top_feed_subscribe(live->feed, live->feed->interval_ms);
    }
}

/* A signal that ends the command sets the exit status that shells give to it. */
static void live_take_signals(struct live *live) {
    struct signalfd_siginfo signal;
    while (read(live->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
        if (signal.ssi_signo == SIGWINCH)
            spex_top_screen_resize();
        else
            live_end(live, 128 + (int)signal.ssi_signo);
    }
}

/* SIGWINCH reports a new size of the terminal. -1 with errno set, as signalfd. */
static int open_signals(void) {
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t s = 0; s < sizeof(taken) / sizeof(taken[0]); s++)
        sigaddset(&set, taken[s]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The order of the descriptors that are polled. */
enum { INPUT, SIGNALS, ANSWERS, FEED, POLLED = FEED + SPEX_TOP_FEED_FDS };

/* A terminal that has gone stays readable, and is noticed by POLLHUP. */
static void live_run(struct live *live, unsigned long count) {
    struct pollfd fds[POLLED];
    while (!live->over) {
        live_draw(live);
        fds[INPUT] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        fds[SIGNALS] = (struct pollfd){.fd = live->signals, .events = POLLIN};
        fds[ANSWERS] = (struct pollfd){.fd = live->by.socket, .events = POLLIN};
        int timeout = spex_top_feed_wait(live->feed, &fds[FEED]);
        if (spex_wait_ready(fds, POLLED, timeout) < 0)
            continue;
        live_take_signals(live);
        if (fds[INPUT].revents & (POLLHUP | POLLERR | POLLNVAL))
            live_end(live, 128 + SIGHUP);
        live_take_answers(live);
        live_take_reports(live, count);
        live_take_keys(live);
    }
}

/* The terminal is restored before this returns, whatever has ended the loop. */
int spex_top_live(struct spex_top_feed *feed, unsigned long count, bool totals) {
    struct live live = {
        .feed = feed,
        .view = {.sort = SPEX_TOP_SHARE, .span = totals ? SPEX_TOP_START : SPEX_TOP_INTERVAL},
        .signals = open_signals()};
    if (live.signals < 0)
        return spex_complain(SPEX_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
    if (!spex_top_screen_open()) {
        const char *name = getenv("TERM");
        close(live.signals);
        return spex_complain(SPEX_EXIT_FAILED,
                             "top: the terminal \"%s\" is not known; -b prints tables",
                             name ? name : "");
    }
    spex_top_switch_open(&live.by, feed->process);
    live_run(&live, count);
    spex_top_screen_close();
    spex_top_switch_close(&live.by);
    spex_top_view_free(&live.view);
    close(live.signals);
    return live.status;
}
