/* SPDX-License-Identifier: MIT */
/* What the master decides of made fleets without chance, in full: each decision with the figures
 * that it was made by, and every instance afterwards. */
#include "decided.h"

/* Without a bound on cost: room is used up to the share, instances are added for more load, and
 * those that are instrumented stay so with less. */
static void a_load_that_grows(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "",
        9,
        3,
        0.004,
        1.03,
        2,
        {{20, 400, 1, 0, 0, 0}, {15, 853, 1, 0, 0, 0}, {60, 401, 1, 0, 0, 0}},
        "1:\n"
        "3 instrument +0 -0 on2 off0: 9+0/1000000 0 80 1.961 400 720 0.018 0 3\n"
        "4 hold +0 -0 on0 off0: 9+0/1000000 2 80 2.913 400 714.17 0.01822 0 3\n"
        "7 instrument +0 -0 on2 off0: 9+0/1000000 2 80 2.913 400 714.17 0.01822 0 3\n"
        "8 hold +0 -0 on0 off0: 9+0/1000000 4 80 2.913 400 708.35 0.01844 0 3\n"
        "1,2 full<none room 3 #1 3 0.012/0.02 7\n"
        "3,4 full<none room 7 #1 3 0.012/0.02 7\n"
        "5,6,7,8,9 none<none new 0 #0 0 0/0.02\n"
        "2:\n"
        "21 add +9 -0 on0 off0: 9+0/1000000 4 80 1.631 1279.5 713.48 0.1979 0 3\n"
        "22 hold +0 -0 on0 off0: 9+9/1000000 4 80 1.256 853 1435 0.1979 0 3\n"
        "26 instrument +0 -0 on4 off0: 18+0/1000000 4 80 2.52 853 1429.9 0.01925 0 3\n"
        "27 hold +0 -0 on0 off0: 18+0/1000000 8 80 2.638 853 1418.9 0.0195 0 3\n"
        "30 instrument +0 -0 on1 off0: 18+0/1000000 8 80 2.819 853 1417.5 0.0195 0 3\n"
        "31 hold +0 -0 on0 off0: 18+0/1000000 9 80 2.847 853 1414.4 0.01956 0 3\n"
        "1,2 full<none room 3 #1 3 0.012/0.02 7\n"
        "3,4 full<none room 7 #1 3 0.012/0.02 7\n"
        "5,6,7,8 full<none room 26 #1 3 0.012/0.02 7\n"
        "9 full<none room 30 #1 3 0.012/0.02 7\n"
        "10,11,12,13,14,15,16,17,18 none<none new 23 #0 0 0/0.02\n"
        "3:\n"
        "1,2 full<none room 3 #1 3 0.012/0.02 7\n"
        "3,4 full<none room 7 #1 3 0.012/0.02 7\n"
        "5,6,7,8 full<none room 26 #1 3 0.012/0.02 7\n"
        "9 full<none room 30 #1 3 0.012/0.02 7\n"
        "10,11,12,13,14,15,16,17,18 none<none new 23 #0 0 0/0.02\n"};
    run(&scene);
}

/* At most 12 instances: instrumentation goes as far as is needed before instances come; later some
 * are removed, first those that are too dear. */
