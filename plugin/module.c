/* SPDX-License-Identifier: MIT
 *
 * The module: libvips loads it in every process, so it registers types and does nothing else.
 */
#include <gmodule.h>
#include <vips/vips.h>

#include "tt_png.h"
#include "tt_transpose.h"

/* libvips built with its deprecated API wants this of a file named by `vips --plugin`: a package of the
 * old kind, here without functions. */
typedef struct {
    const char *name;
    int n_functions;
    void **functions;
} OldPackage;

G_MODULE_EXPORT OldPackage package_table;
G_MODULE_EXPORT const gchar *g_module_check_init(GModule *module);

OldPackage package_table = {"tt_transpose", 0, NULL};

const gchar *g_module_check_init(GModule *module) {
    /* The structs that the operation extends belong to one minor version. */
    if (vips_version(0) != VIPS_MAJOR_VERSION || vips_version(1) != VIPS_MINOR_VERSION)
        return "tt_transpose was built for libvips " G_STRINGIFY(VIPS_MAJOR_VERSION) "." G_STRINGIFY(
            VIPS_MINOR_VERSION) " and this is another: build it again for this one";
    /* GLib keeps types for ever, and so their code. */
    g_module_make_resident(module);
    /* A second copy, say one installed and one named by --plugin: the first stays. */
    if (!g_type_from_name("TtTranspose"))
        g_type_ensure(tt_transpose_get_type());
#ifdef WITH_PNG
    tt_png_register();
#endif
    return NULL;
}
