/* SPDX-License-Identifier: MIT */
/* Draws with ncurses. Each column has a width and a rank: a narrow terminal shows the columns
 * of the lowest ranks. Names of probes become wider before columns of the highest ranks are
 * shown, and get the width that is left over. Text is converted to wide characters, whose widths
 * are known. */
#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1
#include "tools/top/top_screen.h"

#include <curses.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

/* Lines above the rows (head, mode, headings) and below (message, keys); characters of a text;
 * and how long an escape sequence may take to arrive. */
enum { ABOVE = SPEX_TOP_HEAD_LINES + 2, BELOW = 2, TEXT = 256, ESCAPE_MS = 25 };

/* Pairs of colours, as ncurses numbers them. */
enum { COLOUR_ON = 1, COLOUR_ALARM };

/* Widths of the column of names: the least, what it gets before columns above NAME_RANK are shown,
 * and the greatest. */
enum { NARROW_NAME = 12, USUAL_NAME = 32, WIDE_NAME = SPEX_PROFILE_NAME_BYTES, NAME_RANK = 6 };

static SCREEN *screen_terminal;
static bool screen_has_colours;
/* The first row on the screen, as drawn last. */
static size_t screen_first_row;

/* On a narrow terminal, columns with the highest rank are left out first. */
static const struct {
    int width;
    int rank;
} column_layout[SPEX_TOP_COLUMNS] = {
    [SPEX_TOP_PERIOD] = {8, 1}, [SPEX_TOP_PROBE] = {NARROW_NAME, 0},
    [SPEX_TOP_ID] = {5, 9},     [SPEX_TOP_TYPE] = {8, 2},
    [SPEX_TOP_RATE] = {9, 3},   [SPEX_TOP_VALUE] = {10, 10},
    [SPEX_TOP_MEAN] = {8, 4},   [SPEX_TOP_P50] = {8, 8},
    [SPEX_TOP_P99] = {8, 5},    [SPEX_TOP_MAX] = {8, 7},
    [SPEX_TOP_SHARE] = {7, 6},  [SPEX_TOP_LOST] = {7, 5},
    [SPEX_TOP_OFF] = {7, 6},
};

static const char *const help_lines[] = {
    "Up Down PgUp PgDn Home End  choose a probe",
    "space      switch it on or off",
    "+  -       double or halve its period: one execution in so many is recorded",
    "s >  <     sort by the next column, or the one before",
    "r          the other way round",
    "/          show only what contains a text: of its name or type; Esc shows all",
    "t          figures of the last interval, or since the start",
    "p          pause; what was switched still is",
    "d          another delay",
    "q          quit; what was switched stays so",
    "",
    "overhead   of probes, and collector: shares of the CPU time, as believed;",
    "           (2/5 costs): those of 2 of 5 probes were measured",
    "1 in       one execution in so many is recorded;",
    "           (2/5): 2 of the probe's 5 places are on",
    "value      what mean to max are of: the first value of probes with several",
    "share      time within the probe, by all threads; 100 %: one thread, always",
    "lost       records overwritten before they were read; ~: its share by records",
    "off        share of the time for which a budget held it off; the rest is a",
    "           sample",
};

/* Names of keys, for terminals as wide as they are long, and for narrower ones. */
static const char *const key_lines[] = {
    ("space on/off  +/- period  s/< sort  r reverse  / filter  t span  p pause  d delay  h help  "
     "q quit"),
    "space on/off  +/- period  s sort  / filter  t span  p pause  h help  q quit",
    "space on/off  h help  q quit",
    "h help  q quit",
};

/* NO_COLOR in the environment, unless empty, asks for no colours (no-color.org). */
bool spex_top_screen_open(void) {
    const char *no_color = getenv("NO_COLOR");
    screen_terminal = newterm(NULL, stdout, stdin);
    if (!screen_terminal)
        return false;
    set_escdelay(ESCAPE_MS);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    screen_has_colours = has_colors() && !(no_color && *no_color) && start_color() == OK;
    if (screen_has_colours) {
        use_default_colors();
        init_pair(COLOUR_ON, COLOR_GREEN, -1);
        init_pair(COLOUR_ALARM, COLOR_RED, -1);
    }
    return true;
}

