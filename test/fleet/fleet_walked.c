/* SPDX-License-Identifier: MIT */
/* What the master decides of made fleets in which much changes, in full: fleet_decided.c has fleets
 * in which one thing does. */
#include "decided.h"

/* Each expected text is one string. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

/* Load that comes and goes in steps, with a price that binds at its greatest: all answers of
 * the master follow each other. */
static void what_binds_now_and_then(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "p95",
        "<cost an_instance_hour='0.1' at_most='1.45'/><overhead at_most='5%'/><instances least='3' "
        "alpha='3' margin='4%' instrumented='80%'/>",
        8,
        70,
        0.002,
        1.04,
        4,
        {{15, 800, 1, 0, 0, 0},
         {12, 1450, 1, 0, 0, 0},
         {20, 2300, 1, 0, 0, 0},
         {15, 2900, 1, 0, 2, 0},
         {20, 1900, 1, 3, 0, 0},
         {10, 1900, 1.9, 0, 0, 0},
         {40, 500, 1, 0, 0, 0},
         {12, 1800, 1.2, 0, 0, 0.004},
         {40, 900, 1, -2, 0, 0}},
        "1:\n"
        "1 add +6 -0 on0 off0: 8+0/14 0 55.064 5.475 1200 440.51 0.2 0.8 0\n"
        "2 hold +0 -0 on0 off0: 8+6/14 0 55.064 5.475 800 770.9 0.2 1.4 0\n"
        "3 stuck +0 -0 on0 off0: 8+6/14 0 55.064 5.475 800 770.9 0.2 1.4 0\n"
        "5 hold +0 -0 on0 off0: 14+0/14 0 69.87 6.18 800 978.18 0.02333 1.4 0\n"
        "8 instrument +0 -0 on3 off0: 14+0/14 0 101.79 7.7 800 1425.1 0.02333 1.4 70\n"
        "9 hold +0 -0 on0 off0: 14+0/14 3 108.27 0 800 1515.8 0.02383 1.4 70\n"
        "12 instrument +0 -0 on3 off0: 14+0/14 3 119.28 5.183 800 1654.3 0.02383 1.4 70\n"
        "13 hold +0 -0 on0 off0: 14+0/14 6 121.13 7.039 800 1653.6 0.02432 1.4 70\n"
        "1 partial<none room 8 #1 25 0.05/0.05 1ffffff 0\n"
        "2 partial<none room 8 #1 25 0.05/0.05 3fffffe000000 0\n"
        "3 partial<none room 8 #1 25 0.05/0.05 fffc00000000001f 3f\n"
        "4 partial<none room 12 #1 25 0.05/0.05 3fffffe0 0\n"
        "5 partial<none room 12 #1 25 0.05/0.05 7fffffc0000000 0\n"
        "6 partial<none room 12 #1 25 0.05/0.05 ff800000000003ff 3f\n"
        "7,8 none<none new 0 #0 0 0/0.05\n"
        "9,10,11,12,13,14 none<none new 5 #0 0 0/0.05\n"
        "2:\n"
        "16 revert +0 -0 on0 off6: 14+0/14 6 83.171 3.009 2175 1146.3 0.2034 1.4 0\n"
        "17 hold +0 -0 on0 off0: 14+0/14 0 74.806 0 2175 1047.3 0.2 1.4 0\n"
        "18 stuck +0 -0 on0 off0: 14+0/14 0 69.51 0 2175 973.14 0.2 1.4 0\n"
        "1,2,3,4,5,6 none<partial cost 16 #2 0 0/0.05\n"
        "7,8 none<none new 0 #0 0 0/0.05\n"
        "9,10,11,12,13,14 none<none new 5 #0 0 0/0.05\n"
        "3:\n"
        "27 stuck +0 -0 on0 off0: 14+0/14 0 72.543 0 3450 1015.6 0.2 1.4 0\n"
        "1,2,3,4,5,6 none<partial cost 16 #2 0 0/0.05\n"
        "7,8 none<none new 0 #0 0 0/0.05\n"
        "9,10,11,12,13,14 none<none new 5 #0 0 0/0.05\n"
        "4:\n"
        "47 remove +0 -2 on0 off0: 16+0/14 0 124.07 43.91 4350 1985.1 0.2 1.6 0\n"
        "48 hold +0 -0 on0 off0: 14+0/14 0 134.06 53.9 4350 1876.9 0.2 1.4 0\n"
        "49 stuck +0 -0 on0 off0: 14+0/14 0 141.73 61.56 4350 1984.2 0.2 1.4 0\n"
        "1,2,3,4,5,6 none<partial cost 16 #2 0 0/0.05\n"
        "7,8 none<none new 0 #0 0 0/0.05\n"
        "9,10,11,12,13,14 none<none new 5 #0 0 0/0.05\n"
        "5:\n"
        "62 add +3 -0 on0 off0: 11+0/14 0 150.43 70.27 2850 1654.7 0.2 1.1 0\n"
        "63 hold +0 -0 on0 off0: 11+3/14 0 143.09 62.92 1900 2003.2 0.2 1.4 0\n"
        "66 stuck +0 -0 on0 off0: 14+0/14 0 119.22 39.06 2850 1669.1 0.2 1.4 0\n"
        "4,5,6 none<partial cost 16 #2 0 0/0.05\n"
        "7,8 none<none new 0 #0 0 0/0.05\n"
        "9,10,11,12,13,14 none<none new 5 #0 0 0/0.05\n"
        "17,18,19 none<none new 66 #0 0 0/0.05\n"
        "6:\n"
        "82 stuck +0 -0 on0 off0: 14+0/14 0 88.654 8.492 2850 1241.2 0.38 1.4 0\n"
        "4,5,6 none<partial cost 16 #2 0 0/0.05\n"
        "7,8 none<none new 0 #0 0 0/0.05\n"
        "9,10,11,12,13,14 none<none new 5 #0 0 0/0.05\n"
        "17,18,19 none<none new 66 #0 0 0/0.05\n"
        "7:\n"
        "95 instrument +0 -0 on3 off0: 14+0/14 0 140.15 59.99 500 1962.1 0.01556 1.4 70\n"
        "96 hold +0 -0 on0 off0: 14+0/14 3 147.86 51.06 500 1916.8 0.01577 1.4 70\n"
        "99 instrument +0 -0 on3 off0: 14+0/14 3 160.9 29.23 500 2164.9 0.01577 1.4 70\n"
        "100 hold +0 -0 on0 off0: 14+0/14 6 163.09 24.5 500 2136.3 0.01598 1.4 70\n"
        "103 instrument +0 -0 on3 off0: 14+0/14 6 166.54 16.31 500 2233.7 0.01598 1.4 70\n"
        "104 hold +0 -0 on0 off0: 14+0/14 9 167.09 14.92 500 2205 0.01619 1.4 70\n"
        "107 instrument +0 -0 on2 off0: 14+0/14 9 167.94 12.71 500 2236.8 0.01619 1.4 70\n"
        "108 hold +0 -0 on0 off0: 14+0/14 11 168.07 12.35 500 2217.1 0.01633 1.4 70\n"
        "122 remove +0 -1 on0 off0: 14+0/14 11 168.38 11.53 500 2230.5 0.01633 1.4 70\n"
        "123 remove +0 -1 on0 off0: 13+0/14 11 166.71 11.53 500 2040.4 0.01717 1.3 70\n"
        "124 remove +0 -1 on0 off0: 12+0/14 10 163.55 11.53 500 1847.2 0.01815 1.2 70\n"
        "125 remove +0 -1 on0 off0: 11+0/14 9 158.96 11.54 500 1644.7 0.01947 1.1 70\n"
        "126 remove +0 -1 on0 off0: 10+0/14 8 152.86 11.56 500 1436.1 0.02133 1 70\n"
        "127 remove +0 -1 on0 off0: 9+0/14 8 145.02 11.58 500 1212.5 0.02439 0.9 70\n"
        "128 remove +0 -1 on0 off0: 8+0/14 7 134.95 11.63 500 998.23 0.02933 0.8 70\n"
        "129 remove +0 -1 on0 off0: 7+0/14 6 121.81 11.72 500 782.38 0.03967 0.7 70\n"
        "130 hold +0 -0 on0 off0: 6+0/14 5 103.94 11.91 500 564.05 0.075 0.6 70\n"
        "131 add +2 -0 on0 off0: 6+0/14 5 93.38 11.88 500 500.88 0.075 0.6 70\n"
        "4 partial<none room 95 #3 25 0.05/0.05 1ffffff 0\n"
        "5 partial<none room 95 #3 25 0.05/0.05 3fffffe000000 0\n"
        "6 partial<none room 95 #3 25 0.05/0.05 fffc00000000001f 3f\n"
        "7 partial<none room 99 #1 25 0.05/0.05 3fffffe0 0\n"
        "8 partial<none room 99 #1 25 0.05/0.05 7fffffc0000000 0\n"
        "17 none<none new 66 #0 0 0/0.05\n"
        "8:\n"
        "133 add +6 -0 on0 off0: 6+2/14 5 147.19 11.01 1800 1122.5 0.248 0.8 46\n"
        "134 hold +0 -0 on0 off0: 6+8/14 5 170.5 9.723 1800 2338.4 0.248 1.4 46\n"
        "138 revert +0 -0 on0 off5: 14+0/14 5 115.22 1.833 2700 1603.9 0.2434 1.4 0\n"
        "139 hold +0 -0 on0 off0: 14+0/14 0 103.38 0 2700 1447.3 0.24 1.4 0\n"
        "140 stuck +0 -0 on0 off0: 14+0/14 0 96.006 0 2700 1344.1 0.24 1.4 0\n"
        "4,5,6 none<partial cost 138 #5 0 0/0.05\n"
        "7,8 none<partial cost 138 #3 0 0/0.05\n"
        "17 none<none new 66 #0 0 0/0.05\n"
        "20,21 none<none new 135 #0 0 0/0.05\n"
        "22,23,24,25,26,27 none<none new 137 #0 0 0/0.05\n"
        "9:\n"
        "147 instrument +0 -0 on3 off0: 12+0/14 0 88.981 0 900 1067.8 0.04 1.2 36\n"
        "148 hold +0 -0 on0 off0: 12+0/14 3 89.279 0 900 1071.3 0.04182 1.2 36\n"
        "151 instrument +0 -0 on3 off0: 12+0/14 3 89.738 4.245 900 1064.1 0.04182 1.2 70\n"
        "152 hold +0 -0 on0 off0: 12+0/14 6 89.81 6.502 900 1038.7 0.04364 1.2 70\n"
        "155 instrument +0 -0 on3 off0: 12+0/14 6 89.921 9.838 900 1020 0.04364 1.2 70\n"
        "156 hold +0 -0 on0 off0: 12+0/14 9 89.938 10.35 900 986.14 0.04545 1.2 70\n"
        "4 partial<none room 147 #6 12 0.048/0.05 fff 0\n"
        "5 partial<none room 147 #6 12 0.048/0.05 fff000 0\n"
        "6 partial<none room 147 #6 12 0.048/0.05 fff000000 0\n"
        "7 partial<none room 151 #4 12 0.048/0.05 fff000000000 0\n"
        "8 partial<none room 151 #4 12 0.048/0.05 fff000000000000 0\n"
        "17 partial<none room 151 #1 12 0.048/0.05 f000000000000003 3f\n"
        "20 partial<none room 155 #1 12 0.048/0.05 3ffc 0\n"
        "21 partial<none room 155 #1 12 0.048/0.05 3ffc000 0\n"
        "22 partial<none room 155 #1 12 0.048/0.05 3ffc000000 0\n"
        "23,24,25 none<none new 137 #0 0 0/0.05\n"};
    run(&scene);
}

