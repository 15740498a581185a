/* SPDX-License-Identifier: MIT */
/* The pictures of a study. The subject of each is a struct spex_study with a result. */
#ifndef SPEX_EXPLORE_PICTURE_STUDY_PICTURES_H
#define SPEX_EXPLORE_PICTURE_STUDY_PICTURES_H

#include "explore/picture/picture.h"

/* Two parameters, and the objective in colours: one panel for each combination of the others when
 * these are few, else the best over them. */
spex_drawing spex_draw_heatmap;

/* A panel for each parameter: what the objective was by its values. */
spex_drawing spex_draw_effects;

/* The first objective against each other one. */
spex_drawing spex_draw_pareto;

/* The best so far, over trials and over measured seconds. */
spex_drawing spex_draw_convergence;

#endif