void spex_top_screen_close(void) {
    if (!screen_terminal)
        return;
    endwin();
    delscreen(screen_terminal);
    screen_terminal = NULL;
}

/* SIGWINCH is taken by a signalfd, so that ncurses does not notice the new size by itself. */
void spex_top_screen_resize(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    clearok(stdscr, TRUE);
}

long spex_top_screen_page(void) {
    return LINES > ABOVE + BELOW ? LINES - ABOVE - BELOW : 1;
}

/* The colour, or where the terminal has none, `otherwise`. */
static attr_t colour_attribute(short pair, attr_t otherwise) {
    return screen_has_colours ? (attr_t)COLOR_PAIR(pair) : otherwise;
}

/* Bytes that are no character of the locale, and characters that have no width, become "?"; the µ
 * of units "u". */
static void text_to_wide(const char *text, wchar_t wide[TEXT]) {
    mbstate_t state = {0};
    size_t n = 0;
    for (size_t length = strlen(text); length && n + 1 < TEXT; n++) {
        size_t taken = mbrtowc(&wide[n], text, length, &state);
        if (taken > length || wcwidth(wide[n]) < 0) {
            bool micro = taken > length && strncmp(text, "µ", strlen("µ")) == 0;
            if (taken > length)
                taken = micro ? strlen("µ") : 1;
            wide[n] = micro ? L'u' : L'?';
            memset(&state, 0, sizeof(state));
        }
        text += taken;
        length -= taken;
    }
    wide[n] = L'\0';
}

/* Puts text into `width` columns of the terminal, and cuts it there. `right`: aligned to the
 * right. */
static void screen_put(int line, int column, int width, const char *text, bool right,
                       attr_t attributes) {
    wchar_t wide[TEXT];
    int used = 0, n = 0;
    if (line < 0 || line >= LINES || column >= COLS)
        return;
    if (width > COLS - column)
        width = COLS - column;
    text_to_wide(text, wide);
    for (; wide[n] && used + wcwidth(wide[n]) <= width; n++)
        used += wcwidth(wide[n]);
    attrset(attributes);
    mvaddnwstr(line, column + (right ? width - used : 0), wide, n);
    attrset(A_NORMAL);
}

static int least(int one, int other) {
    return one < other ? one : other;
}

/* How much wider than NARROW_NAME names should be before columns above NAME_RANK are shown. */
static int name_wish(const struct spex_top_view *view) {
    int longest = NARROW_NAME;
    for (size_t s = 0; s < view->shown_count; s++) {
        int length = (int)strlen(view->rows[view->shown[s]].name);
        longest = length > longest ? length : longest;
    }
    return least(longest, USUAL_NAME) - NARROW_NAME;
}

/* The column by which the table is sorted is always of use; the one of times held off only where a
 * budget has held a probe off. */
static int column_rank(const struct spex_top_view *view, int column) {
    bool held = column != SPEX_TOP_OFF || view->sort == SPEX_TOP_OFF;
    for (size_t s = 0; !held && s < view->shown_count; s++)
        held = view->rows[view->shown[s]].figures[view->span].off > 0;
    if (!held)
        return SPEX_TOP_COLUMNS + 1;
    return (int)view->sort == column ? 0 : column_layout[column].rank;
}

/* Chooses the columns that fit, by rank; returns the width of the column of names. Each column
 * is followed by a blank, except for the last one: hence COLS + 1. */
static int choose_columns(const struct spex_top_view *view, bool chosen[SPEX_TOP_COLUMNS]) {
    int used = 0, wider = 0;
    memset(chosen, 0, SPEX_TOP_COLUMNS * sizeof(*chosen));
    for (int rank = 0; rank <= SPEX_TOP_COLUMNS; rank++) {
        for (int c = 0; c < SPEX_TOP_COLUMNS; c++)
            if (column_rank(view, c) == rank && used + column_layout[c].width + 1 <= COLS + 1) {
                used += column_layout[c].width + 1;
                chosen[c] = true;
            }
        if (rank == NAME_RANK) {
            wider = least(name_wish(view), COLS + 1 - used);
            used += wider > 0 ? wider : 0;
        }
    }
    return least(NARROW_NAME + (wider > 0 ? wider : 0) + COLS + 1 - used, WIDE_NAME);
}