static void cost_that_binds(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "<cost an_instance_hour='0.12' at_most='1.5'/>"
        "<instances least='4' alpha='2' margin='5%' instrumented='70%'/>",
        10,
        3,
        0.004,
        1.05,
        3,
        {{20, 613, 1, 0, 0, 0},
         {15, 1013, 1, 0, 0, 0},
         {8, 875, 1, 0, 0, 0},
         {20, 700, 1, 0, 0, 0},
         {5, 700, 1, 0, 7, 0},
         {20, 700, 1, 0, 0, 0},
         {8, 880, 1, 0, 0, 0},
         {70, 100, 1, 0, 0, 0}},
        "1:\n"
        "3 instrument +0 -0 on2 off0: 10+0/12 0 80 1.961 613 800 0.02584 1.2 3\n"
        "4 hold +0 -0 on0 off0: 10+0/12 2 80 4.762 613 790.48 0.02656 1.2 3\n"
        "7 instrument +0 -0 on2 off0: 10+0/12 2 80 4.762 613 790.48 0.02656 1.2 3\n"
        "8 hold +0 -0 on0 off0: 10+0/12 4 80 4.762 613 780.95 0.02729 1.2 3\n"
        "11 instrument +0 -0 on2 off0: 10+0/12 4 80 4.762 613 780.95 0.02729 1.2 3\n"
        "12 hold +0 -0 on0 off0: 10+0/12 6 80 4.762 613 771.43 0.02802 1.2 3\n"
        "15 instrument +0 -0 on1 off0: 10+0/12 6 80 4.762 613 771.43 0.02802 1.2 3\n"
        "16 hold +0 -0 on0 off0: 10+0/12 7 80 4.762 613 766.67 0.02838 1.2 3\n"
        "1,2 full<none room 3 #1 3 0.012/0.02 7\n"
        "3,4 full<none room 7 #1 3 0.012/0.02 7\n"
        "5,6 full<none room 11 #1 3 0.012/0.02 7\n"
        "7 full<none room 15 #1 3 0.012/0.02 7\n"
        "8,9,10 none<none new 0 #0 0 0/0.02\n"
        "2:\n"
        "21 revert and add +2 -0 on0 off7: 10+0/12 7 83.117 2.65 1519.5 812.62 0.207 1.2 0\n"
        "22 hold +0 -0 on0 off0: 10+2/12 0 84.052 3.585 1013 1008.6 0.2 1.44 0\n"
        "26 stuck +0 -0 on0 off0: 12+0/12 0 81.569 1.102 1013 978.83 0.06417 1.44 0\n"
        "1,2,3,4,5,6,7 none<full cost 21 #2 0 0/0.02\n"
        "8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12 none<none new 24 #0 0 0/0.02\n"
        "3:\n"
        "38 instrument +0 -0 on3 off0: 12+0/12 0 80.021 0 875 960.26 0.03692 1.44 3\n"
        "39 hold +0 -0 on0 off0: 12+0/12 3 80.015 1.176 875 956.65 0.03889 1.44 3\n"
        "42 instrument +0 -0 on3 off0: 12+0/12 3 80.005 3.562 875 949.38 0.03889 1.44 3\n"
        "1,2,3 full<none room 38 #3 3 0.012/0.02 7\n"
        "4,5,6 full<none room 42 #3 3 0.012/0.02 7\n"
        "7 none<full cost 21 #2 0 0/0.02\n"
        "8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12 none<none new 24 #0 0 0/0.02\n"
        "4:\n"
        "46 instrument +0 -0 on2 off0: 12+0/12 6 80.001 4.477 700 933.16 0.02555 1.44 3\n"
        "47 hold +0 -0 on0 off0: 12+0/12 8 80.001 4.562 700 923.51 0.02606 1.44 3\n"
        "1,2,3 full<none room 38 #3 3 0.012/0.02 7\n"
        "4,5,6 full<none room 42 #3 3 0.012/0.02 7\n"
        "7 full<none room 46 #3 3 0.012/0.02 7\n"
        "8 full<none room 46 #1 3 0.012/0.02 7\n"
        "9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12 none<none new 24 #0 0 0/0.02\n"
        "5:\n"
        "63 remove +0 -7 on0 off0: 19+0/12 8 80 4.761 700 1481.9 0.01638 2.28 3\n"
        "64 hold +0 -0 on0 off0: 12+0/12 8 80 4.761 700 921.91 0.02606 1.44 3\n"
        "1,2,3 full<none room 38 #3 3 0.012/0.02 7\n"
        "4,5,6 full<none room 42 #3 3 0.012/0.02 7\n"
        "7 full<none room 46 #3 3 0.012/0.02 7\n"
        "8 full<none room 46 #1 3 0.012/0.02 7\n"
        "9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12 none<none new 24 #0 0 0/0.02\n"
        "6:\n"
        "73 remove +0 -1 on0 off0: 12+0/12 8 80 4.762 700 921.9 0.02606 1.44 3\n"
        "74 hold +0 -0 on0 off0: 11+0/12 8 80 4.762 700 841.9 0.03051 1.32 3\n"
        "1,2,3 full<none room 38 #3 3 0.012/0.02 7\n"
        "4,5,6 full<none room 42 #3 3 0.012/0.02 7\n"
        "7 full<none room 46 #3 3 0.012/0.02 7\n"
        "8 full<none room 46 #1 3 0.012/0.02 7\n"
        "9,10 none<none new 0 #0 0 0/0.02\n"
        "11 none<none new 24 #0 0 0/0.02\n"
        "7:\n"
        "89 revert and add +1 -0 on0 off8: 11+0/12 8 80 4.762 880 841.9 0.06136 1.32 0\n"
        "90 hold +0 -0 on0 off0: 11+1/12 0 80 4.762 880 960 0.05 1.44 0\n"
        "95 instrument +0 -0 on3 off0: 12+0/12 0 80 4.762 880 960 0.0375 1.44 3\n"
        "1,2,3 full<none room 95 #5 3 0.012/0.02 7\n"
        "4,5,6,7 none<full cost 89 #4 0 0/0.02\n"
        "8 none<full cost 89 #2 0 0/0.02\n"
        "9,10 none<none new 0 #0 0 0/0.02\n"
        "11 none<none new 24 #0 0 0/0.02\n"
        "20 none<none new 92 #0 0 0/0.02\n"
        "8:\n"
        "99 instrument +0 -0 on3 off0: 12+0/12 3 80 4.762 100 945.71 0.01106 1.44 3\n"
        "100 hold +0 -0 on0 off0: 12+0/12 6 80 4.762 100 931.43 0.01121 1.44 3\n"
        "103 instrument +0 -0 on2 off0: 12+0/12 6 80 4.762 100 931.43 0.01121 1.44 3\n"
        "104 hold +0 -0 on0 off0: 12+0/12 8 80 4.762 100 921.9 0.01131 1.44 3\n"
        "126 remove +0 -1 on0 off0: 12+0/12 8 80 4.762 100 921.9 0.01131 1.44 3\n"
        "127 remove +0 -1 on0 off0: 11+0/12 8 80 4.762 100 841.9 0.01144 1.32 3\n"
        "128 remove +0 -1 on0 off0: 10+0/12 7 80 4.762 100 766.67 0.01155 1.2 3\n"
        "129 remove +0 -1 on0 off0: 9+0/12 7 80 4.762 100 686.67 0.01175 1.08 3\n"
        "130 remove +0 -1 on0 off0: 8+0/12 6 80 4.762 100 611.43 0.01192 0.96 3\n"
        "131 remove +0 -1 on0 off0: 7+0/12 5 80 4.762 100 536.19 0.01216 0.84 3\n"
        "132 remove +0 -1 on0 off0: 6+0/12 5 80 4.762 100 456.19 0.01261 0.72 3\n"
        "133 remove +0 -1 on0 off0: 5+0/12 4 80 4.762 100 380.95 0.01313 0.6 3\n"
        "134 hold +0 -0 on0 off0: 4+0/12 3 80 4.762 100 305.71 0.01401 0.48 3\n"
        "1,2,3 full<none room 95 #5 3 0.012/0.02 7\n"
        "9 none<none new 0 #0 0 0/0.02\n"};
    run(&scene);
}

