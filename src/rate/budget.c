/* SPDX-License-Identifier: MIT */
#include "rate/budget.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Converts the digits itself, because strtod depends on the program's locale. */
bool spex_budget_parse(const char *text, double *share) {
    double percent = 0, unit = 1;
    if (!is_digit(*text))
        return false;
    for (; is_digit(*text); text++)
        percent = percent * 10 + (*text - '0');
    if (*text == '.')
        for (text++; is_digit(*text); text++)
            percent += (*text - '0') * (unit /= 10);
    text += strspn(text, " ");
    if (strcmp(text, "%") != 0 || !(percent > 0 && percent <= 100))
        return false;
    *share = percent / 100;
    return true;
}

int spex_budgets_hold(struct spex_budgets_asked *asked, uint32_t holder, double share,
                      uint64_t until_ns) {
    int place = -1;
    for (int p = 0; p < SPEX_BUDGETS_ASKED; p++) {
        if (asked->places[p].holder == holder || (!asked->places[p].holder && place < 0))
            place = p;
        if (asked->places[p].holder == holder)
            break;
    }
    if (place < 0)
        return -EUSERS;
    asked->places[place].holder = holder;
    asked->places[place].share = share;
    asked->places[place].until_ns = until_ns;
    return 0;
}

void spex_budgets_renew(struct spex_budgets_asked *asked, uint32_t holder, uint64_t until_ns) {
    for (int p = 0; p < SPEX_BUDGETS_ASKED; p++)
        if (holder && asked->places[p].holder == holder)
            asked->places[p].until_ns = until_ns;
}

double spex_budgets_least(struct spex_budgets_asked *asked, double own, uint64_t now_ns,
                          bool *any) {
    double least = own;
    *any = false;
    for (int p = 0; p < SPEX_BUDGETS_ASKED; p++) {
        if (asked->places[p].until_ns <= now_ns)
            asked->places[p].holder = 0;
        if (!asked->places[p].holder)
            continue;
        *any = true;
        if (least <= 0 || asked->places[p].share < least)
            least = asked->places[p].share;
    }
    return least;
}