/* Width of a column; `name`: that of the column of names, which gets what is left over. */
static int column_width(int column, int name) {
    return column == SPEX_TOP_PROBE ? name : column_layout[column].width;
}

/* The heading of the column by which the table is sorted is underlined. */
static void draw_headings(const struct spex_top_view *view, const bool *chosen, int name) {
    for (int c = 0, x = 0; c < SPEX_TOP_COLUMNS; c++) {
        if (!chosen[c])
            continue;
        enum spex_top_column column = (enum spex_top_column)c;
        screen_put(ABOVE - 1, x, column_width(c, name), spex_top_heading(column),
                   !spex_top_column_is_text(column),
                   view->sort == column ? A_BOLD | A_UNDERLINE : A_BOLD);
        x += column_width(c, name) + 1;
    }
}

/* The row under the cursor is reversed over its whole width, and has no colours. */
static void draw_row(const struct spex_top_view *view, int line, size_t at, const bool *chosen,
                     int name) {
    const struct spex_top_row *row = &view->rows[view->shown[at]];
    bool under = at == view->cursor;
    attr_t plain = row->sites_on ? A_NORMAL : A_DIM;
    if (under) {
        plain = A_REVERSE;
        attrset(A_REVERSE);
        mvhline(line, 0, ' ', COLS);
    }
    for (int c = 0, x = 0; c < SPEX_TOP_COLUMNS; c++) {
        char text[TEXT];
        attr_t attributes = plain;
        enum spex_top_column column = (enum spex_top_column)c;
        if (!chosen[c])
            continue;
        spex_top_cell(row, view->span, column, column_width(c, name), text, sizeof(text));
        if (!under && column == SPEX_TOP_PERIOD && row->sites_on)
            attributes = colour_attribute(COLOUR_ON, A_BOLD);
        if (!under && column == SPEX_TOP_LOST && row->figures[view->span].lost > 0)
            attributes = colour_attribute(COLOUR_ALARM, A_BOLD);
        screen_put(line, x, column_width(c, name), text, !spex_top_column_is_text(column),
                   attributes);
        x += column_width(c, name) + 1;
    }
}

/* Scrolls as little as possible so that the cursor is on the screen, and the last page is full. */
static void scroll_to_cursor(const struct spex_top_view *view, size_t page) {
    if (view->cursor < screen_first_row)
        screen_first_row = view->cursor;
    if (view->cursor >= screen_first_row + page)
        screen_first_row = view->cursor - page + 1;
    if (screen_first_row + page > view->shown_count)
        screen_first_row = view->shown_count > page ? view->shown_count - page : 0;
}

/* Draws the headings and the page of rows that has the cursor. */
static void draw_rows(const struct spex_top_view *view) {
    bool chosen[SPEX_TOP_COLUMNS];
    int name = choose_columns(view, chosen);
    size_t page = (size_t)spex_top_screen_page();
    scroll_to_cursor(view, page);
    draw_headings(view, chosen, name);
    for (size_t r = 0;
         LINES > ABOVE + BELOW && r < page && screen_first_row + r < view->shown_count; r++)
        draw_row(view, ABOVE + (int)r, screen_first_row + r, chosen, name);
    if (view->row_count && !view->shown_count)
        screen_put(ABOVE, 0, COLS, "no probe contains that", false, A_DIM);
}

/* Draws the lines about the program, and the line with the order, the filter and the delay. */
static void draw_head(const struct spex_top_view *view, const struct spex_top_picture *picture) {
    char mode[TEXT];
    for (int line = 0; line < SPEX_TOP_HEAD_LINES; line++)
        screen_put(line, 0, COLS, view->head[view->span][line], false, line ? A_NORMAL : A_BOLD);
    snprintf(mode, sizeof(mode), "%s   sorted by %s%s%s%s%s",
             view->span == SPEX_TOP_START ? "since the start" : "last interval",
             spex_top_heading(view->sort), view->reversed ? ", reversed" : "",
             view->filter[0] ? "   filter: " : "", view->filter,
             picture->paused ? "   paused" : "");
    screen_put(SPEX_TOP_HEAD_LINES, 0, COLS, mode, false, A_NORMAL);
    if (COLS < 60)
        return;
    snprintf(mode, sizeof(mode), "every %g s", picture->delay);
    screen_put(SPEX_TOP_HEAD_LINES, COLS - 16, 16, mode, true, A_NORMAL);
}