/* 130 probes of which each instance takes some, and which become dearer and cheaper. */
static void probes_that_do_not_fit(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "<overhead at_most='47%'/><instances instrumented='60%'/>",
        8,
        130,
        0.011,
        1.1,
        2,
        {{20, 200, 1, 0, 0, 0},
         {6, 200, 1, 2, 1, 0},
         {4, 200, 1, 0, 0, 0.013},
         {4, 200, 1, 1, 0, 0.006},
         {16, 200, 1, 0, 4, 0},
         {4, 200, 1, -6, 0, 0.01},
         {4, 200, 1, 1, 0, 0.6}},
        "1:\n"
        "3 instrument +0 -0 on2 off0: 8+0/1000000 0 80 31.97 200 640 0.01333 0 84\n"
        "4 hold +0 -0 on0 off0: 8+0/1000000 2 80 9.091 200 621.82 0.01379 0 84\n"
        "7 instrument +0 -0 on2 off0: 8+0/1000000 2 80 9.091 200 621.82 0.01379 0 130\n"
        "8 hold +0 -0 on0 off0: 8+0/1000000 4 80 9.091 200 603.64 0.01425 0 130\n"
        "1 partial<none room 3 #1 42 0.462/0.47 3ffffffffff 0 0\n"
        "2 partial<none room 3 #1 42 0.462/0.47 fffffc0000000000 fffff 0\n"
        "3 partial<none room 7 #1 42 0.462/0.47 0 3ffffffffff00000 0\n"
        "4 partial<none room 7 #1 42 0.462/0.47 3fffffffff c000000000000000 3\n"
        "5,6,7,8 none<none new 0 #0 0 0/0.47\n"
        "2:\n"
        "20 instrument +0 -0 on2 off0: 7+0/1000000 2 80 9.091 200 541.82 0.01458 0 130\n"
        "21 hold +0 -0 on0 off0: 7+0/1000000 4 80 9.091 200 523.64 0.01517 0 130\n"
        "3 partial<none room 7 #1 42 0.462/0.47 0 3ffffffffff00000 0\n"
        "4 partial<none room 7 #1 42 0.462/0.47 3fffffffff c000000000000000 3\n"
        "5 partial<none room 20 #1 42 0.462/0.47 ffffffc000000000 ffff 0\n"
        "6 partial<none room 20 #1 42 0.462/0.47 3fffffffff f0000 0\n"
        "7,8 none<none new 0 #0 0 0/0.47\n"
        "9 none<none new 20 #0 0 0/0.47\n"
        "3:\n"
        "3 partial<partial dear 26 #2 36 0.468/0.47 0 3ffffffffc000000 0\n"
        "4 partial<partial dear 26 #2 36 0.468/0.47 3fffffffc0 c000000000000000 3\n"
        "5 partial<partial dear 26 #2 36 0.468/0.47 fffff00000000000 ffff 0\n"
        "6 partial<partial dear 26 #2 36 0.468/0.47 3fffffffc0 f0000 0\n"
        "7,8 none<none new 0 #0 0 0/0.47\n"
        "9 none<none new 20 #0 0 0/0.47\n"
        "4:\n"
        "4 partial<partial cover 30 #3 78 0.468/0.47 fffffffffff c003fffffff00000 3\n"
        "5 partial<partial cover 30 #3 48 0.288/0.47 fffff00000000000 3ffc00000000ffff 0\n"
        "6 partial<partial dear 26 #2 36 0.216/0.47 3fffffffc0 f0000 0\n"
        "7,8 none<none new 0 #0 0 0/0.47\n"
        "9 none<none new 20 #0 0 0/0.47\n"
        "5:\n"
        "34 instrument +0 -0 on2 off0: 10+0/1000000 3 80 9.091 200 772.73 0.01298 0 130\n"
        "35 hold +0 -0 on0 off0: 10+0/1000000 5 80 9.091 200 754.55 0.0133 0 130\n"
        "38 instrument +0 -0 on1 off0: 10+0/1000000 5 80 9.091 200 754.55 0.0133 0 130\n"
        "39 hold +0 -0 on0 off0: 10+0/1000000 6 80 9.091 200 745.45 0.01346 0 130\n"
        "4 partial<partial cover 30 #3 78 0.468/0.47 fffffffffff c003fffffff00000 3\n"
        "5 partial<partial cover 30 #3 48 0.288/0.47 fffff00000000000 3ffc00000000ffff 0\n"
        "6 partial<partial dear 26 #2 36 0.216/0.47 3fffffffc0 f0000 0\n"
        "7 partial<none room 34 #1 78 0.468/0.47 ffffffc00000003f 3fffffffffff 0\n"
        "8 partial<none room 34 #1 78 0.468/0.47 3ffffffffffffff ffffc00000000000 3\n"
        "9 partial<none room 38 #1 78 0.468/0.47 fc0000000000003f ffffffffffffffff 3\n"
        "10,11,12,13 none<none new 34 #0 0 0/0.47\n"
        "6:\n"
        "50 revert +0 -0 on0 off2: 4+0/1000000 4 80 9.091 200 283.64 0.02444 0 78\n"
        "51 hold +0 -0 on0 off0: 4+0/1000000 2 80 9.091 200 301.82 0.02222 0 78\n"
        "4 none<partial share 50 #4 0 0/0.47\n"
        "5 partial<partial cover 30 #3 48 0.48/0.47 fffff00000000000 3ffc00000000ffff 0\n"
        "6 none<partial share 50 #3 0 0/0.47\n"
        "7 partial<partial dear 50 #2 47 0.47/0.47 8000000000000000 3fffffffffff 0\n"
        "7:\n"
        "5 partial<partial dear 54 #4 1 0.47/0.47 0 2000000000000000 0\n"
        "6 none<partial share 50 #3 0 0/0.47\n"
        "7 partial<partial dear 54 #3 1 0.47/0.47 0 200000000000 0\n"};
    run(&scene);
}

