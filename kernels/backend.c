/* SPDX-License-Identifier: MIT
 *
 * The table of backends, and how one is chosen.
 */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cuda/cuda.h"
#include "error.h"

/* Best first: "auto" and "cpu" take the first usable one of the host's. Plain C is always usable. The GPU is
 * only taken by name: what it saves is less than the way there and back costs. */
static const TtBackend *const backends[] = {
    &tt_backend_cuda,
#if defined __x86_64__
    &tt_backend_avx512, &tt_backend_avx2, &tt_backend_ssse3, &tt_backend_sse2,
#elif defined __AARCH64EL__
    &tt_backend_neon,
#endif
    &tt_backend_c,
};

enum { BACKENDS = sizeof(backends) / sizeof(backends[0]) };

const char *tt_backend_name(size_t index) {
    return index < BACKENDS ? backends[index]->name : NULL;
}

static const TtBackend *best_of_cpu(void) {
    size_t i = 0;
    while (!backends[i]->host || !backends[i]->usable())
        i++;
    return backends[i];
}

/* The message that is set, for use in a longer one. */
static const char *reason(void) {
    static _Thread_local char text[400];
    snprintf(text, sizeof(text), "%s", tt_last_error());
    return text;
}

const TtBackend *tt_backend_find(const char *name, TtStatus *status) {
    const char *origin = "";
    *status = TT_OK;
    if (!name && (name = getenv("TT_BACKEND")))
        origin = " (from TT_BACKEND)";
    if (!name || !*name || !strcmp(name, "auto") || !strcmp(name, "cpu"))
        return best_of_cpu();

    for (size_t i = 0; i < BACKENDS; i++)
        if (!strcmp(name, backends[i]->name)) {
            if (backends[i]->usable())
                return backends[i];
            *status =
                backends[i]->explains
                    ? tt_fail(TT_ERROR_NO_DEVICE, "the backend '%s'%s cannot run: %s", name, origin, reason())
                    : tt_fail(TT_ERROR_NO_DEVICE, "the backend '%s'%s cannot run on this machine", name,
                              origin);
            return NULL;
        }

    char known[128] = "auto cpu";
    for (size_t i = 0; i < BACKENDS; i++) {
        strncat(known, " ", sizeof(known) - strlen(known) - 1);
        strncat(known, backends[i]->name, sizeof(known) - strlen(known) - 1);
    }
    *status =
        tt_fail(TT_ERROR_ARGUMENT, "no backend is named '%s'%s: this build has %s", name, origin, known);
    return NULL;
}

TtStatus tt_backend_check(const char *name) {
    TtStatus status;
    tt_backend_find(name, &status);
    return status;
}