/* Response times are longer than the load explains, fall, and are long again. */
static void response_times_that_say_otherwise(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "<overhead at_most='3%'/><instances least='2' most='12' alpha='1' margin='10%'/>",
        6,
        5,
        0.007,
        1.06,
        3,
        {{15, 240, 1, 0, 0, 0},
         {20, 240, 3.1, 0, 0, 0},
         {12, 240, 2.2, 0, 0, 0},
         {6, 240, 2.6, 0, 0, 0},
         {9, 430, 1, 0, 0, 0},
         {20, 700, 1, 0, 0, 0},
         {15, 1100, 1, 0, 0, 0},
         {30, 300, 1, -4, 0, 0.02},
         {40, 310, 0.6, 5, 0, 0}},
        "1:\n"
        "3 instrument +0 -0 on2 off0: 6+0/12 0 80 2.913 240 480 0.01667 0 5\n"
        "4 hold +0 -0 on0 off0: 6+0/12 2 80 5.66 240 468.68 0.01725 0 5\n"
        "7 instrument +0 -0 on1 off0: 6+0/12 2 80 5.66 240 468.68 0.01725 0 5\n"
        "8 hold +0 -0 on0 off0: 6+0/12 3 80 5.66 240 463.02 0.01753 0 5\n"
        "1 partial<none room 3 #1 4 0.028/0.03 f\n"
        "2 partial<none room 3 #1 4 0.028/0.03 17\n"
        "3 partial<none room 7 #1 4 0.028/0.03 1b\n"
        "4,5,6 none<none new 0 #0 0 0/0.03\n"
        "2:\n"
        "16 add +1 -0 on0 off0: 6+0/12 3 54.116 2.988 240 315.73 0.05436 0 5\n"
        "17 hold +0 -0 on0 off0: 6+1/12 3 48.97 2.552 240 335.13 0.05436 0 5\n"
        "1 partial<none room 3 #1 4 0.028/0.03 f\n"
        "2 partial<none room 3 #1 4 0.028/0.03 17\n"
        "3 partial<none room 7 #1 4 0.028/0.03 1b\n"
        "4,5,6 none<none new 0 #0 0 0/0.03\n"
        "7 none<none new 19 #0 0 0/0.03\n"
        "3:\n"
        "1 partial<none room 3 #1 4 0.028/0.03 f\n"
        "2 partial<none room 3 #1 4 0.028/0.03 17\n"
        "3 partial<none room 7 #1 4 0.028/0.03 1b\n"
        "4,5,6 none<none new 0 #0 0 0/0.03\n"
        "7 none<none new 19 #0 0 0/0.03\n"
        "4:\n"
        "1 partial<none room 3 #1 4 0.028/0.03 f\n"
        "2 partial<none room 3 #1 4 0.028/0.03 17\n"
        "3 partial<none room 7 #1 4 0.028/0.03 1b\n"
        "4,5,6 none<none new 0 #0 0 0/0.03\n"
        "7 none<none new 19 #0 0 0/0.03\n"
        "5:\n"
        "54 add +2 -0 on0 off0: 7+0/12 3 55.417 3.363 430 377.83 0.02784 0 5\n"
        "55 hold +0 -0 on0 off0: 7+2/12 3 61.422 3.872 430 541.18 0.02784 0 5\n"
        "60 instrument +0 -0 on1 off0: 9+0/12 3 76.307 5.279 430 670.92 0.01992 0 5\n"
        "61 hold +0 -0 on0 off0: 9+0/12 4 77.386 5.389 430 674.91 0.02018 0 5\n"
        "1 partial<none room 3 #1 4 0.028/0.03 f\n"
        "2 partial<none room 3 #1 4 0.028/0.03 17\n"
        "3 partial<none room 7 #1 4 0.028/0.03 1b\n"
        "4 partial<none room 60 #1 4 0.028/0.03 1d\n"
        "5,6 none<none new 0 #0 0 0/0.03\n"
        "7 none<none new 19 #0 0 0/0.03\n"
        "8,9 none<none new 57 #0 0 0/0.03\n"
        "6:\n"
        "63 add +2 -0 on0 off0: 9+0/12 4 78.702 5.525 700 686.22 0.05184 0 5\n"
        "64 hold +0 -0 on0 off0: 9+2/12 4 79.088 5.565 700 847.7 0.05184 0 5\n"
        "69 instrument +0 -0 on1 off0: 11+0/12 4 79.845 5.644 700 855.72 0.02934 0 5\n"
        "70 hold +0 -0 on0 off0: 11+0/12 5 79.892 5.649 700 850.56 0.0298 0 5\n"
        "1 partial<none room 3 #1 4 0.028/0.03 f\n"
        "2 partial<none room 3 #1 4 0.028/0.03 17\n"
        "3 partial<none room 7 #1 4 0.028/0.03 1b\n"
        "4 partial<none room 60 #1 4 0.028/0.03 1d\n"
        "5 partial<none room 69 #1 4 0.028/0.03 1e\n"
        "6 none<none new 0 #0 0 0/0.03\n"
        "7 none<none new 19 #0 0 0/0.03\n"
        "8,9 none<none new 57 #0 0 0/0.03\n"
        "10,11 none<none new 66 #0 0 0/0.03\n"
        "7:\n"
        "83 revert and add +1 -0 on0 off5: 11+0/12 5 82.488 3.128 1650 891.73 0.2055 0 0\n"
        "84 hold +0 -0 on0 off0: 11+1/12 0 83.229 3.868 1100 998.75 0.2 0 0\n"
        "85 stuck +0 -0 on0 off0: 11+1/12 0 83.754 4.394 1100 1005 0.2 0 0\n"
        "86 hold +0 -0 on0 off0: 12+0/12 0 82.598 3.238 1650 991.18 0.12 0 0\n"
        "88 stuck +0 -0 on0 off0: 12+0/12 0 81.257 1.896 1650 975.08 0.12 0 0\n"
        "1,2,3,4,5 none<partial cost 83 #2 0 0/0.03\n"
        "6 none<none new 0 #0 0 0/0.03\n"
        "7 none<none new 19 #0 0 0/0.03\n"
        "8,9 none<none new 57 #0 0 0/0.03\n"
        "10,11 none<none new 66 #0 0 0/0.03\n"
        "12 none<none new 86 #0 0 0/0.03\n"
        "8:\n"
        "100 instrument +0 -0 on2 off0: 8+0/12 0 80.017 0.6568 300 640.14 0.016 0 2\n"
        "101 hold +0 -0 on0 off0: 8+0/12 2 80.012 2.213 300 635.67 0.0164 0 2\n"
        "104 instrument +0 -0 on2 off0: 8+0/12 2 80.004 4.506 300 631.02 0.0164 0 4\n"
        "105 hold +0 -0 on0 off0: 8+0/12 4 80.003 4.855 300 620.6 0.0168 0 4\n"
        "1 partial<none room 100 #3 1 0.02/0.03 1\n"
        "2 partial<none room 100 #3 1 0.02/0.03 2\n"
        "3 partial<none room 104 #3 1 0.02/0.03 4\n"
        "4 partial<none room 104 #3 1 0.02/0.03 8\n"
        "5 none<partial cost 83 #2 0 0/0.03\n"
        "6 none<none new 0 #0 0 0/0.03\n"
        "7 none<none new 19 #0 0 0/0.03\n"
        "8 none<none new 57 #0 0 0/0.03\n"
        "9:\n"
        "128 add +3 -0 on0 off0: 3+0/12 0 85.628 11.29 465 256.88 0.12 0 0\n"
        "129 hold +0 -0 on0 off0: 3+3/12 0 87.37 13.03 310 524.22 0.12 0 0\n"
        "134 instrument +0 -0 on2 off0: 6+0/12 0 105.67 31.33 310 634 0.01241 0 2\n"
        "135 hold +0 -0 on0 off0: 6+0/12 2 107.56 26.18 310 593.03 0.01296 0 2\n"
        "138 instrument +0 -0 on1 off0: 6+0/12 2 110.59 16.09 310 631.34 0.01296 0 3\n"
        "139 hold +0 -0 on0 off0: 6+0/12 3 111.07 14.21 310 623.82 0.01324 0 3\n"
        "6 partial<none room 134 #1 1 0.02/0.03 1\n"
        "7 partial<none room 134 #1 1 0.02/0.03 2\n"
        "8 partial<none room 138 #1 1 0.02/0.03 4\n"
        "13,14,15 none<none new 131 #0 0 0/0.03\n"};
    run(&scene);
}