/* With bounds of their number: those with probes and those without. */
static void instances_that_are_lost(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "<instances least='6' most='20'/>",
        20,
        2,
        0.004,
        1.02,
        2,
        {{30, 600, 1, 0, 0, 0},
         {5, 200, 1, 3, 0, 0},
         {12, 200, 1, -9, 0, 0},
         {5, 200, 1, 4, 0, 0},
         {5, 200, 1, 0, 1, 0}},
        "1:\n"
        "3 instrument +0 -0 on4 off0: 20+0/20 0 80 1.961 600 1600 0.01429 0 2\n"
        "4 hold +0 -0 on0 off0: 20+0/20 4 80 1.961 600 1592.2 0.01437 0 2\n"
        "7 instrument +0 -0 on4 off0: 20+0/20 4 80 1.961 600 1592.2 0.01437 0 2\n"
        "8 hold +0 -0 on0 off0: 20+0/20 8 80 1.961 600 1584.3 0.01445 0 2\n"
        "11 instrument +0 -0 on2 off0: 20+0/20 8 80 1.961 600 1584.3 0.01445 0 2\n"
        "12 hold +0 -0 on0 off0: 20+0/20 10 80 1.961 600 1580.4 0.01449 0 2\n"
        "1,2,3,4 full<none room 3 #1 2 0.008/0.02 3\n"
        "5,6,7,8 full<none room 7 #1 2 0.008/0.02 3\n"
        "9,10 full<none room 11 #1 2 0.008/0.02 3\n"
        "11,12,13,14,15,16,17,18,19,20 none<none new 0 #0 0 0/0.02\n"
        "2:\n"
        "30 instrument +0 -0 on1 off0: 17+0/20 7 80 1.961 200 1346.3 0.01144 0 2\n"
        "31 hold +0 -0 on0 off0: 17+0/20 8 80 1.961 200 1344.3 0.01145 0 2\n"
        "4 full<none room 3 #1 2 0.008/0.02 3\n"
        "5,6,7,8 full<none room 7 #1 2 0.008/0.02 3\n"
        "9,10 full<none room 11 #1 2 0.008/0.02 3\n"
        "11 full<none room 30 #1 2 0.008/0.02 3\n"
        "12,13,14,15,16,17,18,19,20 none<none new 0 #0 0 0/0.02\n"
        "3:\n"
        "35 revert +0 -0 on0 off4: 8+0/20 8 80 1.961 200 624.31 0.01369 0 2\n"
        "36 hold +0 -0 on0 off0: 8+0/20 4 80 1.961 200 632.16 0.01351 0 2\n"
        "4,5,6,7 none<full share 35 #2 0 0/0.02\n"
        "8 full<none room 7 #1 2 0.008/0.02 3\n"
        "9,10 full<none room 11 #1 2 0.008/0.02 3\n"
        "11 full<none room 30 #1 2 0.008/0.02 3\n"
        "4:\n"
        "47 add +2 -0 on0 off0: 4+0/20 4 80 1.961 200 312.16 0.02082 0 2\n"
        "48 revert +0 -0 on0 off2: 4+2/20 4 80 1.961 200 472.16 0.02082 0 2\n"
        "49 hold +0 -0 on0 off0: 6+0/20 2 80 1.961 200 476.08 0.01515 0 2\n"
        "8,9 none<full share 48 #2 0 0/0.02\n"
        "10 full<none room 11 #1 2 0.008/0.02 3\n"
        "11 full<none room 30 #1 2 0.008/0.02 3\n"
        "21,22 none<none new 49 #0 0 0/0.02\n"
        "5:\n"
        "52 instrument +0 -0 on1 off0: 7+0/20 2 80 1.961 200 556.08 0.01411 0 2\n"
        "53 hold +0 -0 on0 off0: 7+0/20 3 80 1.961 200 554.12 0.01417 0 2\n"
        "8 full<none room 52 #3 2 0.008/0.02 3\n"
        "9 none<full share 48 #2 0 0/0.02\n"
        "10 full<none room 11 #1 2 0.008/0.02 3\n"
        "11 full<none room 30 #1 2 0.008/0.02 3\n"
        "21,22 none<none new 49 #0 0 0/0.02\n"
        "23 none<none new 52 #0 0 0/0.02\n"};
    run(&scene);
}

