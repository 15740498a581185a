/* SPDX-License-Identifier: MIT */
#include "rate/budget.h"

#include <errno.h>
#include <string.h>

/* Seconds' worth of tokens that can be saved, or owed. The debt is bounded, so that one large
 * error, such as an execution that was suspended for hours, does not keep probes off for long. */
#define BURST_SECONDS 0.4
#define DEBT_SECONDS  5.0

/* A debt is paid back in this time. */
#define SETTLING_SECONDS 0.25

/* Least rate, as a share of the steady rate, whatever is owed. */
#define LEAST_RATE 0.05

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

void spex_budget_begin(struct spex_budget *budget, double share) {
    *budget = (struct spex_budget){.share = share};
}

/* The limits of savings and debt grow with the CPUs, as the income does. */
void spex_budget_advance(struct spex_budget *budget, double used, double cpus, double spent) {
    double most = budget->share * BURST_SECONDS * cpus;
    double least = -budget->share * DEBT_SECONDS * cpus;
    budget->tokens += budget->share * used - spent;
    if (budget->tokens > most)
        budget->tokens = most;
    if (budget->tokens < least)
        budget->tokens = least;
}

double spex_budget_steady(const struct spex_budget *budget, double cpus) {
    return budget->share * cpus;
}

double spex_budget_rate(const struct spex_budget *budget, double cpus) {
    double steady = spex_budget_steady(budget, cpus);
    double rate = budget->tokens < 0 ? steady + budget->tokens / SETTLING_SECONDS : steady;
    return rate > steady * LEAST_RATE ? rate : steady * LEAST_RATE;
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
