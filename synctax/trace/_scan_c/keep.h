/* What becomes of an event that was passed: a row, a count, or refused for Python to do.
 *
 * Everything is checked before the first thing is written: an event that is refused, or
 * for which room has to be made first, has left nothing behind but the name of its category.
 */
#ifndef SYNCTAX_KEEP_H
#define SYNCTAX_KEEP_H

#include "json.h"

#define AT(table, column, type) ((type *)(table).columns[column].data)[(table).size]

static inline int32_t coded(Texts *texts, const Value *value, const State *state)
{
    /* a text with its quotes: "7" is not 7 */
    int quotes = value->type == V_TEXT;
    return (int32_t)number_of(texts, value->at - quotes, value->length + 2 * (size_t)quotes,
        state->seed);
}

static int begins(const Value *text, const char *const *prefix, const size_t *length, int count)
{
    for (int i = 0; i < count; i++)
        if (text->length >= length[i] && !memcmp(text->at, prefix[i], length[i]))
            return 1;
    return 0;
}

static inline int whole(const State *state, uint64_t seen, int role, int64_t *number)
{
    if (seen & BIT(role))
        return integer(&state->value[role], number);
    *number = ABSENT;
    return 1;
}

/* Process and thread, as they stand, to the number of their pair. */
static inline int32_t lane_of(State *state)
{
    int32_t pair[2];
    pair[0] = coded(&state->values, &state->value[R_pid], state);
    pair[1] = coded(&state->values, &state->value[R_tid], state);
    if (pair[0] != state->last_process || pair[1] != state->last_thread) {
        state->last_process = pair[0];
        state->last_thread = pair[1];
        state->last_lane = (int32_t)number_of(&state->lanes, (const char *)pair, sizeof pair,
            state->seed);
    }
    return state->last_lane;
}