/* What was asked for is asked for again after a minute. */
static void instances_that_do_not_come(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "<instances least='2'/>",
        3,
        2,
        0.004,
        1.02,
        500,
        {{10, 100, 1, 0, 0, 0}, {70, 270, 1, 0, 0, 0}, {5, 270, 1, 0, 3, 0}},
        "1:\n"
        "3 instrument +0 -0 on1 off0: 3+0/1000000 0 80 1.961 100 240 0.015 0 2\n"
        "4 hold +0 -0 on0 off0: 3+0/1000000 1 80 1.961 100 238.04 0.01515 0 2\n"
        "1 full<none room 3 #1 2 0.008/0.02 3\n"
        "2,3 none<none new 0 #0 0 0/0.02\n"
        "2:\n"
        "11 add +3 -0 on0 off0: 3+0/1000000 1 80 1.961 405 238.04 0.1081 0 2\n"
        "12 hold +0 -0 on0 off0: 3+3/1000000 1 80 1.961 270 478.04 0.1081 0 2\n"
        "72 add +3 -0 on0 off0: 3+0/1000000 1 80 1.961 405 238.04 0.1081 0 2\n"
        "73 hold +0 -0 on0 off0: 3+3/1000000 1 80 1.961 270 478.04 0.1081 0 2\n"
        "1 full<none room 3 #1 2 0.008/0.02 3\n"
        "2,3 none<none new 0 #0 0 0/0.02\n"
        "3:\n"
        "83 instrument +0 -0 on2 off0: 6+0/1000000 1 80 1.961 270 478.04 0.01829 0 2\n"
        "84 hold +0 -0 on0 off0: 6+0/1000000 3 80 1.961 270 474.12 0.01852 0 2\n"
        "1 full<none room 3 #1 2 0.008/0.02 3\n"
        "2,3 full<none room 83 #1 2 0.008/0.02 3\n"
        "10,11,12 none<none new 80 #0 0 0/0.02\n"};
    run(&scene);
}

