/* SPDX-License-Identifier: MIT */
/* Standard errors and confidence intervals of configurations' means. policies/explore/noise.h has
 * the statistics: one configuration has few trials, so its variance is moderated by what all
 * configurations show. Where all values are positive the variance is that of logarithms, because
 * the scatter of times and rates usually grows with their size. */
#include "explore/findings/accuracy.h"

#include "base/student.h"
#include "measure/criterion.h"

/* The derivative of what the variance is about (the logarithm, for ratios) by the value. */
static double accuracy_slope(const struct spex_accuracy *accuracy, double mean) {
    return accuracy->ratios ? 1 / mean : 1;
}

/* Two passes: whether logarithms are used is known only after all samples have been seen. The
 * squares are transformed by the slope at the mean, which holds for scatter that is small against
 * it. */
void spex_accuracy_learn(struct spex_accuracy *accuracy, spex_sample_of *sample_of,
                         const void *user, size_t count) {
    struct spex_noise_sums sums = {0};
    *accuracy = (struct spex_accuracy){.ratios = true};
    for (size_t i = 0; i < count; i++) {
        struct spex_sample sample = sample_of(user, i);
        accuracy->ratios &= !sample.trials || sample.mean > 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct spex_sample sample = sample_of(user, i);
        if (sample.trials < 2)
            continue;
        double by = accuracy_slope(accuracy, sample.mean);
        spex_noise_add(&sums, (double)sample.trials, sample.squares * by * by);
        accuracy->repeated = true;
    }
    accuracy->noise = spex_noise_of(&sums);
    accuracy->exact = spex_noise_is_exact(&sums);
    accuracy->repeats = sums.all_freedom;
}

/* The greater of what trials differ by and what the runs say of themselves; NaN where neither is
 * known. */
double spex_accuracy_error(const struct spex_accuracy *accuracy, const struct spex_sample *sample) {
    double trials = (double)sample->trials, by = accuracy_slope(accuracy, sample->mean);
    if (sample->trials == 0)
        return NAN;
    double floor = sample->error > 0 ? sample->error * sample->error : NAN, variance = NAN;
    if (accuracy->repeated)
        variance =
            spex_noise_variance(&accuracy->noise, trials, sample->squares * by * by) / (by * by);
    return sqrt(fmax(variance, floor) / trials); /* fmax ignores a NaN argument */
}

double spex_accuracy_freedom(const struct spex_accuracy *accuracy, double trials) {
    return accuracy->repeated ? accuracy->noise.freedom + trials : SPEX_NOISE_FREEDOM_MAX;
}

double spex_accuracy_margin(const struct spex_accuracy *accuracy,
                            const struct spex_sample *sample) {
    double freedom = spex_accuracy_freedom(accuracy, (double)sample->trials - 1);
    return spex_student_two_sided(0.05, freedom) * spex_accuracy_error(accuracy, sample);
}

struct spex_sample spex_group_sample(const struct spex_group *group, size_t criterion) {
    const struct spex_group_criterion *of = &group->criteria[criterion];
    return (struct spex_sample){group->trials, of->mean, of->squares, of->error};
}

/* Which criterion sample_of_group is asked for. */
struct criterion {
    const struct spex_summary *summary;
    size_t number;
};

static struct spex_sample sample_of_group(const void *user, size_t index) {
    const struct criterion *criterion = user;
    return spex_group_sample(&criterion->summary->groups[index], criterion->number);
}

void spex_accuracy_learn_criterion(struct spex_accuracy *accuracy,
                                   const struct spex_summary *summary, size_t criterion) {
    struct criterion of = {summary, criterion};
    spex_accuracy_learn(accuracy, sample_of_group, &of, summary->count);
}

double spex_group_error(const struct spex_accuracy *accuracy, const struct spex_group *group,
                        size_t criterion) {
    struct spex_sample sample = spex_group_sample(group, criterion);
    return spex_accuracy_error(accuracy, &sample);
}

double spex_group_margin(const struct spex_accuracy *accuracy, const struct spex_group *group,
                         size_t criterion) {
    struct spex_sample sample = spex_group_sample(group, criterion);
    return spex_accuracy_margin(accuracy, &sample);
}

void spex_group_interval(const struct spex_accuracy *accuracy, const struct spex_summary *summary,
                         size_t group, size_t criterion, double *low, double *high) {
    const struct spex_group *of = &summary->groups[group];
    double mean = of->criteria[criterion].mean;
    double margin = accuracy->exact ? 0 : spex_group_margin(accuracy, of, criterion);
    bool positive = accuracy->ratios || *spex_criterion_unit(&summary->space->criteria[criterion]);
    *high = mean + margin;
    *low = !positive ? mean - margin : mean > 0 ? mean / (1 + margin / mean) : mean + 0 * margin;
}