/* The longest of key_lines that fits, or the last. */
static const char *key_line(void) {
    size_t line = 0;
    while (line + 1 < sizeof(key_lines) / sizeof(key_lines[0]) &&
           strlen(key_lines[line]) > (size_t)COLS)
        line++;
    return key_lines[line];
}

/* Draws the line for messages or typed text, and the line that explains the keys. */
static void draw_bottom(const struct spex_top_picture *picture) {
    char line[TEXT];
    if (picture->prompt) {
        snprintf(line, sizeof(line), "%s%s_", picture->prompt, picture->typed);
        screen_put(LINES - 2, 0, COLS, line, false, A_BOLD);
    } else {
        screen_put(LINES - 2, 0, COLS, picture->message, false,
                   picture->alarming ? colour_attribute(COLOUR_ALARM, A_BOLD) | A_BOLD : A_NORMAL);
    }
    screen_put(LINES - 1, 0, COLS, picture->help ? "any key goes back" : key_line(), false, A_DIM);
}

/* Draws everything anew; ncurses sends the terminal only what has changed. */
void spex_top_screen_draw(const struct spex_top_view *view,
                          const struct spex_top_picture *picture) {
    erase();
    if (picture->help) {
        for (int line = 0; line < (int)(sizeof(help_lines) / sizeof(help_lines[0])); line++)
            screen_put(line + 1, 2, COLS - 2, help_lines[line], false, A_NORMAL);
    } else {
        draw_head(view, picture);
        draw_rows(view);
    }
    draw_bottom(picture);
    refresh();
}

/* The key for a code of ncurses (keypad). */
static enum spex_top_key function_key(wint_t code) {
    switch (code) {
    case KEY_UP:
        return SPEX_TOP_KEY_UP;
    case KEY_DOWN:
        return SPEX_TOP_KEY_DOWN;
    case KEY_LEFT:
        return SPEX_TOP_KEY_LEFT;
    case KEY_RIGHT:
        return SPEX_TOP_KEY_RIGHT;
    case KEY_PPAGE:
        return SPEX_TOP_KEY_PAGE_UP;
    case KEY_NPAGE:
        return SPEX_TOP_KEY_PAGE_DOWN;
    case KEY_HOME:
        return SPEX_TOP_KEY_HOME;
    case KEY_END:
        return SPEX_TOP_KEY_END;
    case KEY_ENTER:
        return SPEX_TOP_KEY_ENTER;
    case KEY_BACKSPACE:
        return SPEX_TOP_KEY_ERASE;
    default:
        return SPEX_TOP_KEY_OTHER;
    }
}

/* The key for a character; its bytes are in `text` when it is SPEX_TOP_KEY_TEXT. 27 is Esc, 8
 * and 127 are what terminals send for Backspace. */
static enum spex_top_key letter_key(wint_t code, char text[SPEX_TOP_LETTER_BYTES]) {
    mbstate_t state = {0};
    if (code == L'\r' || code == L'\n')
        return SPEX_TOP_KEY_ENTER;
    if (code == 27)
        return SPEX_TOP_KEY_ESCAPE;
    if (code == 8 || code == 127)
        return SPEX_TOP_KEY_ERASE;
    size_t length = code < 32 ? 0 : wcrtomb(text, (wchar_t)code, &state);
    if (length == 0 || length >= SPEX_TOP_LETTER_BYTES)
        return SPEX_TOP_KEY_OTHER;
    text[length] = '\0';
    return SPEX_TOP_KEY_TEXT;
}

/* Does not wait: nodelay was set. */
enum spex_top_key spex_top_screen_key(char text[SPEX_TOP_LETTER_BYTES]) {
    wint_t code;
    _Static_assert(MB_LEN_MAX < SPEX_TOP_LETTER_BYTES, "a letter has room");
    text[0] = '\0';
    switch (get_wch(&code)) {
    case KEY_CODE_YES:
        return function_key(code);
    case OK:
        return letter_key(code, text);
    default:
        return SPEX_TOP_KEY_NONE;
    }
}