/* Response times that are longer than the model tells of the load, and fall. */
static void response_times_that_are_too_long(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "p90",
        "<throughput at_least='457'/><instances most='23'/>",
        10,
        2,
        0.004,
        1.02,
        2,
        {{20, 450, 2.5, 0, 0, 0},
         {16, 450, 3.9, 0, 0, 0},
         {12, 1450, 2.5, 0, 0, 0},
         {4, 1400, 2, 0, 0, 0},
         {4, 130, 2.3, 0, 0, 0}},
        "1:\n"
        "1,2,3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "2:\n"
        "21 add +3 -0 on0 off0: 10+0/23 0 39.378 1.675 457 393.78 0.07091 0 0\n"
        "22 hold +0 -0 on0 off0: 10+3/23 0 36.825 1.625 457 478.72 0.07091 0 0\n"
        "25 add +4 -0 on0 off0: 13+0/23 0 30.216 1.495 457 392.8 0.05965 0 0\n"
        "26 hold +0 -0 on0 off0: 13+4/23 0 29.275 1.477 457 497.67 0.05965 0 0\n"
        "29 add +3 -0 on0 off0: 17+0/23 0 25.607 1.405 457 435.33 0.05304 0 0\n"
        "30 hold +0 -0 on0 off0: 17+3/23 0 25.065 1.394 457 501.3 0.05304 0 0\n"
        "35 add +3 -0 on0 off0: 20+0/23 0 22.669 1.347 457 453.39 0.05032 0 0\n"
        "1,2,3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13 none<none new 23 #0 0 0/0.02\n"
        "14,15,16,17 none<none new 27 #0 0 0/0.02\n"
        "18,19,20 none<none new 31 #0 0 0/0.02\n"
        "3:\n"
        "39 stuck +0 -0 on0 off0: 23+0/23 0 42.341 1.733 1450 973.84 0.06765 0 0\n"
        "1,2,3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13 none<none new 23 #0 0 0/0.02\n"
        "14,15,16,17 none<none new 27 #0 0 0/0.02\n"
        "18,19,20 none<none new 31 #0 0 0/0.02\n"
        "21,22,23 none<none new 37 #0 0 0/0.02\n"
        "4:\n"
        "48 stuck +0 -0 on0 off0: 23+0/23 0 53.119 1.945 1400 1221.7 0.05111 0 0\n"
        "1,2,3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13 none<none new 23 #0 0 0/0.02\n"
        "14,15,16,17 none<none new 27 #0 0 0/0.02\n"
        "18,19,20 none<none new 31 #0 0 0/0.02\n"
        "21,22,23 none<none new 37 #0 0 0/0.02\n"
        "5:\n"
        "55 instrument +0 -0 on5 off0: 23+0/23 0 54.85 1.978 457 1261.5 0.02438 0 2\n"
        "1,2,3,4,5 full<none room 55 #1 2 0.008/0.02 3\n"
        "6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13 none<none new 23 #0 0 0/0.02\n"
        "14,15,16,17 none<none new 27 #0 0 0/0.02\n"
        "18,19,20 none<none new 31 #0 0 0/0.02\n"
        "21,22,23 none<none new 37 #0 0 0/0.02\n"};
    run(&scene);
}