/* From one instance; the price of one more is more than there is. */
static void few_that_cost_much(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "p99",
        "<cost an_instance_hour='0.5' at_most='2.1'/><instances alpha='2' margin='3%' "
        "instrumented='100%'/>",
        1,
        3,
        0.006,
        1.1,
        2,
        {{12, 30, 1, 0, 0, 0},
         {14, 90, 1, 0, 0, 0},
         {14, 220, 1, 0, 0, 0},
         {12, 400, 1, 0, 0, 0},
         {10, 600, 1, 0, 0, 0},
         {50, 90, 1, 0, 0, 0},
         {10, 90, 1, 0, 5, 0},
         {12, 150, 1, 1, 0, 0.001},
         {40, 20, 1, 0, 0, 0}},
        "1:\n"
        "3 instrument +0 -0 on1 off0: 1+0/4 0 260.26 6.909 30 260.26 0.01429 0.5 3\n"
        "4 hold +0 -0 on0 off0: 1+0/4 1 260.26 41.87 30 218.39 0.01642 0.5 3\n"
        "1 full<none room 3 #1 3 0.018/0.02 7\n"
        "2:\n"
        "13 add +2 -0 on0 off0: 1+0/4 1 260.26 190.4 135 69.827 0.22 0.5 3\n"
        "14 hold +0 -0 on0 off0: 1+2/4 1 260.26 210.1 90 570.72 0.22 1.5 3\n"
        "18 instrument +0 -0 on1 off0: 3+0/4 1 260.26 110.5 90 670.28 0.015 1.5 3\n"
        "19 hold +0 -0 on0 off0: 3+0/4 2 260.26 93.32 90 594.13 0.01571 1.5 3\n"
        "22 instrument +0 -0 on1 off0: 3+0/4 2 260.26 61.67 90 657.43 0.01571 1.5 3\n"
        "23 hold +0 -0 on0 off0: 3+0/4 3 260.26 56 90 612.78 0.01642 1.5 3\n"
        "1 full<none room 3 #1 3 0.018/0.02 7\n"
        "2 full<none room 18 #1 3 0.018/0.02 7\n"
        "3 full<none room 22 #1 3 0.018/0.02 7\n"
        "3:\n"
        "27 revert +0 -0 on0 off2: 3+0/4 3 260.26 149.1 220 333.34 0.0569 1.5 3\n"
        "28 hold +0 -0 on0 off0: 3+0/4 1 192.3 98.85 220 478.05 0.04397 1.5 3\n"
        "31 instrument +0 -0 on1 off0: 3+0/4 1 127.4 55.76 220 326.44 0.04397 1.5 3\n"
        "32 hold +0 -0 on0 off0: 3+0/4 2 119.83 51.15 220 257.18 0.05043 1.5 3\n"
        "33 revert and add +1 -0 on0 off2: 3+0/4 2 114.83 48.16 220 248.16 0.05043 1.5 0\n"
        "34 hold +0 -0 on0 off0: 3+1/4 0 111.47 44.8 220 445.87 0.0375 2 0\n"
        "38 instrument +0 -0 on1 off0: 4+0/4 0 153.16 86.49 220 612.64 0.02222 2 3\n"
        "39 hold +0 -0 on0 off0: 4+0/4 1 158.02 76.82 220 555.25 0.02363 2 3\n"
        "1 full<none room 38 #5 3 0.018/0.02 7\n"
        "2 none<full cost 27 #2 0 0/0.02\n"
        "3 none<full cost 33 #2 0 0/0.02\n"
        "4 none<none new 35 #0 0 0/0.02\n"
        "4:\n"
        "41 revert +0 -0 on0 off1: 4+0/4 1 71.709 21.86 600 264.98 0.205 2 0\n"
        "42 hold +0 -0 on0 off0: 4+0/4 0 56.89 7.042 600 227.56 0.2 2 0\n"
        "43 stuck +0 -0 on0 off0: 4+0/4 0 48.018 0 600 192.07 0.2 2 0\n"
        "1 none<full cost 41 #6 0 0/0.02\n"
        "2 none<full cost 27 #2 0 0/0.02\n"
        "3 none<full cost 33 #2 0 0/0.02\n"
        "4 none<none new 35 #0 0 0/0.02\n"
        "5:\n"
        "52 stuck +0 -0 on0 off0: 4+0/4 0 43.33 0 900 173.32 0.2 2 0\n"
        "1 none<full cost 41 #6 0 0/0.02\n"
        "2 none<full cost 27 #2 0 0/0.02\n"
        "3 none<full cost 33 #2 0 0/0.02\n"
        "4 none<none new 35 #0 0 0/0.02\n"
        "6:\n"
        "65 instrument +0 -0 on1 off0: 4+0/4 0 201.49 151.6 90 805.95 0.0129 2 3\n"
        "66 hold +0 -0 on0 off0: 4+0/4 1 222.86 143.1 90 748.29 0.01333 2 3\n"
        "69 instrument +0 -0 on1 off0: 4+0/4 1 262.42 100.9 90 948.78 0.01333 2 3\n"
        "70 hold +0 -0 on0 off0: 4+0/4 2 269.53 87.57 90 903 0.01376 2 3\n"
        "73 instrument +0 -0 on1 off0: 4+0/4 2 281.01 60.42 90 1003.2 0.01376 2 3\n"
        "74 hold +0 -0 on0 off0: 4+0/4 3 282.87 55.22 90 965.84 0.01419 2 3\n"
        "77 instrument +0 -0 on1 off0: 4+0/4 3 285.77 46.65 90 1003.1 0.01419 2 3\n"
        "78 hold +0 -0 on0 off0: 4+0/4 4 285.77 44.78 90 963.94 0.01462 2 3\n"
        "92 remove +0 -1 on0 off0: 4+0/4 4 285.77 40.37 90 981.61 0.01462 2 3\n"
        "93 remove +0 -1 on0 off0: 3+0/4 3 285.77 48.95 90 710.45 0.01642 1.5 3\n"
        "94 remove +0 -1 on0 off0: 2+0/4 2 285.77 74.67 90 422.2 0.02178 1 3\n"
        "95 hold +0 -0 on0 off0: 1+0/4 1 285.77 178.4 135 107.38 0.22 0.5 3\n"
        "96 add +2 -0 on0 off0: 1+0/4 1 285.77 216.9 135 68.837 0.22 0.5 3\n"
        "97 hold +0 -0 on0 off0: 1+2/4 1 285.77 236.1 90 621.2 0.22 1.5 3\n"
        "101 instrument +0 -0 on1 off0: 3+0/4 1 266.06 116.7 90 681.51 0.015 1.5 3\n"
        "102 hold +0 -0 on0 off0: 3+0/4 2 264.3 97.67 90 597.58 0.01571 1.5 3\n"
        "105 instrument +0 -0 on1 off0: 3+0/4 2 261.64 63.18 90 658.55 0.01571 1.5 3\n"
        "106 hold +0 -0 on0 off0: 3+0/4 3 261.64 57.47 90 612.49 0.01642 1.5 3\n"
        "1 full<none room 65 #7 3 0.018/0.02 7\n"
        "5 full<none room 101 #1 3 0.018/0.02 7\n"
        "6 full<none room 105 #1 3 0.018/0.02 7\n"
        "7:\n"
        "112 remove +0 -4 on0 off0: 8+0/4 3 279.2 45.16 90 2098.1 0.01175 4 3\n"
        "113 hold +0 -0 on0 off0: 4+0/4 3 281.59 44.21 90 993.73 0.01419 2 3\n"
        "116 instrument +0 -0 on1 off0: 4+0/4 3 285.32 42.7 90 1013.2 0.01419 2 3\n"
        "117 hold +0 -0 on0 off0: 4+0/4 4 285.32 41.86 90 973.85 0.01462 2 3\n"
        "1 full<none room 65 #7 3 0.018/0.02 7\n"
        "5 full<none room 101 #1 3 0.018/0.02 7\n"
        "6 full<none room 105 #1 3 0.018/0.02 7\n"
        "7 full<none room 116 #1 3 0.018/0.02 7\n"
        "8:\n"
        "128 remove +0 -1 on0 off0: 3+0/4 3 285.32 133.1 150 456.54 0.02444 1.5 3\n"
        "129 hold +0 -0 on0 off0: 2+0/4 2 285.32 172.9 150 224.88 0.06286 1 3\n"
        "130 revert +0 -0 on0 off2: 2+0/4 2 285.32 193.8 150 183.06 0.06286 1 0\n"
        "131 hold +0 -0 on0 off0: 2+0/4 0 199.23 107.7 150 398.45 0.04 1 0\n"
        "5,6 none<full cost 130 #2 0 0/0.02\n"
        "9:\n"
        "134 instrument +0 -0 on1 off0: 2+0/4 0 173.73 82.2 20 347.45 0.01111 1 3\n"
        "135 hold +0 -0 on0 off0: 2+0/4 1 207.29 81.82 20 332.77 0.01174 1 3\n"
        "138 instrument +0 -0 on1 off0: 2+0/4 1 279.17 67.66 20 490.68 0.01174 1 3\n"
        "139 hold +0 -0 on0 off0: 2+0/4 2 279.17 47.61 20 463.11 0.01236 1 3\n"
        "164 remove +0 -1 on0 off0: 2+0/4 2 279.17 0 20 558.33 0.01236 1 3\n"
        "165 hold +0 -0 on0 off0: 1+0/4 1 279.17 0.2547 20 278.91 0.0141 0.5 3\n"
        "5 full<none room 134 #3 3 0.003/0.02 7\n"};
    run(&scene);
}

