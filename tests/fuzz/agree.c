/* Every vector unit and every way to cut a text give one result, without Python.
 *
 *     agree FILE ...             prints a digest of each file's result
 *     agree --failing FILE ...   the same where one allocation after the other fails
 *
 * Compiled with -DFUZZ it is a target of libFuzzer. The digest is of values, not of bytes in
 * memory: it is the same on every machine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long granted = -1; /* allocations that succeed yet; -1: all */
static int failed;

static int denied(void)
{
    if (granted < 0 || granted-- > 0)
        return 0;
    granted = 0;
    return failed = 1;
}

static void *failing_calloc(size_t count, size_t size)
{
    return denied() ? NULL : calloc(count, size);
}

static void *failing_malloc(size_t size) { return denied() ? NULL : malloc(size); }

static void *failing_realloc(void *old, size_t size)
{
    return denied() ? NULL : realloc(old, size);
}

#define calloc failing_calloc
#define malloc failing_malloc
#define realloc failing_realloc
#include "scanner.h"
#undef calloc
#undef malloc
#undef realloc

/* What Python tells the scanner; written by `build.py`. */
#include "told.h"

static const char *const prefixes[] = {PREFIXES};
static const char *const marks[] = {MARKS};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static int add_texts(const char ***texts, size_t **lengths, int *count,
    const char *const *list, size_t size)
{
    *texts = failing_calloc(size, sizeof **texts);
    *lengths = failing_calloc(size, sizeof **lengths);
    if (!*texts || !*lengths)
        return 0;
    for (size_t i = 0; i < size; i++) {
        (*texts)[i] = list[i];
        (*lengths)[i] = strlen(list[i]);
    }
    *count = (int)size;
    return 1;
}

static State *made(uint64_t seed)
{
    State *state = state_new();
    char *text = state ? state->key_text = failing_malloc(1 << 14) : NULL;
    if (!text)
        goto failed;
    state->seed = seed;
    state->longest = LONGEST;
#define EVENT_KEY(key, role) add_key(&state->event_keys, key, sizeof key - 1, R_##role, &text);
#define ARGS_KEY(key, role) add_key(&state->args_keys, key, sizeof key - 1, R_##role, &text);
#define CATEGORY(name, kind)                                                               \
    if (!add_category(state, name, sizeof name - 1, kind))                                 \
        goto failed;
    TOLD
    if (add_texts(&state->prefix, &state->prefix_length, &state->prefixes, prefixes,
            COUNT(prefixes))
        && add_texts(&state->mark, &state->mark_length, &state->marks, marks, COUNT(marks))
        && make_room(state, 256))
        return state;
failed:
    state_free(state);
    return NULL;
}

/* ------------------------------------------------------------------------------- the result */

static void add(uint64_t *digest, uint64_t value)
{
    *digest = (*digest ^ value) * 0x100000001b3u;
    *digest ^= *digest >> 29;
}

static void add_table(uint64_t *digest, const Table *table)
{
    add(digest, table->size);
    for (int i = 0; i < table->count; i++) {
        const Column *column = &table->columns[i];
        for (size_t row = 0; row < table->size; row++) {
            const char *at = (const char *)column->data + row * column->width;
            int32_t number;
            if (column->width == 4)
                memcpy(&number, at, 4);
            add(digest, column->width == 8 ? load64(at)
                    : column->width == 4   ? (uint64_t)(int64_t)number
                                           : (uint64_t)(signed char)*at);
        }
    }
}

static void add_dictionary(uint64_t *digest, const Texts *texts, int pairs)
{
    add(digest, texts->size);
    for (uint32_t number = 0; number < texts->size; number++) {
        size_t length;
        const char *text = text_at(texts, number, &length);
        if (pairs) {
            int32_t pair[2];
            memcpy(pair, text, sizeof pair);
            add(digest, (uint64_t)pair[0]);
            add(digest, (uint64_t)pair[1]);
        } else {
            add(digest, length);
            for (size_t i = 0; i < length; i++)
                add(digest, (byte)text[i]);
        }
    }
}

static uint64_t result_of(const State *state, uint64_t refused)
{
    uint64_t digest = refused;
    add_table(&digest, &state->events);
    add_table(&digest, &state->kernels);
    add_table(&digest, &state->syncs);
    add_table(&digest, &state->comms);
    add_dictionary(&digest, &state->categories, 0);
    add_dictionary(&digest, &state->names, 0);
    add_dictionary(&digest, &state->values, 0);
    add_dictionary(&digest, &state->lanes, 1);
    add_dictionary(&digest, &state->geometries, 0);
    add_dictionary(&digest, &state->texts, 0);
    for (uint32_t category = 0; category < state->categories.size; category++)
        for (int letter = 0; letter < MAX_LETTER; letter++)
            add(&digest, state->counted[category][letter]);
    return digest;
}