static void queues_that_are_emptied(void **unused) {
    (void)unused;
    static const struct scene scene = {
        "mean",
        "",
        10,
        2,
        0.004,
        1.02,
        1,
        {{5, 300, 1, 0, 0, 0},
         {2, 830, 9, 0, 0, 0},
         {1, 780, 7, 0, 0, 0},
         {1, 780, 6, 0, 0, 0},
         {1, 780, 5, 0, 0, 0},
         {1, 780, 4, 0, 0, 0},
         {8, 780, 3.9, 0, 0, 0},
         {8, 600, 1, 0, 0, 0}},
        "1:\n"
        "3 instrument +0 -0 on2 off0: 10+0/1000000 0 80 1.961 300 800 0.01429 0 2\n"
        "4 hold +0 -0 on0 off0: 10+0/1000000 2 80 1.961 300 796.08 0.01437 0 2\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "2:\n"
        "6 add +10 -0 on0 off0: 10+0/1000000 2 71.677 0.9438 1245 714.88 0.5432 0 2\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "3:\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13,14,15,16,17,18,19,20 none<none new 7 #0 0 0/0.02\n"
        "4:\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13,14,15,16,17,18,19,20 none<none new 7 #0 0 0/0.02\n"
        "5:\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13,14,15,16,17,18,19,20 none<none new 7 #0 0 0/0.02\n"
        "6:\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13,14,15,16,17,18,19,20 none<none new 7 #0 0 0/0.02\n"
        "7:\n"
        "12 add +4 -0 on0 off0: 20+0/1000000 2 35.997 0.4858 780 718.97 0.06415 0 2\n"
        "13 hold +0 -0 on0 off0: 24+0/1000000 2 33.984 0.4933 780 814.64 0.05792 0 2\n"
        "16 add +4 -0 on0 off0: 24+0/1000000 2 31.166 0.5006 780 746.97 0.05792 0 2\n"
        "17 hold +0 -0 on0 off0: 28+0/1000000 2 29.621 0.5024 780 828.38 0.05417 0 2\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8,9,10 none<none new 0 #0 0 0/0.02\n"
        "11,12,13,14,15,16,17,18,19,20 none<none new 7 #0 0 0/0.02\n"
        "21,22,23,24 none<none new 13 #0 0 0/0.02\n"
        "25,26,27,28 none<none new 17 #0 0 0/0.02\n"
        "8:\n"
        "22 instrument +0 -0 on6 off0: 28+0/1000000 2 59.745 1.274 600 1670.3 0.01275 0 2\n"
        "23 hold +0 -0 on0 off0: 28+0/1000000 8 64.904 1.436 600 1805.8 0.01282 0 2\n"
        "26 instrument +0 -0 on6 off0: 28+0/1000000 8 74.252 1.751 600 2065 0.01282 0 2\n"
        "1,2 full<none room 3 #1 2 0.008/0.02 3\n"
        "3,4,5,6,7,8 full<none room 22 #1 2 0.008/0.02 3\n"
        "9,10,11,12,13,14 full<none room 26 #1 2 0.008/0.02 3\n"
        "15,16,17,18,19,20 none<none new 7 #0 0 0/0.02\n"
        "21,22,23,24 none<none new 13 #0 0 0/0.02\n"
        "25,26,27,28 none<none new 17 #0 0 0/0.02\n"};
    run(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_that_grows),
        cmocka_unit_test(cost_that_binds),
        cmocka_unit_test(probes_that_do_not_fit),
        cmocka_unit_test(instances_that_are_lost),
        cmocka_unit_test(instances_that_do_not_come),
        cmocka_unit_test(response_times_that_are_too_long),
        cmocka_unit_test(queues_that_are_emptied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
