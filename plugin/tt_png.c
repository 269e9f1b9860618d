/* SPDX-License-Identifier: MIT
 *
 * Which of the PNG operations there are, and what loading and saving share.
 */
#include "tt_png.h"

#include <string.h>

#include "../cli/fault.h"

const char *tt_png_suffixes[] = {".png", NULL};

static gboolean chosen;

void tt_png_register(void) {
    /* A second copy of the module: the first stays. */
    if (g_type_from_name("TtPngload"))
        return;
    chosen = !g_strcmp0(g_getenv("TT_PNG"), "1");
    g_type_ensure(tt_pngload_file_get_type());
    g_type_ensure(tt_pngload_buffer_get_type());
    g_type_ensure(tt_pngload_source_get_type());
    g_type_ensure(tt_pngsave_file_get_type());
    g_type_ensure(tt_pngsave_buffer_get_type());
    g_type_ensure(tt_pngsave_target_get_type());
}

gboolean tt_png_is_chosen(void) {
    return chosen;
}

static gpointer new_cores(gpointer unused G_GNUC_UNUSED) {
    return cores_new((guint)vips_concurrency_get());
}

Cores *tt_png_cores(void) {
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, new_cores, NULL);
}

int tt_png_fail(const char *operation, VipsConnection *subject, GError *error) {
    const char *name = subject ? vips_connection_nick(subject) : NULL;
    if (*error->message)
        vips_error(operation, "%s %s", name ? name : "the picture", error->message);
    g_error_free(error);
    return -1;
}

gboolean tt_png_told(GError **error) {
    return fault(error, STATUS_FAILED, "%s", "");
}
