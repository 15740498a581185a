/* SPDX-License-Identifier: MIT */
/* Quantiles of Student's distribution by an asymptotic expansion around the normal distribution. */
#include "base/student.h"

#include <math.h>

/* Returns what a standard normal variable exceeds with this probability. A rational approximation
 * (Abramowitz and Stegun, 26.2.23), improved by one step of Halley's method. */
static double normal_upper(double probability) {
    double t = sqrt(-2 * log(probability));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    double error = erfc(x / sqrt(2)) / 2 - probability;
    double step = error * sqrt(2 * M_PI) * exp(x * x / 2);
    return x + step / (1 - x * step / 2);
}

/* The case of Hill's algorithm that starts from the normal quantile. Returns the square over n. The
 * letters are those of the paper. */
static double student_by_normal(double probability, double n, double a, double b, double c,
                                double d) {
    double x = -normal_upper(probability / 2), y = x * x;
    if (n < 5)
        c += 0.3 * (n - 4.5) * (x + 0.6);
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y *= a * y;
    return y > 0.002 ? exp(y) - 1 : y * y / 2 + y;
}

/* Hill, Algorithm 396: Student's t-quantiles, Communications of the ACM, 1970. The letters are
 * those of the paper. */
static double student_by_hill(double probability, double n) {
    double a = 1 / (n - 0.5), b = 48 / (a * a), c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
    double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI / 2) * n;
    double y = pow(d * probability, 2 / n);
    if (y > 0.05 + a)
        y = student_by_normal(probability, n, a, b, c, d);
    else
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y -
             1) *
                (n + 1) / (n + 2) +
            1 / y;
    return sqrt(n * y);
}

/* Up to 2 degrees of freedom, where Hill's algorithm errs by up to a quarter: with 1 and with 2 the
 * quantile has a closed form, and its logarithm is nearly a straight line over 1 / n, the more so
 * the smaller the probability is. It is taken for a parabola. */
static double student_of_few(double probability, double n) {
    double one = log(cos(probability * M_PI / 2) / sin(probability * M_PI / 2));
    double two = log(2 / (probability * (2 - probability)) - 2) / 2;
    double three = log(student_by_hill(probability, 3)), x = 1 / n;
    return exp(one * (2 * x - 1) * (3 * x - 1) / 2 - two * (x - 1) * (3 * x - 1) * 4 +
               three * (x - 1) * (2 * x - 1) * 4.5);
}

double spex_student_two_sided(double probability, double freedom) {
    double n = fmax(freedom, 1);
    return n <= 2 ? student_of_few(probability, n) : student_by_hill(probability, n);
}

double spex_student_95(double freedom) {
    return spex_student_two_sided(0.05, freedom);
}
