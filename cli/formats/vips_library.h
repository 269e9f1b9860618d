/* SPDX-License-Identifier: MIT
 *
 * libvips, opened when it is first needed.
 *
 * Linked as usual it would cost each start of the command 20 ms and as many megabytes, whatever the files
 * are. Its functions are therefore called through this struct: vips.image_new() is vips_image_new().
 */
#ifndef VIPS_LIBRARY_H
#define VIPS_LIBRARY_H

#include <vips/vips.h>

#define VIPS_FUNCTIONS(F)                                                                                    \
    F(vips, init)                                                                                            \
    F(vips, version)                                                                                         \
    F(vips, version_string)                                                                                  \
    F(vips, cache_set_max)                                                                                   \
    F(vips, concurrency_set)                                                                                 \
    F(vips, thread_shutdown)                                                                                 \
    F(vips, error)                                                                                           \
    F(vips, error_buffer_copy)                                                                               \
    F(vips, error_clear)                                                                                     \
    F(vips, type_find)                                                                                       \
    F(vips, format_sizeof)                                                                                   \
    F(vips, source_new_from_descriptor)                                                                      \
    F(vips, target_custom_new)                                                                               \
    F(vips, blob_get)                                                                                        \
    F(vips, area_unref)                                                                                      \
    F(vips, operation_new)                                                                                   \
    F(vips, object_build)                                                                                    \
    F(vips, object_set_from_string)                                                                          \
    F(vips, object_unref_outputs)                                                                            \
    F(vips, image_new)                                                                                       \
    F(vips, image_init_fields)                                                                               \
    F(vips, image_pipelinev)                                                                                 \
    F(vips, image_generate)                                                                                  \
    F(vips, image_is_sequential)                                                                             \
    F(vips, image_get_n_pages)                                                                               \
    F(vips, image_get_page_height)                                                                           \
    F(vips, image_get_fields)                                                                                \
    F(vips, image_get_typeof)                                                                                \
    F(vips, image_get)                                                                                       \
    F(vips, image_get_blob)                                                                                  \
    F(vips, image_get_int)                                                                                   \
    F(vips, image_set)                                                                                       \
    F(vips, image_get_double)                                                                                \
    F(vips, image_set_double)                                                                                \
    F(vips, image_set_int)                                                                                   \
    F(vips, image_set_blob_copy)                                                                             \
    F(vips, image_remove)                                                                                    \
    F(vips, region_new)                                                                                      \
    F(vips, region_prepare)                                                                                  \
    F(vips, sequential)                                                                                      \
    F(g, object_get)                                                                                         \
    F(g, object_set)                                                                                         \
    F(g, object_unref)                                                                                       \
    F(g, signal_connect_data)                                                                                \
    F(vips, image_get_string)                                                                                \
    F(g, type_class_ref)                                                                                     \
    F(g, object_class_find_property)                                                                         \
    F(g, value_unset)

typedef struct {
#define DECLARE(prefix, name) __typeof__(prefix##_##name) *name;
    VIPS_FUNCTIONS(DECLARE)
#undef DECLARE
} VipsLibrary;

/* Filled by vips_library_open(). */
extern VipsLibrary vips;

/* Opens and starts libvips once; `threads` as in --threads. */
gboolean vips_library_open(int threads, GError **error);

/* What libvips says was first to fail, on one line; it then forgets all that it has to say. Free it with
 * g_free(). */
char *vips_library_message(void);

/* Whether it opened a .v on this thread without its metadata, of which it only warns, since this was asked.
 */
gboolean vips_library_lost_metadata(void);

/* All metadata of one image that the other has no field for. */
void copy_metadata(VipsImage *from, VipsImage *to);

#endif