static int keep(State *state, uint64_t seen)
{
    const Value *value = state->value;
    int64_t start, duration, correlation, external, graph_node = ABSENT;
    int64_t wait[WAITS], number[COMM_NUMBERS];
    uint64_t comms_id = 0;
    int kind, category, is_kernel, is_comm = 0;
    byte letter;

    if ((seen & (BIT(R_ph) | BIT(R_cat) | BIT(R_name))) != (BIT(R_ph) | BIT(R_cat) | BIT(R_name))
        || value[R_ph].length != 1)
        return REFUSED;
    letter = (byte)*value[R_ph].at;
    if (letter >= MAX_LETTER || letter == 'M') /* the file's metadata: for Python */
        return REFUSED;
    if (!texts_have_room(&state->categories, 1, value[R_cat].length))
        return NO_ROOM;
    if (memchr(value[R_cat].at, '\\', value[R_cat].length)
        || (state->categories.size >= MAX_CATEGORIES - 1
            && !is_known(&state->categories, value[R_cat].at, value[R_cat].length, state->seed)))
        return REFUSED;
    category = (int)number_of(&state->categories, value[R_cat].at, value[R_cat].length,
        state->seed);
    kind = letter == 'X' ? state->kind[category] : SKIPPED;
    if (kind < 0) {
        if ((letter == 'i' || letter == 'I')
            && (memchr(value[R_name].at, '\\', value[R_name].length)
                || begins(&value[R_name], state->mark, state->mark_length, state->marks)))
            return REFUSED;
        state->counted[category][letter]++;
        return DONE;
    }

    if ((seen & (BIT(R_pid) | BIT(R_tid) | BIT(R_ts) | BIT(R_dur)))
            != (BIT(R_pid) | BIT(R_tid) | BIT(R_ts) | BIT(R_dur))
        || !nanoseconds(&value[R_ts], &start) || !nanoseconds(&value[R_dur], &duration)
        || !whole(state, seen, R_correlation, &correlation)
        || !whole(state, seen, R_external_id, &external))
        return REFUSED;
    if (external == ABSENT && !whole(state, seen, R_external_id_old, &external))
        return REFUSED;
    is_kernel = kind == KERNEL;
    if (is_kernel) {
        if (!whole(state, seen, R_graph_node, &graph_node))
            return REFUSED;
        is_comm = (seen & METADATA) != 0;
    } else if (kind == SYNC) {
        for (int i = 0; i < WAITS; i++)
            if (!whole(state, seen, R_wait_stream + i, &wait[i]))
                return REFUSED;
    } else if (kind == CPU_OP || kind == ANNOTATION) {
        size_t shown = value[R_name].length < 32 ? value[R_name].length : 32;
        if (memchr(value[R_name].at, '\\', shown)) /* a prefix in disguise? */
            return REFUSED;
        is_comm = begins(&value[R_name], state->prefix, state->prefix_length, state->prefixes);
    }
    if (is_comm) {
        for (int i = 0; i < COMM_NUMBERS; i++)
            if (!whole(state, seen, COMM_NUMBER_FIRST + i, &number[i]))
                return REFUSED;
        for (int i = R_collective; i < R_input_dims; i++) /* a number that Python can hold */
            if (seen & BIT(i) && value[i].type == V_WHOLE && value[i].length > 18)
                return REFUSED;
        if (seen & BIT(R_comms_id) && !natural(&value[R_comms_id], &comms_id))
            return REFUSED;
    }

    /* room for all of it */
    if (state->events.size == state->events.room || state->kernels.size == state->kernels.room
        || state->syncs.size == state->syncs.room || state->comms.size == state->comms.room
        || !texts_have_room(&state->names, 1, value[R_name].length)
        || !texts_have_room(&state->values, 4, value[R_pid].length + value[R_tid].length + 4
            + (seen & BIT(R_device) ? value[R_device].length + 2 : 0)
            + (seen & BIT(R_stream) ? value[R_stream].length + 2 : 0))
        || !texts_have_room(&state->lanes, 1, 8))
        return NO_ROOM;
    if (is_kernel || is_comm) {
        size_t length = 0, shape = 1;
        for (int i = 0; i < COMM_TEXTS; i++)
            if (seen & BIT(COMM_TEXT_FIRST + i))
                length += value[COMM_TEXT_FIRST + i].length + 2;
        shape += seen & BIT(R_grid) ? value[R_grid].length + 2 : 0;
        shape += seen & BIT(R_block) ? value[R_block].length + 2 : 0;
        if (!texts_have_room(&state->texts, COMM_TEXTS, length)
            || !texts_have_room(&state->geometries, 1, shape + 64) || shape > MAX_SHAPE)
            return shape > MAX_SHAPE ? REFUSED : NO_ROOM;
    }

    state->counted[category][letter]++;
    AT(state->events, E_kind, int8_t) = (int8_t)kind;
    AT(state->events, E_name, int32_t) = (int32_t)number_of(&state->names, value[R_name].at,
        value[R_name].length, state->seed);
    AT(state->events, E_start, int64_t) = start;
    AT(state->events, E_duration, int64_t) = duration;
    AT(state->events, E_lane, int32_t) = lane_of(state);
    AT(state->events, E_correlation, int64_t) = correlation;
    AT(state->events, E_external, int64_t) = external;
    int on_device = ON_DEVICE >> kind & 1;
    AT(state->events, E_device, int32_t) = on_device
        ? coded(&state->values, &value[seen & BIT(R_device) ? R_device : R_pid], state) : ABSENT;
    AT(state->events, E_stream, int32_t) = on_device
        ? coded(&state->values, &value[seen & BIT(R_stream) ? R_stream : R_tid], state) : ABSENT;

    int64_t row = (int64_t)state->events.size;
    if (is_kernel && (seen & (BIT(R_grid) | BIT(R_block)) || graph_node != ABSENT)) {
        char shape[MAX_SHAPE + 8];
        size_t length = 0;
        for (int role = R_grid; role <= R_block; role++) {
            if (seen & BIT(role)) {
                size_t quotes = value[role].type == V_TEXT;
                memcpy(shape + length, value[role].at - quotes, value[role].length + 2 * quotes);
                length += value[role].length + 2 * quotes;
            }
            if (role == R_grid)
                shape[length++] = 0; /* valid in no JSON: parts the two */
        }
        AT(state->kernels, 0, int64_t) = row;
        AT(state->kernels, 1, int32_t) = (int32_t)number_of(&state->geometries, shape, length,
            state->seed);
        AT(state->kernels, 2, int64_t) = graph_node;
        state->kernels.size++;
    }
    if (kind == SYNC) {
        AT(state->syncs, 0, int64_t) = row;
        for (int i = 0; i < WAITS; i++)
            AT(state->syncs, 1 + i, int64_t) = wait[i];
        state->syncs.size++;
    }
    if (is_comm) {
        AT(state->comms, 0, int64_t) = row;
        for (int i = 0; i < COMM_TEXTS; i++)
            AT(state->comms, 1 + i, int32_t) = seen & BIT(COMM_TEXT_FIRST + i)
                ? coded(&state->texts, &value[COMM_TEXT_FIRST + i], state) : ABSENT;
        for (int i = 0; i < COMM_NUMBERS; i++)
            AT(state->comms, 1 + COMM_TEXTS + i, int64_t) = number[i];
        AT(state->comms, 1 + COMM_TEXTS + COMM_NUMBERS, uint64_t) = comms_id;
        state->comms.size++;
    }
    state->events.size++;
    return DONE;
}

#endif
