/* SPDX-License-Identifier: MIT */
#include "rate/controller_state.h"

struct spex_controller spex_controller;
