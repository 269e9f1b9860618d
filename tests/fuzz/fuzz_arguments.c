/* SPDX-License-Identifier: MIT
 *
 * The command line: arguments with a line end after each. Whatever they are, there is a status and one
 * message.
 */
#include <string.h>

#include "../../cli/fault.h"
#include "../../cli/options.h"
#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = g_strndup((const char *)data, size), **words = g_strsplit(text, "\n", 20);
    GPtrArray *argv = g_ptr_array_new();
    g_ptr_array_add(argv, (char *)"imgtranspose");
    for (char **word = words; *word; word++)
        g_ptr_array_add(argv, *word);
    int argc = (int)argv->len;
    g_ptr_array_add(argv, NULL);
    Options options;
    GError *error = NULL;
    gboolean good = options_parse(&options, argc, (char **)argv->pdata, &error);
    REQUIRE(!good == !!error, "neither good nor an error: %s", text);
    if (error) {
        REQUIRE(error->code == STATUS_USAGE || error->code == STATUS_NO_INPUT ||
                    error->code == STATUS_NO_DEVICE,
                "status %d: %s", error->code, error->message);
        g_error_free(error);
    } else {
        REQUIRE(options.operation >= TT_NONE && options.operation <= TT_ROT270, "no orientation");
    }
    options_clear(&options);
    g_ptr_array_unref(argv);
    g_strfreev(words);
    g_free(text);
    return 0;
}
