/* A scanner without Python: its memory, and the scan of a text. */
#ifndef SYNCTAX_SCANNER_H
#define SYNCTAX_SCANNER_H

#include "variants.h"

#define PADDING 64 /* bytes behind the text that may be read */

static void state_free(State *state)
{
    if (!state)
        return;
    free(state->key_text);
    free((void *)state->prefix);
    free(state->prefix_length);
    free((void *)state->mark);
    free(state->mark_length);
    free(state->counted);
    Texts *texts[] = {&state->categories, &state->names, &state->values, &state->lanes,
        &state->geometries, &state->texts};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        texts_free(texts[i]);
    table_free(&state->events);
    table_free(&state->kernels);
    table_free(&state->syncs);
    table_free(&state->comms);
    free(state);
}

static void columns(Table *table, Column *column, const size_t *width, int count)
{
    for (int i = 0; i < count; i++)
        column[i].width = width[i];
    table->columns = column;
    table->count = count;
}

static State *state_new(void)
{
    static const size_t events[] = {1, 4, 8, 8, 4, 4, 4, 8, 8}, kernels[] = {8, 4, 8},
                        syncs[] = {8, 8, 8, 8};
    State *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    size_t comms[COMM_COLUMNS];
    for (int i = 0; i < COMM_COLUMNS; i++)
        comms[i] = i >= 1 && i <= COMM_TEXTS ? 4 : 8;
    columns(&state->events, state->event_columns, events, EVENT_COLUMNS);
    columns(&state->kernels, state->kernel_columns, kernels, KERNEL_COLUMNS);
    columns(&state->syncs, state->sync_columns, syncs, SYNC_COLUMNS);
    columns(&state->comms, state->comm_columns, comms, COMM_COLUMNS);
    for (int i = 0; i < KEY_SLOTS; i++)
        state->event_keys.slot[i].role = state->args_keys.slot[i].role = -1;
    memset(state->kind, SKIPPED, sizeof state->kind);
    state->last_process = state->last_thread = -1;
    state->counted = calloc(MAX_CATEGORIES, sizeof *state->counted);
    if (!state->counted) {
        state_free(state);
        return NULL;
    }
    return state;
}

/* Make room where it may be short for an event of this length. */
static int make_room(State *state, size_t length)
{
    Table *tables[] = {&state->events, &state->kernels, &state->syncs, &state->comms};
    Texts *texts[] = {&state->categories, &state->names, &state->values, &state->lanes,
        &state->geometries, &state->texts};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i]->size == tables[i]->room && !table_grow(tables[i]))
            return 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!texts_grow(texts[i], 16, length + MAX_SHAPE))
            return 0;
    return 1;
}

/* One key with its role, its text copied to `*text`. */
static void add_key(Keys *keys, const char *key, size_t length, int role, char **text)
{
    char *copy = *text;
    memcpy(copy, key, length);
    memset(copy + length, 0, 8);
    *text += length + 8;
    uint64_t first = key_first(copy, length);
    uint64_t last = length > 8 ? load64(copy + length - 8) : 0;
    uint32_t at = key_slot(first, last, length);
    while (keys->slot[at].role >= 0)
        at = (at + 1) & (KEY_SLOTS - 1);
    keys->slot[at] = (Key){first, last, copy, (uint32_t)length, role};
}

/* A category that is kept. 0 where there is no memory. */
static int add_category(State *state, const char *name, size_t length, int kind)
{
    if (!texts_grow(&state->categories, 1, length))
        return 0;
    uint32_t number = number_of(&state->categories, name, length, state->seed);
    state->kind[number] = (int8_t)kind;
    return 1;
}

/* Scan a text of `length` bytes, of which the last PADDING wait for more.
 *
 * `*at` is the place of the bracket or comma before the first event; it is moved to the comma
 * behind the last event that was kept. NO_ROOM: memory could not be had. */
static int scan_text(State *state, Scan *scan, char *base, size_t length, size_t *at)
{
    if (length <= PADDING || *at >= length - PADDING)
        return MORE_TEXT;
    char *end = base + length - PADDING, kept = *end;
    const char *event = base + *at + 1;
    int result;
    *end = 0; /* nothing goes on beyond it */
    while (*event == ' ' || *event == '\n' || *event == '\r' || *event == '\t')
        event++;
    const char *from = event;
    do
        result = scan(state, &event, end);
    while (result == NO_ROOM && make_room(state, (size_t)(end - event)));
    if (event != from) { /* stand on the comma before the event that comes next */
        do
            event--;
        while (*event != ',');
        *at = (size_t)(event - base);
    }
    *end = kept;
    return result;
}

#endif