/* ---------------------------------------------------------------------------------- a scan */

/* The comma behind an event that was refused, as a reader that knows no JSON finds it. */
static size_t passed(const char *text, size_t size, size_t at)
{
    for (at++; at < size; at++) {
        size_t next = at + 1;
        while (next < size && strchr(" \n\r\t", text[next]) && text[next])
            next++;
        if (text[at] == ',' && next < size && text[next] == '{')
            return at;
    }
    return size;
}

/* Scan a text in steps of so many bytes; 0 where an allocation fails. */
static int scanned(Scan *scan, const char *text, size_t size, size_t step, uint64_t *digest)
{
    const char *open = memchr(text, '[', size);
    size_t at = open ? (size_t)(open - text) : 0, known = 0;
    uint64_t refused = 0;
    State *state = made(0x243f6a8885a308d3u);
    if (!state)
        return 0;
    while (at < size) {
        known = known + step < size ? known + step : size;
        for (;;) {
            /* a copy of its own: what is read behind it is found */
            char *copy = malloc(known + PADDING);
            size_t more = size - known < PADDING ? size - known : PADDING;
            memcpy(copy, text, known);
            memcpy(copy + known, text + known, more);
            memset(copy + known + more, 0, PADDING - more);
            int result = scan_text(state, scan, copy, known + PADDING, &at);
            int same = !memcmp(copy, text, known);
            free(copy);
            if (!same) {
                fputs("the text was changed\n", stderr);
                abort();
            }
            if (result == NO_ROOM) { /* nothing is lost: it goes on where it stopped */
                granted = -1;
                continue;
            }
            if (result == MORE_TEXT && known < size)
                break;
            add(&refused, at);
            add(&refused, state->events.size);
            at = passed(text, size, at);
            if (at >= known)
                break;
        }
    }
    *digest = result_of(state, refused);
    state_free(state);
    return 1;
}

/* The digest that all agree on. */
static uint64_t agreed(const char *text, size_t size, int all)
{
    static const size_t steps[] = {(size_t)1 << 30, 7, 64, 300, 2000};
    Variant found[8];
    int count = variants_here(found), had = 0;
    uint64_t first = 0, digest;
    for (int i = 0; i < count; i++)
        for (size_t s = 0; s < COUNT(steps); s++) {
            if (!all && s && s != 1 + size % 4)
                continue;
            size_t step = steps[s] < size / 200 ? size / 200 : steps[s];
            if (!scanned(found[i].scan, text, size, step, &digest) || (had && digest != first)) {
                fprintf(stderr, "%s in steps of %zu bytes: %016llx, others: %016llx\n",
                    found[i].name, step, (unsigned long long)digest,
                    (unsigned long long)first);
                abort();
            }
            first = digest;
            had = 1;
        }
    return first;
}

#ifdef FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    agreed((const char *)data, size, 0);
    return 0;
}
#else
/* As `agreed`, where the first, the second, ... allocation fails; how many there are. */
static int despite_failures(const char *text, size_t size, uint64_t expected)
{
    Variant found[8];
    int number = 0;
    variants_here(found);
    for (;; number++) {
        uint64_t digest;
        granted = number;
        failed = 0;
        int finished = scanned(found[0].scan, text, size, size, &digest);
        granted = -1;
        if (finished ? digest != expected : !failed) {
            fprintf(stderr, "another result where allocation %d fails\n", number);
            abort();
        }
        if (!failed)
            return number;
    }
}

int main(int count, char **names)
{
    int failing = count > 1 && !strcmp(names[1], "--failing");
    for (int i = 1 + failing; i < count; i++) {
        FILE *file = fopen(names[i], "rb");
        long size;
        if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0) {
            perror(names[i]);
            return 2;
        }
        char *text = malloc((size_t)size + 1);
        rewind(file);
        if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) {
            perror(names[i]);
            return 2;
        }
        fclose(file);
        uint64_t digest = agreed(text, (size_t)size, 1);
        if (failing)
            printf("%d ", despite_failures(text, (size_t)size, digest));
        printf("%016llx\n", (unsigned long long)digest);
        free(text);
    }
    return 0;
}
#endif