/* More probes than fit into a word and than an instance may record; many instances are lost. */
static void many_probes_and_losses(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "<overhead at_most='4%'/><instances least='10' instrumented='40%'/>",
        20,
        130,
        0.003,
        1.02,
        6,
        {{12, 600, 1, 0, 0, 0},
         {12, 600, 1, 4, 0, 0},
         {12, 620, 1, -5, 0, 0},
         {9, 640, 1, 2, 9, 0},
         {14, 650, 1, 0, 0, 0.009},
         {14, 650, 1, 0, 0, 0.0005},
         {14, 1600, 1, 3, 0, 0},
         {20, 500, 1, 6, 1, 0},
         {10, 500, 1, -6, 2, 0.002}},
        "1:\n"
        "3 instrument +0 -0 on4 off0: 20+0/1000000 0 80 3.846 600 1600 0.01429 0 52\n"
        "4 hold +0 -0 on0 off0: 20+0/1000000 4 80 1.961 600 1592.2 0.01437 0 52\n"
        "7 instrument +0 -0 on4 off0: 20+0/1000000 4 80 1.961 600 1592.2 0.01437 0 104\n"
        "8 hold +0 -0 on0 off0: 20+0/1000000 8 80 1.961 600 1584.3 0.01445 0 104\n"
        "1 partial<none room 3 #1 13 0.039/0.04 1fff 0 0\n"
        "2 partial<none room 3 #1 13 0.039/0.04 3ffe000 0 0\n"
        "3 partial<none room 3 #1 13 0.039/0.04 7ffc000000 0 0\n"
        "4 partial<none room 3 #1 13 0.039/0.04 fff8000000000 0 0\n"
        "5 partial<none room 7 #1 13 0.039/0.04 fff0000000000000 1 0\n"
        "6 partial<none room 7 #1 13 0.039/0.04 0 3ffe 0\n"
        "7 partial<none room 7 #1 13 0.039/0.04 0 7ffc000 0\n"
        "8 partial<none room 7 #1 13 0.039/0.04 0 fff8000000 0\n"
        "9,10,11,12,13,14,15,16,17,18,19,20 none<none new 0 #0 0 0/0.04\n"
        "2:\n"
        "12 instrument +0 -0 on2 off0: 16+0/1000000 4 80 1.961 600 1272.2 0.01613 0 78\n"
        "13 hold +0 -0 on0 off0: 16+0/1000000 6 80 1.961 600 1268.2 0.01619 0 78\n"
        "5 partial<none room 7 #1 13 0.039/0.04 fff0000000000000 1 0\n"
        "6 partial<none room 7 #1 13 0.039/0.04 0 3ffe 0\n"
        "7 partial<none room 7 #1 13 0.039/0.04 0 7ffc000 0\n"
        "8 partial<none room 7 #1 13 0.039/0.04 0 fff8000000 0\n"
        "9 partial<none room 12 #1 13 0.039/0.04 1fff 0 0\n"
        "10 partial<none room 12 #1 13 0.039/0.04 3ffe000 0 0\n"
        "11,12,13,14,15,16,17,18,19,20 none<none new 0 #0 0 0/0.04\n"
        "3:\n"
        "24 revert +0 -0 on0 off2: 11+0/1000000 6 80 1.961 620 868.24 0.0235 0 52\n"
        "25 hold +0 -0 on0 off0: 11+0/1000000 4 80 1.961 620 872.16 0.02331 0 52\n"
        "5,6 none<partial share 24 #2 0 0/0.04\n"
        "7 partial<none room 7 #1 13 0.039/0.04 0 7ffc000 0\n"
        "8 partial<none room 7 #1 13 0.039/0.04 0 fff8000000 0\n"
        "9 partial<none room 12 #1 13 0.039/0.04 1fff 0 0\n"
        "10 partial<none room 12 #1 13 0.039/0.04 3ffe000 0 0\n"
        "11,12,13,14,15 none<none new 0 #0 0 0/0.04\n"
        "4:\n"
        "36 instrument +0 -0 on3 off0: 18+0/1000000 4 80 1.961 640 1432.2 0.01563 0 91\n"
        "37 hold +0 -0 on0 off0: 18+0/1000000 7 80 1.961 640 1426.3 0.01571 0 91\n"
        "7 partial<none room 7 #1 13 0.039/0.04 0 7ffc000 0\n"
        "8 partial<none room 7 #1 13 0.039/0.04 0 fff8000000 0\n"
        "9 partial<none room 12 #1 13 0.039/0.04 1fff 0 0\n"
        "10 partial<none room 12 #1 13 0.039/0.04 3ffe000 0 0\n"
        "11 partial<none room 36 #1 13 0.039/0.04 7ffc000000 0 0\n"
        "12 partial<none room 36 #1 13 0.039/0.04 fff8000000000 0 0\n"
        "13 partial<none room 36 #1 13 0.039/0.04 fff0000000000000 1 0\n"
        "14,15 none<none new 0 #0 0 0/0.04\n"
        "21,22,23,24,25,26,27,28,29 none<none new 36 #0 0 0/0.04\n"
        "5:\n"
        "7 partial<partial dear 45 #2 4 0.036/0.04 0 7800000 0\n"
        "8 partial<partial dear 45 #2 4 0.036/0.04 0 f000000000 0\n"
        "9 partial<partial dear 45 #2 4 0.036/0.04 1e00 0 0\n"
        "10 partial<partial dear 45 #2 4 0.036/0.04 3c00000 0 0\n"
        "11 partial<partial dear 45 #2 4 0.036/0.04 7800000000 0 0\n"
        "12 partial<partial dear 45 #2 4 0.036/0.04 f000000000000 0 0\n"
        "13 partial<partial dear 45 #2 4 0.036/0.04 e000000000000000 1 0\n"
        "14,15 none<none new 0 #0 0 0/0.04\n"
        "21,22,23,24,25,26,27,28,29 none<none new 36 #0 0 0/0.04\n"
        "6:\n"
        "7 partial<partial cover 59 #3 80 0.04/0.04 1ff0ff87fc3fe1ff ffffffffe 0\n"
        "8 partial<partial cover 59 #3 30 0.015/0.04 0 fffffff000000000 3\n"
        "9 partial<partial dear 45 #2 4 0.002/0.04 1e00 0 0\n"
        "10 partial<partial dear 45 #2 4 0.002/0.04 3c00000 0 0\n"
        "11 partial<partial dear 45 #2 4 0.002/0.04 7800000000 0 0\n"
        "12 partial<partial dear 45 #2 4 0.002/0.04 f000000000000 0 0\n"
        "13 partial<partial dear 45 #2 4 0.002/0.04 e000000000000000 1 0\n"
        "14,15 none<none new 0 #0 0 0/0.04\n"
        "21,22,23,24,25,26,27,28,29 none<none new 36 #0 0 0/0.04\n"
        "7:\n"
        "74 add +16 -0 on0 off0: 15+0/1000000 4 85.628 1.126 2400 1279.9 0.2011 0 130\n"
        "75 hold +0 -0 on0 off0: 15+16/1000000 4 87.37 0.8438 1600 2705.1 0.2011 0 130\n"
        "83 instrument +0 -0 on7 off0: 31+0/1000000 4 82.356 1.626 1600 2546.5 0.02078 0 130\n"
        "84 hold +0 -0 on0 off0: 31+0/1000000 11 81.638 1.73 1600 2511.7 0.02098 0 130\n"
        "10 partial<partial cover 73 #3 80 0.04/0.04 1ff0ff87ffffffff ffffffe 0\n"
        "11 partial<partial cover 73 #3 42 0.021/0.04 7800000000 fffffffff0000000 3\n"
        "12 partial<partial dear 45 #2 4 0.002/0.04 f000000000000 0 0\n"
        "13 partial<partial dear 45 #2 4 0.002/0.04 e000000000000000 1 0\n"
        "14 partial<none room 83 #1 80 0.04/0.04 ffffffffffffffff ffff 0\n"
        "15 partial<none room 83 #1 80 0.04/0.04 3fffffff ffffffffffff0000 3\n"
        "21 partial<none room 83 #1 80 0.04/0.04 ffffffffc0000000 3fffffffffff 0\n"
        "22 partial<none room 83 #1 80 0.04/0.04 fffffffffffffff ffffc00000000000 3\n"
        "23 partial<none room 83 #1 80 0.04/0.04 f0000000000003ff ffffffffffffffff 3\n"
        "24 partial<none room 83 #1 80 0.04/0.04 fffffffffffffc00 3ffffff 0\n"
        "25 partial<none room 83 #1 80 0.04/0.04 ffffffffff fffffffffc000000 3\n"
        "26,27,28,29 none<none new 36 #0 0 0/0.04\n"
        "30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45 none<none new 80 #0 0 0/0.04\n"
        "8:\n"
        "87 instrument +0 -0 on5 off0: 26+0/1000000 5 80.556 1.884 500 2085 0.01244 0 130\n"
        "88 hold +0 -0 on0 off0: 26+0/1000000 10 80.388 1.907 500 2071 0.0125 0 130\n"
        "21 partial<none room 83 #1 80 0.04/0.04 ffffffffc0000000 3fffffffffff 0\n"
        "22 partial<none room 83 #1 80 0.04/0.04 fffffffffffffff ffffc00000000000 3\n"
        "23 partial<none room 83 #1 80 0.04/0.04 f0000000000003ff ffffffffffffffff 3\n"
        "24 partial<none room 83 #1 80 0.04/0.04 fffffffffffffc00 3ffffff 0\n"
        "25 partial<none room 83 #1 80 0.04/0.04 ffffffffff fffffffffc000000 3\n"
        "26 partial<none room 87 #1 80 0.04/0.04 ffffff003fffffff 3ffffff 0\n"
        "27 partial<none room 87 #1 80 0.04/0.04 ffffffffff fffffffffc000000 3\n"
        "28 partial<none room 87 #1 80 0.04/0.04 ffffff0000000000 ffffffffffffff 0\n"
        "29 partial<none room 87 #1 80 0.04/0.04 ffffffffffffffff ff0000000000003f 3\n"
        "30 partial<none room 87 #1 80 0.04/0.04 fffff ffffffffffffffc0 3\n"
        "31,32,33,34,35,36,37,38,39,40,41,42,43,44,45 none<none new 80 #0 0 0/0.04\n"
        "46 none<none new 87 #0 0 0/0.04\n"
        "9:\n"
        "107 revert +0 -0 on0 off2: 22+0/1000000 10 80 1.961 500 1740.4 0.01309 0 130\n"
        "108 hold +0 -0 on0 off0: 22+0/1000000 8 80 1.961 500 1744.3 0.01306 0 130\n"
        "21,22 none<partial share 107 #2 0 0/0.04\n"
        "23 partial<partial cover 107 #3 20 0.04/0.04 fffff 0 0\n"
        "24 partial<partial cover 107 #3 20 0.04/0.04 fffff00000 0 0\n"
        "25 partial<partial cover 107 #3 20 0.04/0.04 fffff0000000000 0 0\n"
        "26 partial<partial dear 107 #2 20 0.04/0.04 0 3ffffc0 0\n"
        "27 partial<partial cover 107 #3 20 0.04/0.04 3ff ffc000000 0\n"
        "28 partial<partial dear 107 #2 20 0.04/0.04 0 fffff000000000 0\n"
        "29 partial<partial dear 107 #2 20 0.04/0.04 f000000000000000 ff0000000000003f 3\n"
        "30 partial<partial dear 107 #2 20 0.04/0.04 0 ffffc00000000000 3\n"
        "31,32,33,34,35,36,37,38,39,40 none<none new 80 #0 0 0/0.04\n"
        "47,48 none<none new 107 #0 0 0/0.04\n"};
    run(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_binds_now_and_then),
        cmocka_unit_test(response_times_that_say_otherwise),
        cmocka_unit_test(few_that_cost_much),
        cmocka_unit_test(many_probes_and_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
