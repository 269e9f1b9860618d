/* SPDX-License-Identifier: MIT
 *
 * What a test believes, checked: EXPECT(condition, "what was tried: %d", n) prints the place, the condition
 * and the text when it does not hold, and main ends with `return expect_result();`.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPECT_GIVE_UP = 20, EXIT_SKIP = 77 };

/* About how much longer a test takes with a sanitizer of GCC's: of many cases that are alike, it then looks
 * at so many fewer. */
#if defined __SANITIZE_THREAD__
enum { SLOWER = 7 };
#elif defined __SANITIZE_ADDRESS__
enum { SLOWER = 3 };
#else
enum { SLOWER = 1 };
#endif

static unsigned expect_failures;

__attribute__((format(printf, 4, 5))) static inline void
expect_failed(const char *file, int line, const char *condition, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: not so: %s: ", file, line, condition);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    if (++expect_failures == EXPECT_GIVE_UP) {
        fprintf(stderr, "gave up after %u failures\n", expect_failures);
        exit(EXIT_FAILURE);
    }
}

/* The text is made only when it is needed. */
#define EXPECT(condition, ...)                                                                               \
    __extension__({                                                                                          \
        bool it_holds = (condition);                                                                         \
        if (!it_holds)                                                                                       \
            expect_failed(__FILE__, __LINE__, #condition, __VA_ARGS__);                                      \
        it_holds;                                                                                            \
    })

/* The same where nothing that follows would make sense without it. */
#define REQUIRE(condition, ...)                                                                              \
    do {                                                                                                     \
        if (!EXPECT(condition, __VA_ARGS__))                                                                 \
            exit(EXIT_FAILURE);                                                                              \
    } while (0)

static inline int expect_result(void) {
    return expect_failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
