/* What is known of events: roles of keys, types of values, and the columns that are filled. */
#ifndef SYNCTAX_STATE_H
#define SYNCTAX_STATE_H

#include "memory.h"

/* The members of an event that are looked at. Which key of the file has which role is told
 * by Python (`kineto_keys.py` is the home of keys); the names below are all they share. */
#define ROLES(ROLE)                                                                        \
    ROLE(ph) ROLE(cat) ROLE(name) ROLE(pid) ROLE(tid) ROLE(ts) ROLE(dur) ROLE(args)        \
    ROLE(external_id) ROLE(external_id_old) ROLE(correlation) ROLE(device) ROLE(stream)    \
    ROLE(args_name) ROLE(grid) ROLE(block) ROLE(graph_node)                                \
    ROLE(wait_stream) ROLE(wait_correlation) ROLE(wait_event_id)                           \
    ROLE(collective) ROLE(dtype) ROLE(group_name) ROLE(group_description)                  \
    ROLE(group_ranks) ROLE(in_split) ROLE(out_split) ROLE(input_dims) ROLE(input_type)     \
    ROLE(in_elements) ROLE(out_elements) ROLE(group_size) ROLE(seq) ROLE(src) ROLE(dst)    \
    ROLE(rank_start) ROLE(rank_stride) ROLE(comms_id)

enum {
#define AS_NUMBER(role) R_##role,
    ROLES(AS_NUMBER)
#undef AS_NUMBER
    ROLE_COUNT
};

static const char *const ROLE_NAMES[] = {
#define AS_TEXT(role) #role,
    ROLES(AS_TEXT)
#undef AS_TEXT
};

#define BIT(role) ((uint64_t)1 << (role))
#define COMM_TEXT_FIRST R_collective
#define COMM_TEXTS 9
#define COMM_NUMBER_FIRST R_in_elements
#define COMM_NUMBERS 8
#define WAITS 3

/* Members of which one at least makes a kernel a collective. */
#define METADATA                                                                           \
    (BIT(R_collective) | BIT(R_group_name) | BIT(R_group_ranks) | BIT(R_group_size)        \
        | BIT(R_seq) | BIT(R_comms_id) | BIT(R_in_elements))

/* The numbers of `EventKind` that rows of other tables hang on. */
enum { CPU_OP, ANNOTATION, GPU_ANNOTATION, KERNEL, MEMCPY, MEMSET, RUNTIME, SYNC, CUDA_EVENT };
#define ON_DEVICE                                                                          \
    (1u << GPU_ANNOTATION | 1u << KERNEL | 1u << MEMCPY | 1u << MEMSET | 1u << SYNC        \
        | 1u << CUDA_EVENT)
#define KINDS (CUDA_EVENT + 1)
#define SKIPPED (-1)
#define ABSENT (-1)

/* Types of values, as a set. */
enum {
    V_TEXT = 1, V_WHOLE = 2, V_DECIMAL = 4, V_EXPONENT = 8, V_LIST = 16, V_OBJECT = 32,
    V_LITERAL = 64
};

/* What a role may have for a value; anything else is left to the Python reader, which
 * knows what to make of it or refuses it. */
static uint8_t allowed(int role)
{
    switch (role) {
    case R_ph: case R_cat: case R_name: return V_TEXT;
    case R_pid: case R_tid: return V_TEXT | V_WHOLE;
    case R_ts: case R_dur: return V_WHOLE | V_DECIMAL;
    case R_args: return V_OBJECT;
    default: return V_TEXT | V_WHOLE | V_DECIMAL | V_LIST;
    }
}

/* A value as it stands: of a text what is between the quotes. */
typedef struct {
    const char *at;
    size_t length;
    uint8_t type;
} Value;

/* Keys with a role: an open hash table over length, first and last eight bytes. */
#define KEY_SLOTS 256
typedef struct {
    uint64_t first, last;
    const char *text;
    uint32_t length;
    int role; /* -1: an empty place */
} Key;

typedef struct {
    Key slot[KEY_SLOTS];
} Keys;

enum { EVENT_COLUMNS = 9, KERNEL_COLUMNS = 3, SYNC_COLUMNS = 4,
    COMM_COLUMNS = 1 + COMM_TEXTS + COMM_NUMBERS + 1 };
enum { E_kind, E_name, E_start, E_duration, E_lane, E_device, E_stream, E_correlation,
    E_external };

#ifndef MAX_CATEGORIES
#define MAX_CATEGORIES 1024       /* that are told apart; events of others are for Python */
#endif
#define MAX_LETTER 128
#define MAX_SHAPE 2048            /* bytes of a kernel's grid and block */
#define MAX_NUMBER 300            /* bytes of a number: longer ones are beyond a float's range */

typedef struct {
    Keys event_keys, args_keys;
    char *key_text;               /* holds the texts of the keys and prefixes */
    const char **prefix;          /* how names of communication begin */
    size_t *prefix_length;
    int prefixes;
    const char **mark;            /* how names of the profiler's own marks begin */
    size_t *mark_length;
    int marks;
    Texts categories, names, values, lanes, geometries, texts;
    int8_t kind[MAX_CATEGORIES];  /* what complete events of a category are */
    uint64_t (*counted)[MAX_LETTER]; /* events by category and phase */
    Column event_columns[EVENT_COLUMNS], kernel_columns[KERNEL_COLUMNS],
        sync_columns[SYNC_COLUMNS], comm_columns[COMM_COLUMNS];
    Table events, kernels, syncs, comms;
    uint64_t seed;
    size_t longest;               /* bytes of what may be an event */
    int32_t last_process, last_thread, last_lane;
    Value value[ROLE_COUNT];      /* of the event at hand */
} State;

enum { DONE, MORE_TEXT, REFUSED, NO_ROOM };

static inline uint64_t key_first(const char *text, size_t length)
{
    uint64_t word = load64(text);
    if (length >= 8)
        return word;
#if LITTLE_ENDIAN_MACHINE
    return word & (((uint64_t)1 << 8 * length) - 1);
#else
    return length ? word >> 8 * (8 - length) : 0;
#endif
}

static inline uint32_t key_slot(uint64_t first, uint64_t last, size_t length)
{
    return (uint32_t)((first * 0x9e3779b97f4a7c15u ^ last * 0xe7037ed1a0b428dbu) >> 40
        ^ length) & (KEY_SLOTS - 1);
}

/* The role of a key, -1 if it has none. Eight bytes behind the text may be read. */
static inline int role_of(const Keys *keys, const char *text, size_t length)
{
    uint64_t first = key_first(text, length);
    uint64_t last = length > 8 ? load64(text + length - 8) : 0;
    uint32_t at = key_slot(first, last, length);
    for (;;) {
        const Key *key = &keys->slot[at];
        if (key->role < 0)
            return -1;
        if (key->first == first && key->last == last && key->length == length
            && (length <= 16 || !memcmp(key->text, text, length)))
            return key->role;
        at = (at + 1) & (KEY_SLOTS - 1);
    }
}

#endif
